//! The write path: one thread that decides commands, appends transactions to the log and has them applied.
//!
//! Knows commands, not who sends them.

pub(crate) mod append;
mod commit;
pub(crate) mod committer;
mod decide;
mod overlay;
mod release;
pub(crate) mod room;
