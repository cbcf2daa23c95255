//! Gives a cluster's log back what it lost, from a node that still has it: the storage was set back to an older state.

use std::path::Path;
use std::time::Duration;

use bindery_cluster::{AppendError, Found, Log, Position, Store};
use bindery_log::{FollowLog as _, LogReader};

use crate::error::ReplicaError;
use crate::log::{at_most, compare};
use crate::membership::Membership;

/// The size of the groups in which records are given back, in bytes. A larger transaction is a group of its own.
const GROUP_BYTES: usize = 4 << 20;
/// How long one group may take.
const APPENDING: Duration = Duration::from_secs(60);

/// Appends to the cluster's log the records that a stopped node has beyond its end. `copy` is the node's copy of the
/// log, and `ends_transaction` says of which records a group may end. Returns the number of records. The caller has
/// locked the folder.
///
/// # Errors
/// [`ReplicaError::Diverged`] if the cluster's log has other records: then only a new history can bring back what the
/// node has. [`ReplicaError::Cluster`] if it has lost a group and has later ones, which would not continue a new group,
/// or if the storage fails, after which the call can be repeated. [`ReplicaError::NoNode`],
/// [`ReplicaError::OtherCluster`], [`ReplicaError::OldHistory`].
pub fn append_missing(
    folder: &Path,
    address: &str,
    copy: &LogReader,
    last: u64,
    ends_transaction: &dyn Fn(&[u8]) -> bool,
) -> Result<u64, ReplicaError> {
    let (known, store) = open(folder, address)?;
    let log = store.log(&known.cluster.history, &known.node)?;
    let end = end_of_equal_part(&log, known.position, copy, last)?;
    let mut position = end;
    while position.number < last {
        let group = next_group(copy, position.number + 1, last, ends_transaction)?;
        position = append(&log, position, &group)?;
    }
    Ok(last.saturating_sub(end.number))
}

/// Returns what a folder says of itself, once it is certain that the address holds the history that it belongs to.
fn open(folder: &Path, address: &str) -> Result<(Membership, Store), ReplicaError> {
    let known = Membership::load(folder)?.filter(|known| !known.is_joining);
    let known = known.ok_or_else(|| ReplicaError::NoNode { folder: folder.to_owned() })?;
    let store = Store::open(address)?;
    let cluster = store.cluster()?;
    known.require_cluster(&cluster, folder, address)?;
    let (own, newest) = (known.cluster.history.number, cluster.history.number);
    match known.cluster.history == cluster.history {
        true => Ok((known, store)),
        false => Err(ReplicaError::OldHistory { own, newest }),
    }
}

/// Compares the copy with the log from a position on. Returns the position at which the log ends, or that the copy has
/// reached.
fn end_of_equal_part(log: &Log, from: Position, copy: &LogReader, last: u64) -> Result<Position, ReplicaError> {
    let mut position = from;
    let mut groups = log.read_ahead(from)?;
    while position.number < last {
        let (group, end) = match groups.read()? {
            Found::Group(group, end) => (group, end),
            Found::Missing => break,
            Found::Removed => return Err(ReplicaError::TooFarBehind { seq: position.seq + 1 }),
        };
        compare(&group, copy, last)?;
        position = end;
    }
    Ok(position)
}

/// Returns the next records of the copy for one group: as many whole transactions as it holds, and at least one.
fn next_group(
    copy: &LogReader,
    first: u64,
    last: u64,
    ends_transaction: &dyn Fn(&[u8]) -> bool,
) -> Result<Vec<Vec<u8>>, ReplicaError> {
    let (mut group, mut bytes, mut whole) = (Vec::new(), 0, 0);
    for record in copy.read(first, last)? {
        let (_, record) = record?;
        bytes += record.len();
        if bytes > GROUP_BYTES && whole > 0 {
            break;
        }
        let is_end = ends_transaction(&record);
        group.push(record);
        if is_end {
            whole = group.len();
        }
    }
    // A kill may have left the beginning of a transaction at the end of the copy. Without its end it does not exist, so
    // it may be a group of its own.
    if whole > 0 {
        group.truncate(whole);
    }
    Ok(group)
}

fn append(log: &Log, after: Position, group: &[Vec<u8>]) -> Result<Position, ReplicaError> {
    match log.append(&after, group, 0, &mut at_most(APPENDING)) {
        Ok(position) => Ok(position),
        // Another node appends meanwhile. A repeated call finds out whether its records are the same.
        Err(AppendError::Conflict { seq }) => Err(ReplicaError::Diverged { number: after.number + 1, seq }),
        Err(error) => Err(ReplicaError::NotAppended { reason: error.to_string() }),
    }
}
