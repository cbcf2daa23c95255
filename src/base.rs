//! Bases: one file that holds everything the store held at one number of the log.
//!
//! It owns the file's format, how a base is written while the store changes, and how log and store are brought up at a
//! start (`recover`). It must not know what a value means.
//!
//! **Why a walk over a changing store gives an exact state.** The walk begins at number *n*: everything up to *n* is in
//! the store. It visits keys in order while later records are applied, so an entry may be seen as of any number from *n*
//! to *m*, the one the store stands at when the walk ends. Records hold results, never commands: whatever a key was seen
//! as, after replaying *n*+1 to *m* in order it is what the last of them that names it makes of it — put, deleted, or
//! deleted and put again. A key that none of them names did not change during the walk, and the walk cannot miss it,
//! since sled never moves an entry past a key that an iterator has reached. This holds for the versions of copies, too:
//! a version that was swept meanwhile (by a record) is named by no resource as of *m*. So the file carries the records
//! *n*+1 to *m* behind the entries, and is exact at *m* by itself: it is a backup, and the log below *m*+1 may go.

mod error;
mod format;
mod recover;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub use error::BaseError;
pub use recover::{RecoverOptions, Recovered, recover, salvage};

use crate::log::LogReader;
use crate::store::{Prefix, Store, decode_changes};
use error::at;
use format::{Item, Reader, Writer};

/// Where bases lie within the data folder.
const FOLDER: &str = "base";
const SUFFIX: &str = ".base";

/// What a base says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The number of the log at which it is exact.
    pub number: u64,
    /// How many values the walk found.
    pub entries: u64,
    /// How many records of the log follow them.
    pub records: u64,
    /// The file's length.
    pub bytes: u64,
}

/// Writes a base to `path`: to a temporary file beside it, synced, renamed. Other threads may go on applying, but no
/// record of the log that is not applied yet may be removed meanwhile.
pub fn write(store: &Store, log: &LogReader, path: &Path) -> Result<Header, BaseError> {
    let unfinished = path.with_extension("unfinished");
    let written = write_unfinished(store, log, &unfinished);
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    let header = written?;
    fs::rename(&unfinished, path).map_err(at("rename", &unfinished))?;
    sync_folder_of(path)?;
    Ok(header)
}

/// Reads a whole base and checks it.
pub fn verify(path: &Path) -> Result<Header, BaseError> {
    let mut reader = Reader::open(path)?;
    while reader.next()?.is_some() {}
    reader.finish()
}

/// Puts what a base holds into an empty store. If it fails, the store holds a part and is to be thrown away.
pub fn restore(path: &Path, store: &Store) -> Result<Header, BaseError> {
    let mut reader = Reader::open(path)?;
    while let Some(item) = reader.next()? {
        match item {
            Item::Entry(entry) => store.restore_entry(&entry)?,
            Item::Record { number, payload } => {
                let changes = decode_changes(&payload).map_err(|source| BaseError::Changes { number, source })?;
                store.replay(number, &changes)?;
            }
        }
    }
    let header = reader.finish()?;
    store.restored(header.number)?;
    Ok(header)
}

/// Writes the next base of a data folder, verifies it and removes older ones. The log may be cut before the number
/// after the answered one.
pub fn write_next(data_folder: &Path, store: &Store, log: &LogReader) -> Result<Header, BaseError> {
    let folder = data_folder.join(FOLDER);
    fs::create_dir_all(&folder).map_err(at("create", &folder))?;
    sync_folder_of(&folder)?;
    let written = folder.join("next");
    let header = write(store, log, &written)?;
    verify(&written)?;
    let path = folder.join(format!("{:020}{SUFFIX}", header.number));
    fs::rename(&written, &path).map_err(at("rename", &written))?;
    sync_folder_of(&path)?;
    for (number, older) in list(data_folder)? {
        if number < header.number {
            fs::remove_file(&older).map_err(at("remove", &older))?;
        }
    }
    Ok(header)
}

/// Puts a copy of a whole base into a data folder, synced: what the next [`recover`] of an empty folder begins with.
pub fn place(file: &Path, data_folder: &Path, number: u64) -> Result<(), BaseError> {
    let folder = data_folder.join(FOLDER);
    fs::create_dir_all(&folder).map_err(at("create", &folder))?;
    sync_folder_of(&folder)?;
    let unfinished = folder.join("next");
    fs::copy(file, &unfinished).map_err(at("copy", file))?;
    File::open(&unfinished).and_then(|copy| copy.sync_all()).map_err(at("sync", &unfinished))?;
    let path = folder.join(format!("{number:020}{SUFFIX}"));
    fs::rename(&unfinished, &path).map_err(at("rename", &unfinished))?;
    sync_folder_of(&path)
}

/// The files of a data folder's bases, oldest first.
pub fn all(data_folder: &Path) -> Result<Vec<PathBuf>, BaseError> {
    Ok(list(data_folder)?.into_iter().map(|(_, path)| path).collect())
}

/// Number and length of the newest base of a data folder, unverified: what decides when the next one is due.
pub fn newest(data_folder: &Path) -> Result<Option<(u64, u64)>, BaseError> {
    let Some((number, path)) = list(data_folder)?.pop() else { return Ok(None) };
    let bytes = fs::metadata(&path).map_err(at("read", &path))?.len();
    Ok(Some((number, bytes)))
}

/// The bases of a data folder, oldest first.
fn list(data_folder: &Path) -> Result<Vec<(u64, PathBuf)>, BaseError> {
    let folder = data_folder.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(at("read", &folder))?,
    };
    let mut bases = Vec::new();
    for entry in entries {
        let path = entry.map_err(at("read", &folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(number) = name.and_then(|name| name.strip_suffix(SUFFIX)).and_then(|number| number.parse().ok()) {
            bases.push((number, path));
        }
    }
    bases.sort();
    Ok(bases)
}

fn write_unfinished(store: &Store, log: &LogReader, path: &Path) -> Result<Header, BaseError> {
    let started = store.applied();
    let mut writer = Writer::create(path)?;
    for entry in store.entries(Prefix::All, None) {
        writer.entry(&entry?)?;
    }
    let number = store.applied();
    for record in log.read(started + 1, number)? {
        let (number, payload) = record?;
        writer.record(number, &payload)?;
    }
    writer.finish(number)
}

fn sync_folder_of(path: &Path) -> Result<(), BaseError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(at("sync", folder))
}
