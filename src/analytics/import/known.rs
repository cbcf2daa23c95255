//! The files that were imported, by which a file is known again. It owns `imports.json`.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Day, Names, Parts, Source};

const MANIFEST: &str = "imports.json";
/// How much of a file tells it from others.
pub(super) const HEAD_BYTES: usize = 64 << 10;
/// Shorter beginnings tell nothing: it is less than a line.
const SHORTEST_HEAD_BYTES: usize = 64;

/// The imports that count.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The number of the next one.
    pub(super) next: u64,
    pub(super) files: Vec<Known>,
}

/// A file that was imported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) import: u64,
    pub(super) site: String,
    /// Hashes of its beginnings: of so many bytes, from the shortest.
    heads: Vec<(usize, String)>,
    /// How much of it counts; 0 if some of that was deleted since.
    pub(super) bytes: u64,
    pub(super) pageviews: u64,
}

/// The numbers of the imports that count.
pub(in crate::analytics) fn listed(folder: &Path) -> io::Result<HashSet<u64>> {
    Ok(Manifest::read(folder)?.files.iter().map(|file| file.import).collect())
}

/// The number of the next import.
pub(in crate::analytics) fn next(folder: &Path) -> io::Result<u64> {
    Ok(Manifest::read(folder)?.next)
}

/// The imports of a site with a lower number.
pub(in crate::analytics) fn of_site(folder: &Path, site: &str, below: u64) -> io::Result<HashSet<u64>> {
    let files = Manifest::read(folder)?.files.into_iter();
    Ok(files.filter(|file| file.site == site && file.import < below).map(|file| file.import).collect())
}

/// Forgets the files of which these parts are all that there is. Of others it forgets how far they were read: imported
/// again, such a file is counted as a whole, and takes the place of what is left of it.
pub(in crate::analytics) fn forget(
    folder: &Path,
    parts: &Parts,
    names: &Names,
    gone: &HashSet<(Day, Source)>,
) -> io::Result<()> {
    if gone.is_empty() {
        return Ok(());
    }
    let mut manifest = Manifest::read(folder)?;
    let mut files = Vec::new();
    for mut file in manifest.files {
        let source = Source::Import(file.import);
        let (of_file, left): (Vec<_>, Vec<_>) =
            parts.of(Day::MIN..=Day::MAX).into_iter().filter(|key| key.1 == source).partition(|key| gone.contains(key));
        if !of_file.is_empty() {
            file.bytes = 0;
            file.pageviews = 0;
            for key in &left {
                file.pageviews += parts.read(*key, names)?.pageviews();
            }
        }
        if of_file.is_empty() || !left.is_empty() {
            files.push(file);
        }
    }
    manifest.files = files;
    manifest.write(folder)
}

impl Known {
    /// A file that begins with `head` and counts up to so many bytes.
    pub(super) fn new(import: u64, site: &str, head: &[u8], bytes: u64, pageviews: u64) -> Known {
        let lengths = (0..).map(|power| SHORTEST_HEAD_BYTES << power).take_while(|bytes| *bytes < head.len());
        let heads = lengths.chain([head.len()]).map(|bytes| (bytes, hex(&head[..bytes]))).collect();
        Known { import, site: site.to_owned(), heads, bytes, pageviews }
    }

    /// Whether a file that begins so is this one: grown, as it was, or not yet as long.
    pub(super) fn begins(&self, head: &[u8]) -> bool {
        let common = self.heads.iter().rev().find(|(bytes, _)| *bytes <= head.len());
        common.is_some_and(|(bytes, hash)| *hash == hex(&head[..*bytes]))
    }
}

fn hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

impl Manifest {
    pub(super) fn read(folder: &Path) -> io::Result<Manifest> {
        match fs::read(folder.join(MANIFEST)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Manifest::default()),
            Err(error) => Err(error),
        }
    }

    /// Writes it, synced, in place of the one that was there.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let unfinished = folder.join("imports.unfinished");
        let mut file = File::create(&unfinished)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        fs::rename(&unfinished, folder.join(MANIFEST))?;
        File::open(folder)?.sync_all()
    }
}
