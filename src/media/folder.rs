//! Files in a folder of this machine, each under its hash. Must not know what the files hold.
//!
//! A file `ab/abcd…` is complete and durable as soon as it has this name: its bytes are synced before the file is
//! renamed, and the folders afterwards. If `media` is on another disk than the uploads, a file is first copied to
//! `abcd….part` beside these folders.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bindery_disk::sync;
use parking_lot::Mutex;

use crate::error::{MediaError, io_error};
use crate::files::StoredFile;
use crate::hash::Hash;

/// The ending of copies of files that are not complete.
const PART: &str = ".part";

/// A folder with files.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Held while a file gets its name, and while one is removed. So a file that was just uploaded again is not removed
    /// for the age of the earlier one.
    names: Mutex<()>,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Folder, MediaError> {
        fs::create_dir_all(path).map_err(io_error("create the folder", path))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_folder(parent.unwrap_or(Path::new(".")))?;
        Ok(Folder { path: path.to_owned(), names: Mutex::new(()) })
    }

    pub(crate) fn path_of(&self, hash: &Hash) -> PathBuf {
        self.path.join(hash.folder()).join(hash.to_string())
    }

    /// Gives a temporary file its name. It takes the place of an existing file, which may be damaged, and is older: a
    /// sweep removes files by their age.
    pub(crate) fn publish(&self, hash: &Hash, temporary: &Path) -> Result<(), MediaError> {
        let target = self.path_of(hash);
        let folder = target.parent().unwrap_or(&self.path);
        let names = self.names.lock();
        // A thread that finds the folder may rely on it: it is synced before the lock is released.
        if !folder.is_dir() {
            fs::create_dir_all(folder).map_err(io_error("create the folder", folder))?;
            sync_folder(&self.path)?;
        }
        let touched = File::options().write(true).open(temporary).and_then(|file| file.set_modified(SystemTime::now()));
        touched.map_err(io_error("change the time of", temporary))?;
        let moved = match fs::rename(temporary, &target) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                copy_and_rename(temporary, &self.path.join(format!("{hash}{PART}")), &target)
            }
            moved => moved,
        };
        moved.map_err(io_error("write", &target))?;
        drop(names);
        sync_folder(folder)
    }

    pub(crate) fn length(&self, hash: &Hash) -> Result<Option<u64>, MediaError> {
        let path = self.path_of(hash);
        match fs::metadata(&path) {
            Ok(found) => Ok(Some(found.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", &path)(error)),
        }
    }

    pub(crate) fn open_file(&self, hash: &Hash) -> Result<Option<(File, u64)>, MediaError> {
        let path = self.path_of(hash);
        let opened = File::open(&path).and_then(|file| file.metadata().map(|found| (file, found.len())));
        match opened {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("open", &path)(error)),
        }
    }

    /// Removes a file that was not changed for this time. Returns true if the file is gone.
    pub(crate) fn remove(&self, hash: &Hash, unchanged_for: Duration) -> Result<bool, MediaError> {
        let path = self.path_of(hash);
        let _names = self.names.lock();
        let removed = fs::metadata(&path).and_then(|found| {
            let is_old = is_older(&found, unchanged_for);
            if is_old { fs::remove_file(&path).map(|()| true) } else { Ok(false) }
        });
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            removed => removed.map_err(io_error("remove", &path)),
        }
    }

    /// Removes the copies that the end of an earlier process left incomplete, and returns how many.
    pub(crate) fn remove_parts(&self) -> Result<u64, MediaError> {
        let is_part = |name: &str| name.strip_suffix(PART).is_some_and(|hash| hash.parse::<Hash>().is_ok());
        remove_files(&self.path, |name| name.to_str().is_some_and(is_part))
    }

    /// Returns the files of one of the 256 folders. Entries that are no files of media are left out.
    pub(crate) fn list(&self, number: u8) -> Result<Vec<StoredFile>, MediaError> {
        let folder = self.path.join(format!("{number:02x}"));
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io_error("list", &folder))?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry.map_err(io_error("list", &folder))?;
            let Some(hash) = entry.file_name().to_str().and_then(|name| name.parse::<Hash>().ok()) else { continue };
            // The file may have been removed since the folder was read.
            let Ok(found) = entry.metadata() else { continue };
            let modified = found.modified().map_err(io_error("read", &entry.path()))?;
            files.push(StoredFile { hash, bytes: found.len(), modified });
        }
        Ok(files)
    }
}

/// Removes the files of a folder whose names are chosen, and returns how many.
pub(crate) fn remove_files(folder: &Path, is_chosen: impl Fn(&OsStr) -> bool) -> Result<u64, MediaError> {
    let mut removed = 0;
    for entry in fs::read_dir(folder).map_err(io_error("list", folder))? {
        let entry = entry.map_err(io_error("list", folder))?;
        if is_chosen(&entry.file_name()) && entry.metadata().is_ok_and(|found| found.is_file()) {
            fs::remove_file(entry.path()).map_err(io_error("remove", &entry.path()))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Reads a part of a file.
pub(crate) fn read_part(file: &mut File, start: u64, length: usize) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn sync_folder(folder: &Path) -> Result<(), MediaError> {
    let synced = File::open(folder).and_then(|folder| sync::all(&folder));
    synced.map_err(io_error("sync the folder", folder))
}

/// A time in the future counts as new, so that a wrong clock never removes a file too early.
fn is_older(found: &fs::Metadata, age: Duration) -> bool {
    let unchanged = found.modified().ok().and_then(|modified| modified.elapsed().ok());
    age.is_zero() || unchanged.is_some_and(|unchanged| unchanged >= age)
}

/// Moves a file to another disk, by a copy `part` on that disk.
fn copy_and_rename(from: &Path, part: &Path, to: &Path) -> io::Result<()> {
    let copied = fs::copy(from, part).and_then(|_| sync::all(&File::open(part)?)).and_then(|()| fs::rename(part, to));
    if copied.is_err() {
        // The copy may have failed because the disk is full, so what there is of it must not stay.
        let _ = fs::remove_file(part);
    }
    copied.and_then(|()| fs::remove_file(from))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_is_moved_to_another_disk_and_a_move_that_fails_leaves_only_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let [from, part, to] = ["upload", "copy.part", "file"].map(|name| folder.path().join(name));
        fs::write(&from, b"some text").unwrap();
        copy_and_rename(&from, &part, &folder.path().join("missing/file")).unwrap_err();
        assert!(from.exists() && !part.exists());
        copy_and_rename(&from, &part, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"some text");
        assert!(!from.exists() && !part.exists());
    }
}
