//! Opens the log, even a damaged one: its valid records are kept under their numbers, an empty record replaces each
//! lost one, and the damaged files are moved aside unchanged. Inspects the log before opening it, because opening cuts
//! off an invalid tail.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bindery_log::{Log, LogOptions};
use bindery_model::time::{Millis, day_number, format_date};

use super::checked_file::sync_folder_of;
use super::codec::DecodeError;
use super::damage::Finding;
use super::log_record::{self, LogRecord};
use super::names::Names;
use super::pageview::Activity;
use super::period::Day;
use super::session::SESSION_GAP;
use super::state::State;
use super::storage_error::StorageError;

/// The folder of the log, within that of the analytics.
pub(super) const LOG: &str = "log";
/// The replacement of a damaged log, while it is written.
const REPLACEMENT: &str = "log.unfinished";
/// The size of the first segment. It is small, because the log holds about a day.
const FIRST_SEGMENT_BYTES: u64 = 1 << 20;
const SEGMENT_BYTES: u64 = 16 << 20;

/// The findings of an inspection of the log.
#[derive(Debug, Default)]
pub(super) struct LogLook {
    pub(super) findings: Vec<Finding>,
    /// The days whose pageviews may have been lost.
    lost: Vec<(Day, Day)>,
    /// The number of the first remaining record; `lacks_beginning` is true if earlier ones are lost.
    first: Option<u64>,
    lacks_beginning: bool,
    /// The number of the newest record that was ever synced.
    last: u64,
}

/// Inspects the log without changing anything. `synced_through` is the number of a synced record, `today` the last day
/// that may have pageviews.
pub(super) fn look(folder: &Path, state: &State, synced_through: u64, today: Day) -> Result<LogLook, StorageError> {
    let mut reading =
        RecordFollower { look: LogLook::default(), last: 0, first_at: None, last_at: None, undecodable: false, today };
    let names = Names::default();
    let inspection = bindery_log::inspect(&folder.join(LOG), synced_through, |number, payload| {
        reading.visit(number, &payload, &names);
    })?;
    if reading.undecodable {
        return Err(StorageError::Record(DecodeError));
    }
    let last = inspection.last.max(synced_through);
    reading.end(last, state);
    let mut look = std::mem::take(&mut reading.look);
    look.last = last;
    if look.lost.is_empty() && inspection.damage.iter().any(|damage| !damage.records.is_empty()) {
        // Only records before a midnight are lost, which belong to the day before it.
        let day = reading.first_at.map_or(today, day_number);
        look.lost.push((day - 1, day));
    }
    for damage in inspection.damage {
        let lost = match damage.records.clone().count() {
            0 => "none of its records are lost".to_owned(),
            1 => "1 record of pageviews is lost".to_owned(),
            count => format!("{count} records of pageviews are lost"),
        };
        let what = format!("damaged at byte {}: {}; {lost}", damage.offset, damage.what);
        look.findings.push(Finding::of(folder, &damage.file, what));
    }
    if look.lacks_beginning {
        look.findings.push(Finding::of(folder, &folder.join(LOG), "its first file is missing".to_owned()));
    }
    Ok(look)
}

/// Opens the log. If it is damaged, notes the loss in `state`, moves it aside, and opens its replacement with the
/// remaining records.
pub(super) fn open_log(
    folder: &Path,
    state: &mut State,
    synced_through: u64,
    today: Day,
) -> Result<(Log, Vec<Finding>), StorageError> {
    let (current, replacement) = (folder.join(LOG), folder.join(REPLACEMENT));
    if replacement.exists() {
        // The replacement is complete exactly if the damaged log was moved aside already.
        if current.exists() { fs::remove_dir_all(&replacement)? } else { put_in_use(&replacement, &current)? }
    }
    let look = look(folder, state, synced_through, today)?;
    if !look.findings.is_empty() {
        for (first, last) in &look.lost {
            state.note_loss(*first, *last, "pageviews were lost because the log was damaged");
        }
        state.synced_through = look.last.max(synced_through);
        state.write(folder)?;
        write_replacement(&current, &replacement, &look, state.synced_through)?;
        if current.exists() {
            fs::rename(&current, aside(folder)?.join(LOG))?;
        }
        put_in_use(&replacement, &current)?;
    }
    Ok((Log::open(&current, options(synced_through))?, look.findings))
}

/// Creates a new folder for files that are moved aside.
pub(super) fn aside(folder: &Path) -> io::Result<PathBuf> {
    let free = (1..).map(|number| folder.join(format!("damaged-{number}"))).find(|path| !path.exists());
    let path = free.unwrap_or_else(|| folder.join("damaged"));
    fs::create_dir(&path)?;
    sync_folder_of(&path)?;
    Ok(path)
}

pub(super) fn options(synced_through: u64) -> LogOptions {
    LogOptions { first_segment_bytes: FIRST_SEGMENT_BYTES, segment_bytes: SEGMENT_BYTES, synced_through }
}

fn put_in_use(replacement: &Path, current: &Path) -> io::Result<()> {
    fs::rename(replacement, current)?;
    sync_folder_of(current)
}

fn write_replacement(current: &Path, path: &Path, look: &LogLook, through: u64) -> Result<(), StorageError> {
    let filler = log_record::encode_activities(&[], &Names::default());
    let mut log = Log::open(path, options(0))?;
    let first = look.first.unwrap_or(through + 1);
    // An empty record before the first one also tells later inspections that the beginning was lost.
    log.reset_to(if look.lacks_beginning || look.first.is_none() { first.max(2) - 1 } else { first })?;
    let mut result = Ok(());
    let mut append = |number: u64, payload: Option<&[u8]>| -> Result<(), StorageError> {
        while log.last() + 1 < number {
            log.append(&filler)?;
        }
        payload.map_or(Ok(()), |payload| Ok(log.append(payload).map(|_| ())?))
    };
    bindery_log::inspect(current, through, |number, payload| {
        if result.is_ok() {
            result = append(number, Some(&payload));
        }
    })?;
    result?;
    append(through + 1, None)?;
    log.sync()?;
    Ok(())
}

/// Follows the records, to find out at which times records are missing.
struct RecordFollower {
    look: LogLook,
    last: u64,
    first_at: Option<Millis>,
    last_at: Option<Millis>,
    undecodable: bool,
    today: Day,
}

impl RecordFollower {
    fn visit(&mut self, number: u64, payload: &[u8], names: &Names) {
        let Ok(record) = log_record::decode(payload, names) else {
            self.undecodable = true;
            return;
        };
        let (first_at, last_at, may_begin) = match &record {
            LogRecord::Activities(all) => {
                (all.first().map(Activity::at), all.last().map(Activity::at), all.is_empty() || number == 1)
            }
            LogRecord::Midnight { at, .. } | LogRecord::Deletion { at, .. } => (Some(*at), Some(*at), true),
            LogRecord::Batches(_) => (None, None, number == 1),
        };
        let at = first_at.or(self.last_at);
        if self.look.first.is_none() {
            self.look.first = Some(number);
            self.first_at = first_at;
            self.look.lacks_beginning = !may_begin;
        }
        if !may_begin && self.last == 0 || self.last > 0 && number != self.last + 1 {
            let day = at.map_or(self.today, day_number);
            self.look.lost.push((self.last_at.map_or(day, first_day), day));
        }
        self.last = number;
        self.last_at = last_at.or(self.last_at);
    }

    /// Finds losses after the last record.
    fn end(&mut self, last: u64, state: &State) {
        if last > self.last {
            let first = self.last_at.map(first_day).or(state.day).unwrap_or(self.today);
            // A later day would have begun with a midnight, which is stored in the state.
            let through = state.day.unwrap_or(self.today).max(self.last_at.map_or(Day::MIN, day_number));
            self.look.lost.push((first.min(through), through));
        }
    }
}

/// Returns the first day to which a pageview lost after this time may belong: its session may have begun the day
/// before.
fn first_day(last_at: Millis) -> Day {
    day_number(last_at - SESSION_GAP)
}

/// Returns a text that names the days of lost figures.
pub(super) fn name_days(days: impl Iterator<Item = Day>) -> String {
    days.map(format_date).collect::<Vec<_>>().join(", ")
}
