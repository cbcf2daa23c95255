//! The files that the folder of the analytics should hold, so that what is missing is noticed, and of which days figures are lost.
//! Owns `state.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::checked_file;
use super::period::Day;

pub(super) const STATE_FILE: &str = "state.json";

/// The state when the file was last written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The log was synced through this record.
    pub(super) synced_through: u64,
    /// The day that was being counted. `None` if its salt is not expected to be here: after a restore.
    pub(super) day: Option<Day>,
    /// The days with a file of events.
    pub(super) days: BTreeSet<Day>,
    /// The files of this day and of those before it were removed because figures are kept for a limited time.
    pub(super) removed_through: Option<Day>,
    /// The days whose figures are incomplete, and why.
    pub(super) incomplete: BTreeMap<Day, String>,
}

impl State {
    /// Reads the file; it is empty if there is none.
    pub(super) fn read(folder: &Path) -> io::Result<State> {
        Ok(checked_file::read(&folder.join(STATE_FILE))?.unwrap_or_default())
    }

    /// Replaces the file. On return it is on disk.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        checked_file::write(&folder.join(STATE_FILE), self)
    }

    /// Notes that figures of the days from `first` to `last` are lost.
    pub(super) fn note_loss(&mut self, first: Day, last: Day, what: &str) {
        for day in first..=last {
            self.incomplete.entry(day).or_insert_with(|| what.to_owned());
        }
    }
}
