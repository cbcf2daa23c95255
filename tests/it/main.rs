//! Everything that is driven from outside, over HTTP.
//!
//! Modules follow the parts of the contract; tests are named after the rules of `API.md` that they hold.

#![allow(clippy::unwrap_used)]

mod backup;
mod bulk;
mod concurrency;
mod fields;
mod idempotency;
mod model;
mod oracle;
mod recovery;
mod support;
mod tidy;
mod writing;
