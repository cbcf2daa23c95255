//! The errors of commands, as shown to the user. Must not know commands.

use std::fmt::Display;

use bindery_analytics::{BackupError, OpenError};
use bindery_config::ConfigError;
use bindery_content::StartError;
use bindery_model::error::Error;

/// The reason why a command failed. Its text is meant for the user.
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
        /// The action of the command.
        what: String,
        /// The reason why it failed.
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
    /// A folder was salvaged, and some data is lost. The exit code is 2.
    #[error("{0}")]
    Lost(String),
    /// An argument is invalid, or the command ended before everything was done.
    #[error("{0}")]
    Incomplete(String),
}

/// Returns a [`CliError::Io`]: `what` is the action of the command, such as `reading the file`, and `cause` why it
/// failed.
pub(super) fn failed(what: impl Into<String>, cause: &dyn Display) -> CliError {
    CliError::Io { what: what.into(), cause: cause.to_string() }
}
