//! Two small files next to sled's: one holds the number up to which the store is known to be durable, the other marks
//! the store as condemned (the next start must rebuild it).
//!
//! ```text
//! CHECKPOINT  format version (1)  number (8)  CRC32 of all before (4)
//! ```
//!
//! A file of the first format has no version: number (8), CRC32 (4). Version 2 is that of a store with one database, see
//! `split.rs`.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use super::error::{StoreError, at};
use crate::failure;
use crate::sync;

const NAME: &str = "CHECKPOINT";
const UNFINISHED: &str = "CHECKPOINT.new";
const CONDEMNED: &str = "CONDEMNED";
const VERSION: u8 = 3;
/// The version from which on a store has two databases.
const TWO_DATABASES: u8 = 3;

/// What the file of a checkpoint says.
pub(super) struct Recorded {
    /// The number up to which the store is durable.
    pub(super) number: u64,
    /// Whether the store has a database for scattered keys.
    pub(super) has_two_databases: bool,
}

/// The number up to which the last checkpoint made the store in `folder` durable. `None` if there was no checkpoint or
/// its file is damaged.
///
/// # Errors
/// [`StoreError::Io`] if the system does not let the file be read, which says nothing about the store;
/// [`StoreError::Version`] for a file of a newer format.
pub fn checkpointed(folder: &Path) -> Result<Option<u64>, StoreError> {
    Ok(recorded(folder)?.map(|recorded| recorded.number))
}

/// As [`checkpointed`], with the format.
pub(super) fn recorded(folder: &Path) -> Result<Option<Recorded>, StoreError> {
    let path = folder.join(NAME);
    let Some(bytes) = read(&path)? else { return Ok(None) };
    match bytes.split_last_chunk::<4>() {
        Some((checked, sum)) if crc32fast::hash(checked).to_le_bytes() == *sum => match checked {
            [version @ ..=VERSION, number @ ..] if number.len() == 8 => Ok(Recorded::of(number, *version)),
            number if number.len() == 8 => Ok(Recorded::of(number, 1)),
            [version, ..] if *version > VERSION => {
                Err(StoreError::Version { what: path.display().to_string(), version: *version })
            }
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// Why the store in `folder` is condemned; `None` if it is not.
///
/// # Errors
/// [`StoreError::Io`].
pub(crate) fn condemned(folder: &Path) -> Result<Option<String>, StoreError> {
    Ok(read(&folder.join(CONDEMNED))?.map(|reason| String::from_utf8_lossy(&reason).into_owned()))
}

impl Recorded {
    fn of(number: &[u8], version: u8) -> Option<Recorded> {
        let number = u64::from_le_bytes(number.try_into().ok()?);
        Some(Recorded { number, has_two_databases: version >= TWO_DATABASES })
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match failure::point("store::read").and_then(|()| fs::read(path)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at("read", path)(error)),
    }
}

/// Marks the store as condemned. If the disk does not allow that, ignore the error: the damage will be found again.
pub(super) fn condemn(folder: &Path, reason: &str) {
    let _ = fs::write(folder.join(CONDEMNED), reason);
}

/// Replaces the checkpoint file by a rename, so that it is always complete.
pub(super) fn write(folder: &Path, number: u64) -> Result<(), StoreError> {
    let unfinished = folder.join(UNFINISHED);
    let mut bytes = vec![VERSION];
    bytes.extend(number.to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    let written = File::create(&unfinished).and_then(|mut file| {
        failure::write("store::checkpoint", &bytes, |bytes| file.write_all(bytes))?;
        sync::all(&file)
    });
    written.map_err(at("write", &unfinished))?;
    let renamed = failure::point("store::checkpoint_rename")
        .and_then(|()| sync::record(|| fs::rename(&unfinished, folder.join(NAME))));
    renamed.map_err(at("rename", &unfinished))?;
    File::open(folder).and_then(|folder| sync::all(&folder)).map_err(at("sync", folder))
}
