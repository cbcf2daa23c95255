//! Everything that is driven from outside.
#![allow(clippy::unwrap_used)]

mod oracle;
mod support;
