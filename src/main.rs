//! The `bindery` binary: parses the command line; `bindery::cli` does the rest.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match bindery::cli::run(bindery::config::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bindery: {error}");
            ExitCode::FAILURE
        }
    }
}
