//! Links to the files of the analytics at one moment, for a backup or another server: a file that is replaced or
//! removed afterwards still exists under its link.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::check::files;
use super::data::DAYS_FOLDER;
use super::import_list::IMPORTS_FILE;
use super::recovery::LOG;
use super::state::{STATE_FILE, State};

/// The beginning of the name of a folder of links.
const LINKS: &str = "backup-";

/// The log records in a backup.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordRange {
    pub(super) first: u64,
    pub(super) last: u64,
}

/// Returns a new folder for links.
pub(super) fn folder(analytics: &Path) -> io::Result<PathBuf> {
    let random = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
    Ok(analytics.join(format!("{LINKS}{random:016x}")))
}

/// Links every file into a folder, and writes the state there. Nothing may change meanwhile.
pub(super) fn link_files(folder: &Path, state: State, links: &Path) -> io::Result<()> {
    for part in [LOG, DAYS_FOLDER] {
        fs::create_dir_all(links.join(part))?;
        for entry in fs::read_dir(folder.join(part))? {
            let path = entry?.path();
            let Some(name) = path.file_name() else { continue };
            if name != "LOCK" && path.extension().is_some_and(|extension| extension == "part" || extension == "log") {
                link(&path, &links.join(part).join(name))?;
            }
        }
    }
    let imports = folder.join(IMPORTS_FILE);
    if imports.exists() {
        link(&imports, &links.join(IMPORTS_FILE))?;
    }
    // Whoever uses these files has no salts, so the state must not expect one.
    State { day: None, ..state }.write(links)
}

/// Returns the names of the linked files, without the log, and their paths: small ones first, then those of days in
/// order.
pub(super) fn list(links: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let days = links.join(DAYS_FOLDER);
    let mut keys = files(&days)?;
    keys.sort_unstable();
    let small = [STATE_FILE, IMPORTS_FILE].map(|name| (name.to_owned(), links.join(name)));
    let day_files = keys.iter().map(|key| key.path(&days)).filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        Some((format!("{DAYS_FOLDER}/{name}"), path))
    });
    Ok(small.into_iter().chain(day_files).filter(|(_, path)| path.exists()).collect())
}

/// Links a file, or copies it if the file system has no links.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(|_| ()))
}

/// Removes links that were left by a kill.
pub(super) fn remove_links(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(LINKS) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
