//! The data that the worker, reports and imports share.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use parking_lot::{Mutex, RwLock};

use super::country::Countries;
use super::day_files::DayFiles;
use super::names::Names;
use super::options::Clock;
use super::traffic::Traffic;
use crate::model::time::Millis;

/// The analytics of one folder, without their log.
pub(super) struct AnalyticsData {
    pub(super) folder: PathBuf,
    pub(super) names: Names,
    pub(super) counts: RwLock<Counts>,
    pub(super) countries: Countries,
    pub(super) clock: Clock,
    /// Held while an import is put in use or figures are deleted.
    pub(super) import_lock: Mutex<()>,
    /// How many pageviews were dropped since the start.
    pub(super) dropped: AtomicU64,
}

/// Everything that is counted: reports add up the day files and the open days.
pub(super) struct Counts {
    pub(super) traffic: Traffic,
    pub(super) day_files: DayFiles,
    /// The time of the last pageview. Earlier ones are counted at this time.
    pub(super) last: Millis,
}
