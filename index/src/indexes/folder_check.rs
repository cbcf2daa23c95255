//! Checking a folder of indexes without changing it. It knows no queries.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use super::index_folder::ReadIndex;
use super::manifest::{FoundManifest, IndexManifest, Manifest};
use crate::damage::Damage;
use crate::error::Error;

/// The findings of a check of a folder of indexes.
#[derive(Debug, Default)]
pub struct FolderCheck {
    /// The log number up to which the indexes are complete; `None` if no index can be used, for example because there
    /// is none yet.
    pub number: Option<u64>,
    /// The number of runs that were read.
    pub runs: u64,
    /// The number of bytes the runs have.
    pub bytes: u64,
    /// The reason why the next start rebuilds every index although none is damaged: another version wrote them.
    pub outdated: Option<String>,
    /// The problems: at most one for each index, or one with the manifest.
    pub problems: Vec<FolderProblem>,
}

/// A problem with the files of indexes. The next start rebuilds these indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderProblem {
    /// The name of the index; `None` if the manifest is damaged, and with it every index.
    pub index: Option<u32>,
    /// The file and the problem with it.
    pub text: String,
}

pub(super) fn check(dir: &Path) -> FolderCheck {
    let mut found = FolderCheck::default();
    let manifest = match Manifest::find(dir) {
        Ok(FoundManifest::Missing) => return found,
        Ok(FoundManifest::Outdated(why)) => {
            found.outdated = Some(why);
            return found;
        }
        Ok(FoundManifest::Usable(manifest)) => manifest,
        Err(error) => {
            found.problems.push(FolderProblem { index: None, text: error.to_string() });
            return found;
        }
    };
    found.number = Some(manifest.number);
    for index in &manifest.indexes {
        // Tantivy may panic on bytes that it did not write.
        let checked = catch_unwind(AssertUnwindSafe(|| check_index(dir, index, &mut found)));
        let text = match checked {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "reading its files panicked".to_owned(),
        };
        found.problems.push(FolderProblem { index: Some(index.name), text });
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
