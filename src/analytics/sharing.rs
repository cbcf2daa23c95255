//! Analytics that a server hands on, so that another one can continue them: all files and log records as of one moment,
//! and later the records since. Also the batches that it gets from servers which do not count themselves. Must not know
//! how any of this travels, or where it is kept.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use bindery_disk::sync;
use bindery_log::Log;
use bindery_model::time::{DAY_MILLIS, Millis};

use super::data::DAYS_FOLDER;
use super::day_files::DayKey;
use super::event::Countable;
use super::import_list::IMPORTS_FILE;
use super::links;
use super::recovery::{self, LOG};
use super::state::STATE_FILE;

/// The time for which the last batch of a sender is remembered that sends nothing more, in milliseconds.
pub(super) const REMEMBERED: Millis = DAY_MILLIS;

/// The last batch of each sender that was counted.
pub(super) type CountedBatches = BTreeMap<String, LastBatch>;

/// A batch that was counted, and the time at which it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LastBatch {
    pub(super) number: u64,
    pub(super) at: Millis,
}

/// Pageviews, events, searches and clicks that another server was sent, in the order in which they came. The batches of
/// a sender have rising numbers.
pub struct Batch {
    /// The name of the sender, which it has until it is restarted.
    pub sender: String,
    /// The number of the batch: one that is not above the last one of its sender was counted before.
    pub number: u64,
    /// The contents, each with its time.
    pub items: Vec<(Millis, Countable)>,
}

/// The moment up to which everything was shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedUpTo {
    /// Changes with the files.
    pub(super) generation: u64,
    /// The number of the last log record.
    pub(super) last: u64,
}

/// The part of the analytics that another server needs in order to continue.
#[derive(Debug)]
pub struct Shared {
    /// The moment that it reaches.
    pub up_to: SharedUpTo,
    /// Log records, each with its number, without a gap: all of them beside `files`, otherwise those since the last
    /// time.
    pub records: Vec<(u64, Vec<u8>)>,
    /// All files, if one of them may have changed since the last time.
    pub files: Option<SharedFiles>,
    /// The number of the last batch of each sender that the records count with all its searches.
    pub batches: BTreeMap<String, u64>,
}

/// Links to all files as of one moment. They are removed when this is dropped.
#[derive(Debug)]
pub struct SharedFiles {
    pub(super) links: PathBuf,
}

impl SharedFiles {
    /// Returns the names of the files, as [`Assembly::file`] takes them, and their paths.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn list(&self) -> io::Result<Vec<(String, PathBuf)>> {
        links::list(&self.links)
    }
}

impl Drop for SharedFiles {
    fn drop(&mut self) {
        // The next start removes what is left.
        let _ = fs::remove_dir_all(&self.links);
    }
}

/// Returns whether analytics have a file of this name. Files with other names are never written.
pub(super) fn is_file(name: &str) -> bool {
    let is_day_file = || DayKey::parse(name.strip_prefix(DAYS_FOLDER)?.strip_prefix('/')?);
    name == STATE_FILE || name == IMPORTS_FILE || is_day_file().is_some()
}

/// A folder of analytics that is made of files and log records. It appears as a whole, or not at all.
pub struct Assembly {
    folder: PathBuf,
    unfinished: PathBuf,
    log: Log,
    is_empty: bool,
}

impl Assembly {
    /// Begins to make a folder, which must not exist.
    ///
    /// # Errors
    /// If it exists, or the disk fails.
    pub fn begin(folder: &Path) -> io::Result<Assembly> {
        if folder.exists() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{} exists already", folder.display())));
        }
        let unfinished = folder.with_extension("unfinished");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished)?;
        }
        fs::create_dir_all(unfinished.join(DAYS_FOLDER))?;
        let log = Log::open(&unfinished.join(LOG), recovery::options(0)).map_err(io::Error::other)?;
        Ok(Assembly { folder: folder.to_owned(), unfinished, log, is_empty: true })
    }

    /// Returns the path at which the caller puts the file of this name, and syncs it. `None` if analytics have no such
    /// file.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        is_file(name).then(|| self.unfinished.join(name))
    }

    /// Adds a log record. The records must come in order.
    ///
    /// # Errors
    /// If a record is missing before it, or the disk fails.
    pub fn record(&mut self, number: u64, payload: &[u8]) -> io::Result<()> {
        if std::mem::take(&mut self.is_empty) {
            self.log.reset_to(number).map_err(io::Error::other)?;
        } else if number != self.log.last() + 1 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("record {} is missing", self.log.last() + 1),
            ));
        }
        self.log.append(payload).map(|_| ()).map_err(io::Error::other)
    }

    /// Puts the folder in place. It is durable on return.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn finish(mut self) -> io::Result<()> {
        self.log.sync().map_err(io::Error::other)?;
        sync::all(&File::open(self.unfinished.join(DAYS_FOLDER))?)?;
        sync::all(&File::open(&self.unfinished)?)?;
        fs::rename(&self.unfinished, &self.folder)
    }
}

impl Drop for Assembly {
    fn drop(&mut self) {
        // After `finish` it is not there any more.
        let _ = fs::remove_dir_all(&self.unfinished);
    }
}
