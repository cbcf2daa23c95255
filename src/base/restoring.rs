//! The mark of a data folder that is being restored: the file `RESTORING`, from before the base is placed until the
//! content begins its own epoch. Without it, a server started on a half restored folder would be an empty one. It also
//! holds what the restore was asked for, since a start may have to finish it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use bindery_disk::sync;

use super::error::{BaseError, at};
use super::files::{list, sync_folder_of};

/// The file.
pub const RESTORING: &str = "RESTORING";

/// The contents of the file if webhooks stay as they are.
const KEEP_WEBHOOKS: &[u8] = b"keep webhooks\n";

/// Marks a folder. `keeps_webhooks` says whether its webhooks go on sending.
pub fn begin(data_folder: &Path, keeps_webhooks: bool) -> Result<(), BaseError> {
    let mark = data_folder.join(RESTORING);
    let create = || {
        let mut file = File::create(&mark)?;
        file.write_all(if keeps_webhooks { KEEP_WEBHOOKS } else { b"" })?;
        sync::all(&file)
    };
    create().map_err(at("create", &mark))?;
    sync_folder_of(&mark)
}

/// Tests whether the webhooks of a marked folder go on sending.
pub fn keeps_webhooks(data_folder: &Path) -> Result<bool, BaseError> {
    let mark = data_folder.join(RESTORING);
    Ok(fs::read(&mark).map_err(at("read", &mark))? == KEEP_WEBHOOKS)
}

/// Tests whether the folder is marked: it has its base, and all else can be made from that.
pub fn is_restoring(data_folder: &Path) -> bool {
    data_folder.join(RESTORING).exists()
}

/// Removes the mark.
pub fn end(data_folder: &Path) -> Result<(), BaseError> {
    let mark = data_folder.join(RESTORING);
    match fs::remove_file(&mark) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at("remove", &mark)(error)),
        _ => {}
    }
    sync_folder_of(&mark)
}

/// # Errors
/// [`BaseError::NotRestored`] if a restore ended before its base was in place.
pub(super) fn check(data_folder: &Path) -> Result<(), BaseError> {
    match is_restoring(data_folder) && list(data_folder)?.is_empty() {
        true => Err(BaseError::NotRestored),
        false => Ok(()),
    }
}
