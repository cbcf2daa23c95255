//! A change of the store, and a list of them as it stands in the log.
//!
//! ```text
//! list    format version (1)  count (4)  changes
//! change  length of the key (4)  key  0 (1)                          the key is deleted
//!         length of the key (4)  key  1 (1)  length (4)  value       the key has this value
//! ```
//!
//! All numbers are little-endian.

use super::key::Key;

const VERSION: u8 = 1;
const DELETE: u8 = 0;
const PUT: u8 = 1;

/// A key's new value, or its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What is changed.
    pub key: Key,
    /// The new value; none deletes the key.
    pub value: Option<Vec<u8>>,
}

impl Change {
    /// The key gets this value.
    pub fn put(key: Key, value: impl Into<Vec<u8>>) -> Change {
        Change { key, value: Some(value.into()) }
    }

    /// The key goes.
    pub fn delete(key: Key) -> Change {
        Change { key, value: None }
    }
}

/// Why bytes are not a list of changes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangesError {
    /// Written by a newer server.
    #[error("a list of changes of format {0} is not known to this version of the server")]
    Version(u8),
    /// Not what [`encode_changes`] writes.
    #[error("a list of changes is not whole at byte {0}")]
    Malformed(usize),
}

/// The changes as the payload of a log record.
pub fn encode_changes(changes: &[Change]) -> Vec<u8> {
    let size: usize = changes.iter().map(|change| 48 + change.value.as_ref().map_or(0, Vec::len)).sum();
    let mut bytes = Vec::with_capacity(size + 5);
    bytes.push(VERSION);
    bytes.extend((changes.len() as u32).to_le_bytes());
    for change in changes {
        push(&mut bytes, &change.key.encode());
        match &change.value {
            None => bytes.push(DELETE),
            Some(value) => {
                bytes.push(PUT);
                push(&mut bytes, value);
            }
        }
    }
    bytes
}

/// The changes that [`encode_changes`] was given.
pub fn decode_changes(bytes: &[u8]) -> Result<Vec<Change>, ChangesError> {
    let (&version, mut rest) = bytes.split_first().ok_or(ChangesError::Malformed(0))?;
    if version != VERSION {
        return Err(ChangesError::Version(version));
    }
    read_changes(&mut rest).ok_or(ChangesError::Malformed(bytes.len() - rest.len()))
}

fn push(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend((part.len() as u32).to_le_bytes());
    bytes.extend(part);
}

fn read_changes(rest: &mut &[u8]) -> Option<Vec<Change>> {
    let count = take_u32(rest)?;
    // The count is not trusted with memory before the bytes are seen.
    let mut changes = Vec::with_capacity(rest.len().min(count as usize));
    for _ in 0..count {
        let key = Key::decode(take_part(rest)?)?;
        let (&op, after) = rest.split_first()?;
        *rest = after;
        let value = match op {
            DELETE => None,
            PUT => Some(take_part(rest)?.to_vec()),
            _ => return None,
        };
        changes.push(Change { key, value });
    }
    rest.is_empty().then_some(changes)
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
