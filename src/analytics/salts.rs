//! The salts with which visitors are hashed: one for each UTC day, made when the day begins and destroyed after it.
//!
//! A salt has its own file, so a restart counts nobody twice. It outlives its day by the 30 minutes in which a session
//! may continue; then the file is overwritten and removed. No log, store or backup holds a salt.
//!
//! The nodes of a cluster share their salts, which others keep for them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bindery_disk::{sync, unless_missing};
use bindery_model::error::Result;
use bindery_model::time::{DAY_MILLIS, Millis, day_number, day_start, format_date, parse_date};
use parking_lot::RwLock;

use super::period::Day;
use super::search_id::{self, SearchId, SearchIds, SearchKeys};
use super::session::{SESSION_GAP, Visitor, VisitorHash};

/// The folder of the salts, within that of the analytics.
pub(super) const SALTS_FOLDER: &str = "salts";
const SALT_BYTES: usize = 32;
/// The size of a file: a salt and its CRC32. Earlier versions wrote only the salt.
const FILE_BYTES: usize = SALT_BYTES + 4;

type Salt = [u8; SALT_BYTES];

/// The time before midnight from which on the next day's shared salt is made.
const MADE_BEFORE: Millis = 10 * 60 * 1_000;

/// The salts that the nodes of a cluster share, in memory. Clones are the same.
#[derive(Clone, Default)]
pub struct SharedSalts(Arc<RwLock<BTreeMap<Day, Salt>>>);

impl SharedSalts {
    /// Returns the days whose salts are needed at this time, or soon, and are not known.
    pub fn missing(&self, now: Millis) -> Vec<Day> {
        let needed = [now - SESSION_GAP, now, now + MADE_BEFORE].map(day_number);
        let salts = self.0.read();
        let mut missing: Vec<Day> = needed.into_iter().filter(|day| !salts.contains_key(day)).collect();
        missing.dedup();
        missing
    }

    /// Adds the salt of a day.
    pub fn insert(&self, day: Day, salt: Salt) {
        self.0.write().insert(day, salt);
    }

    /// Forgets the salts that are not needed any more, and returns the last day that needs none.
    pub fn forget_expired(&self, now: Millis) -> Day {
        self.0.write().retain(|day, _| !is_over(*day, now));
        day_number(now - SESSION_GAP) - 1
    }

    /// Returns an id for a search that is going to be counted by any node. `None` without the salt of the day.
    pub fn issue_search(&self, now: Millis) -> Option<SearchId> {
        self.search_ids(now).issue(now)
    }

    /// Returns the number in the id of a search that can be clicked.
    ///
    /// # Errors
    /// `NOT_FOUND` if no node issued the id, or it is too old.
    pub fn clickable_search(&self, id: &str, now: Millis) -> Result<u64> {
        self.search_ids(now).open(id, now)
    }

    fn search_ids(&self, now: Millis) -> SearchIds {
        SearchIds::new(search_keys(&self.begun(now)))
    }

    fn begun(&self, now: Millis) -> BTreeMap<Day, Salt> {
        let salts = self.0.read();
        salts.iter().filter(|(day, _)| !is_expired(**day, now)).map(|(day, salt)| (*day, *salt)).collect()
    }
}

impl std::fmt::Debug for SharedSalts {
    /// Shows no salt.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.0.read().keys().map(|day| format_date(*day))).finish()
    }
}

/// The salts that were not destroyed yet.
pub(super) struct Salts {
    source: Source,
    salts: BTreeMap<Day, Salt>,
    /// The days whose salts are not on disk yet.
    unwritten: BTreeSet<Day>,
    /// The expired days whose salts are still on disk.
    undestroyed: BTreeSet<Day>,
}

/// The place that salts come from.
enum Source {
    Folder(PathBuf),
    Shared(SharedSalts),
}

impl Salts {
    /// Uses salts that others keep.
    pub(super) fn shared(shared: SharedSalts, now: Millis) -> Salts {
        let salts = shared.begun(now);
        Salts { salts, ..Salts::of(Source::Shared(shared)) }
    }

    fn of(source: Source) -> Salts {
        Salts { source, salts: BTreeMap::new(), unwritten: BTreeSet::new(), undestroyed: BTreeSet::new() }
    }

    /// Reads the salts in the folder, destroys the expired ones, and makes today's.
    pub(super) fn open(folder: &Path, now: Millis) -> io::Result<Salts> {
        fs::create_dir_all(folder)?;
        let mut salts = Salts::of(Source::Folder(folder.to_owned()));
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let day = path.file_name().and_then(|name| parse_date(name.to_str()?));
            let salt = decode(&fs::read(&path)?);
            match day.zip(salt) {
                Some((day, salt)) => {
                    salts.salts.insert(day, salt);
                }
                // The file is incomplete or damaged. The caller finds out whether visitors were hashed with this salt.
                None => destroy(&path)?,
            }
        }
        salts.advance(now)?;
        Ok(salts)
    }

    /// Makes the salt of the day and destroys the expired ones.
    ///
    /// Errors: if either fails, the other is still done, and the first error is returned. [`Salts::retry`] does the rest.
    pub(super) fn advance(&mut self, now: Millis) -> io::Result<()> {
        let folder = match &self.source {
            Source::Folder(folder) => folder.clone(),
            Source::Shared(shared) => {
                self.salts = shared.begun(now);
                return Ok(());
            }
        };
        let made = self.make(&folder, day_number(now));
        made.and(self.destroy_expired(&folder, now))
    }

    /// Writes and destroys the files for which [`Salts::advance`] failed.
    ///
    /// Errors: the first one; the others are tried nevertheless.
    pub(super) fn retry(&mut self) -> io::Result<()> {
        let Source::Folder(folder) = &self.source else { return Ok(()) };
        if self.unwritten.is_empty() && self.undestroyed.is_empty() {
            return Ok(());
        }
        let folder = folder.clone();
        let mut written = Ok(());
        for day in self.unwritten.clone() {
            written = written.and(self.write(&folder, day));
        }
        written.and(self.destroy_files(&folder))
    }

    /// Returns the days whose salts exist.
    pub(super) fn days(&self) -> impl Iterator<Item = &Day> {
        self.salts.keys()
    }

    /// Returns the keys of the ids of searches of these days.
    pub(super) fn search_keys(&self) -> SearchKeys {
        search_keys(&self.salts)
    }

    /// Returns the visitor at a time of the day to which the salts were last advanced. `None` if that day has no salt
    /// because making it failed.
    pub(super) fn visitor(&self, at: Millis, address: &str, user_agent: &str, site: &str) -> Option<Visitor> {
        let today = day_number(at);
        let under = |day: Day| self.salts.get(&day).map(|salt| hash(salt, address, user_agent, site));
        let yesterday = if at - day_start(at) < SESSION_GAP { under(today - 1) } else { None };
        Some(Visitor { today: under(today)?, yesterday })
    }

    fn make(&mut self, folder: &Path, today: Day) -> io::Result<()> {
        let Entry::Vacant(missing) = self.salts.entry(today) else { return Ok(()) };
        let mut salt = Salt::default();
        getrandom::fill(&mut salt).map_err(|error| io::Error::other(error.to_string()))?;
        missing.insert(salt);
        self.unwritten.insert(today);
        self.undestroyed.remove(&today);
        self.write(folder, today)
    }

    /// Writes the file of a day, unless its salt has expired.
    fn write(&mut self, folder: &Path, day: Day) -> io::Result<()> {
        if let Some(salt) = self.salts.get(&day) {
            let mut file = File::create(folder.join(format_date(day)))?;
            file.write_all(&encode(salt))?;
            sync::all(&file)?;
            sync::all(&File::open(folder)?)?;
        }
        self.unwritten.remove(&day);
        Ok(())
    }

    fn destroy_expired(&mut self, folder: &Path, now: Millis) -> io::Result<()> {
        let expired: Vec<Day> = self.salts.keys().copied().filter(|day| is_expired(*day, now)).collect();
        if expired.is_empty() {
            return Ok(());
        }
        self.salts.retain(|day, _| !expired.contains(day));
        self.undestroyed.extend(expired);
        self.destroy_files(folder)
    }

    /// Destroys the files of expired days.
    fn destroy_files(&mut self, folder: &Path) -> io::Result<()> {
        let mut destroyed = Ok(());
        self.undestroyed.retain(|day| {
            let result = destroy(&folder.join(format_date(*day)));
            let remains = result.is_err();
            if destroyed.is_ok() {
                destroyed = result;
            }
            remains
        });
        destroyed
    }
}

fn search_keys(salts: &BTreeMap<Day, Salt>) -> SearchKeys {
    salts.iter().map(|(day, salt)| (*day, search_id::key_of(salt))).collect()
}

/// Returns whether nobody is hashed with a day's salt at this time.
fn is_expired(day: Day, now: Millis) -> bool {
    day > day_number(now) || is_over(day, now)
}

/// Returns whether nobody will be hashed with a day's salt any more.
fn is_over(day: Day, now: Millis) -> bool {
    now >= (day + 1) * DAY_MILLIS + SESSION_GAP
}

/// Returns the first 128 bits of a keyed hash over the three texts, each preceded by its length.
pub(super) fn hash(salt: &Salt, address: &str, user_agent: &str, site: &str) -> VisitorHash {
    let mut hasher = blake3::Hasher::new_keyed(salt);
    for text in [address, user_agent, site] {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    let mut first = [0; 16];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    VisitorHash::from_le_bytes(first)
}

fn encode(salt: &Salt) -> Vec<u8> {
    [&salt[..], &crc32fast::hash(salt).to_le_bytes()].concat()
}

fn decode(bytes: &[u8]) -> Option<Salt> {
    let (salt, check) = bytes.split_first_chunk::<SALT_BYTES>()?;
    (check.is_empty() || check == crc32fast::hash(salt).to_le_bytes()).then_some(*salt)
}

/// Returns whether there is a valid salt for the day in the folder.
pub(super) fn has_salt(folder: &Path, day: Day) -> bool {
    fs::read(folder.join(format_date(day))).is_ok_and(|bytes| decode(&bytes).is_some())
}

/// Destroys all salts in a folder of analytics: a server that shares the salts of a cluster does not use its own.
///
/// # Errors
/// If the disk fails; the others are destroyed nevertheless.
pub fn destroy_salts(analytics: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(analytics.join(SALTS_FOLDER)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let mut destroyed = Ok(());
    for entry in entries {
        destroyed = destroyed.and(entry.and_then(|entry| destroy(&entry.path())));
    }
    destroyed
}

/// Overwrites a file, also on disk, and removes it.
fn destroy(path: &Path) -> io::Result<()> {
    let overwritten = File::options().write(true).open(path).and_then(|mut file| {
        file.write_all(&[0; FILE_BYTES])?;
        sync::all(&file)
    });
    unless_missing(overwritten.and_then(|()| fs::remove_file(path)))
}
