//! The base files of a data folder: written, verified, restored into a store, listed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::error::{BaseError, at};
use super::format::{Header, Item, Reader, Writer};
use crate::log::FollowLog;
use crate::store::{Assembler, Prefix, Store};

/// Where bases lie within the data folder.
const FOLDER: &str = "base";
const SUFFIX: &str = ".base";

/// Writes a base to `path`: to a temporary file beside it, synced, renamed. Other threads may go on applying, but no
/// record of the log that is not applied yet may be removed meanwhile.
pub fn write(store: &Store, log: &dyn FollowLog, path: &Path) -> Result<Header, BaseError> {
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
    let mut assembler = Assembler::default();
    while let Some(item) = reader.next()? {
        match item {
            Item::Entry(entry) => store.restore_entry(&entry)?,
            Item::Record { number, payload } => replay(store, &mut assembler, number, &payload)?,
        }
    }
    let header = reader.finish()?;
    store.restored(header.number)?;
    Ok(header)
}

/// Writes the next base of a data folder, verifies it and removes older ones. The log may be cut before the number
/// after the answered one.
pub fn write_next(data_folder: &Path, store: &Store, log: &dyn FollowLog) -> Result<Header, BaseError> {
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

/// Applies a record to the store again, if it completes a transaction.
pub(super) fn replay(store: &Store, assembler: &mut Assembler, number: u64, record: &[u8]) -> Result<(), BaseError> {
    let transaction = assembler.push(number, record).map_err(|source| BaseError::Record { number, source })?;
    if let Some(transaction) = transaction {
        store.replay(transaction.last, &transaction.writes)?;
    }
    Ok(())
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
pub(super) fn list(data_folder: &Path) -> Result<Vec<(u64, PathBuf)>, BaseError> {
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

fn write_unfinished(store: &Store, log: &dyn FollowLog, path: &Path) -> Result<Header, BaseError> {
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
