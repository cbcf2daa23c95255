//! Allows the nodes of a cluster to write the newest format (`data/format.rs`), once all of them read it. Works beside
//! the running nodes.

use bindery_model::time::Millis;
use bindery_replica::{NewestHistory, NodeRecord, ReplicaError};
use bindery_store::{Counter, Key, StoreWrite, encode_transaction};

use crate::data::format::{FORMAT, encode_format};

/// The time since its last sign of life after which a node counts as stopped, in milliseconds. If it comes back with an
/// older version, it says that it cannot go on.
const GONE: Millis = 600_000;

/// The outcome of an upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upgraded {
    /// The format that the nodes may write now.
    pub format: u32,
    /// The number of the record that says so.
    pub number: u64,
}

/// The reason why a cluster was not upgraded.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    /// Some nodes would have to stop following.
    #[error(
        "these nodes do not read format {FORMAT}, so nothing was changed: {nodes}; install this version there first, or stop them for ten minutes"
    )]
    OlderNodes {
        /// Their names, with versions and addresses.
        nodes: String,
    },
    /// The cluster.
    #[error(transparent)]
    Cluster(#[from] ReplicaError),
    /// The system's generator.
    #[error("a random number cannot be had: {0}")]
    Random(#[from] getrandom::Error),
}

/// Allows the nodes of the cluster at an address to write the newest format that this version knows. Durable on return;
/// changes nothing that is written already, and may be repeated. From then on an older version can follow this cluster
/// no more.
///
/// # Errors
/// [`UpgradeError`].
pub fn upgrade_cluster(address: &str) -> Result<Upgraded, UpgradeError> {
    let cluster = NewestHistory::open(address)?;
    let since = cluster.now() - GONE;
    let is_older = |node: &NodeRecord| node.reads_format < FORMAT && node.at.cast_signed() > since;
    let describe = |node: &NodeRecord| format!("{} (version {}, at {})", node.node, node.version, node.address);
    let older: Vec<String> = cluster.nodes()?.iter().filter(|node| is_older(node)).map(describe).collect();
    if !older.is_empty() {
        return Err(UpgradeError::OlderNodes { nodes: older.join(", ") });
    }
    let writes = [StoreWrite::put(Key::Counter(Counter::Format), encode_format(FORMAT))];
    let number = cluster.append(&encode_transaction(getrandom::u64()?, &writes))?;
    Ok(Upgraded { format: FORMAT, number })
}
