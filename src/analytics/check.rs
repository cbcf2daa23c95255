//! Checks the files of the analytics and changes nothing: what is damaged, as text for the user.

use std::fs;
use std::path::Path;

use super::day_file::DayFile;
use super::import_list::ImportList;
use super::log_record;
use super::names::Names;
use crate::log::{LogError, inspect};

/// What was checked.
#[derive(Debug, Default)]
pub struct Checked {
    /// How many files.
    pub files: u64,
    /// What is damaged.
    pub issues: Vec<String>,
}

/// Checks the log, the day files and the list of imports in a folder. Without the folder, there is nothing to check.
pub fn check(folder: &Path) -> Checked {
    let mut checked = Checked::default();
    let mut damaged = Vec::new();
    let mut visit = |number: u64, record: &[u8]| {
        if let Err(error) = log_record::decode(record, &Names::default()) {
            damaged.push(format!("record {number} of the analytics log: {error}"));
        }
        Ok::<(), LogError>(())
    };
    match inspect(&folder.join("log"), &mut visit) {
        Ok(log) => checked.issues.extend(log.issues),
        Err(error) => checked.issues.push(error.to_string()),
    }
    checked.issues.extend(damaged);
    if let Err(error) = ImportList::read(folder) {
        checked.issues.push(format!("the list of imports cannot be read: {error}"));
    }
    for name in ["log", "days"] {
        let entries = fs::read_dir(folder.join(name)).into_iter().flatten();
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            checked.files += 1;
            // The names of each file are forgotten: a year of them may be large.
            if path.extension().is_some_and(|extension| extension == "part")
                && let Err(error) = DayFile::read(&path, &Names::default())
            {
                checked.issues.push(error.to_string());
            }
        }
    }
    checked
}
