//! Two small files next to sled's: one holds the number up to which the store is known to be durable, the other marks
//! the store as condemned (the next start must rebuild it).
//!
//! ```text
//! CHECKPOINT  format version (1)  number (8)  CRC32 of all before (4)
//! ```
//!
//! This is version 3, which every later version reads. Files of versions 1 (without the version's byte) and 2 were
//! never released: they are recognized, and refused by name.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use bindery_disk::failure;
use bindery_disk::sync;

use super::error::{StoreError, at};

const NAME: &str = "CHECKPOINT";
const UNFINISHED: &str = "CHECKPOINT.new";
const CONDEMNED: &str = "CONDEMNED";
const VERSION: u8 = 3;

/// Returns the number up to which the last checkpoint made the store in `folder` durable. Returns `None` if there was
/// no checkpoint or its file is damaged.
///
/// # Errors
/// [`StoreError::Io`] if the system does not let the file be read, which says nothing about the store;
/// [`StoreError::Version`] for a file of another version.
pub fn checkpointed(folder: &Path) -> Result<Option<u64>, StoreError> {
    let path = folder.join(NAME);
    let Some(bytes) = read(&path)? else { return Ok(None) };
    let Some((checked, sum)) = bytes.split_last_chunk::<4>() else { return Ok(None) };
    if crc32fast::hash(checked).to_le_bytes() != *sum {
        return Ok(None);
    }
    let version = match checked {
        [] => return Ok(None),
        [VERSION, number @ ..] if number.len() == 8 => {
            return Ok(number.try_into().ok().map(u64::from_le_bytes));
        }
        number if number.len() == 8 => 1,
        [version, ..] => *version,
    };
    Err(StoreError::Version { what: path.display().to_string(), version })
}

/// Returns the reason why the store in `folder` is condemned; `None` if it is not.
///
/// # Errors
/// [`StoreError::Io`].
pub fn condemned(folder: &Path) -> Result<Option<String>, StoreError> {
    Ok(read(&folder.join(CONDEMNED))?.map(|reason| String::from_utf8_lossy(&reason).into_owned()))
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match failure::point("store::read").and_then(|()| fs::read(path)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at("read", path)(error)),
    }
}

/// Marks the store as condemned. If the disk does not allow that, the error is ignored: the damage will be found again.
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
