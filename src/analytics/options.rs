//! The options for opening the analytics of a data folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bindery_model::time::{Millis, now_millis};

use super::country::Countries;
use super::salts::SharedSalts;
use super::start::OpenError;

/// Returns the current time.
pub type Clock = Arc<dyn Fn() -> Millis + Send + Sync>;

/// The options for opening the analytics of a data folder.
#[derive(Clone)]
pub struct AnalyticsOptions {
    /// The folder of their files.
    pub folder: PathBuf,
    /// The hosts whose pageviews are counted.
    pub sites: Vec<String>,
    /// A country file in MaxMind's format.
    pub country_file: Option<PathBuf>,
    /// The number of days that are kept; `None` keeps all.
    pub retention_days: Option<u32>,
    /// The clock by which pageviews are counted.
    pub clock: Clock,
    /// The salts of the cluster that the server belongs to; `None` makes and keeps its own.
    pub shared_salts: Option<SharedSalts>,
}

impl AnalyticsOptions {
    /// Returns the options for a data folder: no sites, every day kept, and the system's clock.
    pub fn in_folder(data: &Path) -> AnalyticsOptions {
        AnalyticsOptions {
            folder: data.join("analytics"),
            sites: Vec::new(),
            country_file: None,
            retention_days: None,
            clock: Arc::new(now_millis),
            shared_salts: None,
        }
    }

    /// Checks the settings as [`super::Analytics::open`] does. Opens no folder.
    ///
    /// # Errors
    /// [`OpenError`] if the country file cannot be read.
    pub fn check(&self) -> Result<(), OpenError> {
        self.countries().map(drop)
    }

    /// Reads the country file.
    pub(super) fn countries(&self) -> Result<Countries, OpenError> {
        Countries::open(self.country_file.as_deref()).map_err(OpenError::Countries)
    }
}
