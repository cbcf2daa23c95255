//! The folder of day files: which files exist, and a cache of those that were read lately.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::day_file::DayFile;
use super::names::Names;
use super::period::{Day, Period};
use crate::model::time::{format_date, parse_date};

/// How many rows are kept in memory: some 200 MB.
const CACHED_ROWS: usize = 16 << 20;

/// Where the pageviews of a day file came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Source {
    /// The events of the server.
    Events,
    /// The import with this number.
    Import(u64),
}

/// What identifies a day file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct DayKey {
    pub(super) day: Day,
    pub(super) source: Source,
}

impl DayKey {
    /// The file of the day's events.
    pub(super) fn events(day: Day) -> DayKey {
        DayKey { day, source: Source::Events }
    }

    fn parse(file_name: &str) -> Option<DayKey> {
        let stem = file_name.strip_suffix(".part")?;
        let (day, source) = match stem.split_once('+') {
            None => (stem, Source::Events),
            Some((day, import)) => (day, Source::Import(import.parse().ok()?)),
        };
        Some(DayKey { day: parse_date(day)?, source })
    }

    fn file_name(self) -> String {
        let date = format_date(self.day);
        match self.source {
            Source::Events => format!("{date}.part"),
            Source::Import(import) => format!("{date}+{import}.part"),
        }
    }
}

/// All day files. A writer needs `&mut`, so nobody reads meanwhile.
pub(super) struct DayFiles {
    folder: PathBuf,
    /// The number of the last log record that each file counts.
    counted_through: BTreeMap<DayKey, u64>,
    cache: Mutex<Cache>,
}

#[derive(Default)]
struct Cache {
    files: HashMap<DayKey, Arc<DayFile>>,
    rows: usize,
}

impl DayFiles {
    /// Finds the files in the folder. Removes unfinished files, and those of imports that are not in `imports`.
    pub(super) fn open(folder: &Path, imports: &HashSet<u64>) -> io::Result<DayFiles> {
        fs::create_dir_all(folder)?;
        let mut counted_through = BTreeMap::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            match path.file_name().and_then(|name| DayKey::parse(name.to_str()?)) {
                Some(DayKey { source: Source::Import(import), .. }) if !imports.contains(&import) => {
                    fs::remove_file(&path)?;
                }
                Some(key) => {
                    counted_through.insert(key, DayFile::read_counted_through(&path)?);
                }
                None => fs::remove_file(&path)?,
            }
        }
        Ok(DayFiles { folder: folder.to_owned(), counted_through, cache: Mutex::default() })
    }

    /// The number of the last log record whose pageviews the day's file of events counts; 0 without a file.
    pub(super) fn counted_through(&self, day: Day) -> u64 {
        self.counted_through.get(&DayKey::events(day)).copied().unwrap_or(0)
    }

    /// The files of a period, in order.
    pub(super) fn in_period(&self, period: Period) -> Vec<DayKey> {
        let first = DayKey::events(period.start());
        let last = DayKey { day: period.end(), source: Source::Import(u64::MAX) };
        self.counted_through.range(first..=last).map(|(key, _)| *key).collect()
    }

    /// The files of a source, in order.
    pub(super) fn of_source(&self, source: Source) -> Vec<DayKey> {
        self.counted_through.keys().copied().filter(|key| key.source == source).collect()
    }

    /// Reads a file, or returns it from the cache.
    pub(super) fn read(&self, key: DayKey, names: &Names) -> io::Result<Arc<DayFile>> {
        if let Some(file) = self.cache.lock().files.get(&key) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(DayFile::read(&self.path(key), names)?);
        let mut cache = self.cache.lock();
        if cache.rows > CACHED_ROWS {
            *cache = Cache::default();
        }
        cache.rows += file.rows();
        cache.files.insert(key, Arc::clone(&file));
        Ok(file)
    }

    /// The path to write a file to before [`DayFiles::replace`].
    pub(super) fn unfinished(&self, key: DayKey) -> PathBuf {
        self.path(key).with_extension("unfinished")
    }

    /// Renames the unfinished file over the current one. [`DayFiles::sync`] makes that durable.
    pub(super) fn replace(&mut self, key: DayKey, counted_through: u64) -> io::Result<()> {
        fs::rename(self.unfinished(key), self.path(key))?;
        self.counted_through.insert(key, counted_through);
        self.forget(key);
        Ok(())
    }

    /// Removes the files that `which` selects. [`DayFiles::sync`] makes that durable.
    pub(super) fn remove(&mut self, which: impl Fn(DayKey) -> bool) -> io::Result<()> {
        let removed: Vec<DayKey> = self.counted_through.keys().copied().filter(|key| which(*key)).collect();
        for key in removed {
            self.counted_through.remove(&key);
            self.forget(key);
            fs::remove_file(self.path(key))?;
        }
        Ok(())
    }

    /// Makes renamed and removed files durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    fn forget(&self, key: DayKey) {
        let mut cache = self.cache.lock();
        if let Some(file) = cache.files.remove(&key) {
            cache.rows -= file.rows();
        }
    }

    fn path(&self, key: DayKey) -> PathBuf {
        self.folder.join(key.file_name())
    }
}
