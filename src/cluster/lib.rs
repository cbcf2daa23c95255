//! The log that the servers of a cluster share, in object storage or in PostgreSQL.
//!
//! Owns the protocol by which several servers append to one ordered log: a name for each group of records, created
//! once and never free again; the objects' encoding; bases; the list of nodes. Safety depends on one operation of the
//! store, *create this name unless it exists*, and on no clock and no leader.
//!
//! Knows groups of opaque records, and files. Must not know what a record means, what a transaction is, or that there
//! is an HTTP server. All calls block and may come from any thread that is not one of an asynchronous runtime.
//!
//! ```text
//! cluster.json                        format, id of the cluster; created once
//! histories/0001                      id of the history, how it began; the highest one counts
//! 0001/log/00000000000000012345       one object for each group, named by its sequence number
//! 0001/bases/00000000000000012000-R   a base file, behind a header with its position and hash
//! 0001/removed.json                   where removal goes on; only saves a long list
//! nodes/NODE.json                     what each node says about itself
//! ```

mod address;
mod append;
mod bases;
mod beside;
mod cluster;
mod error;
mod follow;
mod group;
mod http;
mod id;
mod log;
mod nodes;
mod objects;
mod position;
mod postgres;
mod probe;
mod read_ahead;
mod removal;
#[cfg(test)]
mod tests;

pub use append::Wait;
pub use bases::BaseInfo;
pub use cluster::{ClusterInfo, History, PreparedHistory, Store};
pub use error::{AppendError, ClusterError};
pub use follow::{FollowStatus, Follower};
pub use group::{Group, GroupError, MAX_GROUP_BYTES};
pub use log::{Found, Log, PositionMatch};
pub use nodes::NodeRecord;
pub use position::{ChainHash, Position};
pub use read_ahead::ReadAhead;
