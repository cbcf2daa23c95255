//! The write path: one thread that decides commands, appends transactions to the log, and causes their application.
//!
//! Knows commands, but not their senders.

pub(crate) mod append;
mod commit;
pub(crate) mod committer;
mod decide;
mod overlay;
mod release;
pub(crate) mod room;
