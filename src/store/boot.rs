//! Opens sled, and first removes files that a crash may have left in its folder.
//!
//! When sled opens, it writes a snapshot of its page table as `snap.<n>.generating` and then renames it. If it is
//! killed in between, every later start mistakes the unfinished file for the newest snapshot and fails. Therefore such
//! files are removed first. If the newest snapshot has a bad checksum, it is moved aside, and sled rebuilds its page
//! table from the data file.

use std::any::Any;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use bindery_disk::failure;
use bindery_disk::sync;

use super::environment::environment_error;
use super::error::{StoreError, at};
use super::options::{SEGMENT_BYTES, StoreOptions};

/// The time to wait for sled's lock. sled releases it some time after the last handle is dropped.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The time between two runs of sled's own thread, which writes buffers to the disk and cleans segments up.
const FLUSH_EVERY_MILLIS: u64 = 1_000;

/// Opens a database of sled in a subfolder of the store's folder, and makes the names of new files durable.
pub(super) fn open(folder: &Path, sled_folder: &Path, options: &StoreOptions) -> Result<sled::Db, StoreError> {
    fs::create_dir_all(sled_folder).map_err(at("create", sled_folder))?;
    clear_snapshots(sled_folder)?;
    let started = Instant::now();
    let mut tries = 0;
    let db = loop {
        match try_open(sled_folder, options) {
            Ok(db) => break db,
            Err(Refusal::InUse) if started.elapsed() < LOCK_TIMEOUT => std::thread::sleep(Duration::from_millis(20)),
            Err(Refusal::InUse) => return Err(StoreError::InUse { folder: folder.to_owned() }),
            // The failed attempt may have left an unfinished snapshot, so remove it and try once more.
            Err(Refusal::Other(_)) if tries == 0 => {
                tries += 1;
                clear_snapshots(sled_folder)?;
            }
            Err(Refusal::Environment(source)) => {
                return Err(StoreError::Unavailable { folder: folder.to_owned(), source });
            }
            Err(Refusal::Other(what)) => return Err(StoreError::DoesNotOpen { folder: folder.to_owned(), what }),
        }
    };
    for path in [sled_folder.join("conf").as_path(), sled_folder, folder] {
        File::open(path).and_then(|file| sync::all(&file)).map_err(at("sync", path))?;
    }
    Ok(db)
}

/// Returns the message of a panic.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}

enum Refusal {
    InUse,
    Environment(io::Error),
    Other(String),
}

impl Refusal {
    /// Makes a refusal. `what` is shown to the user. `debug` contains the number of the system's error, if there is
    /// one.
    fn of(what: String, debug: &str) -> Refusal {
        environment_error(debug).map_or(Refusal::Other(what), Refusal::Environment)
    }
}

fn try_open(sled_folder: &Path, options: &StoreOptions) -> Result<sled::Db, Refusal> {
    let config = sled::Config::new()
        .path(sled_folder)
        .cache_capacity(options.cache_bytes)
        .segment_size(SEGMENT_BYTES)
        // Without this thread, sled hardly cleans segments up. `watch.rs` explains the handling of failed syncs in it.
        .flush_every_ms(Some(FLUSH_EVERY_MILLIS));
    let open = || {
        failure::point("store::open")?;
        config.open()
    };
    match catch_unwind(AssertUnwindSafe(open)) {
        Ok(Ok(db)) => Ok(db),
        // Only the text identifies a held lock: sled replaces the original error with its own.
        Ok(Err(sled::Error::Io(error))) if error.to_string().contains("could not acquire lock") => Err(Refusal::InUse),
        Ok(Err(error)) => Err(Refusal::of(error.to_string(), &format!("{error:?}"))),
        Err(panic) => {
            let text = panic_text(panic.as_ref());
            Err(Refusal::of(text.clone(), &text))
        }
    }
}

/// Removes unfinished snapshots and moves a damaged newest one aside.
fn clear_snapshots(sled_folder: &Path) -> Result<(), StoreError> {
    let mut snapshots = Vec::new();
    for entry in fs::read_dir(sled_folder).map_err(at("read", sled_folder))? {
        let path = entry.map_err(at("read", sled_folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !name.starts_with("snap.") {
            continue;
        }
        if name.ends_with(".generating") {
            fs::remove_file(&path).map_err(at("remove", &path))?;
        } else {
            snapshots.push(path);
        }
    }
    snapshots.sort();
    if let Some(newest) = snapshots.last()
        && !is_intact(newest)?
    {
        let aside = sled_folder.join("damaged-snapshot");
        fs::rename(newest, aside).map_err(at("rename", newest))?;
    }
    Ok(())
}

/// Verifies the end of a snapshot: a length (8 bytes) and the CRC32 of everything before the length (4 bytes).
fn is_intact(snapshot: &Path) -> Result<bool, StoreError> {
    let bytes = match fs::read(snapshot) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(at("read", snapshot)(error)),
    };
    let Some(((body, _length), sum)) =
        bytes.split_last_chunk::<4>().and_then(|(rest, sum)| rest.split_last_chunk::<8>().map(|split| (split, sum)))
    else {
        return Ok(false);
    };
    Ok(!body.is_empty() && crc32fast::hash(body) == u32::from_le_bytes(*sum))
}
