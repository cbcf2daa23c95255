//! A server as a node of a cluster (API.md 4.20): the numbers with which clients follow their own writes, writes that
//! are forwarded to the leader, and who leads.
//!
//! Nothing here is needed for safety: the log orders all writes, whoever makes them.

pub(crate) mod counting;
pub(crate) mod forward;
pub(crate) mod hints;
pub(crate) mod key;
pub(crate) mod numbers;
mod peer;
pub(crate) mod watch;
