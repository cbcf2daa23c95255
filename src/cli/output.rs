//! The output of commands: results on standard output, log lines on standard error. Must not know commands.

use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use bindery_model::os_error::without_numbers;
use serde_json::Value;
use tracing::level_filters::LevelFilter;
use tracing_log::AsLog as _;

use super::error::CliError;
use super::json_log::JsonLines;

/// Prints a line of a command's result. If the output is closed, the line is lost without an error.
pub(super) fn print(line: &str) {
    let line = without_numbers(line);
    let _ = match HAS_STDOUT.load(Ordering::Relaxed) {
        true => writeln!(std::io::stdout(), "{line}"),
        false => writeln!(std::io::stderr(), "{line}"),
    };
}

/// Prints the error of a failed command.
pub(super) fn print_error(error: &CliError) {
    let _ = writeln!(std::io::stderr(), "bindery: {}", without_numbers(&error.to_string()));
}

static HAS_STDOUT: AtomicBool = AtomicBool::new(true);

/// Makes [`print`] and [`note`] write to standard error from now on, so that standard output contains only the access
/// log: programs read it line by line, and it is often stored where no token may be.
pub(super) fn leave_stdout_to_the_access_log() {
    HAS_STDOUT.store(false, Ordering::Relaxed);
}

/// Prints a line that is not a result, such as a summary. Prints nothing with `--quiet`.
pub(super) fn note(line: &str) {
    if !is_quiet() {
        print(line);
    }
}

/// Returns a number with the counted noun, such as `1 item` and `2 items`.
pub(super) fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Returns a value as a cell of a table.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// Prints a line about the input to standard error, so that it is visible even if standard output is piped. Prints
/// nothing with `--quiet`.
pub(super) fn report(line: &str) {
    if !is_quiet() {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

/// Returns a message about a place in the input: `line 7 has 2 cells`, or `line 7: …` if its subject is something else.
pub(super) fn placed(unit: &str, place: u64, message: &str) -> String {
    match message.strip_prefix("the row ").or(message.strip_prefix("the line ")) {
        Some(rest) => format!("{unit} {place} {rest}"),
        None => format!("{unit} {place}: {message}"),
    }
}

static QUIET: AtomicBool = AtomicBool::new(false);

/// Makes [`note`] and progress bars print nothing from now on.
pub(super) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Is true if only results and errors are printed.
pub(super) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Starts logging with a `tracing_subscriber` filter, as text or as JSON.
pub(super) fn start_log(filter: &str, is_json: bool) {
    // The HTML parser warns about invalid markup that clients send, which is not a problem of the server. A filter that
    // names the parser overrides this.
    let filter = tracing_subscriber::EnvFilter::new(format!("html5ever=error,{filter}"));
    let wants_color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let has_color = wants_color && std::io::stderr().is_terminal() && !is_json;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| LogWriter).with_ansi(has_color);
    // A second start in one process keeps the first subscriber.
    let _ = if is_json { log.event_format(JsonLines).try_init() } else { log.try_init() };
    // Crates that use `log` are logged at the level of the filter. Warnings are always let through, because a failed
    // sync of sled must be noticed.
    log_facade::set_max_level(LevelFilter::current().as_log().max(log_facade::LevelFilter::Warn));
}

/// Writes to standard error, with readable texts for errors of the system. Each line of the log arrives in one piece.
struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(without_numbers(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
