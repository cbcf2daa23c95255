//! Drives the real server from outside, over HTTP.
//!
//! Each module covers a part of the contract and cites its sections of `API.md`. `tidy` checks the repository itself.

#![allow(clippy::unwrap_used)]

mod access;
mod analytics;
mod backup;
mod blueprints;
mod bulk;
mod clients;
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
