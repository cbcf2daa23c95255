//! The bytes of a segment.
//!
//! ```text
//! header  magic (8)  epoch (8)  number of the first record (8)  CRC32 of all before (4)  zeros (4)
//! record  CRC32 (4)  length of the payload (4)  format version (1)  zeros (3)  number (8)  payload
//! ```
//!
//! All numbers are little-endian. A record's checksum covers the segment's epoch and everything behind the checksum.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::error::{LogError, at};

pub(super) const HEADER_BYTES: u64 = 32;
pub(super) const RECORD_HEADER_BYTES: u64 = 20;
const MAGIC: &[u8; 8] = b"bndrylog";
const VERSION: u8 = 1;
const READ_BUFFER_BYTES: usize = 256 << 10;

/// A segment in the log's folder.
#[derive(Debug, Clone)]
pub(super) struct SegmentFile {
    /// The number of its first record.
    pub(super) first: u64,
    pub(super) path: PathBuf,
    /// The file's length.
    pub(super) bytes: u64,
}

/// The size of a record with this payload.
pub(super) fn record_bytes(payload: &[u8]) -> Result<u64, LogError> {
    match u32::try_from(payload.len()) {
        Ok(length) => Ok(RECORD_HEADER_BYTES + u64::from(length)),
        Err(_) => Err(LogError::TooLarge { bytes: payload.len() }),
    }
}

/// Encodes a record. [`record_bytes`] has checked the payload's length.
pub(super) fn encode(epoch: u64, number: u64, payload: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(RECORD_HEADER_BYTES as usize + payload.len());
    record.extend_from_slice(&[0; 4]);
    record.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    record.extend_from_slice(&[VERSION, 0, 0, 0]);
    record.extend_from_slice(&number.to_le_bytes());
    record.extend_from_slice(payload);
    let sum = checksum(epoch, &record[4..], &[]);
    record[..4].copy_from_slice(&sum.to_le_bytes());
    record
}

/// Encodes a segment's header.
pub(super) fn encode_header(epoch: u64, first: u64) -> [u8; HEADER_BYTES as usize] {
    let mut header = [0; HEADER_BYTES as usize];
    header[..8].copy_from_slice(MAGIC);
    header[8..16].copy_from_slice(&epoch.to_le_bytes());
    header[16..24].copy_from_slice(&first.to_le_bytes());
    let sum = crc32fast::hash(&header[..24]);
    header[24..28].copy_from_slice(&sum.to_le_bytes());
    header
}

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
        let file = File::open(path).map_err(at("open", path))?;
        let bytes = file.metadata().map_err(at("read", path))?.len();
        let mut file = BufReader::with_capacity(READ_BUFFER_BYTES, file);
        let bad = |what: &str| LogError::Corrupt { file: path.to_owned(), offset: 0, what: what.to_owned() };
        if bytes < HEADER_BYTES {
            return Err(bad("the file is shorter than a segment's header"));
        }
        let mut header = [0; HEADER_BYTES as usize];
        file.read_exact(&mut header).map_err(at("read", path))?;
        let epoch = u64_at(&header, 8);
        if header != encode_header(epoch, first) {
            return Err(bad("its header is damaged or belongs to another segment"));
        }
        Ok(Scan { file, path: path.to_owned(), epoch, offset: HEADER_BYTES, bytes, next: first })
    }

    /// As [`Scan::open`], but takes what a damaged header says for true: no record is valid if it is not. Also returns
    /// whether the header is whole.
    pub(super) fn open_damaged(path: &Path, first: u64) -> Result<(Scan, bool), LogError> {
        let mut file = File::open(path).map_err(at("open", path))?;
        let bytes = file.metadata().map_err(at("read", path))?.len();
        let mut header = Vec::new();
        (&mut file).take(HEADER_BYTES).read_to_end(&mut header).map_err(at("read", path))?;
        let is_short = header.len() < HEADER_BYTES as usize;
        header.resize(HEADER_BYTES as usize, 0);
        let epoch = u64_at(&header, 8);
        let is_whole = !is_short && header == encode_header(epoch, first);
        let (file, bytes) = (BufReader::with_capacity(READ_BUFFER_BYTES, file), bytes.max(HEADER_BYTES));
        Ok((Scan { file, path: path.to_owned(), epoch, offset: HEADER_BYTES, bytes, next: first }, is_whole))
    }

    /// Moves on to the next valid record up to the number `through`. Returns whether there is one.
    pub(super) fn skip_damage(&mut self, through: u64) -> Result<bool, LogError> {
        self.file.seek(SeekFrom::Start(self.offset)).map_err(at("read", &self.path))?;
        let mut rest = Vec::new();
        self.file.read_to_end(&mut rest).map_err(at("read", &self.path))?;
        let header_bytes = RECORD_HEADER_BYTES as usize;
        for (start, header) in rest.windows(header_bytes).enumerate() {
            let (length, number) = (u32_at(header, 4) as usize, u64_at(header, 12));
            if header[8..12] != [VERSION, 0, 0, 0] || number < self.next || number > through {
                continue;
            }
            let Some(payload) = rest[start + header_bytes..].get(..length) else { continue };
            if checksum(self.epoch, &header[4..], payload) == u32_at(header, 0) {
                self.offset += start as u64;
                self.next = number;
                self.file.seek(SeekFrom::Start(self.offset)).map_err(at("read", &self.path))?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The payload of the next record. `None` if that record is missing or incomplete.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, LogError> {
        let room = self.bytes - self.offset;
        if room < RECORD_HEADER_BYTES {
            return Ok(None);
        }
        let mut header = [0; RECORD_HEADER_BYTES as usize];
        self.file.read_exact(&mut header).map_err(at("read", &self.path))?;
        let length = u64::from(u32_at(&header, 4));
        if length > room - RECORD_HEADER_BYTES
            || header[8..12] != [VERSION, 0, 0, 0]
            || u64_at(&header, 12) != self.next
        {
            return Ok(None);
        }
        let mut payload = vec![0; length as usize];
        self.file.read_exact(&mut payload).map_err(at("read", &self.path))?;
        if checksum(self.epoch, &header[4..], &payload) != u32_at(&header, 0) {
            return Ok(None);
        }
        self.offset += RECORD_HEADER_BYTES + length;
        self.next += 1;
        Ok(Some(payload))
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The position of the next record.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn next_number(&self) -> u64 {
        self.next
    }

    /// The error for a synced record that cannot be read.
    pub(super) fn damaged(&self) -> LogError {
        let what = format!("record {} is missing or incomplete", self.next);
        LogError::Corrupt { file: self.path.clone(), offset: self.offset, what }
    }
}

fn checksum(epoch: u64, header: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&epoch.to_le_bytes());
    hasher.update(header);
    hasher.update(payload);
    hasher.finalize()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
