//! The command line: commands, arguments, flags and their help. Must not know what a command does.

mod cluster;
mod content;
mod member;
mod place;

use std::path::PathBuf;
use std::time::Duration;

use bindery_model::time::{format_date, parse_date};
use clap::{Args, Parser, Subcommand};

use super::settings::Settings;
pub use cluster::{
    ClusterArgs, ClusterCommand, ClusterLeaveArgs, ClusterRepairArgs, ClusterRestoreArgs, ClusterUpgradeArgs, NodeArgs,
};
pub use content::{BlueprintArgs, BlueprintCommand, ImportArgs, TableArgs, TypesArgs};
pub use member::{MemberArgs, MemberCommand};
pub use place::{FolderArgs, ServerArgs};

/// A headless content server.
#[derive(Debug, Clone, PartialEq, Parser)]
#[command(
    name = "bindery",
    version,
    about,
    max_term_width = 100,
    after_help = "Exit codes: 0 if everything was done, 1 if something was not, 2 if the command line is wrong (or if `salvage` lost something)."
)]
pub struct Cli {
    /// Print results and errors only: no progress, no summaries
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Command {
    /// Run the server
    Serve(Box<ServeArgs>),
    /// Create, list and revoke tokens
    Token(TokenArgs),
    /// Invite members to the dashboard
    Member(MemberArgs),
    /// Import resources from a file
    Import(ImportArgs),
    /// Export the resources of a blueprint
    Export(ExportArgs),
    /// Keep blueprints as files: pull, compare, apply; or propose one for a file of data
    Blueprint(BlueprintArgs),
    /// Print the types of the blueprints that exist, and a client, for programs
    Types(TypesArgs),
    /// Write all content to one file; the server may keep running
    Backup(BackupArgs),
    /// Create a data folder from a backup
    Restore(RestoreArgs),
    /// Check a data folder: every checksum, and the index against the store; nothing in it is changed
    Verify(VerifyArgs),
    /// Make a new data folder of what is left of a damaged one, which is not changed
    Salvage(SalvageArgs),
    /// Rebuild the index from the store
    Reindex(FolderArgs),
    /// Move the files of media to another place
    Media(MediaArgs),
    /// Share the log with other servers, or stop sharing it
    Cluster(ClusterArgs),
    /// Import access logs into the analytics, or delete pageviews
    Analytics(AnalyticsArgs),
    /// Ask a running server whether it accepts writes; exit code 1 if it does not
    Health {
        /// The URL of the server
        #[arg(env = "BINDERY_URL", default_value = "http://127.0.0.1:7700")]
        url: String,
    },
    /// Check the configuration of `serve`, or show where each value comes from
    Config(ConfigArgs),
    /// Print completions for a shell, such as `source <(bindery completions bash)`
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, such as `bindery man | man -l -`
    Man,
}

/// `bindery config`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ConfigArgs {
    /// The command.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// The commands of `bindery config`. Each takes the flags of `bindery serve`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum ConfigCommand {
    /// Say whether a server would start with this configuration; exit code 1 if not
    Check(Box<ServeArgs>),
    /// Show each setting, its value, and where that comes from
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// The flags of `serve`.
        #[command(flatten)]
        serve: Box<ServeArgs>,
    },
}

/// `bindery serve`
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "BINDERY_ADMIN_TOKEN: a token of 32 characters or more with every ability, valid while the variable is set"
)]
pub struct ServeArgs {
    /// A file with settings [default: bindery.toml, if it exists] [env: BINDERY_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The settings from flags.
    #[command(flatten)]
    pub settings: Settings,
}

/// `bindery token`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct TokenArgs {
    /// The command.
    #[command(subcommand)]
    pub command: TokenCommand,
}

/// The commands of `bindery token`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum TokenCommand {
    /// Create a token and print its secret, which cannot be shown again
    Create {
        /// The token's name, for lists
        #[arg(long)]
        name: String,
        /// The token's abilities: view, preview, create, update, delete, publish, analytics:view, manage
        #[arg(long, value_name = "ABILITY,…", value_delimiter = ',', required = true)]
        abilities: Vec<String>,
        /// The blueprints that the token is limited to [default: all]
        #[arg(long, value_name = "SLUG,…", value_delimiter = ',')]
        blueprints: Option<Vec<String>>,
        /// The time for which the token is valid, such as 90m, 12h, 30d or 2w [default: until it is revoked]
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires: Option<Duration>,
        /// The server or the data folder.
        #[command(flatten)]
        server: ServerArgs,
    },
    /// List all tokens
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// The server or the data folder.
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Revoke a token
    Revoke {
        /// The token's id
        id: String,
        /// The server or the data folder.
        #[command(flatten)]
        server: ServerArgs,
    },
}

/// `bindery export`
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
Examples:
  bindery export articles articles.ndjson
  bindery export products products.csv.gz
  bindery export products for-excel.csv --spreadsheet --delimiter ';' --decimal-comma

A table has lists as `a,b` and money as `485.90 EUR`, as `bindery import` reads them. With `--spreadsheet` it is for people
who open it, not for importing again: it begins with the mark by which Excel knows UTF-8, and a cell that a spreadsheet would
run as a formula begins with `'`. Excel in German and many other languages needs `--delimiter ';' --decimal-comma`.")]
pub struct ExportArgs {
    /// The slug of the blueprint
    pub blueprint: String,
    /// The file to write, compressed if its name ends in `.gz` or `.zst` [default: standard output]
    pub file: Option<PathBuf>,
    /// The format; ndjson has all variants and can be imported again with `bindery import` [default: what the name of
    /// the file says, or else ndjson]
    #[arg(long, value_name = "FORMAT", value_parser = ["ndjson", "json", "csv"])]
    pub format: Option<String>,
    /// What separates the elements of a list in a cell of a table
    #[arg(long, value_name = "TEXT", default_value = ",")]
    pub list_separator: String,
    /// What separates the cells of a table, one character [default: `,`]
    #[arg(long, value_name = "CHARACTER", value_parser = content::delimiter)]
    pub delimiter: Option<u8>,
    /// Write numbers and amounts of a table with a decimal comma, such as `485,90 EUR`
    #[arg(long)]
    pub decimal_comma: bool,
    /// Write a table for Excel and other spreadsheets, none of whose cells is run as a formula
    #[arg(long)]
    pub spreadsheet: bool,
    /// Filters, search and sort in the syntax of the API, such as `filter[published]=true&sort=title`
    #[arg(long, value_name = "QUERY", default_value = "")]
    pub query: String,
    /// The server or the data folder.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `bindery backup`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct BackupArgs {
    /// The file to write; it appears once it is complete. The files of media follow in a second one, `FILE.media`
    pub file: PathBuf,
    /// Leave out the files of media
    #[arg(long)]
    pub without_media: bool,
    /// The server or the data folder.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `bindery media`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct MediaArgs {
    /// The command.
    #[command(subcommand)]
    pub command: MediaCommand,
}

/// The commands of `bindery media`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum MediaCommand {
    /// Copy the files of a stopped server to another place; then set `media_store`
    #[command(
        after_help = "Files that are there already are not copied again, so the command can be repeated. The old place stays as it is: remove it once the server runs with the new one."
    )]
    Move {
        /// The new place: `s3://BUCKET/PREFIX`, `gs://…`, `az://…`, `file:///DIR`, or `folder` for the data folder
        #[arg(long, value_name = "PLACE")]
        to: String,
        /// The data folder.
        #[command(flatten)]
        folder: FolderArgs,
    },
    /// Make a stopped server the owner of the bucket `media_store`; only the owner removes files from it
    #[command(
        after_help = "A server that was restored from a backup is not the owner of the bucket of its original, whose newer files it does not know. Make it the owner once the original is gone for good."
    )]
    Own {
        /// The data folder.
        #[command(flatten)]
        folder: FolderArgs,
    },
}

/// `bindery restore`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct RestoreArgs {
    /// A file that `bindery backup` wrote
    pub file: PathBuf,
    /// Leave webhooks as they are in the backup; otherwise they are switched off, so that a copy sends nothing to the
    /// receivers of the original
    #[arg(long)]
    pub keep_webhooks: bool,
    /// The new data folder.
    #[command(flatten)]
    pub folder: FolderArgs,
}

/// `bindery verify`
#[derive(Debug, Clone, PartialEq, Default, Args)]
#[command(
    after_help = "Store and index cannot be read without writing to them, so they are copied first: this needs as much space as they take. The copies are removed again. Exit code: 0 if there are no problems, 1 otherwise."
)]
pub struct VerifyArgs {
    /// The data folder.
    #[command(flatten)]
    pub folder: FolderArgs,
    /// The folder for temporary copies [default: the one that the data folder is in]
    #[arg(long, value_name = "DIR")]
    pub temporary: Option<PathBuf>,
}

/// `bindery salvage`
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Exit code: 0 if nothing is lost, 2 if the new folder was made and something is lost, 1 if it was not made."
)]
pub struct SalvageArgs {
    /// The new data folder: it must be empty, or not exist
    #[arg(long, value_name = "NEWDIR")]
    pub to: PathBuf,
    /// The damaged data folder.
    #[command(flatten)]
    pub folder: FolderArgs,
}

/// `bindery analytics`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct AnalyticsArgs {
    /// The command.
    #[command(subcommand)]
    pub command: AnalyticsCommand,
}

/// The commands of `bindery analytics`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum AnalyticsCommand {
    /// Count the pageviews of an access log; a log that was imported before adds only its new lines
    Import {
        /// An access log in the combined format: plain, gzip or zstd
        file: PathBuf,
        /// The host that the log belongs to
        #[arg(long, value_name = "HOST")]
        site: String,
        /// The server or the data folder.
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Move damaged files aside, of a server that is not running, so that reports show what is left
    Repair {
        /// The data folder.
        #[command(flatten)]
        folder: FolderArgs,
    },
    /// Delete the pageviews of a site, of all days or of some; to restore those of an access log, import it again
    Delete {
        /// The host whose pageviews to delete
        #[arg(long, value_name = "HOST")]
        site: String,
        /// Delete only the days before this one
        #[arg(long, value_name = "YYYY-MM-DD", value_parser = day_before, conflicts_with_all = ["from", "to"])]
        before: Option<String>,
        /// Delete only this day and later ones
        #[arg(long, value_name = "YYYY-MM-DD")]
        from: Option<String>,
        /// Delete only this day and earlier ones
        #[arg(long, value_name = "YYYY-MM-DD")]
        to: Option<String>,
        /// The server or the data folder.
        #[command(flatten)]
        server: ServerArgs,
    },
}

/// Returns the day before a day.
fn day_before(text: &str) -> Result<String, String> {
    let day = parse_date(text).ok_or_else(|| "it must be a date such as 2026-11-20".to_owned())?;
    Ok(format_date(day - 1))
}

/// Returns a lifetime: a whole number of 1 or more, and one of the units `m`, `h`, `d`, `w`.
pub(super) fn lifetime(text: &str) -> Result<Duration, String> {
    let split = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let unit_seconds = match unit {
        "m" => Some(60_u64),
        "h" => Some(3_600),
        "d" => Some(86_400),
        "w" => Some(604_800),
        _ => None,
    };
    let count = digits.parse::<u64>().ok().filter(|count| *count >= 1);
    // A date more than a thousand years from now might not fit the four digits of a year.
    let seconds = count.zip(unit_seconds).and_then(|(count, unit)| count.checked_mul(unit));
    let seconds = seconds.filter(|seconds| *seconds <= 1_000 * 366 * 86_400);
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| "it must be a number and a unit, such as 90m, 12h, 30d or 2w".to_owned())
}
