//! The forms of the access log.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// In which form the server writes a line for each request to standard output.
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
