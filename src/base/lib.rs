//! Bases: a base is one file with the complete contents of the store at one log number.
//!
//! Owns the format of the file, writes a base while the store changes, and recovers log and store at a start
//! (`recover`). It must not know what a value means.
//!
//! **Why a scan of a changing store yields an exact state.** Let *n* be the number of the last applied record when the
//! scan begins, and *m* when it ends. The scan visits keys in order while the records *n*+1 to *m* are applied, so it
//! may see an entry as of any number from *n* to *m*. The file therefore contains these records behind the entries, and
//! a restore replays them in order:
//!
//! - A key that some of these records write ends up as the last of them wrote it, no matter what the scan saw: records
//!   hold results, never commands.
//! - A key that none of them writes did not change during the scan. The scan cannot miss it, because sled never moves
//!   an entry past a key that an iterator has reached.
//!
//! Versions of copies are no exception: a version that a record removed during the scan is not referenced by any
//! resource as of *m*. So the file alone gives the exact state at *m*. It can serve as a backup, and the log up to *m*
//! may be removed.

mod aside;
mod error;
mod files;
mod format;
mod recover;
mod remains;
pub mod restoring;
#[cfg(test)]
mod tests;

pub use aside::number_of_aside;
pub use error::BaseError;
pub use files::{list, newest, place, rest_of, restore, verify, write, write_next, write_while};
pub use format::{Header, envelope};
pub use recover::{LOG, RecoverOptions, RecoveryReport, STORE, recover, recover_reporting};
pub use remains::{FolderRemains, collect_remains};
