//! The arguments of `bindery member`.

use clap::{Args, Subcommand};

use super::place::ServerArgs;

/// `bindery member`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct MemberArgs {
    /// The command.
    #[command(subcommand)]
    pub command: MemberCommand,
}

/// The commands of `bindery member`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum MemberCommand {
    /// Print a link with which somebody sets a password and signs in to the dashboard; it is valid once, for 72 hours
    #[command(
        after_help = "An earlier link of the member is no longer valid. If the member is new, `--role` is needed."
    )]
    Invite {
        /// The email address; a member who does not exist is created
        email: String,
        /// The rights of the member in the dashboard
        #[arg(long, value_name = "ROLE", value_parser = ["owner", "editor", "author", "viewer"])]
        role: Option<String>,
        /// The name of a new member (default: the email address up to `@`)
        #[arg(long)]
        name: Option<String>,
        /// The blueprints that the member is limited to [default: all for a new member]
        #[arg(long, value_name = "SLUG,…", value_delimiter = ',')]
        blueprints: Option<Vec<String>>,
        /// End the limit of the member to some blueprints
        #[arg(long, conflicts_with = "blueprints")]
        all_blueprints: bool,
        /// The server or the data folder.
        #[command(flatten)]
        server: ServerArgs,
    },
}
