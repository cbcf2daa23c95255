//! Tools for every crate that writes files: failure points for tests, syncs that remember an earlier failure, files
//! that are synced while they are written, and hashes of the bytes that are written and read. Must not know the contents of the files.

pub mod failure;
mod hashing_stream;
mod paced_file;
pub mod sync;

pub use hashing_stream::HashingStream;
pub use paced_file::PacedFile;
