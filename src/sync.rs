//! Syncs of files, see `bindery_index::sync`: one memory of failed ones for both crates. Must not know what files hold.

pub use bindery_index::sync::{all, data, has_failed, note_failed, record};
