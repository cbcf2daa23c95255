//! Errors of a cluster's storage.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An error of the storage of a cluster.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The address of the storage cannot be used.
    #[error("`{address}` is not an address of a cluster: {what}")]
    Address {
        /// The address as it was given.
        address: String,
        /// The problem, and what would be right.
        what: String,
    },
    /// The storage could not be reached, or did not answer as it should. Later calls may succeed.
    #[error("the cluster's storage at {address} cannot be reached: {reason}")]
    Unreachable {
        /// The address of the storage.
        address: String,
        /// The operation that failed, and the reason.
        reason: String,
    },
    /// The storage rejects the credentials, or they do not permit the operation.
    #[error(
        "the cluster's storage at {address} rejects the credentials; they need permission to read, write, list and \
         delete objects there: {reason}"
    )]
    Denied {
        /// The address of the storage.
        address: String,
        /// The answer of the storage.
        reason: String,
    },
    /// The bucket, the container, the folder or the database does not exist.
    #[error("the bucket, folder or database of {address} does not exist: {reason}")]
    NoBucket {
        /// The address of the storage.
        address: String,
        /// The answer of the storage.
        reason: String,
    },
    /// The bucket exists and holds no cluster at this address.
    #[error("there is no cluster at {address}; `bindery cluster create` makes one")]
    NoCluster {
        /// The address of the storage.
        address: String,
    },
    /// The cluster's first history is missing, because its creation was interrupted.
    #[error("the creation of the cluster at {address} was interrupted; run `bindery cluster create` again")]
    Incomplete {
        /// The address of the storage.
        address: String,
    },
    /// The history ends here: the cluster is, or was, restored to an earlier state, which another history continues.
    #[error("the cluster is being restored: its log ends with group {seq}, and the next history has not begun")]
    Sealed {
        /// The sequence number of the seal.
        seq: u64,
    },
    /// A cluster exists at this address, and another one cannot be created there.
    #[error("there is a cluster at {address} already")]
    Exists {
        /// The address of the storage.
        address: String,
    },
    /// The address has another history of this number already.
    #[error("history {number} of the cluster exists already")]
    HistoryExists {
        /// The number of the history.
        number: u32,
    },
    /// Something was written by a newer version of the server.
    #[error("{name} was written by a newer version of Bindery (format {version}); upgrade this server")]
    NewerVersion {
        /// The name of the object.
        name: String,
        /// Its format.
        version: u64,
    },
    /// An object does not have the contents that were written to it.
    #[error("{name} is damaged: {what}")]
    Damaged {
        /// The name of the object.
        name: String,
        /// The problem.
        what: String,
    },
    /// The next group of the log does not continue the position of the reader, so one of the two was changed or
    /// reset.
    #[error("group {seq} of the log does not continue what this server has: {what}")]
    Diverged {
        /// The sequence number of the group.
        seq: u64,
        /// The difference.
        what: String,
    },
    /// The next group was removed from the log. Begin from a base.
    #[error("group {seq} was removed from the log")]
    Removed {
        /// The sequence number of the group.
        seq: u64,
    },
    /// Something that is not Bindery deleted groups of the log.
    #[error(
        "the cluster's log has lost group {seq}, although it has later ones: something else than Bindery deleted objects, such as a \
         lifecycle rule of the bucket; end that; nodes that had passed this group have all content; the leader uploads a base within an \
         hour: then restart a node that stopped at this group with an empty folder, or run the command again"
    )]
    Gap {
        /// The sequence number of the group.
        seq: u64,
    },
    /// A base does not exist, perhaps because it was removed meanwhile.
    #[error("the base {name} does not exist any more")]
    NoBase {
        /// The name of the base.
        name: String,
    },
    /// The storage does not do what the log depends on.
    #[error("the storage at {address} cannot hold a cluster: {what}")]
    Unsuitable {
        /// The address of the storage.
        address: String,
        /// The fault, and a kind of storage to use instead.
        what: String,
    },
    /// The storage has less than this server has read of it.
    #[error(
        "the cluster's storage at {address} was set back to an older state, perhaps by a standby that was promoted without the last \
         writes: {what}; see `bindery cluster repair`"
    )]
    SetBack {
        /// The address of the storage.
        address: String,
        /// The difference.
        what: String,
    },
    /// A node's name that cannot be part of an object's name.
    #[error("`{name}` cannot be the name of a node: use 1 to 100 letters, digits, `.`, `-` and `_`")]
    NodeName {
        /// The name.
        name: String,
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
    /// A file changed while it was uploaded.
    #[error("{} changed while it was uploaded", file.display())]
    Changed {
        /// The file.
        file: PathBuf,
    },
    /// An upload was given up before it was complete.
    #[error("the upload is not wanted any more")]
    NotWanted,
    /// The system failed to provide threads or random bytes.
    #[error("the system failed: {0}")]
    System(String),
}

impl From<getrandom::Error> for ClusterError {
    fn from(error: getrandom::Error) -> Self {
        ClusterError::System(format!("no random bytes: {error}"))
    }
}

/// Adds the operation and the file to an error of the system.
pub(crate) fn at(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> ClusterError {
    let file = file.to_owned();
    move |source| ClusterError::Io { action, file, source }
}

/// The reason why a group was not appended, or why that is not known.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// Another group has this sequence number, and nothing was appended. Read it, then decide again.
    #[error("another server appended group {seq} first")]
    Conflict {
        /// The sequence number of the group that exists.
        seq: u64,
    },
    /// Nothing was appended and nothing will be.
    #[error(transparent)]
    Unreachable(Arc<ClusterError>),
    /// The group may or may not be in the log, or may still get there. Only [`crate::Log::resume`] can be called next.
    #[error("it is not known whether the group was appended: {0}")]
    Unknown(String),
    /// The group with this sequence number was removed from the log long ago, so this server is far behind. Begin from
    /// a base. The removed group may have been this one, if an earlier call was answered [`AppendError::Unknown`].
    #[error("group {seq} was appended long ago and removed from the log")]
    Removed {
        /// The sequence number of the group.
        seq: u64,
    },
    /// The group is too large. Nothing was appended.
    #[error("a group of {bytes} bytes is too large for the log of a cluster, which accepts {limit} bytes")]
    TooLarge {
        /// The size of the encoded group.
        bytes: u64,
        /// The largest size.
        limit: u64,
    },
}
