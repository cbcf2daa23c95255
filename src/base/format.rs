//! The file format of a base.
//!
//! ```text
//! file    magic (8)  format version (4)  zstd stream of items  BLAKE3 of all before (32)
//! item    1 (1)  length of the key (4)  key  number (8)  length (4)  value      an entry
//!         2 (1)  number (8)  length (4)  payload                                a log record
//!         0 (1)  number of the base (8)  entries (8)  records (8)               the end
//! ```
//!
//! A backup may hold more than a base. It then begins with an envelope, and the base is a part of the file:
//!
//! ```text
//! backup  magic (8)  2 (4)  length of the base (8)  the base  what the base does not know
//! ```
//!
//! All numbers are little-endian. The store compresses each value separately. A base contains plain values, so that the
//! zstd stream can compress what they have in common.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Take, Write};
use std::path::{Path, PathBuf};

use bindery_disk::{HashingStream, PacedFile};
use bindery_store::Entry;

use super::error::{BaseError, at};

const MAGIC: &[u8; 8] = b"bndrybas";
const VERSION: u32 = 1;
/// The version of a file that holds a base and further content.
const ENVELOPE_VERSION: u32 = 2;
const ENVELOPE_BYTES: u64 = 20;
const LEVEL: i32 = 3;
/// The stream refers to what came up to 16 MiB before. Without that, bases of articles take a twentieth to an eighth
/// more, and a sixth less time to compress.
const WINDOW_LOG: u32 = 24;
const HASH_BYTES: u64 = 32;
const BUFFER_BYTES: usize = 1 << 20;

const END: u8 = 0;
const ENTRY: u8 = 1;
const RECORD: u8 = 2;

/// The facts about a base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The log number whose state it holds.
    pub number: u64,
    /// The number of entries.
    pub entries: u64,
    /// The number of log records behind them.
    pub records: u64,
    /// The size of the file.
    pub bytes: u64,
}

/// Writes a base. The caller renames the file once it is complete.
pub(super) struct Writer {
    path: PathBuf,
    stream: zstd::stream::Encoder<'static, HashingStream<BufWriter<PacedFile>>>,
    entries: u64,
    records: u64,
}

/// An item other than the end.
#[derive(Debug)]
pub(super) enum Item {
    Entry(Entry),
    Record { number: u64, payload: Vec<u8> },
}

/// Reads a base. Its items can be trusted only once [`Reader::finish`] has succeeded.
pub(super) struct Reader {
    path: PathBuf,
    stream: zstd::stream::Decoder<'static, BufReader<HashingStream<Take<File>>>>,
    part: Part,
    entries: u64,
    records: u64,
    end: Option<Header>,
}

fn encoder<W: Write>(out: W) -> io::Result<zstd::stream::Encoder<'static, W>> {
    let mut encoder = zstd::stream::Encoder::new(out, LEVEL)?;
    encoder.long_distance_matching(true)?;
    encoder.window_log(WINDOW_LOG)?;
    Ok(encoder)
}

impl Writer {
    pub(super) fn create(path: &Path) -> Result<Writer, BaseError> {
        let file = File::create(path).map_err(at("create", path))?;
        let mut hashed = HashingStream::new(BufWriter::with_capacity(BUFFER_BYTES, PacedFile::new(file)));
        let started = hashed.write_all(MAGIC).and_then(|()| hashed.write_all(&VERSION.to_le_bytes()));
        let stream = started.and_then(|()| encoder(hashed)).map_err(at("write", path))?;
        Ok(Writer { path: path.to_owned(), stream, entries: 0, records: 0 })
    }

    pub(super) fn entry(&mut self, entry: &Entry) -> Result<(), BaseError> {
        self.entries += 1;
        self.put(&[
            &[ENTRY],
            &length(&entry.key),
            &entry.key,
            &entry.number.to_le_bytes(),
            &length(&entry.value),
            &entry.value,
        ])
    }

    pub(super) fn record(&mut self, number: u64, payload: &[u8]) -> Result<(), BaseError> {
        self.records += 1;
        self.put(&[&[RECORD], &number.to_le_bytes(), &length(payload), payload])
    }

    /// Writes the end of the file and syncs it.
    pub(super) fn finish(mut self, number: u64) -> Result<Header, BaseError> {
        let (entries, records) = (self.entries, self.records);
        self.put(&[&[END], &number.to_le_bytes(), &entries.to_le_bytes(), &records.to_le_bytes()])?;
        let path = self.path;
        let finished = self.stream.finish().and_then(|hashed| {
            let mut file = hashed.inner;
            file.write_all(hashed.hasher.finalize().as_bytes())?;
            let mut file = file.into_inner()?;
            file.finish()?;
            file.file().metadata()
        });
        let bytes = finished.map_err(at("write", &path))?.len();
        Ok(Header { number, entries, records, bytes })
    }

    fn put(&mut self, parts: &[&[u8]]) -> Result<(), BaseError> {
        parts.iter().try_for_each(|part| self.stream.write_all(part)).map_err(at("write", &self.path))
    }
}

/// The position of a base in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) start: u64,
    pub(super) bytes: u64,
    /// The length of the file.
    pub(super) file_bytes: u64,
}

impl Part {
    /// Finds the base in a file, and moves the file to the beginning of the base. Without an envelope, the base is the
    /// whole file.
    pub(super) fn find(file: &mut File, path: &Path) -> Result<Part, BaseError> {
        let file_bytes = file.metadata().map_err(at("read", path))?.len();
        let mut begin = [0; ENVELOPE_BYTES as usize];
        let is_envelope = file.read_exact(&mut begin).is_ok()
            && begin[..8] == *MAGIC
            && begin[8..12] == ENVELOPE_VERSION.to_le_bytes();
        let bytes = u64::from_le_bytes(begin[12..].try_into().expect("eight bytes"));
        let (start, bytes) = if is_envelope { (ENVELOPE_BYTES, bytes) } else { (0, file_bytes) };
        if start.checked_add(bytes).is_none_or(|end| end > file_bytes) {
            return Err(BaseError::Damaged { file: path.to_owned(), what: "it is too short".to_owned() });
        }
        file.seek(io::SeekFrom::Start(start)).map_err(at("read", path))?;
        Ok(Part { start, bytes, file_bytes })
    }
}

/// Returns the beginning of a backup that holds a base of this length and further content.
pub fn envelope(base_bytes: u64) -> Vec<u8> {
    [&MAGIC[..], &ENVELOPE_VERSION.to_le_bytes(), &base_bytes.to_le_bytes()].concat()
}

impl Reader {
    pub(super) fn open(path: &Path) -> Result<Reader, BaseError> {
        let damaged = |what: &str| BaseError::Damaged { file: path.to_owned(), what: what.to_owned() };
        let mut file = File::open(path).map_err(at("open", path))?;
        let part = Part::find(&mut file, path)?;
        let hashed_bytes = part.bytes.checked_sub(HASH_BYTES).ok_or_else(|| damaged("it is too short"))?;
        let mut hashed = HashingStream::new(file.take(hashed_bytes));
        let mut begin = [0; 12];
        hashed.read_exact(&mut begin).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged("it is too short"),
            _ => at("read", path)(error),
        })?;
        if begin[..8] != *MAGIC {
            return Err(damaged("it does not begin with the signature of a base or backup"));
        }
        let version = u32::from_le_bytes(begin[8..].try_into().expect("four bytes"));
        if version != VERSION {
            return Err(BaseError::Version { file: path.to_owned(), version });
        }
        let buffered = BufReader::with_capacity(BUFFER_BYTES, hashed);
        let stream = zstd::stream::Decoder::with_buffer(buffered).map_err(at("read", path))?.single_frame();
        Ok(Reader { path: path.to_owned(), stream, part, entries: 0, records: 0, end: None })
    }

    /// Returns the next item, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Item>, BaseError> {
        if self.end.is_some() {
            return Ok(None);
        }
        match self.read_item() {
            Ok(item) => Ok(item),
            // An error of the system says nothing about the contents of the file.
            Err(error) if error.raw_os_error().is_some() => Err(at("read", &self.path)(error)),
            Err(error) => Err(BaseError::Damaged { file: self.path.clone(), what: error.to_string() }),
        }
    }

    /// Verifies counts and checksum after the last item was read.
    pub(super) fn finish(mut self) -> Result<Header, BaseError> {
        let damaged = |what: &str| BaseError::Damaged { file: self.path.clone(), what: what.to_owned() };
        let header = self.end.ok_or_else(|| damaged("it was not read to the end"))?;
        if (header.entries, header.records) != (self.entries, self.records) {
            return Err(damaged("entries are missing"));
        }
        let left = io::copy(&mut self.stream, &mut io::sink());
        if !matches!(left, Ok(0)) {
            return Err(damaged("its end is followed by more data"));
        }
        let mut rest = self.stream.finish();
        io::copy(&mut rest, &mut io::sink()).map_err(at("read", &self.path))?;
        let hashed = rest.into_inner();
        let mut file = hashed.inner.into_inner();
        let mut expected = [0; HASH_BYTES as usize];
        let hash_at = self.part.start + self.part.bytes - HASH_BYTES;
        file.seek(io::SeekFrom::Start(hash_at)).map_err(at("read", &self.path))?;
        file.read_exact(&mut expected).map_err(at("read", &self.path))?;
        if hashed.hasher.finalize() != expected {
            return Err(damaged("its checksum is wrong"));
        }
        Ok(header)
    }

    fn read_item(&mut self) -> io::Result<Option<Item>> {
        let [tag] = self.array()?;
        match tag {
            ENTRY => {
                self.entries += 1;
                let key = self.part()?;
                let number = u64::from_le_bytes(self.array()?);
                Ok(Some(Item::Entry(Entry { key, number, value: self.part()? })))
            }
            RECORD => {
                self.records += 1;
                let number = u64::from_le_bytes(self.array()?);
                Ok(Some(Item::Record { number, payload: self.part()? }))
            }
            END => {
                let number = u64::from_le_bytes(self.array()?);
                let entries = u64::from_le_bytes(self.array()?);
                let records = u64::from_le_bytes(self.array()?);
                self.end = Some(Header { number, entries, records, bytes: self.part.bytes });
                Ok(None)
            }
            _ => Err(io::Error::other("an item of an unknown kind")),
        }
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn part(&mut self) -> io::Result<Vec<u8>> {
        let length = u64::from(u32::from_le_bytes(self.array()?));
        // Do not reserve memory: the length is not verified yet.
        let mut bytes = Vec::new();
        let read = (&mut self.stream).take(length).read_to_end(&mut bytes)?;
        if read as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// Returns the length of a key or value as bytes. Keys and values are shorter than 4 GiB because log records are.
fn length(part: &[u8]) -> [u8; 4] {
    (part.len() as u32).to_le_bytes()
}
