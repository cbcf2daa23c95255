//! The commands of the command line. Each translates its arguments into calls of `Content` or `Analytics`, or into
//! requests to a running server. Must not hold a rule of content.

mod analytics;
mod backup;
mod error;
mod export;
mod folder;
mod import;
mod input;
mod output;
mod remote;
mod salvage;
mod serve;
mod tally;
mod token;
mod verify;

use std::time::Duration;

use self::error::failed;
use crate::config::{Cli, Command};

pub use self::error::CliError;

/// How long threads may take that still run when a command is done.
const SHUTDOWN_TIME: Duration = Duration::from_secs(5);

/// Runs a command to its end.
///
/// # Errors
/// [`CliError`], whose text is meant for the user.
pub fn run(cli: Cli) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| failed("starting the runtime", &error))?;
    let result = runtime.block_on(async {
        match cli.command {
            Command::Serve(args) => serve::serve(*args).await,
            Command::Token(args) => token::token(args.command).await,
            Command::Import(args) => import::import(args).await,
            Command::Export(args) => export::export(args).await,
            Command::Backup(args) => backup::backup(args).await,
            Command::Restore(args) => backup::restore(args).await,
            Command::Verify(args) => verify::verify(args).await,
            Command::Salvage(args) => salvage::salvage(args).await,
            Command::Reindex(args) => verify::reindex(args).await,
            Command::Analytics(args) => analytics::analytics(args.command).await,
        }
    });
    // Everything is written out and closed. Dropping the runtime would wait for threads without a limit.
    runtime.shutdown_timeout(SHUTDOWN_TIME);
    result
}
