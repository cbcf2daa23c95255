//! One server's side of a log that several servers share.
//!
//! A node keeps its own copy of the log, an ordinary log in its data folder. A group is first appended to the shared
//! log, which decides the order, and only then to the copy. So everything that reads a log (the start, bases, backups,
//! the verification) works as on a single server, and a node that leaves the cluster is a single server already. The
//! copy is a cache all the same: a node whose folder is lost joins again, and loses nothing that was acknowledged.
//!
//! Owns the file `node.json` and the folder `ends` of the data folder. Must not know what a record means.

mod ends;
mod error;
mod history;
mod join;
mod log;
mod membership;
mod repair;
mod status;
#[cfg(test)]
mod tests;
mod upkeep;

pub use bindery_cluster::{BaseInfo, NodeRecord};
pub use ends::ENDS_FOLDER;
pub use error::ReplicaError;
pub use history::NewestHistory;
pub use join::{Leaving, NewCluster, Node, check_address};
pub use log::ReplicatedLog;
pub use membership::{NODE_FILE, is_node};
pub use repair::append_missing;
pub use status::{Standing, Status};
pub use upkeep::{ClusterFacts, NodeFacts, Upkeep, own_clock};
