//! The marks of a data folder that is being restored.
//!
//! The file `RESTORING` exists from before the base is placed until the content begins its own epoch. It also holds the
//! options of the restore. The file `INCOMPLETE` exists until analytics and media are restored too. Without the marks,
//! a server that is started on a half restored folder would be an empty server, or one without its files.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use bindery_disk::{failure, sync, unless_missing};

use super::error::{BaseError, at};
use super::files::{list, sync_folder_of};

/// The name of the mark of the content.
pub const RESTORING: &str = "RESTORING";
/// The name of the mark of the whole restore.
pub const INCOMPLETE: &str = "INCOMPLETE";

/// The contents of the file if webhooks stay as they are.
const KEEP_WEBHOOKS: &[u8] = b"keep webhooks\n";

/// Makes both marks. `keeps_webhooks` says whether the webhooks of the folder stay switched on.
pub fn begin(data_folder: &Path, keeps_webhooks: bool) -> Result<(), BaseError> {
    let incomplete = data_folder.join(INCOMPLETE);
    File::create(&incomplete).map_err(at("create", &incomplete))?;
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

/// Returns whether a restore of content, analytics and media into the folder did not finish.
pub fn is_incomplete(data_folder: &Path) -> bool {
    data_folder.join(INCOMPLETE).exists()
}

/// Removes the mark of the content; durable on return.
pub fn end(data_folder: &Path) -> Result<(), BaseError> {
    remove(&data_folder.join(RESTORING))
}

/// Removes the mark of the whole restore; durable on return.
pub fn finish(data_folder: &Path) -> Result<(), BaseError> {
    let mark = data_folder.join(INCOMPLETE);
    failure::point("restoring::finish").map_err(at("remove", &mark))?;
    remove(&mark)
}

fn remove(mark: &Path) -> Result<(), BaseError> {
    unless_missing(fs::remove_file(mark)).map_err(at("remove", mark))?;
    sync_folder_of(mark)
}

/// # Errors
/// [`BaseError::NotRestored`] if a restore ended before its base was in place.
pub(super) fn check(data_folder: &Path) -> Result<(), BaseError> {
    match is_restoring(data_folder) && list(data_folder)?.is_empty() {
        true => Err(BaseError::NotRestored),
        false => Ok(()),
    }
}
