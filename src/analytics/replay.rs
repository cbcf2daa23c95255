//! Replay: at a start, counts the log records that are not in day files, and finishes interrupted deletions.

use bindery_log::Log;

use super::data::{Counts, last_expired_at};
use super::log_record::{self, LogRecord};
use super::names::Names;
use super::options::AnalyticsOptions;
use super::pageview::Activity;
use super::storage_error::StorageError;

/// Replays the whole log into `counts`. Returns the number of its pageviews.
pub(super) fn replay(
    log: &mut Log,
    counts: &mut Counts,
    names: &Names,
    options: &AnalyticsOptions,
) -> Result<u64, StorageError> {
    let folder = &options.folder;
    let mut pageviews = 0;
    let mut deletions = Vec::new();
    for record in log.read_from(log.first())? {
        let (number, payload) = record?;
        let Counts { traffic, day_files, last, batches, .. } = &mut *counts;
        let is_open = |day| number > day_files.counted_through(day);
        match log_record::decode(&payload, names)? {
            LogRecord::Activities(activities) => {
                for activity in activities {
                    pageviews += u64::from(matches!(activity, Activity::Pageview(_)));
                    let expired = last_expired_at(activity.at(), options.retention_days);
                    traffic.add(&activity, |day| is_open(day) && Some(day) > expired);
                    *last = activity.at();
                }
            }
            LogRecord::Batches(counted) => *batches = counted,
            LogRecord::Midnight { at, sessions } => {
                traffic.sessions.replace(sessions);
                *last = at.max(*last);
            }
            LogRecord::Deletion { at, traffic: left, deletion } => {
                *traffic = left;
                traffic.days.retain(|day, _| is_open(*day));
                *last = at.max(*last);
                deletions.push((number, deletion));
            }
        }
    }
    for (number, deletion) in deletions {
        let prepared = deletion.prepare(number, &counts.day_files, names, folder)?;
        prepared.finish(&mut counts.day_files, names, folder)?;
        log.remove_before(number)?;
    }
    Ok(pageviews)
}
