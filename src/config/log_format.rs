//! The forms of the access log.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The form of the line that the server writes to standard output for each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Not at all.
    #[default]
    Off,
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}
