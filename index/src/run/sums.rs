//! The checksums of a run's files, block by block: computed while a file is written, and stored in a file. It does not
//! know the contents of the files.
//!
//! The file `sums` is a magic number, the number of files (u32), and for each file the length of its name (u32), its
//! name, its length in bytes (u64) and the CRC-32 of each block (u32 each). Integers are little-endian. The manifest
//! has the CRC-32 of the whole file, so no file of a run can be confused with that of another.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use bindery_disk::{PacedFile, failure, sync};

use crate::error::Error;
use crate::files::take;
use crate::interrupt::StopSign;

/// A checksum covers this many bytes; the last one of a file may cover fewer. Small enough that looking up one value
/// reads little, large enough that checksums take 1/16,384 of the space.
pub(super) const BLOCK: usize = 64 << 10;

const MAGIC: [u8; 8] = *b"bndsum01";
/// The name of the file in the folder of its run.
const FILE: &str = "sums";

/// The checksums of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileSums {
    pub(super) name: String,
    /// The length of the file.
    pub(super) length: u64,
    /// The CRC-32 of each block.
    pub(super) blocks: Vec<u32>,
}

/// The folder of a run that is written.
#[derive(Clone, Copy)]
pub(crate) struct RunFolder<'a> {
    pub(crate) path: &'a Path,
    /// Once it is set, writes to the files fail.
    pub(crate) stop: Option<&'a StopSign>,
}

impl RunFolder<'_> {
    /// A folder that is written to the end.
    pub(crate) fn to_end(path: &Path) -> RunFolder<'_> {
        RunFolder { path, stop: None }
    }
}

/// A new file whose checksums are computed as it is written.
pub(super) struct SummedFile {
    file: PacedFile,
    stop: Option<StopSign>,
    point: &'static str,
    name: String,
    length: u64,
    crc: crc32fast::Hasher,
    blocks: Vec<u32>,
}

impl SummedFile {
    /// Creates the file, which must not exist. `point` names the failure point of its writes, for tests.
    pub(super) fn create(folder: RunFolder<'_>, name: &str, point: &'static str) -> io::Result<SummedFile> {
        let file = PacedFile::new(File::options().write(true).create_new(true).open(folder.path.join(name))?);
        let (crc, blocks, stop) = (crc32fast::Hasher::new(), Vec::new(), folder.stop.cloned());
        Ok(SummedFile { file, stop, point, name: name.to_owned(), length: 0, crc, blocks })
    }

    /// Makes the file durable, except for its entry in the folder. Nothing may be written afterwards.
    pub(super) fn finish(&mut self) -> io::Result<FileSums> {
        failure::point("run::sync")?;
        self.file.finish()?;
        if !self.length.is_multiple_of(BLOCK as u64) {
            self.end_block();
        }
        let (name, blocks) = (std::mem::take(&mut self.name), std::mem::take(&mut self.blocks));
        Ok(FileSums { name, length: self.length, blocks })
    }

    fn end_block(&mut self) {
        self.blocks.push(std::mem::take(&mut self.crc).finalize());
    }
}

impl Write for SummedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stop.as_ref().map_or(Ok(()), StopSign::check)?;
        failure::write(self.point, bytes, |bytes| self.file.write_all(bytes))?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let left_in_block = BLOCK - (self.length % BLOCK as u64) as usize;
            let (part, after) = rest.split_at(left_in_block.min(rest.len()));
            self.crc.update(part);
            self.length += part.len() as u64;
            if part.len() == left_in_block {
                self.end_block();
            }
            rest = after;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes the checksums of a run's files; durable on return, except for the entry in the folder. Returns the checksum
/// of the written file.
pub(super) fn write(folder: &Path, files: &[FileSums]) -> Result<u32, Error> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(files.len() as u32).to_le_bytes());
    for FileSums { name, length, blocks } in files {
        bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        blocks.iter().for_each(|crc| bytes.extend_from_slice(&crc.to_le_bytes()));
    }
    let path = folder.join(FILE);
    let write = || {
        let mut file = File::create_new(&path)?;
        failure::write("run::sums", &bytes, |bytes| file.write_all(bytes))?;
        sync::data(&file)
    };
    write().map_err(Error::io(&path))?;
    Ok(crc32fast::hash(&bytes))
}

/// Reads the checksums of a run's files. `expected` is the checksum that [`write`] returned.
pub(super) fn read(folder: &Path, expected: u32) -> Result<Vec<FileSums>, Error> {
    let path = folder.join(FILE);
    let bytes = fs::read(&path).map_err(Error::io(&path))?;
    if crc32fast::hash(&bytes) != expected {
        return Err(Error::corrupt(&path, "the checksum differs from that in the manifest"));
    }
    parse(&bytes).ok_or_else(|| Error::corrupt(&path, "not a file of checksums"))
}

fn parse(bytes: &[u8]) -> Option<Vec<FileSums>> {
    let mut rest = bytes.strip_prefix(&MAGIC)?;
    let mut files = Vec::new();
    for _ in 0..u32::from_le_bytes(take(&mut rest)?) {
        let name_bytes = u32::from_le_bytes(take(&mut rest)?) as usize;
        let (name, after) = rest.split_at_checked(name_bytes)?;
        rest = after;
        let length = u64::from_le_bytes(take(&mut rest)?);
        let mut blocks = Vec::new();
        for _ in 0..length.div_ceil(BLOCK as u64) {
            blocks.push(u32::from_le_bytes(take(&mut rest)?));
        }
        files.push(FileSums { name: str::from_utf8(name).ok()?.to_owned(), length, blocks });
    }
    rest.is_empty().then_some(files)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn checksums_do_not_depend_on_how_a_file_is_written_and_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..BLOCK * 2 + 100).map(|index| (index * 7 % 251) as u8).collect();
        let mut all = Vec::new();
        for (length, piece) in [(0, 1), (1, 1), (BLOCK - 1, 999), (BLOCK, 3_000), (BLOCK * 2 + 100, BLOCK + 7)] {
            let mut file = SummedFile::create(RunFolder::to_end(folder.path()), &format!("{length}"), "test").unwrap();
            bytes[..length].chunks(piece).for_each(|piece| file.write_all(piece).unwrap());
            let sums = file.finish().unwrap();
            let expected: Vec<u32> = bytes[..length].chunks(BLOCK).map(crc32fast::hash).collect();
            assert_eq!((sums.length, &sums.blocks), (length as u64, &expected));
            all.push(sums);
        }
        let crc = write(folder.path(), &all).unwrap();
        assert_eq!(read(folder.path(), crc).unwrap(), all);
        assert!(read(folder.path(), crc ^ 1).is_err());
        let bytes = fs::read(folder.path().join(FILE)).unwrap();
        assert!((0..bytes.len()).all(|length| parse(&bytes[..length]).is_none()));
    }
}
