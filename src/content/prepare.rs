//! Turns request bodies and import lines into commands: parses, checks, sanitizes and projects them on the caller's
//! thread.
//!
//! Must not decide anything that depends on the state.

pub(crate) mod access;
pub(crate) mod account;
pub(crate) mod body;
pub(crate) mod bulk;
pub(crate) mod import_line;
pub(crate) mod import_order;
pub(crate) mod media;
pub(crate) mod steering;
pub(crate) mod trash;
pub(crate) mod view;
pub(crate) mod webhook;
pub(crate) mod working;
