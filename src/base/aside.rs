//! Folders that could not be used and were renamed, such as `store.broken-3`. Must not know why a folder could not be
//! used.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::{BaseError, at};

/// The number of renamed folders that are kept. An operator may still want to look at one of them.
const KEPT: usize = 2;

/// Renames a folder of the data folder. The new name ends with the next free number. Returns the new path.
pub(super) fn move_aside(data_folder: &Path, name: &str) -> Result<PathBuf, BaseError> {
    let folder = data_folder.join(name);
    let number = list(data_folder, name)?.last().map_or(1, |(number, _)| number.saturating_add(1));
    let aside = data_folder.join(format!("{name}.broken-{number}"));
    fs::rename(&folder, &aside).map_err(at("move", &folder))?;
    Ok(aside)
}

/// Removes all but the newest renamed folders.
pub(super) fn remove_older(data_folder: &Path, name: &str) -> Result<(), BaseError> {
    let moved = list(data_folder, name)?;
    for (_, path) in moved.iter().take(moved.len().saturating_sub(KEPT)) {
        fs::remove_dir_all(path).map_err(at("remove", path))?;
    }
    Ok(())
}

/// Returns the number in the name of a renamed folder.
pub fn number_of_aside(file_name: &str, name: &str) -> Option<u64> {
    file_name.strip_prefix(name)?.strip_prefix(".broken-")?.parse().ok()
}

/// Lists the renamed folders, ordered by their numbers.
fn list(data_folder: &Path, name: &str) -> Result<Vec<(u64, PathBuf)>, BaseError> {
    let mut moved = Vec::new();
    for entry in fs::read_dir(data_folder).map_err(at("read", data_folder))? {
        let path = entry.map_err(at("read", data_folder))?.path();
        let file_name = path.file_name().and_then(|name| name.to_str());
        if let Some(number) = file_name.and_then(|file_name| number_of_aside(file_name, name)) {
            moved.push((number, path));
        }
    }
    moved.sort();
    Ok(moved)
}
