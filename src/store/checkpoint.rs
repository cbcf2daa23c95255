//! Two small files next to sled's: one holds the number up to which the store is known to be durable, the other marks
//! the store as condemned (the next start must rebuild it).

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use super::error::{StoreError, at};

const NAME: &str = "CHECKPOINT";
const UNFINISHED: &str = "CHECKPOINT.new";
const CONDEMNED: &str = "CONDEMNED";

/// The number up to which the last checkpoint made the store in `folder` durable. `None` if there was no checkpoint or
/// its file is damaged.
pub fn checkpointed(folder: &Path) -> Option<u64> {
    let bytes: [u8; 12] = fs::read(folder.join(NAME)).ok()?.try_into().ok()?;
    let (number, sum) = bytes.split_first_chunk::<8>()?;
    (crc32fast::hash(number).to_le_bytes() == sum).then(|| u64::from_le_bytes(*number))
}

/// Why the store in `folder` is condemned; `None` if it is not.
pub(crate) fn condemned(folder: &Path) -> Option<String> {
    fs::read(folder.join(CONDEMNED)).ok().map(|reason| String::from_utf8_lossy(&reason).into_owned())
}

/// Marks the store as condemned. If the disk does not allow that, ignore the error: the damage will be found again.
pub(super) fn condemn(folder: &Path, reason: &str) {
    let _ = fs::write(folder.join(CONDEMNED), reason);
}

/// Replaces the checkpoint file by a rename, so that it is always complete.
pub(super) fn write(folder: &Path, number: u64) -> Result<(), StoreError> {
    let unfinished = folder.join(UNFINISHED);
    let number = number.to_le_bytes();
    let written = File::create(&unfinished).and_then(|mut file| {
        file.write_all(&number)?;
        file.write_all(&crc32fast::hash(&number).to_le_bytes())?;
        file.sync_all()
    });
    written.map_err(at("write", &unfinished))?;
    fs::rename(&unfinished, folder.join(NAME)).map_err(at("rename", &unfinished))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(at("sync", folder))
}
