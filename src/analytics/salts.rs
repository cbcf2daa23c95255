//! The salts with which visitors are hashed: one for each UTC day, made when the day begins and destroyed after it.
//!
//! A salt has its own file, so a restart counts nobody twice. It outlives its day by the 30 minutes in which a session
//! may continue; then the file is overwritten and removed. No log, store or backup holds a salt.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bindery_disk::sync;
use bindery_model::time::{DAY_MILLIS, Millis, day_number, day_start, format_date, parse_date};

use super::period::Day;
use super::search_id::{self, SearchKeys};
use super::session::{SESSION_GAP, Visitor, VisitorHash};

const SALT_BYTES: usize = 32;
/// The size of a file: a salt and its CRC32. Earlier versions wrote only the salt.
const FILE_BYTES: usize = SALT_BYTES + 4;

type Salt = [u8; SALT_BYTES];

/// The salts that were not destroyed yet.
pub(super) struct Salts {
    folder: PathBuf,
    salts: BTreeMap<Day, Salt>,
}

impl Salts {
    /// Reads the salts in the folder, destroys the expired ones, and makes today's.
    pub(super) fn open(folder: &Path, now: Millis) -> io::Result<Salts> {
        fs::create_dir_all(folder)?;
        let mut salts = Salts { folder: folder.to_owned(), salts: BTreeMap::new() };
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
    /// Errors: if either fails, the other is still done, and the first error is returned.
    pub(super) fn advance(&mut self, now: Millis) -> io::Result<()> {
        let made = self.make(day_number(now));
        made.and(self.destroy_expired(now))
    }

    /// Returns the days whose salts exist.
    pub(super) fn days(&self) -> impl Iterator<Item = &Day> {
        self.salts.keys()
    }

    /// Returns the keys of the ids of searches of these days.
    pub(super) fn search_keys(&self) -> SearchKeys {
        self.salts.iter().map(|(day, salt)| (*day, search_id::key_of(salt))).collect()
    }

    /// Returns the visitor at a time of the day to which the salts were last advanced. `None` if that day has no salt
    /// because making it failed.
    pub(super) fn visitor(&self, at: Millis, address: &str, user_agent: &str, site: &str) -> Option<Visitor> {
        let today = day_number(at);
        let under = |day: Day| self.salts.get(&day).map(|salt| hash(salt, address, user_agent, site));
        let yesterday = if at - day_start(at) < SESSION_GAP { under(today - 1) } else { None };
        Some(Visitor { today: under(today)?, yesterday })
    }

    fn make(&mut self, today: Day) -> io::Result<()> {
        let path = self.path(today);
        let Entry::Vacant(missing) = self.salts.entry(today) else { return Ok(()) };
        let mut salt = Salt::default();
        getrandom::fill(&mut salt).map_err(|error| io::Error::other(error.to_string()))?;
        missing.insert(salt);
        let mut file = File::create(path)?;
        file.write_all(&encode(&salt))?;
        sync::all(&file)?;
        sync::all(&File::open(&self.folder)?)
    }

    fn destroy_expired(&mut self, now: Millis) -> io::Result<()> {
        let is_expired = |day: &Day| *day > day_number(now) || now >= (day + 1) * DAY_MILLIS + SESSION_GAP;
        let expired: Vec<Day> = self.salts.keys().copied().filter(is_expired).collect();
        for day in expired {
            self.salts.remove(&day);
            destroy(&self.path(day))?;
        }
        Ok(())
    }

    fn path(&self, day: Day) -> PathBuf {
        self.folder.join(format_date(day))
    }
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

/// Overwrites a file, also on disk, and removes it.
fn destroy(path: &Path) -> io::Result<()> {
    let overwritten = File::options().write(true).open(path).and_then(|mut file| {
        file.write_all(&[0; FILE_BYTES])?;
        sync::all(&file)
    });
    match overwritten.and_then(|()| fs::remove_file(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
