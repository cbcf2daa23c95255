//! Everything that is driven from outside: one binary, so that it links once and its tests run in parallel.

#![allow(clippy::unwrap_used)]

mod analytics;
mod oracle;
mod recovery;
mod support;
mod tidy;
