//! The list of files that the analytics folder should hold, so that missing ones are noticed, and the days with lost
//! figures. Owns `state.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::checked_file;
use super::period::Day;

pub(super) const STATE_FILE: &str = "state.json";

/// The state at the time when the file was last written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The number of the last record through which the log was synced.
    pub(super) synced_through: u64,
    /// The day that was being counted. `None` after a restore, when its salt is not expected to exist.
    pub(super) day: Option<Day>,
    /// The days with a file of events.
    pub(super) days: BTreeSet<Day>,
    /// The last day whose files were removed because figures are kept for a limited time. Earlier ones were removed
    /// too.
    pub(super) removed_through: Option<Day>,
    /// The days with incomplete figures, and the reasons.
    pub(super) incomplete: BTreeMap<Day, String>,
}

impl State {
    /// Reads the file; returns an empty state if there is none.
    pub(super) fn read(folder: &Path) -> io::Result<State> {
        Ok(checked_file::read(&folder.join(STATE_FILE))?.unwrap_or_default())
    }

    /// Replaces the file; durable on return.
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
