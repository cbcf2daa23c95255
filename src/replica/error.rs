//! Errors of a node.

use std::io;
use std::path::{Path, PathBuf};

use bindery_base::BaseError;
use bindery_cluster::ClusterError;
use bindery_log::LogError;
use uuid::Uuid;

/// An error of a node.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaError {
    /// The storage of the cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The node's copy of the log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The base from which a node begins.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// The folder holds the content of a single server.
    #[error(
        "{} holds content and belongs to no cluster; to make a cluster of it, run \
         `bindery cluster create --data {} --log {address}` while no server runs on it; to join the cluster, use an empty folder",
        folder.display(), folder.display()
    )]
    NotANode {
        /// The data folder.
        folder: PathBuf,
        /// The address of the cluster.
        address: String,
    },
    /// The folder is a node of another cluster.
    #[error(
        "{} is a node of the cluster {own}, but {address} holds the cluster {found}; check `log`, or use an empty folder",
        folder.display()
    )]
    OtherCluster {
        /// The data folder.
        folder: PathBuf,
        /// The cluster of the folder.
        own: Uuid,
        /// The address that was given.
        address: String,
        /// The cluster there.
        found: Uuid,
    },
    /// The cluster's log ends before what this node has.
    #[error(
        "this node has the log up to record {own} (group {own_seq} and later), but the cluster's log at {address} ends before that: \
         the storage was set back to an older state; nothing was changed; restore the storage, or run `bindery cluster repair` on the node \
         that has most, which gives the log back what it lost"
    )]
    Ahead {
        /// The number of this node's last record.
        own: u64,
        /// The sequence number of the first group that is missing.
        own_seq: u64,
        /// The address of the cluster.
        address: String,
    },
    /// The node has other records than the cluster.
    #[error(
        "record {number} of this node differs from that of the cluster's log (group {seq}): the two have different histories; \
         nothing was changed; use an empty folder to join the cluster, or make the content of this node that of the cluster with \
         `bindery cluster repair --new-history`"
    )]
    Diverged {
        /// The number of the first record that differs.
        number: u64,
        /// The sequence number of its group.
        seq: u64,
    },
    /// The part of the log that this node needs next was removed. It begins again from a base.
    #[error("the cluster's log no longer has group {seq}, which this node needs next; it must begin from a base")]
    TooFarBehind {
        /// The sequence number of the group.
        seq: u64,
    },
    /// A command could not append to the log, or it is not known whether it did.
    #[error(
        "nothing could be written to the log of the cluster, or that is not known: {reason}; run the command again"
    )]
    NotAppended {
        /// The reason.
        reason: String,
    },
    /// The node belongs to a history of the cluster that ended.
    #[error(
        "this node belongs to history {own} of the cluster, which ended: the cluster was restored and is at history {newest}; a start \
         moves the node there"
    )]
    OldHistory {
        /// The history of the node.
        own: u32,
        /// The newest one.
        newest: u32,
    },
    /// A folder that is no node.
    #[error("{} is no node of a cluster", folder.display())]
    NoNode {
        /// The data folder.
        folder: PathBuf,
    },
    /// The file that says which node the folder is.
    #[error("{} is damaged: {what}; a node may be deleted and joins again", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The problem.
        what: String,
    },
    /// A local file operation failed.
    #[error("cannot {action} {}: {source}", file.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Adds the operation and the file to an error of the system.
pub(crate) fn at(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> ReplicaError {
    let file = file.to_owned();
    move |source| ReplicaError::Io { action, file, source }
}
