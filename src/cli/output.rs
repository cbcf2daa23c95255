//! What commands print: results to standard output, log lines to standard error. Must not know commands.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// Prints a line of a command's result. If nobody reads standard output any more, the line is lost without an error.
pub(super) fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Prints a line that is no result: what happened, and how much. Not with `--quiet`.
pub(super) fn note(line: &str) {
    if !is_quiet() {
        print(line);
    }
}

static QUIET: AtomicBool = AtomicBool::new(false);

/// Has [`note`] and progress bars print nothing from here on.
pub(super) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether only results and errors are printed.
pub(super) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Starts logging with a `tracing_subscriber` filter.
pub(super) fn start_log(filter: &str) {
    // The HTML parser warns about invalid markup in what clients send, which is no problem of the server. A filter that
    // names the parser overrides this.
    let filter = tracing_subscriber::EnvFilter::new(format!("html5ever=error,{filter}"));
    // A second start in one process keeps the first subscriber.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let wants_color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let _ = log.with_ansi(wants_color && std::io::stderr().is_terminal()).try_init();
}
