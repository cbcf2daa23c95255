//! The mark of a data folder that is being restored: the file `RESTORING`. It exists from before the base is placed
//! until the content begins its own epoch. Without the mark, a server that is started on a half restored folder would
//! be an empty server. The file also holds the options of the restore, since a start may have to finish it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use bindery_disk::sync;

use super::error::{BaseError, at};
use super::files::{list, sync_folder_of};

/// The name of the file.
pub const RESTORING: &str = "RESTORING";

/// The contents of the file if webhooks stay as they are.
const KEEP_WEBHOOKS: &[u8] = b"keep webhooks\n";

/// Marks a folder. `keeps_webhooks` says whether the webhooks of the folder stay switched on.
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

/// Returns whether the webhooks of a marked folder stay switched on.
pub fn keeps_webhooks(data_folder: &Path) -> Result<bool, BaseError> {
    let mark = data_folder.join(RESTORING);
    Ok(fs::read(&mark).map_err(at("read", &mark))? == KEEP_WEBHOOKS)
}

/// Returns whether the folder is marked. A marked folder has its base, from which everything else can be made.
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
