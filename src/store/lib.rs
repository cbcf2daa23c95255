//! The store: the canonical documents, in sled. The only module that knows sled 0.34.
//!
//! Owns the keys, the format of stored values and their checksums, the format of transactions in the log, and the
//! number of the last applied log record. It must not know what a value means or when the log is synced.
//!
//! sled does not make data durable: its `flush` is not an fsync, and it reuses space whose new contents have only been
//! handed to the kernel. The log and its bases are durable. A store that does not open or fails a checksum is rebuilt
//! from them (`base::recover`).
//!
//! Keys are in two databases (`databases.rs`). One thread writes them, with plain inserts: a sled batch or transaction
//! would take a lock that blocks every later read. So a transaction is not applied atomically. Replaying it is
//! idempotent, and its number is written after its writes.

mod boot;
mod checkpoint;
mod compress;
mod counter;
mod databases;
mod dictionary_trainer;
mod environment;
mod error;
mod key;
mod noted;
mod options;
mod read_all;
mod record;
mod room;
mod scan;
#[cfg(test)]
mod tests;
mod transaction;
mod tree;
mod watch;
mod write;

pub use checkpoint::checkpointed;
pub use checkpoint::condemned;
pub use counter::Counter;
pub use error::StoreError;
pub use key::{Key, KeyText, Prefix};
pub use options::StoreOptions;
pub use room::{KEPT_FREE_BYTES, check_room};
pub use scan::{Entries, Entry, Scan};
pub use transaction::{Assembler, Transaction, encode_transaction, ends_transaction};
pub use tree::Store;
pub use watch::{has_failed_write, watch_syncs};
pub use write::{StoreWrite, WriteOp, WritesError, decode_writes, encode_writes};
