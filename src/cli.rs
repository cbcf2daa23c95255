//! The commands of the command line. Each translates its arguments into calls of `Content`, or of a running server.
//!
//! Standard output is theirs: what a command answers. What the server notes goes to standard error.

mod analytics;
mod backup;
mod export;
mod import;
mod remote;
mod serve;
mod token;
mod verify;

use std::io::{IsTerminal as _, Write as _};

use crate::analytics::{Analytics, AnalyticsOptions, OpenError};
use crate::config::{Cli, Command, Config, ConfigError, FolderArgs, ServerArgs};
use crate::content::{Content, ContentOptions, IndexOptions, StartError};
use crate::model::error::Error;

/// Why a command failed: what the person at the terminal is told.
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
    /// Content refused.
    #[error("{0}")]
    Content(#[from] Error),
    /// A file or a socket failed.
    #[error("{what}: {cause}")]
    Io {
        /// What was being done.
        what: String,
        /// Why it failed.
        cause: String,
    },
    /// A server answered otherwise than with success.
    #[error("the server answered {status}: {message}")]
    Refused {
        /// The status.
        status: u16,
        /// Its message.
        message: String,
    },
    /// The command ended, but not all of it was done.
    #[error("{0}")]
    Incomplete(String),
}

/// Runs a command to its end.
///
/// # Errors
/// [`CliError`], to be shown as it is.
pub fn run(cli: Cli) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| failed("starting the runtime", &error))?;
    runtime.block_on(async {
        match cli.command {
            Command::Serve(args) => serve::serve(*args).await,
            Command::Token(args) => token::token(args.command).await,
            Command::Import(args) => import::import(args).await,
            Command::Export(args) => export::export(args).await,
            Command::Backup(args) => backup::backup(args).await,
            Command::Restore(args) => backup::restore(args).await,
            Command::Verify(args) => verify::verify(args).await,
            Command::Reindex(args) => verify::reindex(args).await,
            Command::Analytics(args) => analytics::analytics(args.command).await,
        }
    })
}

fn failed(what: impl Into<String>, cause: &dyn std::fmt::Display) -> CliError {
    CliError::Io { what: what.into(), cause: cause.to_string() }
}

/// Writes a line of a command's answer. A reader that went away ends the command quietly at its next step.
fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn start_log(filter: &str) {
    // The HTML parser warns of what people send, which is theirs to send; a filter that names it has the last word.
    let filter = tracing_subscriber::EnvFilter::new(format!("html5ever=error,{filter}"));
    // A second start in one process keeps the first subscriber.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let _ = log.with_ansi(std::io::stderr().is_terminal()).try_init();
}

/// Opens the data folder that the arguments name, for a command that works on what is there.
async fn open_existing(server: &ServerArgs) -> Result<Content, CliError> {
    let config = Config::load(server.settings(), server.config.as_deref())?;
    if !config.data.is_dir() {
        return Err(failed(config.data.display().to_string(), &"there is no data folder"));
    }
    start_log("warn");
    open(&config).await
}

/// Opens the data folder that the arguments name, for a command that works on it alone.
async fn open_folder(server: &ServerArgs) -> Result<Content, CliError> {
    let config = Config::load(server.settings(), server.config.as_deref())?;
    start_log("warn");
    open(&config).await
}

fn content_options(config: &Config) -> ContentOptions {
    ContentOptions {
        folder: config.data.clone(),
        admin_token: config.admin_token.as_ref().map(|token| token.secret().to_owned()),
        video_hosts: config.video_hosts.clone(),
        store_cache_bytes: config.store_cache_bytes,
        index: IndexOptions::default(),
    }
}

/// How the data folder that the arguments name is opened, for a command that no running server can do.
fn folder_options(folder: &FolderArgs) -> Result<ContentOptions, CliError> {
    let config = Config::load(folder.settings(), folder.config.as_deref())?;
    start_log("warn");
    Ok(content_options(&config))
}

/// Runs what blocks on a thread of its own.
async fn blocking<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<T, CliError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| failed(what, &error))
}

async fn open(config: &Config) -> Result<Content, CliError> {
    let options = content_options(config);
    let opened = tokio::task::spawn_blocking(move || Content::open(&options)).await;
    opened.map_err(|error| failed("opening the data folder", &error))?.map_err(CliError::from)
}

async fn open_analytics(config: &Config) -> Result<Analytics, CliError> {
    let settings = &config.analytics;
    let options = AnalyticsOptions {
        sites: settings.sites.clone(),
        country_file: settings.country_file.clone(),
        retention_days: settings.retention_days,
        ..AnalyticsOptions::in_folder(&config.data)
    };
    let opened = tokio::task::spawn_blocking(move || Analytics::open(&options)).await;
    opened.map_err(|error| failed("opening the analytics", &error))?.map_err(CliError::from)
}

async fn close_analytics(analytics: Analytics) -> Result<(), CliError> {
    tokio::task::spawn_blocking(move || analytics.close())
        .await
        .map_err(|error| failed("closing the analytics", &error))
}

async fn close(content: Content) -> Result<(), CliError> {
    tokio::task::spawn_blocking(move || content.close())
        .await
        .map_err(|error| failed("closing the data folder", &error))
}
