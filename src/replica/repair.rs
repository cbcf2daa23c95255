//! Gives a cluster's log back what it lost, from a node that still has it: the storage was set back to an older state.

use std::path::Path;
use std::time::Duration;

use bindery_cluster::{AppendError, Found, Log, Position, Store};
use bindery_log::{FollowLog as _, LogReader};

use crate::error::ReplicaError;
use crate::log::{at_most, compare};
use crate::membership::Membership;

/// The size of the groups in which records are given back, in bytes.
const GROUP_BYTES: usize = 4 << 20;
/// How long one group may take.
const APPENDING: Duration = Duration::from_secs(60);

/// Appends to the cluster's log the records that a stopped node has beyond its end. `copy` is the node's copy of the
/// log. Returns the number of records. The caller has locked the folder.
///
/// # Errors
/// [`ReplicaError::Diverged`] if the cluster's log has other records: then only a new history can bring back what the
/// node has. [`ReplicaError::NoNode`], [`ReplicaError::OtherCluster`], [`ReplicaError::OldHistory`]; that the storage
/// fails, after which the call can be repeated.
pub fn append_missing(folder: &Path, address: &str, copy: &LogReader, last: u64) -> Result<u64, ReplicaError> {
    let (known, store) = open(folder, address)?;
    let log = store.log(&known.cluster.history, &known.node)?;
    let end = end_of_equal_part(&log, known.position, copy, last)?;
    let mut position = end;
    while position.number < last {
        position = append_next(&log, position, copy, last)?;
    }
    Ok(last.saturating_sub(end.number))
}

/// Returns what a folder says of itself, once it is certain that the address holds the history that it belongs to.
fn open(folder: &Path, address: &str) -> Result<(Membership, Store), ReplicaError> {
    let known = Membership::load(folder)?.filter(|known| !known.is_joining);
    let known = known.ok_or_else(|| ReplicaError::NoNode { folder: folder.to_owned() })?;
    let store = Store::open(address)?;
    let cluster = store.cluster()?;
    let (own, found) = (known.cluster.id, cluster.id);
    if own != found {
        return Err(ReplicaError::OtherCluster { folder: folder.into(), own, address: address.to_owned(), found });
    }
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

/// Appends the next records of the copy as one group.
fn append_next(log: &Log, after: Position, copy: &LogReader, last: u64) -> Result<Position, ReplicaError> {
    let (mut group, mut bytes) = (Vec::new(), 0);
    for record in copy.read(after.number + 1, last)? {
        let (_, record) = record?;
        bytes += record.len();
        group.push(record);
        if bytes >= GROUP_BYTES {
            break;
        }
    }
    match log.append(&after, &group, 0, &mut at_most(APPENDING)) {
        Ok(position) => Ok(position),
        // Another node appends meanwhile. A repeated call finds out whether its records are the same.
        Err(AppendError::Conflict { seq }) => Err(ReplicaError::Diverged { number: after.number + 1, seq }),
        Err(error) => Err(ReplicaError::NotAppended { reason: error.to_string() }),
    }
}
