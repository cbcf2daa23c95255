//! A day file: the figures of one source (the events of the server, or one imported access log) for one day. Owns the
//! bytes of the file. A file is written once and replaced as a whole.
//!
//! ```text
//! header   magic (7)  format, a digit (1)  number of the last log record that it counts (8)
//!          length of the figures, unpacked (8)  CRC32 of all but itself (4)
//! table    length of the figures, packed (8)  length of the visits, packed (8)
//!          length of the visits, unpacked (8)  CRC32 of the visits (4)
//! figures  zstd: sites, each with its hours, totals, pages by path, shares by name, sessions by page, and events;
//!          then the searches of each site (missing in files of versions that counted none)
//! visits   zstd: sites, each with its visits (`visit_codec`)
//! ```
//!
//! Reports without filters read no visits: the CRC32 of the file can be computed from that of the visits and of the
//! bytes before them. This is format 2, which every later version reads. All formats have magic and checksum in the
//! same places, so that another format is distinguished from damage.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::Path;

use bindery_disk::sync;
use crc32fast::Hasher;

use super::checked_file::{damaged, of_another_version};
use super::codec::{DecodeError, Input};
use super::names::Names;
use super::rollup::{Rollup, SiteRollups};
use super::rollup_codec::{decode_sites, encode_sites};
use super::visit_codec;

const MAGIC: &[u8; 7] = b"bndrytr";
const FORMAT: u8 = b'2';
const HEADER_BYTES: usize = 28;
/// The number of header bytes that its CRC32 covers.
const CHECKED_HEADER_BYTES: usize = HEADER_BYTES - 4;
const TABLE_BYTES: usize = 28;
const ZSTD_LEVEL: i32 = 6;
/// The greatest length of a day's figures. A greater length in a header is damage.
const MAX_BYTES: u64 = 4 << 30;

/// The figures of a day by site.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct DayFile {
    /// The number of the last log record that it counts; 0 for an import.
    pub(super) counted_through: u64,
    pub(super) sites: SiteRollups,
}

struct Header {
    counted_through: u64,
    content_bytes: u64,
}

struct Table {
    figures_bytes: u64,
    packed_visits_bytes: u64,
    visits_bytes: u64,
    visits_crc: u32,
}

impl DayFile {
    /// Returns the approximate number of rows that it holds in memory.
    pub(super) fn rows(&self) -> usize {
        let rows = |rollup: &Rollup| {
            let shares: usize = rollup.shares.iter().map(Vec::len).sum();
            let ends = rollup.entries.len() + rollup.exits.len();
            // A row of events is as long as two other rows, and one of searches as five.
            40 + rollup.pages.len() + shares + ends + 2 * rollup.events.len() + 5 * rollup.searches.len()
        };
        self.sites.values().map(rows).sum()
    }

    /// Returns the number of pageviews it counts.
    pub(super) fn pageviews(&self) -> u64 {
        self.sites.values().map(Rollup::pageviews).sum()
    }

    /// Writes and syncs the file, with the encoded visits. Syncing the folder is up to the caller.
    pub(super) fn write(&self, path: &Path, names: &Names, visits: &[u8]) -> io::Result<()> {
        let figures = encode_sites(&self.sites, names);
        let packed = zstd::bulk::compress(&figures, ZSTD_LEVEL)?;
        let packed_visits = zstd::bulk::compress(visits, ZSTD_LEVEL)?;
        let mut header = MAGIC.to_vec();
        header.push(FORMAT);
        header.extend_from_slice(&self.counted_through.to_le_bytes());
        header.extend_from_slice(&(figures.len() as u64).to_le_bytes());
        let mut table = (packed.len() as u64).to_le_bytes().to_vec();
        table.extend_from_slice(&(packed_visits.len() as u64).to_le_bytes());
        table.extend_from_slice(&(visits.len() as u64).to_le_bytes());
        table.extend_from_slice(&checksum(&[&packed_visits]).to_le_bytes());
        let crc = checksum(&[&header, &table, &packed, &packed_visits]);
        let mut file = File::create(path)?;
        for part in [&header, &crc.to_le_bytes()[..], &table, &packed, &packed_visits] {
            file.write_all(part)?;
        }
        sync::all(&file)
    }

    /// Reads and checks the figures.
    pub(super) fn read(path: &Path, names: &Names) -> io::Result<DayFile> {
        let mut reading = DayFileReader::open(path)?;
        let Header { counted_through, content_bytes } = reading.header;
        let packed = reading.figures()?;
        let content = unpack(path, &packed, content_bytes)?;
        let sites = decode_sites(&content, names).map_err(|error| at_path(path, error))?;
        Ok(DayFile { counted_through, sites })
    }

    /// Reads and checks the encoded visits. Also returns [`DayFile::counted_through`].
    pub(super) fn read_visits(path: &Path) -> io::Result<(u64, Vec<u8>)> {
        let mut reading = DayFileReader::open(path)?;
        let counted_through = reading.header.counted_through;
        reading.figures()?;
        let packed = reading.visits()?;
        Ok((counted_through, unpack(path, &packed, reading.table.visits_bytes)?))
    }

    /// Reads and checks the figures, and checks the visits, too.
    pub(super) fn read_all(path: &Path, names: &Names) -> io::Result<DayFile> {
        let file = DayFile::read(path, names)?;
        let (_, visits) = DayFile::read_visits(path)?;
        visit_codec::decode(&visits, names).map_err(|error| at_path(path, error))?;
        Ok(file)
    }

    /// Reads [`DayFile::counted_through`] from the header of a file, which is not checked.
    pub(super) fn read_counted_through(path: &Path) -> io::Result<u64> {
        Ok(DayFileReader::open(path)?.header.counted_through)
    }
}

/// A file that is read from its beginning.
struct DayFileReader<'a> {
    path: &'a Path,
    file: File,
    checked_header: Vec<u8>,
    crc: u32,
    header: Header,
    table: Table,
}

impl<'a> DayFileReader<'a> {
    fn open(path: &'a Path) -> io::Result<DayFileReader<'a>> {
        let (mut file, mut header) = (File::open(path)?, [0; HEADER_BYTES]);
        let bad = |_| at_path(path, DecodeError);
        let read = file.read_exact(&mut header);
        if header.starts_with(MAGIC) && header[MAGIC.len()] != FORMAT {
            refuse_another_format(path, &fs::read(path)?)?;
        }
        read.map_err(bad)?;
        let (mut checked_header, crc) = (header[..CHECKED_HEADER_BYTES].to_vec(), &header[CHECKED_HEADER_BYTES..]);
        let crc = u32::from_le_bytes(crc.try_into().unwrap_or_default());
        let header = read_header(&checked_header).map_err(|error| at_path(path, error))?;
        let mut bytes = [0; TABLE_BYTES];
        file.read_exact(&mut bytes).map_err(bad)?;
        let table = read_table(&bytes).map_err(|error| at_path(path, error))?;
        checked_header.extend_from_slice(&bytes);
        Ok(DayFileReader { path, file, checked_header, crc, header, table })
    }

    /// Reads the packed figures, which come next in the file.
    fn figures(&mut self) -> io::Result<Vec<u8>> {
        let Table { figures_bytes, packed_visits_bytes, visits_crc, .. } = self.table;
        let packed = self.take(figures_bytes)?;
        let mut hasher = hasher(&[&self.checked_header, &packed]);
        hasher.combine(&Hasher::new_with_initial_len(visits_crc, packed_visits_bytes));
        let bytes = ((self.checked_header.len() + 4 + packed.len()) as u64).saturating_add(packed_visits_bytes);
        match hasher.finalize() == self.crc && self.file.metadata()?.len() == bytes {
            true => Ok(packed),
            false => Err(at_path(self.path, DecodeError)),
        }
    }

    /// Reads the packed visits, which come after the figures in the file.
    fn visits(&mut self) -> io::Result<Vec<u8>> {
        let packed = self.take(u64::MAX)?;
        match checksum(&[&packed]) == self.table.visits_crc {
            true => Ok(packed),
            false => Err(at_path(self.path, DecodeError)),
        }
    }

    /// Reads up to this many bytes. Reserves no memory for them: the length is not verified yet.
    fn take(&mut self, bytes: u64) -> io::Result<Vec<u8>> {
        let mut taken = Vec::new();
        (&mut self.file).take(bytes).read_to_end(&mut taken)?;
        Ok(taken)
    }
}

fn unpack(path: &Path, packed: &[u8], bytes: u64) -> io::Result<Vec<u8>> {
    let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes as u64 <= MAX_BYTES);
    let bytes = bytes.ok_or_else(|| at_path(path, DecodeError))?;
    zstd::bulk::decompress(packed, bytes).map_err(|_| at_path(path, DecodeError))
}

fn read_header(header: &[u8]) -> Result<Header, DecodeError> {
    let mut input = Input(header);
    if input.bytes(MAGIC.len())? != MAGIC || input.bytes(1)? != [FORMAT] {
        return Err(DecodeError);
    }
    Ok(Header { counted_through: wide(&mut input)?, content_bytes: wide(&mut input)? })
}

fn read_table(table: &[u8; TABLE_BYTES]) -> Result<Table, DecodeError> {
    let mut input = Input(table);
    let (figures_bytes, packed_visits_bytes) = (wide(&mut input)?, wide(&mut input)?);
    let visits_bytes = wide(&mut input)?;
    let visits_crc = u32::from_le_bytes(input.bytes(4)?.try_into().unwrap_or_default());
    Ok(Table { figures_bytes, packed_visits_bytes, visits_bytes, visits_crc })
}

fn wide(input: &mut Input) -> Result<u64, DecodeError> {
    input.bytes(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
}

/// Fails for an intact file of another format.
fn refuse_another_format(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let Some((header, packed)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return Ok(()) };
    let (checked, crc) = header.split_at(CHECKED_HEADER_BYTES);
    let format = header[MAGIC.len()];
    let is_another = header.starts_with(MAGIC) && format != FORMAT && format.is_ascii_digit();
    match is_another && crc == checksum(&[checked, packed]).to_le_bytes() {
        true => Err(of_another_version(path, u32::from(format - b'0'))),
        false => Ok(()),
    }
}

fn at_path(path: &Path, error: DecodeError) -> io::Error {
    damaged(path, &error.to_string())
}

fn checksum(parts: &[&[u8]]) -> u32 {
    hasher(parts).finalize()
}

fn hasher(parts: &[&[u8]]) -> Hasher {
    let mut hasher = Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher
}
