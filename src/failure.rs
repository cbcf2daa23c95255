//! Points of failure for tests, see `bindery_index::failure`: one mechanism for both crates. Must not know what fails.

pub use bindery_index::failure::{is_asked_for, point, write};
