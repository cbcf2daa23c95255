//! What commands print: results to standard output, log lines to standard error. Must not know commands.

use std::io::{IsTerminal as _, Write as _};

/// Prints a line of a command's result. If nobody reads standard output any more, the line is lost without an error.
pub(super) fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Starts logging with a `tracing_subscriber` filter.
pub(super) fn start_log(filter: &str) {
    // The HTML parser warns about invalid markup in what clients send, which is no problem of the server. A filter that
    // names the parser overrides this.
    let filter = tracing_subscriber::EnvFilter::new(format!("html5ever=error,{filter}"));
    // A second start in one process keeps the first subscriber.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let _ = log.with_ansi(std::io::stderr().is_terminal()).try_init();
}
