//! Request bodies and import lines made into commands: parsed, checked, sanitized and projected, on the caller's thread.
//!
//! Decides nothing that depends on the state.

pub(crate) mod access;
pub(crate) mod body;
pub(crate) mod bulk;
pub(crate) mod import_line;
pub(crate) mod import_order;
