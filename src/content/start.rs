//! The start: the data folder is locked, the store brought to the end of the log, the index to what the store holds.
//!
//! `base::recover` brings up the store first. The index is then a pure function of it.

pub(crate) mod compare;
pub(crate) mod epoch;
pub(crate) mod error;
pub(crate) mod findings;
pub(crate) mod folder;
pub(crate) mod progress;
pub(crate) mod recovery;
pub(crate) mod repair;
pub(crate) mod salvage;
pub(crate) mod scratch;
pub(crate) mod verify;
