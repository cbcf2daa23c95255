//! Checks every byte of the analytics that has a checksum. Changes nothing.

use std::fs;
use std::io;
use std::path::Path;

use bindery_model::time::{day_number, format_date, now_millis};

use super::checked_file::is_damage;
use super::damage::Finding;
use super::data::DAYS_FOLDER;
use super::day_file::DayFile;
use super::day_files::{DayKey, Source};
use super::import_list::{IMPORTS_FILE, ImportList};
use super::names::Names;
use super::recovery;
use super::salts;
use super::start::{OpenError, expected};
use super::state::{STATE_FILE, State};

/// The checks that were made, and the damage that was found.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// The number of day files that were read.
    pub day_files: u64,
    /// The damage.
    pub findings: Vec<Finding>,
}

/// Reads every file of the analytics in `folder` (that of [`super::AnalyticsOptions`]) and changes nothing. A folder
/// that does not exist has nothing to check. No process may have the analytics open. `keeps_salts` is false for a node
/// that shares the salts of its cluster: it keeps none in the folder.
///
/// # Errors
/// [`OpenError`] if a file cannot be read for another reason than damage.
pub fn check(folder: &Path, keeps_salts: bool) -> Result<CheckReport, OpenError> {
    let mut checked = CheckReport::default();
    if !folder.exists() {
        return Ok(checked);
    }
    look(folder, keeps_salts, &mut checked).map_err(|error| OpenError::of(folder, &error))?;
    Ok(checked)
}

fn look(folder: &Path, keeps_salts: bool, checked: &mut CheckReport) -> io::Result<()> {
    let mut find = |file: &Path, what: &str| checked.findings.push(Finding::of(folder, file, what.to_owned()));
    let state = match State::read(folder) {
        Err(error) if is_damage(&error) => {
            find(&folder.join(STATE_FILE), "its checksum is wrong");
            State::default()
        }
        state => state?,
    };
    for (day, what) in &state.incomplete {
        find(&folder.join(STATE_FILE), &format!("the figures of {} are not complete: {what}", format_date(*day)));
    }
    let imports = match ImportList::read(folder) {
        Err(error) if is_damage(&error) => {
            find(&folder.join(IMPORTS_FILE), "its checksum is wrong");
            None
        }
        imports => Some(imports?),
    };
    let (days, names) = (folder.join(DAYS_FOLDER), Names::default());
    let mut keys = expected(&state, imports.as_ref());
    keys.extend(files(&days)?);
    keys.sort_unstable();
    keys.dedup();
    let (mut last_counted, mut has_imports) = (0, false);
    for key in keys {
        let path = key.path(&days);
        has_imports |= key.source != Source::Events;
        match DayFile::read_all(&path, &names) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => find(&path, "it is missing"),
            Err(error) if is_damage(&error) => find(&path, "it is damaged"),
            file => last_counted = last_counted.max(file?.counted_through),
        }
        checked.day_files += 1;
    }
    let mut find = |file: &Path, what: &str| checked.findings.push(Finding::of(folder, file, what.to_owned()));
    if has_imports && !folder.join(IMPORTS_FILE).exists() {
        find(&folder.join(IMPORTS_FILE), "it is missing");
    }
    let today = day_number(now_millis());
    if keeps_salts && state.day == Some(today) && !salts::has_salt(&folder.join("salts"), today) {
        find(&folder.join("salts").join(format_date(today)), "it is damaged or missing");
    }
    let seen =
        recovery::look(folder, &state, state.synced_through.max(last_counted), today).map_err(io::Error::other)?;
    checked.findings.extend(seen.findings);
    Ok(())
}

/// Returns the day files of a folder.
pub(super) fn files(days: &Path) -> io::Result<Vec<DayKey>> {
    let entries = match fs::read_dir(days) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut keys = Vec::new();
    for entry in entries {
        keys.extend(entry?.file_name().to_str().and_then(DayKey::parse));
    }
    Ok(keys)
}
