//! Bases: one file that holds everything the store held at one number of the log.
//!
//! It owns the file's format, how a base is written while the store changes, and how log and store are brought up at a
//! start (`recover`). It must not know what a value means.
//!
//! **Why a walk over a changing store gives an exact state.** The walk begins at number *n*: everything up to *n* is in
//! the store. It visits keys in order while later records are applied, so an entry may be seen as of any number from *n*
//! to *m*, the one the store stands at when the walk ends. Records hold results, never commands: whatever a key was seen
//! as, after replaying *n*+1 to *m* in order it is what the last of them that names it makes of it — put, deleted, or
//! deleted and put again. A key that none of them names did not change during the walk, and the walk cannot miss it,
//! since sled never moves an entry past a key that an iterator has reached. This holds for the versions of copies, too:
//! a version that was swept meanwhile (by a record) is named by no resource as of *m*. So the file carries the records
//! *n*+1 to *m* behind the entries, and is exact at *m* by itself: it is a backup, and the log below *m*+1 may go.

mod error;
mod files;
mod format;
mod recover;
#[cfg(test)]
mod tests;

pub use error::BaseError;
pub use files::{all, newest, place, restore, verify, write, write_next};
pub use format::Header;
pub use recover::{RecoverOptions, Recovered, recover, salvage};
