//! The start: locks the data folder, brings the store to the end of the log, and the index to the store.
//!
//! `base::recover` brings up the store first. The index then depends on the store only.

pub(crate) mod cluster_restore;
pub(crate) mod compare;
pub(crate) mod epoch;
pub(crate) mod error;
pub(crate) mod findings;
pub(crate) mod folder;
pub(crate) mod histories;
pub(crate) mod node;
pub(crate) mod progress;
pub(crate) mod recovery;
pub(crate) mod repair;
pub(crate) mod salvage;
pub(crate) mod scratch;
pub(crate) mod upgrade;
pub(crate) mod verify;
