//! The format of stored values.
//!
//! ```text
//! record   format version (1)  form (1)  number (8)  CRC32 (4)  body
//! body     plain       value
//!          compressed  length of the value (4)  zstd frame, which names its dictionary if it has one
//!          chunked     form of the whole body (1)  number of chunks (4); each chunk of the body has its own key
//! ```
//!
//! All numbers are little-endian. The checksum covers the key and the record without the checksum, so a record is valid
//! only under its own key.

use super::compress::{self, Dictionaries};

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 14;

/// The encoding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Compressed,
    Chunked,
}

/// A record with a valid checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) form: Form,
    /// The number of the log record that wrote it.
    pub(super) number: u64,
    pub(super) body: &'a [u8],
}

/// The reason why bytes are not a record that this server reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordError {
    /// The record has another format.
    Version(u8),
    /// The record does not have the contents that were written.
    Damaged(&'static str),
}

impl From<&'static str> for RecordError {
    fn from(what: &'static str) -> RecordError {
        RecordError::Damaged(what)
    }
}

/// Encodes a body as the record for a key.
pub(super) fn encode(key: &[u8], form: Form, number: u64, body: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(HEADER_BYTES + body.len());
    record.extend([VERSION, form.code()]);
    record.extend(number.to_le_bytes());
    record.extend(checksum(key, &record, body).to_le_bytes());
    record.extend(body);
    record
}

/// Decodes a record. The error states why [`encode`] cannot have written it for this key.
pub(super) fn decode<'a>(key: &[u8], record: &'a [u8]) -> Result<Record<'a>, RecordError> {
    let (header, body) = record.split_first_chunk::<HEADER_BYTES>().ok_or("it is too short")?;
    let sum = u32::from_le_bytes(header[10..].try_into().expect("four bytes"));
    if checksum(key, &header[..10], body) != sum {
        return Err(RecordError::Damaged("its checksum is wrong"));
    }
    if header[0] != VERSION {
        return Err(RecordError::Version(header[0]));
    }
    let form = Form::of_code(header[1]).ok_or("this version of the server does not know its form")?;
    Ok(Record { form, number: u64::from_le_bytes(header[2..10].try_into().expect("eight bytes")), body })
}

/// Returns the body of a chunked record. `whole` is the form of the body that consists of the chunks.
pub(super) fn chunked_body(whole: Form, count: u32) -> [u8; 5] {
    let [a, b, c, d] = count.to_le_bytes();
    [whole.code(), a, b, c, d]
}

/// Returns the form of the whole body and its number of chunks.
pub(super) fn read_chunked_body(body: &[u8]) -> Result<(Form, u32), RecordError> {
    match body {
        [whole, count @ ..] if count.len() == 4 => {
            let whole =
                Form::of_code(*whole).ok_or("this version of the server does not know the form of its chunks")?;
            Ok((whole, u32::from_le_bytes(count.try_into().expect("four bytes"))))
        }
        _ => Err(RecordError::Damaged("its list of chunks is malformed")),
    }
}

/// Returns whether a record claims to be chunked. Its checksum is not verified.
pub(super) fn has_chunks(record: &[u8]) -> bool {
    record.get(1) == Some(&Form::Chunked.code())
}

/// Decodes the value of a plain or compressed body.
pub(super) fn value(form: Form, body: Vec<u8>, dictionaries: &Dictionaries) -> Result<Vec<u8>, RecordError> {
    match form {
        Form::Plain => Ok(body),
        Form::Chunked => Err(RecordError::Damaged("its chunks are chunked")),
        Form::Compressed => Ok(compress::decompress(&body, dictionaries)?),
    }
}

impl Form {
    fn code(self) -> u8 {
        match self {
            Form::Plain => 0,
            Form::Compressed => 1,
            Form::Chunked => 2,
        }
    }

    fn of_code(code: u8) -> Option<Form> {
        [Form::Plain, Form::Compressed, Form::Chunked].into_iter().find(|form| form.code() == code)
    }
}

fn checksum(key: &[u8], header: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(key.len() as u32).to_le_bytes());
    hasher.update(key);
    hasher.update(header);
    hasher.update(body);
    hasher.finalize()
}
