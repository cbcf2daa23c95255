//! The folder of day files: the list of files, and a cache of recently read ones.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bindery_disk::{sync, unless_missing};
use bindery_model::time::{format_date, parse_date};
use parking_lot::Mutex;

use super::checked_file::{damaged, is_damage};
use super::damage::Finding;
use super::day_file::DayFile;
use super::names::Names;
use super::period::{Day, Period};

/// The number of rows that are kept in memory: about 200 MB.
const CACHED_ROWS: usize = 16 << 20;
/// The record number of a damaged file: the greatest possible one, so that no records are counted in its place.
const UNREADABLE: u64 = u64::MAX;

/// The source of a day file's pageviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Source {
    /// The events of the server.
    Events,
    /// The import with this number.
    Import(u64),
}

/// The key that identifies a day file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct DayKey {
    pub(super) day: Day,
    pub(super) source: Source,
}

impl DayKey {
    /// Returns the file of the day's events.
    pub(super) fn events(day: Day) -> DayKey {
        DayKey { day, source: Source::Events }
    }

    /// Returns the path of the file in the folder of day files.
    pub(super) fn path(self, folder: &Path) -> PathBuf {
        folder.join(self.file_name())
    }

    /// Returns the path of the file before it is put in use.
    pub(super) fn unfinished(self, folder: &Path) -> PathBuf {
        self.path(folder).with_extension("unfinished")
    }

    pub(super) fn parse(file_name: &str) -> Option<DayKey> {
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

/// All day files. Changing them needs `&mut`, so no report reads meanwhile.
pub(super) struct DayFiles {
    folder: PathBuf,
    /// The files, each with the number of the last log record that it counts.
    files: BTreeMap<DayKey, u64>,
    /// True if the list of imports is unusable, so that it is not known which imports count.
    lacks_imports: bool,
    cache: Mutex<Cache>,
}

#[derive(Default)]
struct Cache {
    files: HashMap<DayKey, Arc<DayFile>>,
    rows: usize,
    /// Changes whenever a file is added, replaced or removed.
    generation: u64,
}

impl DayFiles {
    /// Finds the files in the folder, which should contain those of `expected`. Removes unfinished files, and those of
    /// imports that are not in `imports`. Without a list of imports, no import is read or removed. A damaged or missing
    /// file is a finding, and is still among the files: reading it fails.
    pub(super) fn open(
        folder: &Path,
        imports: Option<&HashSet<u64>>,
        expected: impl IntoIterator<Item = DayKey>,
    ) -> io::Result<(DayFiles, Vec<Finding>)> {
        fs::create_dir_all(folder)?;
        let analytics = folder.parent().unwrap_or(folder);
        let (mut found, mut findings) = (BTreeMap::new(), Vec::new());
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            match path.file_name().and_then(|name| DayKey::parse(name.to_str()?)) {
                Some(DayKey { source: Source::Import(import), .. })
                    if imports.is_some_and(|imports| !imports.contains(&import)) =>
                {
                    fs::remove_file(&path)?;
                }
                Some(key) => {
                    let counted_through = match DayFile::read_counted_through(&path) {
                        Err(error) if is_damage(&error) => {
                            findings.push(Finding::of(analytics, &path, "its header is damaged".to_owned()));
                            UNREADABLE
                        }
                        counted_through => counted_through?,
                    };
                    found.insert(key, counted_through);
                }
                None => fs::remove_file(&path)?,
            }
        }
        for key in expected {
            if let Entry::Vacant(missing) = found.entry(key) {
                findings.push(Finding::of(analytics, &key.path(folder), "it is missing".to_owned()));
                missing.insert(UNREADABLE);
            }
        }
        while let Some(key) = greatest_number(&found) {
            match DayFile::read(&key.path(folder), &Names::default()) {
                Err(error) if is_damage(&error) => {
                    findings.push(Finding::of(analytics, &key.path(folder), "it is damaged".to_owned()));
                    found.insert(key, UNREADABLE);
                }
                file => {
                    file?;
                    break;
                }
            }
        }
        let folder = folder.to_owned();
        let lacks_imports = imports.is_none();
        Ok((DayFiles { folder, files: found, lacks_imports, cache: Mutex::default() }, findings))
    }

    /// Returns the number of the last log record whose pageviews the day's file of events counts; 0 without a file.
    pub(super) fn counted_through(&self, day: Day) -> u64 {
        self.files.get(&DayKey::events(day)).copied().unwrap_or(0)
    }

    /// Returns the files of a period, in order.
    pub(super) fn in_period(&self, period: Period) -> Vec<DayKey> {
        let first = DayKey::events(period.start());
        let last = DayKey { day: period.end(), source: Source::Import(u64::MAX) };
        self.files.range(first..=last).map(|(key, _)| *key).collect()
    }

    /// Returns the files of a source, in order.
    pub(super) fn of_source(&self, source: Source) -> Vec<DayKey> {
        self.files.keys().copied().filter(|key| key.source == source).collect()
    }

    /// Returns the greatest number of a record that a file of events counts.
    pub(super) fn last_counted(&self) -> u64 {
        self.files.values().copied().filter(|number| *number != UNREADABLE).max().unwrap_or(0)
    }

    /// Returns whether a file is in use.
    pub(super) fn contains(&self, key: DayKey) -> bool {
        self.files.contains_key(&key)
    }

    /// Fails if it is not known whether a file counts.
    pub(super) fn refuse_uncertain(&self, key: DayKey) -> io::Result<()> {
        match self.lacks_imports && key.source != Source::Events {
            true => {
                let what = "it is not known whether it counts, because imports.json is damaged";
                Err(damaged(&self.path(key), what))
            }
            false => Ok(()),
        }
    }

    /// Returns the days with a file of events.
    pub(super) fn days(&self) -> BTreeSet<Day> {
        self.of_source(Source::Events).into_iter().map(|key| key.day).collect()
    }

    /// Returns where a file is.
    pub(super) fn path(&self, key: DayKey) -> PathBuf {
        key.path(&self.folder)
    }

    /// Reads a file, or returns it from the cache.
    pub(super) fn read(&self, key: DayKey, names: &Names) -> io::Result<Arc<DayFile>> {
        self.refuse_uncertain(key)?;
        if let Some(file) = self.cache.lock().files.get(&key) {
            return Ok(Arc::clone(file));
        }
        let generation = self.cache.lock().generation;
        let file = Arc::new(DayFile::read(&self.path(key), names)?);
        self.keep(key, generation, &file);
        Ok(file)
    }

    /// Returns the files of a period that are not in memory, with the generation to pass to [`DayFiles::keep`].
    pub(super) fn not_in_memory(&self, period: Period) -> (Vec<DayKey>, u64) {
        let keys = self.in_period(period);
        let cache = self.cache.lock();
        (keys.into_iter().filter(|key| !cache.files.contains_key(key)).collect(), cache.generation)
    }

    /// Returns a number that changes whenever a file is added, replaced or removed.
    pub(super) fn generation(&self) -> u64 {
        self.cache.lock().generation
    }

    /// Changes the generation although no file changed: what was shared before must be shared again as a whole.
    pub(super) fn note_change(&self) {
        self.cache.lock().generation += 1;
    }

    /// Keeps a file in memory, unless some file was replaced meanwhile.
    pub(super) fn keep(&self, key: DayKey, generation: u64, file: &Arc<DayFile>) {
        let mut cache = self.cache.lock();
        if cache.generation != generation {
            return;
        }
        if cache.rows > CACHED_ROWS {
            *cache = Cache { generation, ..Cache::default() };
        }
        if cache.files.insert(key, Arc::clone(file)).is_none() {
            cache.rows += file.rows();
        }
    }

    /// Renames the unfinished file over the current one. [`DayFiles::sync`] makes that durable.
    pub(super) fn replace(&mut self, key: DayKey, counted_through: u64) -> io::Result<()> {
        fs::rename(key.unfinished(&self.folder), self.path(key))?;
        self.insert(key, counted_through);
        Ok(())
    }

    /// Adds a file that is in place already.
    pub(super) fn insert(&mut self, key: DayKey, counted_through: u64) {
        self.files.insert(key, counted_through);
        self.forget(key);
    }

    /// Removes the files that `which` selects. [`DayFiles::sync`] makes that durable.
    pub(super) fn remove(&mut self, which: impl Fn(DayKey) -> bool) -> io::Result<()> {
        self.take(which).iter().try_for_each(|path| remove_if_there(path))
    }

    /// Removes the files that `which` selects from the list, and returns their paths, so that the caller can remove
    /// them.
    pub(super) fn take(&mut self, which: impl Fn(DayKey) -> bool) -> Vec<PathBuf> {
        let taken: Vec<DayKey> = self.files.keys().copied().filter(|key| which(*key)).collect();
        for key in &taken {
            self.files.remove(key);
            self.forget(*key);
        }
        taken.into_iter().map(|key| self.path(key)).collect()
    }

    /// Makes renamed and removed files durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        sync::all(&File::open(&self.folder)?)
    }

    fn forget(&self, key: DayKey) {
        let mut cache = self.cache.lock();
        cache.generation += 1;
        if let Some(file) = cache.files.remove(&key) {
            cache.rows -= file.rows();
        }
    }
}

/// Removes a file. Succeeds if it is missing.
pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    unless_missing(fs::remove_file(path))
}

/// Returns the file with the greatest number. The log is expected to reach that number, so it must be verified.
fn greatest_number(files: &BTreeMap<DayKey, u64>) -> Option<DayKey> {
    let readable = files.iter().filter(|(_, number)| **number != UNREADABLE && **number > 0);
    readable.max_by_key(|(_, number)| **number).map(|(key, _)| *key)
}
