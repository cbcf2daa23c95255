//! Needed by every crate that writes files: points of failure for tests, syncs that remember a failed one, and hashes of what
//! is written and read. Must not know what files hold.

pub mod failure;
mod hashed;
pub mod sync;

pub use hashed::Hashed;
