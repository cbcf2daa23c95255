//! Checking a folder of indexes without changing it. It knows no queries.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use super::index_folder::ReadIndex;
use super::manifest::{IndexManifest, Manifest};
use crate::damage::Damage;
use crate::error::Error;

/// What a check of a folder of indexes found.
#[derive(Debug, Default)]
pub struct FolderCheck {
    /// The log number up to which the indexes are complete; `None` if no index can be used, for example because there is
    /// none yet.
    pub number: Option<u64>,
    /// How many runs were read.
    pub runs: u64,
    /// How many bytes the runs have.
    pub bytes: u64,
    /// What is wrong, as text: at most one problem for each index, and one with the manifest. The indexes named here are
    /// rebuilt by the next start.
    pub problems: Vec<String>,
}

pub(super) fn check(dir: &Path) -> FolderCheck {
    let mut found = FolderCheck::default();
    let manifest = match Manifest::find(dir) {
        Ok(None) => return found,
        Ok(Some(manifest)) => manifest,
        Err(error) => {
            found.problems.push(error.to_string());
            return found;
        }
    };
    found.number = Some(manifest.number);
    for index in &manifest.indexes {
        // Tantivy may panic on bytes that it did not write.
        let checked = catch_unwind(AssertUnwindSafe(|| check_index(dir, index, &mut found)));
        let problem = match checked {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "reading its files panicked".to_owned(),
        };
        found.problems.push(format!("index {}: {problem}", index.name));
    }
    found
}

fn check_index(dir: &Path, index: &IndexManifest, found: &mut FolderCheck) -> Result<(), Error> {
    let read = ReadIndex::read(dir, index, &Arc::new(Damage::default()))?;
    for run in read.runs() {
        found.runs += 1;
        found.bytes += run.bytes();
        run.verify()?;
    }
    Ok(())
}
