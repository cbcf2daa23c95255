//! Drives the real server from outside, over HTTP.
//!
//! Each module covers a part of the contract and cites its sections of `API.md`. `tidy` checks the repository itself.

#![allow(clippy::unwrap_used)]

mod access;
mod access_log;
mod analytics;
mod backup;
mod blueprints;
mod bounds;
mod browser;
mod bulk;
mod changes;
mod clients;
mod commands;
mod compression;
mod concurrency;
mod cursors;
mod damage;
mod dashboard;
mod expand;
mod explain;
mod export;
mod facets;
mod failures;
mod fields;
mod filters;
mod folders;
mod formats;
mod frame;
mod fuzz;
mod idempotency;
mod imports;
mod index_files;
mod leaks;
mod logs;
mod messages;
mod metrics;
mod migrating;
mod model;
mod neighbors;
mod on_delete;
mod openapi;
mod oracle;
mod order;
mod power;
mod private;
mod ranked;
mod reading;
mod recipes;
mod recovery;
mod relations;
mod sanitized;
mod scheduled;
mod searches;
mod sessions;
mod soak;
mod starts;
mod strict;
mod support;
mod tidy;
mod types;
mod variants;
mod webhooks;
mod welcome;
mod writing;
