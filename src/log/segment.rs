//! The bytes of a segment.
//!
//! ```text
//! header  magic and format (8)  epoch (8)  number of the first record (8)  CRC32 of all before (4)  zeros (4)
//! record  CRC32 (4)  length of what is behind the number (4)  format (1)  check of the prefix (3)  number (8)
//!         number through which the log was synced when this was written (8)  payload
//! mark    a record with the number 0 and no payload
//! ```
//!
//! All numbers are little-endian. A record's checksum covers the segment's epoch and everything behind the checksum.
//! The check of its prefix (the first 20 bytes) covers the epoch, the length, the format and the number: so records can
//! be found behind one that is damaged. A mark is written behind the last record after each sync, is not synced itself,
//! and is overwritten by the next record: it is the proof that what is before it was synced.
//!
//! This is format 2, which every later version reads. Format 1 was never released: it is recognized, and refused by
//! name.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::error::{LogError, at};

pub(super) const HEADER_BYTES: u64 = 32;
const PREFIX_BYTES: u64 = 20;
pub(super) const MARK_BYTES: u64 = 28;
pub(super) const RECORD_HEADER_BYTES: u64 = 28;
const FORMAT: u8 = 2;
const READ_BUFFER_BYTES: usize = 256 << 10;
const SEARCH_BLOCK_BYTES: u64 = 1 << 20;

/// A segment in the log's folder.
#[derive(Debug, Clone)]
pub(super) struct SegmentFile {
    /// The number of its first record.
    pub(super) first: u64,
    pub(super) path: PathBuf,
    /// The file's length.
    pub(super) bytes: u64,
}

/// Returns the size of a record with this payload.
pub(super) fn record_bytes(payload: &[u8]) -> Result<u64, LogError> {
    match u32::try_from(payload.len() as u64 + RECORD_HEADER_BYTES) {
        Ok(bytes) => Ok(u64::from(bytes)),
        Err(_) => Err(LogError::TooLarge { bytes: payload.len() }),
    }
}

/// Encodes a record that is written when the log is synced through `synced`. [`record_bytes`] has checked the payload's
/// length.
pub(super) fn encode(epoch: u64, number: u64, synced: u64, payload: &[u8]) -> Vec<u8> {
    let length = (RECORD_HEADER_BYTES - PREFIX_BYTES) as u32 + payload.len() as u32;
    let mut record = Vec::with_capacity(RECORD_HEADER_BYTES as usize + payload.len());
    record.extend_from_slice(&[0; 4]);
    record.extend_from_slice(&length.to_le_bytes());
    record.extend_from_slice(&[FORMAT, 0, 0, 0]);
    record.extend_from_slice(&number.to_le_bytes());
    let check = prefix_check(epoch, &record);
    record[9..12].copy_from_slice(&check);
    record.extend_from_slice(&synced.to_le_bytes());
    record.extend_from_slice(payload);
    let sum = checksum(epoch, &[&record[4..]]);
    record[..4].copy_from_slice(&sum.to_le_bytes());
    record
}

/// Encodes the mark that the log is synced through `synced`.
pub(super) fn encode_mark(epoch: u64, synced: u64) -> Vec<u8> {
    encode(epoch, 0, synced, &[])
}

/// Encodes a segment's header.
pub(super) fn encode_header(epoch: u64, first: u64) -> [u8; HEADER_BYTES as usize] {
    encode_header_of(FORMAT, epoch, first)
}

/// Returns the header of a segment of any format.
pub(super) fn encode_header_of(format: u8, epoch: u64, first: u64) -> [u8; HEADER_BYTES as usize] {
    let mut header = [0; HEADER_BYTES as usize];
    header[..8].copy_from_slice(if format == 1 { b"bndrylog" } else { b"bndrylg0" });
    if format > 1 {
        header[7] += format;
    }
    header[8..16].copy_from_slice(&epoch.to_le_bytes());
    header[16..24].copy_from_slice(&first.to_le_bytes());
    let sum = crc32fast::hash(&header[..24]);
    header[24..28].copy_from_slice(&sum.to_le_bytes());
    header
}

/// Returns the format of a segment with this header. The format may be one that this version does not know.
fn format_of(header: &[u8; HEADER_BYTES as usize]) -> Option<u8> {
    (1..=9).find(|format| header[..8] == encode_header_of(*format, 0, 0)[..8])
}

/// The entry at a position of a segment.
#[derive(Debug)]
pub(super) enum SegmentEntry {
    /// A record, and the number through which the log was synced when it was written.
    Record { number: u64, synced: u64, payload: Vec<u8> },
    /// The mark that everything through this number was synced.
    Mark { synced: u64 },
}

/// Returns the number and the length of the record with this prefix. Returns `None` if these bytes are not the prefix
/// of a record of this epoch.
fn read_prefix(epoch: u64, prefix: &[u8; PREFIX_BYTES as usize]) -> Option<(u64, u64)> {
    let (length, number) = (u64::from(u32_at(prefix, 4)), u64_at(prefix, 12));
    let is_valid = prefix[8] == FORMAT && length >= 8 && prefix[9..12] == prefix_check(epoch, prefix);
    is_valid.then_some((number, length))
}

/// Reads the entry at the beginning of `input`, of which `room` bytes belong to the segment. Returns `None` if there is
/// no entry of this epoch with a number that is wanted.
fn read_entry(
    epoch: u64,
    input: &mut impl Read,
    room: u64,
    is_wanted: impl Fn(u64) -> bool,
) -> io::Result<Option<SegmentEntry>> {
    if room < PREFIX_BYTES {
        return Ok(None);
    }
    let mut prefix = [0; PREFIX_BYTES as usize];
    input.read_exact(&mut prefix)?;
    let Some((number, length)) = read_prefix(epoch, &prefix) else { return Ok(None) };
    if length > room - PREFIX_BYTES || !is_wanted(number) {
        return Ok(None);
    }
    let mut synced = [0; 8];
    input.read_exact(&mut synced)?;
    let mut payload = vec![0; length as usize - synced.len()];
    input.read_exact(&mut payload)?;
    if checksum(epoch, &[&prefix[4..], &synced, &payload]) != u32_at(&prefix, 0) {
        return Ok(None);
    }
    let synced = u64::from_le_bytes(synced);
    Ok(Some(match number {
        0 => SegmentEntry::Mark { synced },
        _ => SegmentEntry::Record { number, synced, payload },
    }))
}

/// A record: the number through which the log was synced when it was written, and its payload.
type SyncedRecord = (u64, Vec<u8>);

/// Reads the records of a segment one by one.
#[derive(Debug)]
pub(super) struct Scan {
    file: BufReader<File>,
    path: PathBuf,
    epoch: u64,
    offset: u64,
    bytes: u64,
    next: u64,
}

impl Scan {
    /// Opens the segment whose first record has the number `first`. A bad header means damage, since a segment is named
    /// only after its header is synced (see `folder::name`).
    pub(super) fn open(path: &Path, first: u64) -> Result<Scan, LogError> {
        let bad = |what: &str| LogError::Corrupt { file: path.to_owned(), offset: 0, what: what.to_owned() };
        match Scan::open_damaged(path, first)? {
            (Some(scan), None) => Ok(scan),
            (_, Some(what)) => Err(bad(&what)),
            (None, None) => Err(bad("it has no header")),
        }
    }

    /// Opens like [`Scan::open`], but trusts a damaged header: if it is wrong, no record is valid. Also returns the
    /// problem with the header.
    pub(super) fn open_damaged(path: &Path, first: u64) -> Result<(Option<Scan>, Option<String>), LogError> {
        let file = File::open(path).map_err(at("open", path))?;
        let bytes = file.metadata().map_err(at("read", path))?.len();
        let mut file = BufReader::with_capacity(READ_BUFFER_BYTES, file);
        if bytes < HEADER_BYTES {
            return Ok((None, Some("the file is shorter than a segment's header".to_owned())));
        }
        let mut header = [0; HEADER_BYTES as usize];
        file.read_exact(&mut header).map_err(at("read", path))?;
        let (epoch, format) = (u64_at(&header, 8), format_of(&header));
        let is_whole = format.is_some_and(|format| header == encode_header_of(format, epoch, first));
        if let Some(version) = format.filter(|format| *format != FORMAT && is_whole) {
            return Err(LogError::Version { file: path.to_owned(), version });
        }
        let scan = Scan { file, path: path.to_owned(), epoch, offset: HEADER_BYTES, bytes, next: first };
        let bad = (!is_whole).then(|| "its header is damaged or belongs to another segment".to_owned());
        Ok((Some(scan), bad))
    }

    /// Returns the next record: the number through which the log was synced when it was written, and the payload.
    /// Returns `None` if that record is missing or incomplete. Then nothing more can be read, except by [`Scan::find`].
    pub(super) fn next(&mut self) -> Result<Option<SyncedRecord>, LogError> {
        let (room, next) = (self.bytes - self.offset, self.next);
        let entry =
            read_entry(self.epoch, &mut self.file, room, |number| number == next).map_err(at("read", &self.path))?;
        let Some(SegmentEntry::Record { synced, payload, .. }) = entry else { return Ok(None) };
        self.offset += RECORD_HEADER_BYTES + payload.len() as u64;
        self.next += 1;
        Ok(Some((synced, payload)))
    }

    /// Searches for an entry that begins between two positions. Returns its position and the entry. A record counts
    /// only if its number is greater than the number of the next record.
    pub(super) fn find(&self, from: u64, end: u64) -> Result<Option<(u64, SegmentEntry)>, LogError> {
        let file = self.file.get_ref();
        let most = self.next + (self.bytes - self.offset) / PREFIX_BYTES;
        let is_wanted = |number: u64| number == 0 || number > self.next && number <= most;
        // The prefix of an entry may end with zeros, and zeros at the end are not counted as data.
        let end = (end + PREFIX_BYTES).min(self.bytes);
        let mut block = Vec::new();
        let mut start = from;
        while start + PREFIX_BYTES <= end {
            // Blocks overlap, so that each prefix lies completely in one of them.
            block.resize((end - start).min(SEARCH_BLOCK_BYTES + PREFIX_BYTES) as usize, 0);
            file.read_exact_at(&mut block, start).map_err(at("read", &self.path))?;
            for (at_byte, prefix) in block.windows(PREFIX_BYTES as usize).enumerate() {
                if prefix[8] != FORMAT {
                    continue;
                }
                let prefix = prefix.try_into().expect("windows of this size");
                if !read_prefix(self.epoch, prefix).is_some_and(|(number, _)| is_wanted(number)) {
                    continue;
                }
                let offset = start + at_byte as u64;
                let mut input = PositionedReader { file, offset };
                let entry = read_entry(self.epoch, &mut input, self.bytes - offset, is_wanted)
                    .map_err(at("read", &self.path))?;
                if let Some(entry) = entry {
                    return Ok(Some((offset, entry)));
                }
            }
            start += block.len() as u64 - (PREFIX_BYTES - 1);
        }
        Ok(None)
    }

    /// Continues with the record `number`, which [`Scan::find`] found at this position.
    pub(super) fn resume(&mut self, offset: u64, number: u64) -> Result<(), LogError> {
        self.file.seek(SeekFrom::Start(offset)).map_err(at("read", &self.path))?;
        (self.offset, self.next) = (offset, number);
        Ok(())
    }

    /// Returns the position behind the last byte that is not zero, from the next record on.
    pub(super) fn end_of_data(&self) -> Result<u64, LogError> {
        let zeros = vec![0u8; SEARCH_BLOCK_BYTES as usize];
        let mut block = zeros.clone();
        let (mut offset, mut end) = (self.offset, self.offset);
        while offset < self.bytes {
            let length = (self.bytes - offset).min(SEARCH_BLOCK_BYTES) as usize;
            self.file.get_ref().read_exact_at(&mut block[..length], offset).map_err(at("read", &self.path))?;
            if block[..length] != zeros[..length] {
                let last = block[..length].iter().rposition(|byte| *byte != 0);
                end = offset + last.map_or(0, |last| last as u64 + 1);
            }
            offset += length as u64;
        }
        Ok(end)
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the position of the next record.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn next_number(&self) -> u64 {
        self.next
    }

    /// Returns the error for a synced record that cannot be read.
    pub(super) fn damaged(&self) -> LogError {
        let what = format!("record {} is missing or incomplete", self.next);
        LogError::Corrupt { file: self.path.clone(), offset: self.offset, what }
    }
}

/// Reads a file from a position on, without moving the file's own position.
struct PositionedReader<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for PositionedReader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(bytes, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// Returns the check of a record's prefix: three bytes of a checksum over the epoch, the length, the format and the
/// number.
fn prefix_check(epoch: u64, prefix: &[u8]) -> [u8; 3] {
    let [check @ .., _] = checksum(epoch, &[&prefix[4..9], &prefix[12..20]]).to_le_bytes();
    check
}

fn checksum(epoch: u64, parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&epoch.to_le_bytes());
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
