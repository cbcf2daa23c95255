//! `bindery cluster`: making a cluster of a server, and a server of a node.

use clap::{Args, Subcommand};

use super::place::FolderArgs;
use crate::settings::Settings;

/// `bindery cluster`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ClusterArgs {
    /// The command.
    #[command(subcommand)]
    pub command: ClusterCommand,
}

/// The commands of `bindery cluster`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum ClusterCommand {
    /// Put the content of a stopped server into a log that several servers share; the folder becomes the first node
    #[command(
        after_help = "An empty folder makes an empty cluster. Further nodes begin with an empty folder: `bindery serve --log URL --data DIR`."
    )]
    Create(NodeArgs),
    /// Make a single server of a stopped node
    Leave(NodeArgs),
}

/// A stopped server and the log of a cluster.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct NodeArgs {
    /// The address of the log, such as `s3://bucket/prefix`, or `file:///DIR` for trying it on one machine
    #[arg(long, env = "BINDERY_LOG", value_name = "URL")]
    pub log: String,
    /// The folder.
    #[command(flatten)]
    pub folder: FolderArgs,
}

impl NodeArgs {
    /// Returns the settings from these flags.
    pub fn settings(&self) -> Settings {
        Settings { log: Some(self.log.clone()), ..self.folder.settings() }
    }
}
