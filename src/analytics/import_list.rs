//! The list of imported access logs, by which a file is recognized when it is imported again. Owns `imports.json`.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::day_files::{DayFiles, DayKey, Source};
use super::names::Names;

const FILE_NAME: &str = "imports.json";
/// How many bytes at the beginning of a file identify it.
pub(super) const HEAD_BYTES: usize = 64 << 10;
/// A shorter beginning identifies nothing: it is less than a line.
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
    /// From the shortest to the longest.
    heads: Vec<HeadHash>,
    /// How many bytes of the file count; 0 if some of its figures were deleted since.
    pub(super) bytes: u64,
    pub(super) pageviews: u64,
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
        match fs::read(folder.join(FILE_NAME)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(ImportList::default()),
            Err(error) => Err(error),
        }
    }

    /// Replaces the file. On return the new list is on disk.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let unfinished = folder.join("imports.unfinished");
        let mut file = File::create(&unfinished)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        fs::rename(&unfinished, folder.join(FILE_NAME))?;
        File::open(folder)?.sync_all()
    }

    /// The numbers of all imports.
    pub(super) fn numbers(&self) -> HashSet<u64> {
        self.files.iter().map(|file| file.import).collect()
    }

    /// The numbers below `limit` of a site's imports.
    pub(super) fn numbers_of_site(&self, site: &str, limit: u64) -> HashSet<u64> {
        let of_site = self.files.iter().filter(|file| file.site == site && file.import < limit);
        of_site.map(|file| file.import).collect()
    }

    /// Takes the file of a site that begins with `head` off the list, if it is on it.
    pub(super) fn take(&mut self, site: &str, head: &[u8]) -> Option<ImportedFile> {
        let index = self.files.iter().position(|file| file.site == site && file.begins_with(head))?;
        Some(self.files.remove(index))
    }

    /// Updates the list before the day files in `removed` go. Removes imports without any other day file. For others it
    /// forgets how far the file was read, so that a new import of the file counts it as a whole and replaces what is
    /// left.
    pub(super) fn forget(&mut self, removed: &HashSet<DayKey>, day_files: &DayFiles, names: &Names) -> io::Result<()> {
        let mut files = Vec::new();
        for mut file in self.files.drain(..) {
            let keys = day_files.of_source(Source::Import(file.import));
            let (of_file, left): (Vec<DayKey>, Vec<DayKey>) = keys.into_iter().partition(|key| removed.contains(key));
            if !of_file.is_empty() {
                file.bytes = 0;
                file.pageviews = 0;
                for key in &left {
                    file.pageviews += day_files.read(*key, names)?.pageviews();
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
    /// A file that begins with `head`.
    pub(super) fn new(import: u64, site: &str, head: &[u8], bytes: u64, pageviews: u64) -> ImportedFile {
        let lengths = (0..).map(|power| MIN_HEAD_BYTES << power).take_while(|bytes| *bytes < head.len());
        let heads = lengths.chain([head.len()]).map(|bytes| HeadHash::of(&head[..bytes])).collect();
        ImportedFile { import, site: site.to_owned(), heads, bytes, pageviews }
    }

    /// Whether a file with this beginning is this file, be it unchanged, grown or shorter.
    fn begins_with(&self, head: &[u8]) -> bool {
        let known = self.heads.iter().rev().find(|known| known.bytes <= head.len());
        known.is_some_and(|known| *known == HeadHash::of(&head[..known.bytes]))
    }
}
