//! Opening, restoring and reindexing data folders.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use bindery_base::{BaseError, Header, restoring};
use bindery_disk::unless_missing;
use bindery_replica::{ENDS_FOLDER, NODE_FILE};

use crate::data::files;
use crate::start::epoch;
use crate::start::error::StartError;
use crate::start::findings::Findings;

/// Names within the data folder.
const INDEX: &str = "index";
const LOCK: &str = "LOCK";
/// A folder of the file system itself, at the root of a volume.
const LOST_AND_FOUND: &str = "lost+found";

/// The known files of a data folder, by subfolder. The files of index and analytics are listed in their own crates.
const KNOWN: [(&str, &[&str]); 7] = [
    (
        "",
        &[
            LOCK,
            LOST_AND_FOUND,
            INDEX,
            bindery_base::LOG,
            bindery_base::STORE,
            "base",
            "analytics",
            "analytics.own-*",
            "analytics.old",
            "analytics.unfinished",
            "analytics.fetched",
            "backups",
            "media",
            "media-cache",
            restoring::RESTORING,
            restoring::INCOMPLETE,
            NODE_FILE,
            "node.json.new",
            "joining.base",
            ENDS_FOLDER,
        ],
    ),
    (bindery_base::LOG, LOG_FILES),
    (ENDS_FOLDER, LOG_FILES),
    ("base", &["*.base", "next", "next.unfinished"]),
    (bindery_base::STORE, &["sled", "scattered", "CHECKPOINT", "CHECKPOINT.new", "CONDEMNED", "BUILDING"]),
    ("store/sled", SLED),
    ("store/scattered", SLED),
];

/// The files of a log.
const LOG_FILES: &[&str] = &[LOCK, "*.log", "next.zeros", "torn-*"];

/// The files of a database of sled.
const SLED: &[&str] = &["conf", "db", "blobs", "snap.*", "damaged-snapshot"];

/// Returns where the index is within a data folder.
pub(crate) fn index_of(folder: &Path) -> PathBuf {
    folder.join(INDEX)
}

/// Makes the folder and keeps other servers out of it while the file is held.
///
/// # Errors
/// [`StartError`] if another server has the folder open, or it cannot be made.
pub(crate) fn lock(folder: &Path) -> Result<File, StartError> {
    fs::create_dir_all(folder).map_err(|error| StartError::folder(folder, &error))?;
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(LOCK))
        .map_err(|error| StartError::folder(folder, &error))?;
    hold(lock, folder)
}

fn hold(lock: File, folder: &Path) -> Result<File, StartError> {
    match bindery_disk::lock(&lock) {
        Ok(()) => Ok(lock),
        Err(fs::TryLockError::WouldBlock) => Err(StartError::InUse(folder.display().to_string())),
        Err(fs::TryLockError::Error(error)) => Err(StartError::folder(folder, &error)),
    }
}

/// Checks every byte of a backup.
///
/// # Errors
/// [`StartError`] if it cannot be read or is incomplete.
pub fn verify_backup(file: &Path) -> Result<Header, StartError> {
    bindery_base::verify(file).map_err(|error| StartError::backup(file, &error))
}

/// Returns the beginning of a backup that holds this many bytes of content, followed by more.
pub fn backup_envelope(content_bytes: u64) -> Vec<u8> {
    bindery_base::envelope(content_bytes)
}

/// Returns the offset of the part of a backup that is not content; `None` if there is none.
///
/// # Errors
/// [`StartError`] if it cannot be read.
pub fn rest_of_backup(file: &Path) -> Result<Option<u64>, StartError> {
    bindery_base::rest_of(file).map_err(|error| StartError::backup(file, &error))
}

/// Checks that no restore into the folder was interrupted: a start could finish the content, but not analytics and
/// media.
///
/// # Errors
/// [`StartError`] if one was.
pub(crate) fn require_restored(folder: &Path) -> Result<(), StartError> {
    match restoring::is_incomplete(folder) {
        true => Err(StartError::folder(folder, &BaseError::NotRestored)),
        false => Ok(()),
    }
}

/// Ends a restore whose analytics and media are restored too; durable on return. Servers start on the folder from then
/// on.
///
/// # Errors
/// [`StartError`] if the mark of the restore cannot be removed.
pub fn finish_restore(folder: &Path) -> Result<(), StartError> {
    restoring::finish(folder).map_err(|error| StartError::folder(folder, &error))
}

/// The content that a restore has put into a data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoredBackup {
    /// The number of webhooks that were switched off.
    pub switched_off: usize,
    /// The number of files of media that the content names. They are not in the backup.
    pub named_files: usize,
}

/// Fills an empty data folder from a backup. Changes nothing if the folder holds anything, or the backup is incomplete.
/// Unless `keeps_webhooks`, all webhooks are switched off. No server starts on the folder before [`finish_restore`].
///
/// # Errors
/// [`StartError`].
pub(crate) fn restore_backup(
    file: &Path,
    folder: &Path,
    options: &bindery_base::RecoverOptions,
    keeps_webhooks: bool,
) -> Result<RestoredBackup, StartError> {
    let header = verify_backup(file)?;
    // A folder that was never a data folder gets not even a lock file.
    if folder.exists() && !folder.join(LOCK).exists() {
        require_empty(folder)?;
    }
    let _lock = lock(folder)?;
    require_restored(folder)?;
    require_empty(folder)?;
    let fail = |error: BaseError| StartError::folder(folder, &error);
    restoring::begin(folder, keeps_webhooks)
        .and_then(|()| bindery_base::place(file, folder, header.number))
        .map_err(fail)?;
    let (mut log, store, recovered) = bindery_base::recover(folder, options).map_err(fail)?;
    if recovered.number != header.number {
        let text = format!("it is at number {} after the restore, not at {}", recovered.number, header.number);
        return Err(StartError::folder(folder, &text));
    }
    let switched_off = epoch::begin_if_due(folder, &mut log, &store)?;
    store.checkpoint().map_err(|error| StartError::folder(folder, &error))?;
    // Only a message needs the number, so the restore does not fail with it.
    let named_files = files::named(&store).map_or(0, |named| named.len());
    Ok(RestoredBackup { switched_off, named_files })
}

/// Removes the index of a data folder, so that the next start rebuilds it from the store.
///
/// # Errors
/// [`StartError`].
pub(crate) fn remove_index(folder: &Path) -> Result<(), StartError> {
    if !folder.is_dir() {
        return Err(StartError::folder(folder, &"it does not exist"));
    }
    let _lock = lock(folder)?;
    unless_missing(fs::remove_dir_all(index_of(folder))).map_err(|error| StartError::folder(folder, &error))
}

/// Keeps servers out of a folder that exists while the file is held, and changes nothing in it. `None` if no server was
/// ever started on it.
///
/// # Errors
/// [`StartError`] if the folder does not exist or a server has it open.
pub(crate) fn lock_existing(folder: &Path) -> Result<Option<File>, StartError> {
    if !folder.is_dir() {
        return Err(StartError::folder(folder, &"it does not exist"));
    }
    let lock = match File::open(folder.join(LOCK)) {
        Ok(lock) => lock,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StartError::folder(folder, &error)),
    };
    hold(lock, folder).map(Some)
}

/// # Errors
/// [`StartError`] if the folder holds anything but a lock.
pub(crate) fn require_empty(folder: &Path) -> Result<(), StartError> {
    match first_entry(folder).map_err(|error| StartError::folder(folder, &error))? {
        None => Ok(()),
        Some(found) => {
            let text = format!("it is not empty (it holds {}); this needs a new folder", found.display());
            Err(StartError::folder(folder, &text))
        }
    }
}

/// Reports files of a data folder that are not known.
pub(crate) fn name_unknown_files(folder: &Path, findings: &mut Findings) -> std::io::Result<()> {
    for (within, known) in KNOWN {
        let path = folder.join(within);
        if !path.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if within.is_empty() && bindery_base::number_of_aside(&name, bindery_base::STORE).is_some() {
                findings.note(format!(
                    "{} is an earlier store that was rebuilt; it may be deleted",
                    entry.path().display()
                ));
            } else if !known.iter().any(|known| is_named(&name, known)) {
                findings.report(format!("{} is no file of a server; it is ignored", entry.path().display()));
            }
        }
    }
    Ok(())
}

/// Returns whether a name is a known one, in which `*` stands for anything.
fn is_named(name: &str, known: &str) -> bool {
    match known.split_once('*') {
        Some((begin, end)) => name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end),
        None => name == known,
    }
}

/// Returns the first entry of a data folder except its lock and what the file system makes.
///
/// # Errors
/// The folder cannot be read.
pub fn first_entry(folder: &Path) -> std::io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() != LOCK && entry.file_name() != LOST_AND_FOUND {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}
