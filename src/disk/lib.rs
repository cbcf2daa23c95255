//! Needed by every crate that writes files: points of failure for tests, syncs that remember a failed one, and hashes of what
//! is written and read. Must not know what files hold.

pub mod failure;
mod hashing_stream;
pub mod sync;

pub use hashing_stream::HashingStream;
