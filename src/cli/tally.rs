//! The results of an import's lines: counts, the first messages, and a file with the failed lines. Must not know where
//! the results come from.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::ProgressBar;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::error::CliError;
use super::input::{Batch, BrokenRow, Origin};
use super::output::{counted, note, placed, print};
use super::rejects::Rejects;

/// The number of messages that are printed. All failed lines are written to a file.
const MAX_PRINTED: usize = 5;
/// The number of messages that a check prints, which writes no such file.
const MAX_PRINTED_OF_CHECK: usize = 100;
/// The number of fields of an item whose errors are printed.
const MAX_FIELDS: usize = 5;

/// Phrases in the server's messages, and their equivalents for cells.
const IN_CELLS: [(&str, &str); 2] = [
    ("an object with the keys `amount`, `currency`", "an amount with a currency, such as `485.90 EUR`"),
    ("an object with the keys", "a JSON object with the keys"),
];

/// The keys that identify an item when it is imported again.
#[derive(Deserialize)]
struct Identity {
    key: Option<IgnoredAny>,
    id: Option<IgnoredAny>,
}

/// The results of an import's lines.
pub(super) struct Tally {
    progress: ProgressBar,
    created: u64,
    updated: u64,
    failed: u64,
    /// The parts that sanitizing removed, as JSON of the response.
    sanitized: Value,
    messages: Vec<String>,
    /// Items without a result yet, by their index. They are kept because failed ones are written out.
    pending: BTreeMap<u64, (Origin, Box<[u8]>)>,
    next_index: u64,
    /// True if every item so far has a key or an id, so that importing it again creates no duplicate.
    are_known: bool,
    /// True if the server reported the end of the import. Then it applied none of the unanswered items.
    is_ended: bool,
    /// The unit of a place in the file: `line`, or `item` of an array.
    unit: &'static str,
    /// The file of failed lines; `None` for a check.
    rejects: Option<Rejects>,
}

impl Tally {
    /// Creates a tally that writes failed lines to `rejects`, if given.
    pub(super) fn new(unit: &'static str, rejects: Option<Rejects>, progress: ProgressBar) -> Tally {
        Tally {
            progress,
            created: 0,
            updated: 0,
            failed: 0,
            sanitized: Value::Null,
            messages: Vec::new(),
            pending: BTreeMap::new(),
            next_index: 0,
            are_known: true,
            is_ended: false,
            unit,
            rejects,
        }
    }

    /// Notes the items that are sent, and counts the broken rows.
    pub(super) fn add(&mut self, batch: Batch) {
        for BrokenRow { origin, message } in batch.broken {
            self.reject(&origin, &[], &message, &json!({ "message": message }));
        }
        for (line, origin) in lines(&batch.lines).zip(batch.origins) {
            self.are_known = self.are_known
                && serde_json::from_slice::<Identity>(line)
                    .is_ok_and(|Identity { key, id }| key.is_some() || id.is_some());
            // For a table, the original row is written, so its line is not needed.
            let line = if origin.row.is_some() { Box::default() } else { line.into() };
            self.pending.insert(self.next_index, (origin, line));
            self.next_index += 1;
        }
    }

    /// Counts an item that was imported; `op` is `created` or `updated`.
    pub(super) fn succeed(&mut self, index: u64, op: &str) {
        self.pending.remove(&index);
        match op {
            "created" => self.created += 1,
            _ => self.updated += 1,
        }
        self.progress.set_message(format!("{} done", self.created + self.updated));
    }

    /// Counts an item that failed, with its error object.
    pub(super) fn fail(&mut self, index: u64, error: &Value) {
        let unknown = || (Origin { place: index + 1, row: None }, Box::default());
        let (origin, line) = self.pending.remove(&index).unwrap_or_else(unknown);
        let message = reasons(error);
        if origin.row.is_none() {
            return self.reject(&origin, &line, &message, error);
        }
        let mut error = error.clone();
        let message = in_cells(&message);
        error["message"] = Value::String(message.clone());
        self.reject(&origin, &line, &message, &error);
    }

    fn reject(&mut self, origin: &Origin, line: &[u8], message: &str, error: &Value) {
        self.failed += 1;
        let most = if self.rejects.is_some() { MAX_PRINTED } else { MAX_PRINTED_OF_CHECK };
        if self.messages.len() < most {
            self.messages.push(placed(self.unit, origin.place, message));
        }
        if let Some(rejects) = &mut self.rejects {
            rejects.add(line, origin.row.as_deref(), error);
        }
    }

    /// Notes that the server applied none of the items without a result.
    pub(super) fn end(&mut self) {
        self.is_ended = true;
    }

    /// Notes the parts that sanitizing removed from all lines.
    pub(super) fn sanitized(&mut self, sanitized: Value) {
        self.sanitized = sanitized;
    }

    /// Prints the summary, even if the import ended early.
    ///
    /// # Errors
    /// `outcome`, with what was imported before it; [`CliError::Incomplete`] if a line failed.
    pub(super) fn finish(
        self,
        elapsed: Duration,
        is_dry_run: bool,
        outcome: Result<(), CliError>,
    ) -> Result<(), CliError> {
        let what_now = self.what_now();
        let is_begun = self.next_index > 0;
        let rejected = self.rejects.map(Rejects::finish);
        self.progress.finish_and_clear();
        self.messages.iter().for_each(|message| print(message));
        match self.failed - self.messages.len() as u64 {
            0 => {}
            more => match &rejected {
                Some((path, true)) => print(&format!("and {more} more; all are in {}", path.display())),
                _ => print(&format!("and {more} more")),
            },
        }
        for (field, removed) in self.sanitized.as_object().into_iter().flatten() {
            let counts = removed["removed"].as_object().into_iter().flatten();
            let counts: Vec<String> = counts.map(|(name, count)| format!("{name} ({count})")).collect();
            note(&format!("sanitizing removed from `{field}`: {}", counts.join(", ")));
        }
        let (created, updated, failed) = (self.created, self.updated, self.failed);
        let seconds = elapsed.as_secs_f64();
        let items = counted(created + updated + failed, "item");
        if outcome.is_ok() || self.next_index + failed > 0 {
            note(&match is_dry_run {
                true => {
                    format!("{items} checked in {seconds:.1} s: {created} valid, {failed} not; nothing was written")
                }
                false => {
                    format!("{items} in {seconds:.1} s: {created} created, {updated} updated, {failed} failed")
                }
            });
        }
        let failures = counted(failed, "item");
        let rejects = rejected.map(|(path, is_written)| (path.display().to_string(), is_written));
        let rejects = match rejects {
            _ if failed == 0 => None,
            None => Some(format!("{failures} would fail")),
            Some((path, true)) => Some(format!("{failures} failed; correct what is in {path} and import that file")),
            Some((path, false)) => Some(format!("{failures} failed, and {path} could not be written")),
        };
        match (outcome, rejects) {
            (Ok(()), None) => Ok(()),
            (Ok(()), Some(rejects)) => Err(CliError::Incomplete(rejects)),
            (Err(error), _) if is_dry_run || !is_begun => Err(error),
            (Err(error), rejects) => {
                let rejects = rejects.map(|rejects| format!("; {rejects}")).unwrap_or_default();
                Err(CliError::Incomplete(format!("{error}; {what_now}{rejects}")))
            }
        }
    }

    /// Returns a text about an import that ended early: what it has done, and how to continue.
    fn what_now(&self) -> String {
        let done = self.created + self.updated;
        let open = if self.is_ended { 0 } else { self.pending.len() };
        let unknown = match open {
            0 => String::new(),
            _ => format!(", and {open} that were sent may be, too"),
        };
        let rest = match self.pending.first_key_value() {
            Some((_, (origin, _))) => format!("; the first without a result is {} {}", self.unit, origin.place),
            None => String::new(),
        };
        let again = match self.are_known {
            true => "import the file again, which creates no duplicates",
            false => {
                "importing the whole file again would create them a second time, since not every item has a key or an id: \
                 import the rest, or delete them first; `--key FIELD` makes it safe to import a file again"
            }
        };
        match done + open as u64 {
            0 => "nothing is imported".to_owned(),
            _ => match done {
                1 => format!("1 item is imported{unknown}{rest}; {again}"),
                _ => format!("{done} items are imported{unknown}{rest}; {again}"),
            },
        }
    }
}

/// Returns the message of an error. One about several fields only names them; here each follows with what is wrong with
/// it.
fn reasons(error: &Value) -> String {
    let message = error["message"].as_str().unwrap_or_default();
    let Some(fields) = error["fields"].as_object().filter(|fields| fields.len() > 1) else {
        return message.to_owned();
    };
    let begin = message.split_once(": ").map_or(message, |(begin, _)| begin);
    let reasons: Vec<String> = fields
        .iter()
        .take(MAX_FIELDS)
        .map(|(slug, texts)| format!("`{slug}` {}", texts[0].as_str().unwrap_or_default()))
        .collect();
    let more = match fields.len() - reasons.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!("{begin}: {}{more}", reasons.join("; "))
}

/// Rewrites a message about a value in terms of cells.
fn in_cells(message: &str) -> String {
    IN_CELLS.into_iter().fold(message.to_owned(), |message, (value, cell)| message.replace(value, cell))
}

/// Returns the lines of a batch, one for each item.
pub(super) fn lines(batch: &[u8]) -> impl Iterator<Item = &[u8]> {
    batch.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}
