//! A day file: what one source (the events of the server, or one imported access log) adds to one day. Owns the bytes
//! of the file. A file is written once and replaced as a whole.
//!
//! ```text
//! header   magic (7)  format, a digit (1)  number of the last log record that it counts (8)
//!          length of the content, unpacked (8)  CRC32 of the header so far and of the content (4)
//! content  zstd: sites, each with its hours, totals, pages by path, shares by name, sessions by page, and events
//! ```
//!
//! Later formats keep magic and checksum where they are, so that a later format is told from damage.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::Path;

use super::checked_file::{damaged, of_later_version};
use super::codec::{Damaged, Format, Input};
use super::names::Names;
use super::rollup::{Rollup, SiteRollups};
use super::rollup_codec::{decode_sites, encode_sites};

const MAGIC: &[u8; 7] = b"bndrytr";
const FORMAT: u8 = b'2';
const FIRST_FORMAT: u8 = b'1';
const HEADER_BYTES: usize = 28;
const ZSTD_LEVEL: i32 = 6;
/// More than any day's figures take. A greater length in a header is damage.
const MAX_BYTES: u64 = 4 << 30;

/// The figures of a day by site.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct DayFile {
    /// The number of the last log record that it counts; 0 for an import.
    pub(super) counted_through: u64,
    pub(super) sites: SiteRollups,
}

struct Header {
    format: Format,
    counted_through: u64,
    content_bytes: u64,
}

impl DayFile {
    /// Roughly how many rows it holds in memory.
    pub(super) fn rows(&self) -> usize {
        let rows = |rollup: &Rollup| {
            let shares: usize = rollup.shares.iter().map(Vec::len).sum();
            let ends = rollup.entries.len() + rollup.exits.len();
            // A row of events is as long as two of the others.
            40 + rollup.pages.len() + shares + ends + 2 * rollup.events.len()
        };
        self.sites.values().map(rows).sum()
    }

    /// How many pageviews it counts.
    pub(super) fn pageviews(&self) -> u64 {
        self.sites.values().map(Rollup::pageviews).sum()
    }

    /// Writes and syncs the file. Syncing the folder is up to the caller.
    pub(super) fn write(&self, path: &Path, names: &Names) -> io::Result<()> {
        let content = encode_sites(&self.sites, names);
        let packed = zstd::bulk::compress(&content, ZSTD_LEVEL)?;
        let mut bytes = Vec::with_capacity(HEADER_BYTES + packed.len());
        bytes.extend_from_slice(MAGIC);
        bytes.push(FORMAT);
        bytes.extend_from_slice(&self.counted_through.to_le_bytes());
        bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&checksum(&bytes, &packed).to_le_bytes());
        bytes.extend_from_slice(&packed);
        let mut file = File::create(path)?;
        file.write_all(&bytes)?;
        file.sync_all()
    }

    /// Reads and checks a whole file.
    pub(super) fn read(path: &Path, names: &Names) -> io::Result<DayFile> {
        let bytes = fs::read(path)?;
        refuse_later_format(path, &bytes)?;
        let bad = || at_path(path, Damaged);
        let (header, packed) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or_else(bad)?;
        let (checked, crc) = header.split_at(HEADER_BYTES - 4);
        let Header { format, counted_through, content_bytes } = read_header(header).map_err(|error| at_path(path, error))?;
        if crc != checksum(checked, packed).to_le_bytes() || content_bytes > MAX_BYTES {
            return Err(bad());
        }
        let content = zstd::bulk::decompress(packed, content_bytes as usize).map_err(|_| bad())?;
        let sites = decode_sites(&content, format, names).map_err(|error| at_path(path, error))?;
        Ok(DayFile { counted_through, sites })
    }

    /// Reads [`DayFile::counted_through`] from a file's header.
    pub(super) fn read_counted_through(path: &Path) -> io::Result<u64> {
        let mut header = [0; HEADER_BYTES];
        let read = File::open(path)?.read_exact(&mut header);
        if header.get(MAGIC.len()).is_some_and(|format| *format > FORMAT) {
            refuse_later_format(path, &fs::read(path)?)?;
        }
        let header = read.map_err(|_| Damaged).and_then(|()| read_header(&header));
        header.map(|header| header.counted_through).map_err(|error| at_path(path, error))
    }
}

fn read_header(header: &[u8; HEADER_BYTES]) -> Result<Header, Damaged> {
    let mut input = Input(header);
    if input.bytes(MAGIC.len())? != MAGIC {
        return Err(Damaged);
    }
    let format = match input.bytes(1)? {
        [FORMAT] => Format::Second,
        [FIRST_FORMAT] => Format::First,
        _ => return Err(Damaged),
    };
    let mut number = || input.bytes(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()));
    Ok(Header { format, counted_through: number()?, content_bytes: number()? })
}

/// Fails for an intact file of a later format.
fn refuse_later_format(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let Some((header, packed)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return Ok(()) };
    let (checked, crc) = header.split_at(HEADER_BYTES - 4);
    let format = header[MAGIC.len()];
    let is_later = header.starts_with(MAGIC) && format > FORMAT && format.is_ascii_digit();
    match is_later && crc == checksum(checked, packed).to_le_bytes() {
        true => Err(of_later_version(path, u32::from(format - b'0'))),
        false => Ok(()),
    }
}

fn at_path(path: &Path, error: Damaged) -> io::Error {
    damaged(path, &error.to_string())
}

fn checksum(header: &[u8], packed: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(packed);
    hasher.finalize()
}
