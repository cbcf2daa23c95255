//! The list of imported access logs, by which a file is recognized when it is imported again. Owns `imports.json`.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::Path;

use bindery_model::error::{Code, Error};
use serde::{Deserialize, Serialize};

use super::checked_file;
use super::day_files::{DayFiles, DayKey, Source};
use super::names::Names;
use super::period::Day;

pub(super) const IMPORTS_FILE: &str = "imports.json";
/// The number of bytes at the beginning of a file that identify it.
pub(super) const HEAD_BYTES: usize = 64 << 10;
/// The number of bytes below which a beginning identifies nothing, because it is less than a line.
const MIN_HEAD_BYTES: usize = 64;

/// The imports that count.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ImportList {
    /// The number of the next import.
    pub(super) next: u64,
    pub(super) files: Vec<ImportedFile>,
}

/// An imported file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ImportedFile {
    /// The number of the import.
    pub(super) import: u64,
    pub(super) site: String,
    /// The hashes of the file's beginnings, from the shortest to the longest.
    heads: Vec<HeadHash>,
    /// The number of bytes of the file that count; 0 if some of its figures were deleted since.
    pub(super) bytes: u64,
    pub(super) pageviews: u64,
    /// The days for which it has files.
    pub(super) days: BTreeSet<Day>,
}

/// The hash of a file's first bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "(usize, String)", into = "(usize, String)")]
struct HeadHash {
    bytes: usize,
    hash: String,
}

impl From<(usize, String)> for HeadHash {
    fn from((bytes, hash): (usize, String)) -> HeadHash {
        HeadHash { bytes, hash }
    }
}

impl From<HeadHash> for (usize, String) {
    fn from(head: HeadHash) -> (usize, String) {
        (head.bytes, head.hash)
    }
}

impl HeadHash {
    fn of(head: &[u8]) -> HeadHash {
        HeadHash { bytes: head.len(), hash: blake3::hash(head).to_hex().to_string() }
    }
}

impl ImportList {
    /// Reads the list; it is empty without a file.
    pub(super) fn read(folder: &Path) -> io::Result<ImportList> {
        Ok(checked_file::read(&folder.join(IMPORTS_FILE))?.unwrap_or_default())
    }

    /// Replaces the file. On return the new list is on disk.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        checked_file::write(&folder.join(IMPORTS_FILE), self)
    }

    /// Returns the numbers of all imports.
    pub(super) fn numbers(&self) -> HashSet<u64> {
        self.files.iter().map(|file| file.import).collect()
    }

    /// Returns the day files that should exist.
    pub(super) fn day_files(&self) -> impl Iterator<Item = DayKey> {
        let keys = |file: &ImportedFile| {
            let source = Source::Import(file.import);
            file.days.iter().map(move |day| DayKey { day: *day, source }).collect::<Vec<_>>()
        };
        self.files.iter().flat_map(keys)
    }

    /// Returns the numbers of a site's imports that are below `limit`.
    pub(super) fn numbers_of_site(&self, site: &str, limit: u64) -> HashSet<u64> {
        let of_site = self.files.iter().filter(|file| file.site == site && file.import < limit);
        of_site.map(|file| file.import).collect()
    }

    /// Removes a site's file that begins with `head` from the list, and returns it.
    pub(super) fn take(&mut self, site: &str, head: &[u8]) -> Option<ImportedFile> {
        let of_site = self.files.iter().enumerate().filter(|(_, file)| file.site == site);
        let (index, _) = of_site
            .filter_map(|(index, file)| Some((index, file.known_beginning(head)?)))
            .max_by_key(|(_, known)| *known)?;
        Some(self.files.remove(index))
    }

    /// Updates the list before the day files in `removed` are deleted. Removes imports without any other day file. For
    /// the others it resets the counted length, so that a new import of the file counts it as a whole and replaces the
    /// rest.
    pub(super) fn forget(&mut self, removed: &HashSet<DayKey>, day_files: &DayFiles, names: &Names) -> io::Result<()> {
        let mut files = Vec::new();
        for mut file in self.files.drain(..) {
            let keys = day_files.of_source(Source::Import(file.import));
            let (of_file, left): (Vec<DayKey>, Vec<DayKey>) = keys.into_iter().partition(|key| removed.contains(key));
            if !of_file.is_empty() {
                file.bytes = 0;
                file.pageviews = 0;
                file.days = left.iter().map(|key| key.day).collect();
                for key in &left {
                    file.pageviews += match day_files.read(*key, names) {
                        Err(error) if checked_file::is_damage(&error) => 0,
                        day_file => day_file?.pageviews(),
                    };
                }
            }
            if of_file.is_empty() || !left.is_empty() {
                files.push(file);
            }
        }
        self.files = files;
        Ok(())
    }
}

impl ImportedFile {
    /// Makes a file that begins with `head`.
    pub(super) fn new(import: u64, site: &str, head: &[u8], bytes: u64, pageviews: u64) -> ImportedFile {
        let lengths = (0..).map(|power| MIN_HEAD_BYTES << power).take_while(|bytes| *bytes < head.len());
        let heads = lengths.chain([head.len()]).map(|bytes| HeadHash::of(&head[..bytes])).collect();
        ImportedFile { import, site: site.to_owned(), heads, bytes, pageviews, days: BTreeSet::new() }
    }

    /// Returns how much of this beginning is that of this file, in bytes; `None` for another file. The file may have
    /// grown or be shorter than it was. If it had less than a line, only the same bytes are the same file.
    fn known_beginning(&self, head: &[u8]) -> Option<usize> {
        let known = self.heads.iter().rev().find(|known| known.bytes <= head.len())?;
        let identifies = known.bytes >= MIN_HEAD_BYTES || known.bytes == head.len();
        (identifies && *known == HeadHash::of(&head[..known.bytes])).then_some(known.bytes)
    }
}

/// Returns the error of an operation that fails because the list cannot be read or written.
pub(super) fn unusable(error: &io::Error) -> Error {
    if !checked_file::is_damage(error) {
        return Error::internal(error);
    }
    tracing::error!(%error, "an import or a deletion is refused");
    let message = "the list of imports (analytics/imports.json) is damaged, so nothing can be imported or deleted; \
                   have the operator run `bindery analytics repair`";
    Error::new(Code::Internal, message)
}
