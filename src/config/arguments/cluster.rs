//! `bindery cluster`: making a cluster of a server, and a server of a node; restoring a cluster.

use std::path::PathBuf;

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
    /// Restore all nodes of a cluster to a backup, or to an earlier moment, while they run
    #[command(
        after_help = "The nodes stop writing for a moment and begin again from the restored state by themselves. What was written after the moment stays in the storage, in a history that no node uses. A number is that of the header `Bindery-Number`; a time is one like 2026-11-25T14:30:00Z, and stands for the last change until then. The log goes back a day, or as far as its two newest bases."
    )]
    Restore(ClusterRestoreArgs),
    /// Give the log of a cluster back what it lost, from the folder of a stopped node that still has it
    #[command(
        after_help = "For a storage that was set back to an older state. Use the node that has most: the error of a start names the last record that each node has. Nothing is written if the log has other records than the node."
    )]
    Repair(ClusterRepairArgs),
    /// Allow all nodes of a cluster to write the newest format, once each of them has this version, while they run
    #[command(
        after_help = "Run it after the last node was upgraded. Nodes with an older version are named, and nothing is changed. Afterwards no older version can follow the cluster. It may be repeated."
    )]
    Upgrade(ClusterUpgradeArgs),
    /// Make a single server of a stopped node, which takes the analytics of the cluster along
    #[command(
        after_help = "Nothing is changed if the address is not that of the node's cluster, or its storage cannot be read. If the storage is gone for good, `--without-storage` leaves with the content that the node has, and without the analytics of the cluster."
    )]
    Leave(ClusterLeaveArgs),
}

/// A stopped server and the log of a cluster.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct NodeArgs {
    /// The address of the log: `s3://bucket/prefix`, `postgres://USER@HOST/DATABASE`, or `file:///DIR` for trying it
    #[arg(long, env = "BINDERY_LOG", value_name = "URL")]
    pub log: String,
    /// The folder.
    #[command(flatten)]
    pub folder: FolderArgs,
}

/// `bindery cluster restore`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ClusterRestoreArgs {
    /// The moment: a file that `bindery backup` wrote, a number, or a time
    #[arg(long, value_name = "FILE|NUMBER|TIME")]
    pub to: String,
    /// Leave webhooks as they were at that moment; otherwise they are switched off
    #[arg(long)]
    pub keep_webhooks: bool,
    /// The folder for temporary files, which take as much space as a node [default: the one of the system]
    #[arg(long, value_name = "DIR")]
    pub temporary: Option<PathBuf>,
    /// The cluster.
    #[command(flatten)]
    pub node: NodeArgs,
}

/// `bindery cluster repair`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ClusterRepairArgs {
    /// Where the log has other records than the node: end its history, and begin the next one with the content of this
    /// node
    #[arg(long)]
    pub new_history: bool,
    /// The folder for temporary files of `--new-history` [default: the one of the system]
    #[arg(long, value_name = "DIR")]
    pub temporary: Option<PathBuf>,
    /// The node.
    #[command(flatten)]
    pub node: NodeArgs,
}

/// `bindery cluster leave`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ClusterLeaveArgs {
    /// The address of the log
    #[arg(long, env = "BINDERY_LOG", value_name = "URL", required_unless_present = "without_storage")]
    pub log: Option<String>,
    /// Do not ask the storage of the cluster, because it is gone for good: the analytics of the cluster stay behind
    #[arg(long)]
    pub without_storage: bool,
    /// The folder.
    #[command(flatten)]
    pub folder: FolderArgs,
}

/// `bindery cluster upgrade`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ClusterUpgradeArgs {
    /// The address of the log
    #[arg(long, env = "BINDERY_LOG", value_name = "URL")]
    pub log: String,
}

impl NodeArgs {
    /// Returns the settings from these flags.
    pub fn settings(&self) -> Settings {
        Settings { log: Some(self.log.clone()), ..self.folder.settings() }
    }
}
