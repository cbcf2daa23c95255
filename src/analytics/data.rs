//! The data that the worker, reports and imports share.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bindery_disk::sync;
use bindery_model::time::{Millis, day_number};
use parking_lot::{Mutex, RwLock};

use super::asked_before::AskedBeforeCache;
use super::country::Countries;
use super::day_file::DayFile;
use super::day_files::DayFiles;
use super::names::Names;
use super::options::Clock;
use super::period::{Day, Period};
use super::search_id::SearchIds;
use super::sharing::CountedBatches;
use super::state::State;
use super::traffic::Traffic;
use super::turns::Turns;

/// The folder of the day files, within that of the analytics.
pub(super) const DAYS_FOLDER: &str = "days";

/// The analytics of one folder, without their log.
pub(super) struct AnalyticsData {
    pub(super) folder: PathBuf,
    pub(super) names: Names,
    pub(super) counts: RwLock<Counts>,
    pub(super) countries: Countries,
    pub(super) clock: Clock,
    pub(super) retention_days: Option<u32>,
    /// The lock that is held while an import is put in use, figures are deleted, or a backup is written.
    pub(super) import_lock: Mutex<()>,
    pub(super) state: Mutex<State>,
    /// The lock that is held while the state is written.
    pub(super) state_file: Mutex<()>,
    pub(super) filter_turns: Turns,
    pub(super) search_ids: SearchIds,
    pub(super) asked_before: AskedBeforeCache,
    /// The number of pageviews, events, searches and clicks that were dropped since the start.
    pub(super) dropped: AtomicU64,
    /// The number of searches that were counted since the start.
    pub(super) searches: AtomicU64,
    /// The number of clicks on their results that were counted since the start.
    pub(super) clicks: AtomicU64,
    /// Holds the lock on the folder.
    pub(super) _lock: File,
}

/// All counted figures: reports add up the day files and the open days. No input or output may happen under its lock,
/// except at midnight and for a report whose files are not in memory.
pub(super) struct Counts {
    pub(super) traffic: Traffic,
    pub(super) day_files: DayFiles,
    /// The time of the last pageview. Earlier ones are counted at this time.
    pub(super) last: Millis,
    /// The batches of other nodes that are counted.
    pub(super) batches: CountedBatches,
    /// The last batch of each node that came since the start. Of earlier ones, searches may be missing that rested when
    /// another server shared what it had counted, so they are sent again.
    pub(super) received: BTreeMap<String, u64>,
}

impl AnalyticsData {
    /// Returns the last day whose figures are not kept any more. `None` if all are.
    pub(super) fn last_expired(&self) -> Option<Day> {
        last_expired_at((self.clock)(), self.retention_days)
    }

    /// Returns the folder of the day files.
    pub(super) fn days_folder(&self) -> PathBuf {
        self.folder.join(DAYS_FOLDER)
    }

    /// Makes renamed and removed day files durable.
    pub(super) fn sync_day_files(&self) -> io::Result<()> {
        sync::all(&File::open(self.days_folder())?)
    }

    /// Changes the state and writes it, with the current list of day files.
    pub(super) fn save_state(&self, change: impl FnOnce(&mut State)) -> io::Result<()> {
        let _one_at_a_time = self.state_file.lock();
        let days = self.counts.read().day_files.days();
        let state = {
            let mut state = self.state.lock();
            change(&mut state);
            state.days = days;
            state.clone()
        };
        state.write(&self.folder)
    }

    /// Reads the day files of a period into memory, so that the lock on the counts is not held while they are read.
    pub(super) fn preload(&self, period: Period) {
        let (keys, generation) = self.counts.read().day_files.not_in_memory(period);
        let folder = self.days_folder();
        for key in keys {
            // Errors are ignored: the report that needs the file meets them again.
            if let Ok(file) = DayFile::read(&key.path(&folder), &self.names) {
                self.counts.read().day_files.keep(key, generation, &Arc::new(file));
            }
        }
    }
}

/// Returns the last day whose figures are not kept any more at a time. `None` if all are.
pub(super) fn last_expired_at(now: Millis, retention_days: Option<u32>) -> Option<Day> {
    retention_days.map(|days| day_number(now) - i64::from(days))
}
