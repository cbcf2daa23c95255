//! Opens the analytics of a folder: first the lock, then the state, the files, and the log.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bindery_log::{Log, LogError, lock_folder};
use bindery_model::time::{Millis, day_number, format_date};
use parking_lot::{Mutex, RwLock};

use super::asked_before::AskedBeforeCache;
use super::check::files;
use super::checked_file::is_damage;
use super::damage::Finding;
use super::data::{AnalyticsData, Counts, DAYS_FOLDER};
use super::day_files::{DayFiles, DayKey, Source};
use super::handle::WorkerHandle;
use super::import_list::{IMPORTS_FILE, ImportList};
use super::links;
use super::names::Names;
use super::options::AnalyticsOptions;
use super::recovery;
use super::replay;
use super::salts::{self, SALTS_FOLDER, Salts};
use super::search_id::SearchIds;
use super::state::{STATE_FILE, State};
use super::storage_error::StorageError;
use super::traffic::Traffic;
use super::turns::Turns;
use super::worker::Worker;

/// The reason why analytics cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The country file cannot be read.
    #[error("{0}")]
    Countries(String),
    /// The folder cannot be read, or another process has it open.
    #[error("the analytics in {folder} cannot be opened: {cause}")]
    Folder {
        /// The folder.
        folder: String,
        /// The reason.
        cause: String,
    },
}

impl OpenError {
    /// Returns whether a setting is invalid, rather than the folder.
    pub(super) fn is_setting(&self) -> bool {
        matches!(self, OpenError::Countries(_))
    }

    pub(super) fn of(folder: &Path, cause: &dyn std::fmt::Display) -> OpenError {
        OpenError::Folder { folder: folder.display().to_string(), cause: cause.to_string() }
    }
}

/// The findings in a folder.
struct FolderContents {
    state: State,
    counts: Counts,
    log: Log,
    names: Names,
    findings: Vec<Finding>,
    pageviews: u64,
}

/// Opens the folder and starts the worker.
pub(super) fn open(options: &AnalyticsOptions) -> Result<WorkerHandle, OpenError> {
    let countries = options.countries()?;
    let fail = |cause: &dyn std::fmt::Display| OpenError::of(&options.folder, cause);
    let lock = lock(&options.folder).map_err(|error| fail(&error))?;
    let mut found = find(options).map_err(|error| fail(&error))?;
    let now = (options.clock)().max(found.counts.last);
    found.counts.traffic.sessions.drop_ended(now);
    let salts = open_salts(options, &mut found, now).map_err(|error| fail(&error))?;
    report(&found, options.shared_salts.is_some());
    tracing::info!(pageviews = found.pageviews, "analytics are open; pageviews of the log were counted");
    let synced = found.log.last();
    let data = Arc::new(AnalyticsData {
        folder: options.folder.clone(),
        names: found.names,
        counts: RwLock::new(found.counts),
        countries,
        clock: Arc::clone(&options.clock),
        retention_days: options.retention_days,
        import_lock: Mutex::new(()),
        state: Mutex::new(found.state),
        state_file: Mutex::new(()),
        filter_turns: Turns::default(),
        search_ids: SearchIds::new(salts.search_keys()),
        asked_before: AskedBeforeCache::default(),
        dropped: AtomicU64::new(0),
        searches: AtomicU64::new(0),
        clicks: AtomicU64::new(0),
        _lock: lock,
    });
    let saved = data.save_state(|state| {
        state.synced_through = synced;
        state.day = Some(day_number(now));
    });
    saved.map_err(|error| fail(&error))?;
    let worker = Worker::new(Arc::clone(&data), found.log, salts, options).map_err(|error| fail(&error))?;
    WorkerHandle::start(worker, data).map_err(|error| fail(&error))
}

fn find(options: &AnalyticsOptions) -> Result<FolderContents, StorageError> {
    let (folder, mut findings) = (&options.folder, Vec::new());
    links::remove_links(folder)?;
    let mut state = match State::read(folder) {
        Err(error) if is_damage(&error) => {
            findings.push(Finding::of(folder, &folder.join(STATE_FILE), "damaged; it was made anew".to_owned()));
            State::default()
        }
        state => state?,
    };
    let days_folder = folder.join(DAYS_FOLDER);
    let imports = read_imports(folder, &days_folder, &mut findings)?;
    let (day_files, damaged) = DayFiles::open(
        &days_folder,
        imports.as_ref().map(ImportList::numbers).as_ref(),
        expected(&state, imports.as_ref()),
    )?;
    findings.extend(damaged);
    let synced_through = state.synced_through.max(day_files.last_counted());
    let today = day_number((options.clock)());
    let (mut log, damaged) = recovery::open_log(folder, &mut state, synced_through, today)?;
    findings.extend(damaged);
    let names = Names::default();
    let (batches, received) = (BTreeMap::new(), BTreeMap::new());
    let mut counts = Counts { traffic: Traffic::default(), day_files, last: Millis::MIN, batches, received };
    let pageviews = replay::replay(&mut log, &mut counts, &names, options)?;
    Ok(FolderContents { state, counts, log, names, findings, pageviews })
}

/// Reads the list of imports; `None` if it is damaged, or missing although there are files of imports.
fn read_imports(folder: &Path, days: &Path, findings: &mut Vec<Finding>) -> io::Result<Option<ImportList>> {
    let path = folder.join(IMPORTS_FILE);
    let what = match ImportList::read(folder) {
        Err(error) if is_damage(&error) => "damaged",
        Ok(_) if !path.exists() && has_imports(days)? => "missing",
        imports => return imports.map(Some),
    };
    let what = format!("{what}: the days that have imports cannot be reported, and nothing can be imported or deleted");
    findings.push(Finding::of(folder, &path, what));
    Ok(None)
}

fn has_imports(days: &Path) -> io::Result<bool> {
    Ok(files(days)?.iter().any(|key| key.source != Source::Events))
}

/// Returns the day files that should exist.
pub(super) fn expected(state: &State, imports: Option<&ImportList>) -> Vec<DayKey> {
    let events = state.days.iter().map(|day| DayKey::events(*day));
    let imported = imports.into_iter().flat_map(ImportList::day_files);
    let kept = imported.filter(|key| state.removed_through.is_none_or(|day| key.day > day));
    events.chain(kept).collect()
}

/// Opens the salts. If today's salt is lost, visitors who were counted with it are counted again.
fn open_salts(options: &AnalyticsOptions, found: &mut FolderContents, now: Millis) -> io::Result<Salts> {
    if let Some(shared) = &options.shared_salts {
        return Ok(Salts::shared(shared.clone(), now));
    }
    let (folder, today) = (options.folder.join(SALTS_FOLDER), day_number(now));
    let has_pageviews = found.counts.traffic.days.get(&today).is_some_and(|day| !day.sites().is_empty());
    if found.state.day == Some(today) && has_pageviews && !salts::has_salt(&folder, today) {
        let file = folder.join(format_date(today));
        found.findings.push(Finding::of(&options.folder, &file, "damaged or missing; it was made anew".to_owned()));
        found.state.note_loss(today, today, "visitors count twice because the salt of the day was lost");
    }
    Salts::open(&folder, now)
}

fn report(found: &FolderContents, is_of_node: bool) {
    for finding in &found.findings {
        tracing::warn!("the analytics are damaged: {finding}");
    }
    if !found.state.incomplete.is_empty() {
        let days = recovery::name_days(found.state.incomplete.keys().copied());
        tracing::warn!("figures are lost, so there are no reports that include these days: {days}");
    }
    if !found.findings.is_empty() || !found.state.incomplete.is_empty() {
        let advice = match is_of_node {
            true => {
                "the storage of the cluster has these analytics, so a restart does not help; \
                 `bindery analytics repair` moves damaged files aside after `bindery cluster leave`"
            }
            false => "`bindery analytics repair` moves damaged files of the analytics aside and reports what is left",
        };
        tracing::warn!("{advice}");
    }
}

/// Creates the folder if it is missing, and locks it until the returned file is closed.
pub(super) fn lock(folder: &Path) -> io::Result<File> {
    lock_folder(folder).map_err(|error| match error {
        LogError::InUse { .. } => io::Error::other("it is in use by another process"),
        LogError::Io { source, .. } => source,
        error => io::Error::other(error),
    })
}
