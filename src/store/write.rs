//! The write of one key of the store, and lists of writes as bytes.
//!
//! ```text
//! list   format version (1)  count (4)  writes
//! write  length of the key (4)  key  0 (1)                          deletes the key
//!        length of the key (4)  key  1 (1)  length (4)  value       sets the key
//!        length of the key (4)  key  2 (1)                          has the index reread the resource
//! ```
//!
//! All numbers are little-endian.

use super::key::Key;

const VERSION: u8 = 1;
const DELETE: u8 = 0;
const PUT: u8 = 1;
const REINDEX: u8 = 2;

/// A write of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreWrite {
    /// The key.
    pub key: Key,
    /// The effect of the write on the key.
    pub op: WriteOp,
}

/// The effect of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteOp {
    /// Sets the key to this value.
    Put(Vec<u8>),
    /// Deletes the key.
    Delete,
    /// Leaves the stored value unchanged, and makes the index read the resource of this key again. A blueprint change
    /// needs this to fill new columns.
    Reindex,
}

impl StoreWrite {
    /// Makes a write that sets a key.
    pub fn put(key: Key, value: impl Into<Vec<u8>>) -> StoreWrite {
        StoreWrite { key, op: WriteOp::Put(value.into()) }
    }

    /// Makes a write that deletes a key.
    pub fn delete(key: Key) -> StoreWrite {
        StoreWrite { key, op: WriteOp::Delete }
    }

    /// Makes a write after which the index reads a resource again.
    pub fn reindex(key: Key) -> StoreWrite {
        StoreWrite { key, op: WriteOp::Reindex }
    }
}

/// The reason why bytes cannot be decoded as a list of writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WritesError {
    /// The list has another format.
    #[error("a list of writes has format {0}, which this version of the server cannot read")]
    Version(u8),
    /// The bytes were not written by [`encode_writes`].
    #[error("a list of writes is malformed at byte {0}")]
    Malformed(usize),
}

/// Encodes a list of writes.
pub fn encode_writes(writes: &[StoreWrite]) -> Vec<u8> {
    let value_bytes = |write: &StoreWrite| if let WriteOp::Put(value) = &write.op { value.len() } else { 0 };
    let size: usize = writes.iter().map(|write| 48 + value_bytes(write)).sum();
    let mut bytes = Vec::with_capacity(size + 5);
    bytes.push(VERSION);
    bytes.extend((writes.len() as u32).to_le_bytes());
    for write in writes {
        push(&mut bytes, &write.key.encode());
        match &write.op {
            WriteOp::Delete => bytes.push(DELETE),
            WriteOp::Reindex => bytes.push(REINDEX),
            WriteOp::Put(value) => {
                bytes.push(PUT);
                push(&mut bytes, value);
            }
        }
    }
    bytes
}

/// Decodes a list of writes.
///
/// # Errors
/// [`WritesError`] if [`encode_writes`] did not produce these bytes.
pub fn decode_writes(bytes: &[u8]) -> Result<Vec<StoreWrite>, WritesError> {
    let (&version, mut rest) = bytes.split_first().ok_or(WritesError::Malformed(0))?;
    if version != VERSION {
        return Err(WritesError::Version(version));
    }
    read_writes(&mut rest).ok_or(WritesError::Malformed(bytes.len() - rest.len()))
}

fn push(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend((part.len() as u32).to_le_bytes());
    bytes.extend(part);
}

fn read_writes(rest: &mut &[u8]) -> Option<Vec<StoreWrite>> {
    let count = take_u32(rest)?;
    // The count may be damaged: do not reserve memory for more writes than the bytes can hold.
    let mut writes = Vec::with_capacity(rest.len().min(count as usize));
    for _ in 0..count {
        let key = Key::decode(take_part(rest)?)?;
        let (&op, after) = rest.split_first()?;
        *rest = after;
        let op = match op {
            DELETE => WriteOp::Delete,
            PUT => WriteOp::Put(take_part(rest)?.to_vec()),
            REINDEX => WriteOp::Reindex,
            _ => return None,
        };
        writes.push(StoreWrite { key, op });
    }
    rest.is_empty().then_some(writes)
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    let (length, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u32::from_le_bytes(*length))
}

fn take_part<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_u32(rest)? as usize;
    let (part, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(part)
}
