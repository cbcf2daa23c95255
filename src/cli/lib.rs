//! The commands of the command line. Each translates its arguments into calls of `Content` or `Analytics`, or into
//! requests to a running server. Must not hold a rule of content.

mod analytics;
mod backup;
mod blueprint;
mod blueprint_file;
mod cluster;
mod config;
mod error;
mod export;
mod fetched;
mod folder;
mod format;
mod guess;
mod import;
mod infer;
mod input;
mod json_log;
mod machine;
mod media;
mod member;
mod output;
mod private;
mod rejects;
mod remote;
mod rows;
mod salvage;
mod serve;
mod source;
mod survey;
mod table;
mod tally;
mod token;
mod types;
mod verify;

use std::time::Duration;

use bindery_config::{Cli, Command};

use self::error::failed;

pub use self::error::CliError;

/// The time for threads that still run when a command is done.
const SHUTDOWN_TIME: Duration = Duration::from_secs(5);

/// Prints the error of a failed command for its user.
pub fn print_error(error: &CliError) {
    output::print_error(error);
}

/// Runs a command to its end.
///
/// # Errors
/// [`CliError`], whose text is meant for the user.
pub fn run(cli: Cli) -> Result<(), CliError> {
    private::keep_new_files_private();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| failed("starting the runtime", &error))?;
    if cli.quiet {
        output::be_quiet();
    }
    let result = runtime.block_on(async {
        match cli.command {
            Command::Serve(args) => serve::serve(*args).await,
            Command::Token(args) => token::token(args.command).await,
            Command::Member(args) => member::member(args.command).await,
            Command::Import(args) => import::import(args).await,
            Command::Export(args) => export::export(args).await,
            Command::Blueprint(args) => blueprint::blueprint(args.command).await,
            Command::Types(args) => types::types(args).await,
            Command::Backup(args) => backup::backup(args).await,
            Command::Restore(args) => backup::restore(args).await,
            Command::Verify(args) => verify::verify(args).await,
            Command::Salvage(args) => salvage::salvage(args).await,
            Command::Reindex(args) => verify::reindex(args).await,
            Command::Media(args) => media::media(args.command).await,
            Command::Cluster(args) => cluster::cluster(args.command).await,
            Command::Analytics(args) => analytics::analytics(args.command).await,
            Command::Health { url } => remote::health(&url).await,
            Command::Config(args) => config::config(args.command),
            Command::Completions { shell } => {
                output::print(bindery_config::completions(shell).trim_end());
                Ok(())
            }
            Command::Man => {
                let manual = bindery_config::manual().map_err(|error| failed("making the manual page", &error))?;
                output::print(manual.trim_end());
                Ok(())
            }
        }
    });
    // All data is written and closed by now. Dropping the runtime would wait for threads without a limit.
    runtime.shutdown_timeout(SHUTDOWN_TIME);
    result
}
