//! Reads a file of a run, and compares each block with its checksum before its first use. It does not know the contents
//! of the file.
//!
//! The files of an index may be many gigabytes, so a start reads next to nothing, and a query checks only the blocks
//! that it reads. For the check, a block is read with `pread`, not through the memory map. So a sector that the disk
//! cannot read is an error, and not a signal that ends the process.

use std::fs::{self, File, Metadata};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bindery_disk::failure;
use tantivy::HasLen;
use tantivy::directory::error::OpenReadError;
use tantivy::directory::{Directory, FileHandle, MmapDirectory, OwnedBytes};

use super::sums::{BLOCK, FileSums};
use crate::damage::{Damage, FileDamage};
use crate::error::Error;

/// An open file of a run, memory-mapped. Stays readable after it is unlinked.
pub(crate) struct CheckedFile {
    path: PathBuf,
    inode: Inode,
    map: OwnedBytes,
    sums: FileSums,
    /// A bit for each block, set once the block has been checked.
    checked: Box<[AtomicU64]>,
    damage: Arc<Damage>,
}

/// The device and number of a file. No other file has the same ones while it is mapped.
type Inode = (u64, u64);

/// A part of a file.
#[derive(Debug, Clone)]
pub(crate) struct CheckedBytes {
    file: Arc<CheckedFile>,
    range: Range<usize>,
}

impl std::fmt::Debug for CheckedFile {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "CheckedFile({})", self.path.display())
    }
}

impl CheckedFile {
    /// Opens a file in `folder`, and checks only its length.
    pub(super) fn open(folder: &Path, sums: FileSums, damage: &Arc<Damage>) -> Result<Arc<CheckedFile>, Error> {
        let path = folder.join(&sums.name);
        let inode = fs::metadata(&path).map(|metadata| inode(&metadata)).map_err(Error::io(&path))?;
        let map = map(folder, &sums.name).map_err(Error::io(&path))?;
        if map.len() as u64 != sums.length {
            let what = format!("the file has {} bytes, expected {}", map.len(), sums.length);
            return Err(Error::corrupt(&path, what));
        }
        let checked = (0..sums.blocks.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Arc::new(CheckedFile { path, inode, map, sums, checked, damage: Arc::clone(damage) }))
    }

    /// Returns the name of the file in its folder.
    pub(super) fn name(&self) -> &str {
        &self.sums.name
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length of the file.
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// Reads the bytes of the file in this range; `None` if it exceeds the file, or if the bytes are damaged, which is
    /// reported.
    #[inline]
    pub(super) fn read(&self, range: Range<usize>) -> Option<&[u8]> {
        let bytes = self.map.get(range.clone())?;
        if bytes.is_empty() {
            return Some(bytes);
        }
        let (first, last) = (range.start / BLOCK, (range.end - 1) / BLOCK);
        let is_checked = (first..=last).all(|block| self.is_checked(block)) || self.check(first..=last);
        is_checked.then_some(bytes)
    }

    /// Returns a part of the file, to be read later.
    pub(super) fn part(self: &Arc<Self>, range: Range<usize>) -> Option<CheckedBytes> {
        self.map.get(range.clone())?;
        Some(CheckedBytes { file: Arc::clone(self), range })
    }

    /// Reports that the contents of the file are invalid.
    #[cold]
    pub(super) fn report(&self, what: &str) {
        self.damage.report(&self.path, what);
    }

    /// Compares every block with its checksum, even if that was done before.
    pub(super) fn verify(&self) -> Result<(), Error> {
        self.checked.iter().for_each(|bits| bits.store(0, Ordering::Relaxed));
        match self.sums.blocks.len() {
            0 => Ok(()),
            count if self.check(0..=count - 1) => Ok(()),
            _ => self.damage.check(),
        }
    }

    #[inline]
    fn is_checked(&self, block: usize) -> bool {
        self.checked[block / 64].load(Ordering::Relaxed) >> (block % 64) & 1 == 1
    }

    /// Compares blocks with their checksums. Reports differences.
    #[cold]
    fn check(&self, blocks: std::ops::RangeInclusive<usize>) -> bool {
        // Opening the file again may fail or give another file: a run that was merged into another one is unlinked
        // while snapshots still read it, another run may then get its name, and descriptors may run out. In these cases
        // the map is read instead.
        let is_same = |file: &File| file.metadata().is_ok_and(|metadata| inode(&metadata) == self.inode);
        let file = File::open(&self.path).ok().filter(is_same);
        let mut buffer = vec![0; BLOCK.min(self.map.len())];
        for block in blocks.filter(|&block| !self.is_checked(block)) {
            match self.sum(file.as_ref(), block, &mut buffer) {
                Ok(sum) if sum == self.sums.blocks[block] => {
                    self.checked[block / 64].fetch_or(1 << (block % 64), Ordering::Relaxed);
                }
                Ok(_) => {
                    self.report(&format!("the checksum of the {BLOCK} bytes from {} on does not match", block * BLOCK));
                    return false;
                }
                Err(error) => {
                    self.report(&format!("the {BLOCK} bytes from {} on cannot be read: {error}", block * BLOCK));
                    return false;
                }
            }
        }
        true
    }

    fn sum(&self, file: Option<&File>, block: usize, buffer: &mut [u8]) -> io::Result<u32> {
        failure::point("run::read")?;
        let start = block * BLOCK;
        let length = BLOCK.min(self.map.len() - start);
        match file {
            None => Ok(crc32fast::hash(&self.map[start..start + length])),
            Some(file) => {
                file.read_exact_at(&mut buffer[..length], start as u64)?;
                Ok(crc32fast::hash(&buffer[..length]))
            }
        }
    }
}

impl HasLen for CheckedFile {
    fn len(&self) -> usize {
        CheckedFile::len(self)
    }
}

/// Lets Tantivy read the file.
impl FileHandle for CheckedFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        match self.read(range.clone()) {
            Some(_) => Ok(self.map.slice(range)),
            None => Err(io::Error::new(io::ErrorKind::InvalidData, "the file is damaged")),
        }
    }
}

impl CheckedBytes {
    /// Returns an empty part.
    pub(super) fn empty(file: &Arc<CheckedFile>) -> CheckedBytes {
        CheckedBytes { file: Arc::clone(file), range: 0..0 }
    }

    pub(super) fn len(&self) -> usize {
        self.range.len()
    }

    /// Returns the bytes in this range; `None` if it exceeds the part, or if they are damaged, which is reported.
    #[inline]
    pub(super) fn get(&self, range: Range<usize>) -> Option<&[u8]> {
        let (start, end) = (self.range.start.checked_add(range.start)?, self.range.start.checked_add(range.end)?);
        if end > self.range.end {
            return None;
        }
        self.file.read(start..end)
    }

    /// Returns all bytes; empty if they are damaged, which is reported.
    pub(super) fn all(&self) -> &[u8] {
        self.file.read(self.range.clone()).unwrap_or_default()
    }

    /// Returns all bytes in Tantivy's type; `None` if they are damaged, which is reported.
    pub(super) fn owned(&self) -> Option<OwnedBytes> {
        self.file.read(self.range.clone()).map(|_| self.file.map.slice(self.range.clone()))
    }

    /// Reports that the contents of the file are invalid.
    pub(super) fn report(&self, what: &str) {
        self.file.report(what);
    }

    /// Reads a text of this part. Invalid UTF-8 is damage.
    #[inline]
    pub(super) fn text<'a>(&self, bytes: &'a [u8]) -> &'a str {
        str::from_utf8(bytes).unwrap_or_else(|_| {
            self.file.report("a text is not valid UTF-8");
            ""
        })
    }

    /// Returns the place to report damage of the file.
    pub(super) fn damage(&self) -> FileDamage<'_> {
        FileDamage { path: &self.file.path, damage: &self.file.damage }
    }
}

fn inode(metadata: &Metadata) -> Inode {
    (metadata.dev(), metadata.ino())
}

fn map(folder: &Path, name: &str) -> io::Result<OwnedBytes> {
    let directory = MmapDirectory::open(folder).map_err(io::Error::other)?;
    let file = directory.get_file_handle(Path::new(name)).map_err(|error| match error {
        OpenReadError::IoError { io_error, .. } => io::Error::new(io_error.kind(), io_error.to_string()),
        other => io::Error::other(other.to_string()),
    })?;
    file.read_bytes(0..file.len())
}
