//! Midnight: moves finished days from the log into day files.
//!
//! First the log gets a record of the sessions that cross midnight, so that the new day can be counted without earlier
//! records. Each day file has the number of that record as the last one it counts, so a crash in between counts nothing
//! twice. Finally the earlier records are removed, so no pageview of a finished day is kept.

use std::collections::BTreeMap;
use std::io;

use bindery_disk::failure;
use bindery_model::time::{DAY_MILLIS, Millis};

use super::checked_file::{damaged, is_damage};
use super::data::{AnalyticsData, Counts};
use super::day_file::DayFile;
use super::day_files::{DayFiles, DayKey};
use super::log_record;
use super::log_writer::LogWriter;
use super::names::{Name, Names};
use super::period::Day;
use super::storage_error::StorageError;
use super::visit_codec;
use super::visits::SiteVisits;

/// Moves the days before `today` into day files. `at` is the time of the record that begins the day.
pub(super) fn begin_day(log: &LogWriter, data: &AnalyticsData, today: Day, at: Millis) -> Result<(), StorageError> {
    let record = {
        let mut counts = data.counts.write();
        counts.traffic.sessions.drop_ended(today * DAY_MILLIS);
        log_record::encode_midnight(at, counts.traffic.sessions.iter(), &data.names)
    };
    let number = log.run(move |log| {
        failure::point("midnight::record")?;
        log.begin_segment()?;
        let number = log.append(&record)?;
        log.sync()?;
        Ok(number)
    })?;
    failure::point("midnight::write")?;
    let days = write_day_files(data, today, number)?;
    {
        let mut counts = data.counts.write();
        for day in days {
            if day.is_written {
                counts.day_files.replace(DayKey::events(day.day), number)?;
            }
            counts.traffic.days.remove(&day.day);
            failure::point("midnight::replace")?;
        }
    }
    data.sync_day_files()?;
    failure::point("midnight::state")?;
    data.save_state(|state| {
        state.synced_through = state.synced_through.max(number);
        state.day = Some(today);
    })?;
    failure::point("midnight::cut")?;
    log.run(move |log| Ok(log.remove_before(number)?))?;
    Ok(())
}

/// A day that is over.
struct FinishedDay {
    day: Day,
    /// True if its unfinished file was written.
    is_written: bool,
}

/// Writes the files of the days before `today` as unfinished files, and returns these days. Additions to a day whose
/// file is damaged are dropped, with a warning, because its figures are lost anyway.
fn write_day_files(data: &AnalyticsData, today: Day, number: u64) -> io::Result<Vec<FinishedDay>> {
    let Counts { traffic, day_files, .. } = &*data.counts.read();
    let folder = data.days_folder();
    let mut days = Vec::new();
    for (day, open_day) in traffic.days.range(..today) {
        let key = DayKey::events(*day);
        let (mut file, mut visits) = match day_files.counted_through(*day) {
            0 => (DayFile::default(), BTreeMap::new()),
            _ => match read_whole(day_files, key, &data.names) {
                Err(error) if is_damage(&error) => {
                    tracing::warn!(%error, "nothing can be added to a day whose file is damaged");
                    days.push(FinishedDay { day: *day, is_written: false });
                    continue;
                }
                whole => whole?,
            },
        };
        file.counted_through = number;
        for (site, rollup) in open_day.sites() {
            file.sites.entry(*site).or_default().add(rollup);
        }
        open_day.visits().add_to(&mut visits);
        file.write(&key.unfinished(&folder), &data.names, &visit_codec::encode(&visits, &data.names))?;
        days.push(FinishedDay { day: *day, is_written: true });
    }
    Ok(days)
}

type Visits = BTreeMap<Name, SiteVisits>;

/// Reads the figures and the visits of a file.
fn read_whole(day_files: &DayFiles, key: DayKey, names: &Names) -> io::Result<(DayFile, Visits)> {
    let file = DayFile::clone(&*day_files.read(key, names)?);
    let (path, (_, visits)) = (day_files.path(key), DayFile::read_visits(&day_files.path(key))?);
    let visits = visit_codec::decode(&visits, names).map_err(|error| damaged(&path, &error.to_string()))?;
    Ok((file, visits))
}
