//! A temporary folder, and copies of folders. Must not know what they hold.

use std::fs;
use std::path::{Path, PathBuf};

use crate::start::error::StartError;

/// A temporary folder, which is removed when it is dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes the folder within `parent`.
    pub(crate) fn create(parent: &Path) -> Result<Scratch, StartError> {
        let random = getrandom::u64().map_err(StartError::content)?;
        let folder = parent.join(format!("bindery-temporary-{random:016x}"));
        fs::create_dir(&folder).map_err(|error| StartError::folder(&folder, &error))?;
        Ok(Scratch(folder))
    }

    /// Returns a path within the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Copies a folder into this one, under another name. Returns `None` if there is no such folder.
    pub(crate) fn copy_of(&self, folder: &Path, name: &str) -> Result<Option<PathBuf>, StartError> {
        if !folder.is_dir() {
            return Ok(None);
        }
        let copy = self.path(name);
        copy_folder(folder, &copy)?;
        Ok(Some(copy))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, "the temporary folder {} could not be removed", self.0.display());
        }
    }
}

/// Copies a folder with everything in it. On file systems that can, the copy shares its blocks with the original.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<(), StartError> {
    each_file(from, to, &|from, to| fs::copy(from, to).map(drop))
}

/// Gives the files of a folder a name in another one, too; copies them where that is not possible, as on another disk.
/// Only for files that are never changed.
pub(crate) fn link_folder(from: &Path, to: &Path) -> Result<(), StartError> {
    each_file(from, to, &|from, to| fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop)))
}

fn each_file(from: &Path, to: &Path, take: &dyn Fn(&Path, &Path) -> std::io::Result<()>) -> Result<(), StartError> {
    let fail = |path: &Path, error: std::io::Error| StartError::folder(path, &format!("it cannot be copied: {error}"));
    fs::create_dir_all(to).map_err(|error| fail(to, error))?;
    for entry in fs::read_dir(from).map_err(|error| fail(from, error))? {
        let entry = entry.map_err(|error| fail(from, error))?;
        let (path, name) = (entry.path(), entry.file_name());
        let kind = entry.file_type().map_err(|error| fail(&path, error))?;
        if kind.is_dir() {
            each_file(&path, &to.join(&name), take)?;
        } else if kind.is_file() {
            take(&path, &to.join(&name)).map_err(|error| fail(&path, error))?;
        }
    }
    Ok(())
}
