//! The `bindery` binary: parses the command line; `bindery_cli` does the rest.

use std::process::ExitCode;

use bindery_cli::CliError;
use clap::Parser;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    // Tests name points of failure in a variable; other builds have no such points.
    let _scenario = fail::has_failpoints().then(fail::FailScenario::setup);
    bindery_store::watch_syncs();
    match bindery_cli::run(bindery_config::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            bindery_cli::print_error(&error);
            match error {
                CliError::Lost(_) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}
