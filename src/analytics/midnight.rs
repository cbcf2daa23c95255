//! Midnight: the days that are over go from the log into day files.
//!
//! First the log gets a record of the sessions that cross midnight, from which the new day can be counted without
//! earlier records. Each day file names that record as the last one it counts, so a crash in between counts nothing
//! twice. At last the earlier records are removed, so no pageview of a day that is over is kept.

use std::io;

use super::data::{AnalyticsData, Counts};
use super::day_file::DayFile;
use super::day_files::DayKey;
use super::log_record;
use super::period::Day;
use super::storage_error::StorageError;
use crate::log::Log;
use crate::model::time::{DAY_MILLIS, Millis};

/// Moves the days before `today` into day files. `at` is the time of the record that begins the day.
pub(super) fn begin_day(log: &mut Log, data: &AnalyticsData, today: Day, at: Millis) -> Result<(), StorageError> {
    let record = {
        let mut counts = data.counts.write();
        counts.traffic.sessions.drop_ended(today * DAY_MILLIS);
        log_record::encode_midnight(at, counts.traffic.sessions.iter(), &data.names)
    };
    log.begin_segment()?;
    let number = log.append(&record)?;
    log.sync()?;
    let days = write_day_files(data, today, number)?;
    {
        let mut counts = data.counts.write();
        for day in days {
            counts.day_files.replace(DayKey::events(day), number)?;
            counts.traffic.days.remove(&day);
        }
        counts.day_files.sync()?;
    }
    log.remove_before(number)?;
    Ok(())
}

/// Writes the files of the days before `today` as unfinished files, and returns which days these are.
fn write_day_files(data: &AnalyticsData, today: Day, number: u64) -> io::Result<Vec<Day>> {
    let Counts { traffic, day_files, .. } = &*data.counts.read();
    let mut days = Vec::new();
    for (day, open_day) in traffic.days.range(..today) {
        let key = DayKey::events(*day);
        let mut file = match day_files.counted_through(*day) {
            0 => DayFile::default(),
            _ => DayFile::clone(&*day_files.read(key, &data.names)?),
        };
        file.counted_through = number;
        for (site, rollup) in open_day.sites() {
            file.sites.entry(*site).or_default().add(rollup);
        }
        file.write(&day_files.unfinished(key), &data.names)?;
        days.push(*day);
    }
    Ok(days)
}
