//! The command line as it is written.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use super::Settings;
use crate::model::time::{format_date, parse_date};

/// A headless content server.
#[derive(Debug, Clone, PartialEq, Parser)]
#[command(name = "bindery", version, about, max_term_width = 100)]
pub struct Cli {
    /// What is to be done.
    #[command(subcommand)]
    pub command: Command,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Command {
    /// Run the server
    Serve(Box<ServeArgs>),
    /// Make, list and revoke tokens
    Token(TokenArgs),
    /// Bring resources in from a file
    Import(ImportArgs),
    /// Write a blueprint's resources to a file
    Export(ExportArgs),
    /// Write everything to one file, also of a running server
    Backup(BackupArgs),
    /// Make a new data folder from a backup
    Restore(RestoreArgs),
    /// Check everything that is stored: every checksum, and the index against the store
    Verify(FolderArgs),
    /// Make the index again from the store
    Reindex(FolderArgs),
    /// Import access logs into the analytics, or delete figures
    Analytics(AnalyticsArgs),
}

/// `bindery serve`
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "BINDERY_ADMIN_TOKEN (32 characters or more) is a token with every ability while it is set.")]
pub struct ServeArgs {
    /// A file with settings [default: bindery.toml, if it is there] [env: BINDERY_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The settings that are given as flags.
    #[command(flatten)]
    pub settings: Settings,
}

/// `bindery token`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct TokenArgs {
    /// What is done with tokens.
    #[command(subcommand)]
    pub command: TokenCommand,
}

/// What is done with tokens.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum TokenCommand {
    /// Make a token and print its secret, this once
    Create {
        /// A name to know it by
        #[arg(long)]
        name: String,
        /// What it may do: view, preview, create, update, delete, publish, analytics:view, manage
        #[arg(long, value_name = "ABILITY,…", value_delimiter = ',', required = true)]
        abilities: Vec<String>,
        /// The blueprints that it is limited to [default: all]
        #[arg(long, value_name = "SLUG,…", value_delimiter = ',')]
        blueprints: Option<Vec<String>>,
        /// How long it is valid, such as 30d, 12h, 90m or 2w [default: until it is revoked]
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires: Option<Duration>,
        /// Where.
        #[command(flatten)]
        server: ServerArgs,
    },
    /// List all tokens
    List {
        /// Where.
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Revoke a token
    Revoke {
        /// Its id
        id: String,
        /// Where.
        #[command(flatten)]
        server: ServerArgs,
    },
}

/// `bindery import`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ImportArgs {
    /// The slug of the blueprint
    pub blueprint: String,
    /// NDJSON; plain, gzip or zstd
    pub file: PathBuf,
    /// Where.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `bindery export`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ExportArgs {
    /// The slug of the blueprint
    pub blueprint: String,
    /// Where to [default: standard output]
    pub file: Option<PathBuf>,
    /// How: ndjson goes in again with `bindery import`, all variants with it
    #[arg(long, value_name = "FORMAT", default_value = "ndjson", value_parser = ["ndjson", "json", "csv"])]
    pub format: String,
    /// What: filters, search and sort as the API takes them, such as `filter[published]=true&sort=title`
    #[arg(long, value_name = "QUERY", default_value = "")]
    pub query: String,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `bindery backup`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct BackupArgs {
    /// The file that is written; there when it is whole
    pub file: PathBuf,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `bindery restore`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct RestoreArgs {
    /// A file that `bindery backup` wrote
    pub file: PathBuf,
    /// Where to.
    #[command(flatten)]
    pub folder: FolderArgs,
}

/// The data folder of a server that does not run.
#[derive(Debug, Clone, PartialEq, Default, Args)]
pub struct FolderArgs {
    /// The data folder [default: as `bindery serve` has it]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// A file with settings [default: bindery.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl FolderArgs {
    /// What these flags say of the server's settings.
    pub fn settings(&self) -> Settings {
        Settings { data: self.data.clone(), ..Settings::default() }
    }
}

/// `bindery analytics`
#[derive(Debug, Clone, PartialEq, Args)]
pub struct AnalyticsArgs {
    /// What is done with the analytics.
    #[command(subcommand)]
    pub command: AnalyticsCommand,
}

/// What is done with the analytics.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum AnalyticsCommand {
    /// Count the pageviews of an access log; a file that was imported before adds only what it has grown by
    Import {
        /// An access log in the combined format; plain, gzip or zstd
        file: PathBuf,
        /// The host that the log is of
        #[arg(long, value_name = "HOST")]
        site: String,
        /// Where.
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Delete a site's figures, those of all days unless some are named; only an access log that is imported again brings its own back
    Delete {
        /// The host whose figures they are
        #[arg(long, value_name = "HOST")]
        site: String,
        /// Those of the days before this one
        #[arg(long, value_name = "YYYY-MM-DD", value_parser = day_before, conflicts_with_all = ["from", "to"])]
        before: Option<String>,
        /// Those of this day and later ones
        #[arg(long, value_name = "YYYY-MM-DD")]
        from: Option<String>,
        /// Those of this day and earlier ones
        #[arg(long, value_name = "YYYY-MM-DD")]
        to: Option<String>,
        /// Where.
        #[command(flatten)]
        server: ServerArgs,
    },
}

/// A running server, or the data folder of one that does not run.
#[derive(Debug, Clone, PartialEq, Default, Args)]
pub struct ServerArgs {
    /// The address of a running server; without it the data folder is worked on
    #[arg(long, env = "BINDERY_URL", requires = "token")]
    pub url: Option<String>,
    /// A token of that server
    #[arg(long, env = "BINDERY_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// The data folder [default: as `bindery serve` has it]
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub data: Option<PathBuf>,
    /// A file with settings [default: bindery.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl ServerArgs {
    /// What these flags say of the server's settings.
    pub fn settings(&self) -> Settings {
        Settings { data: self.data.clone(), ..Settings::default() }
    }
}

/// The day before a day.
fn day_before(text: &str) -> Result<String, String> {
    let day = parse_date(text).ok_or_else(|| "it takes a date such as 2026-11-20".to_owned())?;
    Ok(format_date(day - 1))
}

/// A time to live: a whole number from 1 and one of `m`, `h`, `d`, `w`.
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
    // Beyond a thousand years a date would leave the four digits of its year.
    let seconds = count.zip(unit_seconds).and_then(|(count, unit)| count.checked_mul(unit));
    let seconds = seconds.filter(|seconds| *seconds <= 1_000 * 366 * 86_400);
    seconds.map(Duration::from_secs).ok_or_else(|| "it takes a number and a unit: 90m, 12h, 30d, 2w".to_owned())
}
