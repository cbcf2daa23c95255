//! Everything that is driven from outside, over HTTP.
//!
//! Modules follow the parts of the contract; tests are named after the rules of `API.md` that they hold.

#![allow(clippy::unwrap_used)]

mod bulk;
mod fields;
mod idempotency;
mod oracle;
mod recovery;
mod support;
mod tidy;
mod writing;
