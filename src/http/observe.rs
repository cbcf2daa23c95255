//! Observability: log lines, metrics, and the names of operations.

pub(crate) mod access_line;
pub(crate) mod access_log;
pub(crate) mod line_writer;
pub(crate) mod metrics;
pub(crate) mod operation;
pub(crate) mod operations;
pub(crate) mod sizes;
