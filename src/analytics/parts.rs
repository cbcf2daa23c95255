//! The folder of parts: which there are, and those that were read lately.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::names::Names;
use super::part::Part;
use super::rollup::Day;
use crate::model::time::{format_date, parse_date};

/// How many rows are kept in memory: some 200 MB.
const CACHED_ROWS: usize = 16 << 20;

/// Where the pageviews of a part came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Source {
    /// They were sent.
    Sent,
    /// An imported file of that number.
    Import(u64),
}

/// The parts of all days. Who changes them holds off who reads them.
pub(super) struct Parts {
    folder: PathBuf,
    /// The number of the events' log through which each counts.
    numbers: BTreeMap<(Day, Source), u64>,
    cache: Mutex<Cache>,
}

#[derive(Default)]
struct Cache {
    parts: HashMap<(Day, Source), Arc<Part>>,
    rows: usize,
}

impl Parts {
    /// Finds the parts in the folder. Files of imports that are not listed, and unfinished ones, are removed.
    pub(super) fn open(folder: &Path, imports: &HashSet<u64>) -> io::Result<Parts> {
        fs::create_dir_all(folder)?;
        let mut numbers = BTreeMap::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let key = path.file_name().and_then(|name| parse_name(name.to_str()?));
            match key {
                Some((_, Source::Import(import))) if !imports.contains(&import) => fs::remove_file(&path)?,
                Some(key) => {
                    numbers.insert(key, Part::read_number(&path)?);
                }
                None => fs::remove_file(&path)?,
            }
        }
        Ok(Parts { folder: folder.to_owned(), numbers, cache: Mutex::default() })
    }

    /// The number of the events' log through which a day's sent pageviews are counted in its part.
    pub(super) fn counted_through(&self, day: Day) -> u64 {
        self.numbers.get(&(day, Source::Sent)).copied().unwrap_or(0)
    }

    /// Which parts there are of these days, in order.
    pub(super) fn of(&self, days: RangeInclusive<Day>) -> Vec<(Day, Source)> {
        if days.is_empty() {
            return Vec::new();
        }
        let (first, last) = ((*days.start(), Source::Sent), (*days.end(), Source::Import(u64::MAX)));
        self.numbers.range(first..=last).map(|(key, _)| *key).collect()
    }

    /// One that there is.
    pub(super) fn read(&self, key: (Day, Source), names: &Names) -> io::Result<Arc<Part>> {
        if let Some(part) = self.cache.lock().parts.get(&key) {
            return Ok(Arc::clone(part));
        }
        let part = Arc::new(Part::read(&self.path(key), names)?);
        let mut cache = self.cache.lock();
        if cache.rows > CACHED_ROWS {
            *cache = Cache::default();
        }
        cache.rows += part.rows();
        cache.parts.insert(key, Arc::clone(&part));
        Ok(part)
    }

    /// Where a part lies before it is put in place.
    pub(super) fn unfinished(&self, key: (Day, Source)) -> PathBuf {
        self.path(key).with_extension("unfinished")
    }

    /// Puts a written part in place of the one that was there.
    pub(super) fn place(&mut self, key: (Day, Source), number: u64) -> io::Result<()> {
        fs::rename(self.unfinished(key), self.path(key))?;
        self.numbers.insert(key, number);
        self.forget(key);
        Ok(())
    }

    /// Removes parts.
    pub(super) fn remove(&mut self, which: impl Fn((Day, Source)) -> bool) -> io::Result<()> {
        let gone: Vec<(Day, Source)> = self.numbers.keys().copied().filter(|key| which(*key)).collect();
        for key in gone {
            self.numbers.remove(&key);
            self.forget(key);
            fs::remove_file(self.path(key))?;
        }
        Ok(())
    }

    /// Makes names in the folder durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    fn forget(&self, key: (Day, Source)) {
        let mut cache = self.cache.lock();
        if let Some(part) = cache.parts.remove(&key) {
            cache.rows -= part.rows();
        }
    }

    fn path(&self, (day, source): (Day, Source)) -> PathBuf {
        self.folder.join(match source {
            Source::Sent => format!("{}.part", format_date(day)),
            Source::Import(import) => format!("{}+{import}.part", format_date(day)),
        })
    }
}

fn parse_name(name: &str) -> Option<(Day, Source)> {
    let stem = name.strip_suffix(".part")?;
    match stem.split_once('+') {
        None => Some((parse_date(stem)?, Source::Sent)),
        Some((day, import)) => Some((parse_date(day)?, Source::Import(import.parse().ok()?))),
    }
}
