//! The folder of the analytics of a node: a copy of what is in the storage, which is made anew when the node begins to
//! count, and removed once another node counts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bindery_analytics::destroy_salts;
use bindery_cluster::Store;
use bindery_disk::unless_missing;

use crate::error::CountingError;
use crate::shared_store;

/// The beginning of the extension of a folder that was moved aside.
const ASIDE: &str = "own";
/// The file that marks a folder as such a copy. It holds the number of the newest entry that the copy includes.
const MARK: &str = "of-cluster";

/// Marks a folder as a copy of what is in the storage up to an entry.
pub(crate) fn mark(folder: &Path, last: u64) -> io::Result<()> {
    fs::write(folder.join(MARK), last.to_string())
}

/// Returns the number of the newest entry that a copy includes; 0 if that is not known, for example after a kill.
fn marked_entry(copy: &Path) -> u64 {
    fs::read_to_string(copy.join(MARK)).ok().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Returns whether a folder is such a copy.
#[must_use]
pub fn is_copy(folder: &Path) -> bool {
    folder.join(MARK).exists()
}

/// Replaces the folder by one with what is in the storage. Returns the number of its newest entry; 0 if there is none,
/// and the folder stays. A folder that is no copy is moved aside.
pub(crate) fn renew(store: &Store, folder: &Path) -> Result<u64, CountingError> {
    let old = old_copy(folder);
    if folder.exists() && shared_store::newest(store)?.is_none() {
        return Ok(0);
    }
    let mut own = None;
    if is_copy(folder) {
        replace_old(folder, &old)?;
    } else if folder.exists() {
        own = Some(move_aside(folder)?);
    }
    let loaded = shared_store::load(store, folder, Some(&old));
    if let Some(own) = own {
        if loaded.is_err() {
            // Nothing replaces it yet.
            fs::rename(own, folder)?;
        } else {
            let own = own.display();
            tracing::warn!("what this node counted before it shared the analytics of its cluster is in {own} now");
        }
    }
    let last = loaded?;
    unless_missing(fs::remove_dir_all(&old))?;
    Ok(last)
}

/// Removes the copy once another node counts, which adds entries: figures that are deleted there must not stay on this
/// disk. Until then it is kept, because this node may begin again and needs its files.
pub(crate) fn remove_outdated(store: &Store, folder: &Path) -> Result<(), CountingError> {
    let old = old_copy(folder);
    let copy = if is_copy(folder) { folder } else { old.as_path() };
    if !copy.exists() || shared_store::newest(store)?.is_none_or(|newest| newest <= marked_entry(copy)) {
        return Ok(());
    }
    if copy == folder {
        // A kill while the files are removed leaves no folder without its mark.
        replace_old(folder, &old)?;
    }
    unless_missing(fs::remove_dir_all(&old))?;
    Ok(())
}

/// Returns where a copy is while it is replaced or removed.
fn old_copy(folder: &Path) -> PathBuf {
    folder.with_extension("old")
}

fn replace_old(folder: &Path, old: &Path) -> io::Result<()> {
    unless_missing(fs::remove_dir_all(old))?;
    fs::rename(folder, old)
}

/// Gets the analytics of a cluster for a server that leaves it. `address` is that of the cluster's log. Returns false,
/// and changes nothing, if the cluster has none.
///
/// # Errors
/// If the storage cannot be read, or the disk fails. It can be tried again.
pub fn take_along(address: &str, folder: &Path) -> Result<bool, CountingError> {
    Ok(renew(&Store::open(address)?, folder)? > 0)
}

/// Moves a copy aside for a server that leaves its cluster without the storage: the copy has no salt of the day, and
/// may lack what others counted. Returns where it is then; `None`, and changes nothing, if the folder is no copy.
///
/// # Errors
/// If the disk fails.
pub fn set_copy_aside(folder: &Path) -> io::Result<Option<PathBuf>> {
    is_copy(folder).then(|| move_aside(folder)).transpose()
}

fn move_aside(folder: &Path) -> io::Result<PathBuf> {
    let aside = free_name(folder);
    fs::rename(folder, &aside)?;
    Ok(aside)
}

/// Destroys the salts that a server made before it shared those of its cluster, also in folders that were moved aside.
pub(crate) fn destroy_own_salts(folder: &Path) -> io::Result<()> {
    let aside = folder.with_extension(ASIDE);
    let aside = aside.file_name().unwrap_or_default().to_string_lossy();
    let mut destroyed = destroy_salts(folder);
    for entry in fs::read_dir(folder.parent().unwrap_or(folder))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&*aside) {
            destroyed = destroyed.and(destroy_salts(&entry.path()));
        }
    }
    destroyed
}

/// Returns the name of a folder that does not exist, beside another one.
fn free_name(folder: &Path) -> PathBuf {
    let free = (1..).map(|number| folder.with_extension(format!("{ASIDE}-{number}"))).find(|path| !path.exists());
    free.unwrap_or_else(|| folder.with_extension(ASIDE))
}
