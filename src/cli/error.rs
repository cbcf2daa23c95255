//! Why a command failed, as its user reads it. Must not know commands.

use std::fmt::Display;

use bindery_analytics::{BackupError, OpenError};
use bindery_config::ConfigError;
use bindery_content::StartError;
use bindery_model::error::Error;

/// Why a command failed. Its text is meant for the user.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data folder cannot be opened.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The analytics cannot be opened.
    #[error(transparent)]
    Analytics(#[from] OpenError),
    /// The analytics in a backup cannot be read or restored.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// `Content` or `Analytics` rejected the call.
    #[error("{0}")]
    Content(#[from] Error),
    /// A file or a connection failed.
    #[error("{what}: {cause}")]
    Io {
        /// What the command was doing.
        what: String,
        /// Why it failed.
        cause: String,
    },
    /// A server answered with an error.
    #[error("the server answered {status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The message of the error.
        message: String,
    },
    /// A folder was salvaged, and something is lost. The exit code is 2.
    #[error("{0}")]
    Lost(String),
    /// An argument is invalid, or the command ended before everything was done.
    #[error("{0}")]
    Incomplete(String),
}

/// A [`CliError::Io`]: `what` the command was doing, such as `reading the file`, and why that failed.
pub(super) fn failed(what: impl Into<String>, cause: &dyn Display) -> CliError {
    CliError::Io { what: what.into(), cause: cause.to_string() }
}
