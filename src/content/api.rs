//! Requests of callers, apart from reads of resources: writes, bulk, imports, blueprints, tokens, members with their
//! sessions, and backups.
//!
//! Each file adds methods to `Content`. They prepare commands and wait for their outcomes; none of them decides what
//! depends on the state.

pub(crate) mod accounts;
pub(crate) mod backup;
pub(crate) mod blueprints;
pub(crate) mod bulk;
pub(crate) mod cluster;
pub(crate) mod history;
pub(crate) mod idempotency;
pub(crate) mod import;
pub(crate) mod media;
pub(crate) mod members;
pub(crate) mod resources;
pub(crate) mod steering;
pub(crate) mod tokens;
pub(crate) mod trash;
pub(crate) mod views;
pub(crate) mod webhooks;
pub(crate) mod working;
pub(crate) mod written;
