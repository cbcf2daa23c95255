//! Everything that is driven from outside, over HTTP.
//!
//! Modules follow the parts of the contract; tests are named after the rules of `API.md` that they hold.

#![allow(clippy::unwrap_used)]

mod access;
mod analytics;
mod backup;
mod blueprints;
mod bulk;
mod concurrency;
mod export;
mod fields;
mod filters;
mod frame;
mod fuzz;
mod idempotency;
mod imports;
mod messages;
mod model;
mod oracle;
mod order;
mod reading;
mod recipes;
mod recovery;
mod support;
mod tidy;
mod variants;
mod writing;
