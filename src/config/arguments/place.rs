//! Where a command finds the content: a running server, or a data folder.

use std::path::PathBuf;

use clap::Args;

use crate::settings::Settings;

/// The data folder of a server that is not running.
#[derive(Debug, Clone, PartialEq, Default, Args)]
pub struct FolderArgs {
    /// The data folder [default: the one that `bindery serve` uses]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// A file with settings [default: bindery.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl FolderArgs {
    /// Returns the settings from these flags.
    pub fn settings(&self) -> Settings {
        Settings { data: self.data.clone(), ..Settings::default() }
    }
}

/// A running server, or the data folder of a server that is not running.
#[derive(Debug, Clone, PartialEq, Default, Args)]
pub struct ServerArgs {
    /// The URL of a running server [default: none; the command opens the data folder itself]
    #[arg(long, env = "BINDERY_URL", requires = "token", conflicts_with = "data")]
    pub url: Option<String>,
    /// A token of that server
    #[arg(long, env = "BINDERY_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// The data folder.
    #[command(flatten)]
    pub folder: FolderArgs,
}
