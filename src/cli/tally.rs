//! What happened to the lines of an import: counts, the first messages, and a file with the lines that failed. Must not
//! know where the results come from.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::ProgressBar;
use serde_json::{Map, Value};

use super::error::CliError;
use super::output::{note, print};

/// How many messages are printed. All lines that failed are written to a file.
const MAX_PRINTED: usize = 5;

/// The lines that are items: empty ones are not.
pub(super) fn items(batch: &[u8]) -> impl Iterator<Item = &[u8]> {
    batch.split(|byte| *byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace))
}

/// An item with what is wrong with it, which an import of the corrected file ignores. What is no object becomes a text.
fn with_errors(line: &[u8], error: &Value) -> Value {
    let mut item = match serde_json::from_slice(line) {
        Ok(Value::Object(item)) => item,
        _ => Map::from_iter([("text".to_owned(), String::from_utf8_lossy(line).into())]),
    };
    item.insert("errors".to_owned(), error.clone());
    Value::Object(item)
}

/// What happened to the lines of an import.
pub(super) struct Tally {
    progress: ProgressBar,
    created: u64,
    updated: u64,
    failed: u64,
    /// What sanitizing removed, as it is answered.
    sanitized: Value,
    messages: Vec<String>,
    /// Lines that have no result yet, by their index: those that fail are written out.
    pending: BTreeMap<u64, Box<[u8]>>,
    next_index: u64,
    rejected: PathBuf,
    /// Open from the first line that fails.
    writer: Option<BufWriter<File>>,
}

impl Tally {
    /// The tally of an import of `file`. Lines that fail are written to a file of a similar name.
    pub(super) fn new(file: &Path, progress: ProgressBar) -> Tally {
        let mut rejected = if file == Path::new("-") { "stdin".into() } else { file.as_os_str().to_owned() };
        rejected.push(".rejected.ndjson");
        Tally {
            progress,
            created: 0,
            updated: 0,
            failed: 0,
            sanitized: Value::Null,
            messages: Vec::new(),
            pending: BTreeMap::new(),
            next_index: 0,
            rejected: PathBuf::from(rejected),
            writer: None,
        }
    }

    /// Notes the lines that are sent. Empty lines are not items and have no index.
    pub(super) fn add_lines(&mut self, batch: &[u8]) {
        for line in items(batch) {
            self.pending.insert(self.next_index, line.into());
            self.next_index += 1;
        }
    }

    /// Counts a line that was imported; `op` is `created` or `updated`.
    pub(super) fn succeed(&mut self, index: u64, op: &str) {
        self.pending.remove(&index);
        match op {
            "created" => self.created += 1,
            _ => self.updated += 1,
        }
        self.progress.set_message(format!("{} done", self.created + self.updated));
    }

    /// Counts a line that failed, with its error object.
    pub(super) fn fail(&mut self, index: u64, error: &Value) {
        self.failed += 1;
        if self.messages.len() < MAX_PRINTED {
            self.messages.push(format!("item {index}: {}", error["message"].as_str().unwrap_or_default()));
        }
        let line = with_errors(&self.pending.remove(&index).unwrap_or_default(), error);
        if self.writer.is_none() {
            self.writer = File::create(&self.rejected).ok().map(BufWriter::new);
        }
        if let Some(writer) = &mut self.writer {
            let _ = writeln!(writer, "{line}");
        }
    }

    /// Notes what sanitizing removed of all lines.
    pub(super) fn sanitized(&mut self, sanitized: Value) {
        self.sanitized = sanitized;
    }

    /// Prints the summary.
    ///
    /// # Errors
    /// [`CliError::Incomplete`] if a line failed.
    pub(super) fn finish(mut self, elapsed: Duration, is_dry_run: bool) -> Result<(), CliError> {
        self.progress.finish_and_clear();
        for message in &self.messages {
            print(message);
        }
        for (field, removed) in self.sanitized.as_object().into_iter().flatten() {
            let counts = removed["removed"].as_object().into_iter().flatten();
            let counts: Vec<String> = counts.map(|(name, count)| format!("{name} ({count})")).collect();
            note(&format!("sanitizing removed from `{field}`: {}", counts.join(", ")));
        }
        let Tally { created, updated, failed, .. } = self;
        let seconds = elapsed.as_secs_f64();
        let items = created + updated + failed;
        note(&match is_dry_run {
            true => {
                format!("{items} items checked in {seconds:.1} s: {created} valid, {failed} not; nothing was written")
            }
            false => format!("{items} items in {seconds:.1} s: {created} created, {updated} updated, {failed} failed"),
        });
        if failed == 0 {
            return Ok(());
        }
        let rejected = self.rejected.display();
        Err(CliError::Incomplete(match self.writer.as_mut().map(BufWriter::flush) {
            Some(Ok(())) => format!("{failed} items failed; correct them in {rejected} and import that file"),
            _ => format!("{failed} items failed, and {rejected} could not be written"),
        }))
    }
}
