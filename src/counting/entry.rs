//! The bytes of an entry in the storage.
//!
//! ```text
//! "BNDYSTAT" version(1)  zstd of: length(4) head, as JSON, { length(4) record }  BLAKE3 of everything before (32)
//! ```
//!
//! Integers are little-endian. Must not know where entries are kept.

use std::collections::BTreeMap;
use std::io::Read as _;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

const MAGIC: &[u8; 8] = b"BNDYSTAT";
const VERSION: u8 = 1;
const HASH_BYTES: usize = 32;
/// The level at which records are compressed.
const LEVEL: i32 = 3;
/// The most bytes of an entry, compressed or not. The records of a day of ten million pageviews take less.
pub(crate) const MAX_ENTRY_BYTES: u64 = 1 << 30;

/// Everything that was counted, or what was since the entry before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) head: Head,
    /// Records of the log of the analytics, without a gap.
    pub(crate) records: Vec<Vec<u8>>,
}

/// The facts about an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The number of the newest entry that has everything: this one, or one before it.
    pub(crate) whole: u64,
    /// Something random, by which a node recognizes its own entry.
    pub(crate) nonce: String,
    /// The number of the first record.
    pub(crate) first: u64,
    /// If it has everything: the files, each with its hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<BTreeMap<String, String>>,
}

impl Entry {
    pub(crate) fn encode(&self) -> std::io::Result<Bytes> {
        let mut content = Vec::new();
        let head = serde_json::to_vec(&self.head)?;
        for part in std::iter::once(&head).chain(&self.records) {
            let length = u32::try_from(part.len()).map_err(std::io::Error::other)?;
            content.extend_from_slice(&length.to_le_bytes());
            content.extend_from_slice(part);
        }
        let mut bytes = MAGIC.to_vec();
        bytes.push(VERSION);
        bytes.extend_from_slice(&zstd::bulk::compress(&content, LEVEL)?);
        bytes.extend_from_slice(blake3::hash(&bytes).as_bytes());
        Ok(bytes.into())
    }

    /// Decodes an entry. The error says what is wrong with it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Entry, String> {
        let (content, hash) = bytes.split_last_chunk::<HASH_BYTES>().ok_or("is too short")?;
        let after_magic = content.strip_prefix(MAGIC).ok_or("does not begin with its signature")?;
        let (version, compressed) = after_magic.split_first().ok_or("is too short")?;
        if *version != VERSION {
            return Err(format!("has format {version}, which this version of the server cannot read"));
        }
        if blake3::hash(content) != *hash {
            return Err("has a wrong checksum".to_owned());
        }
        let mut content = Vec::new();
        let reader = zstd::stream::read::Decoder::new(compressed).map_err(|error| error.to_string())?;
        reader.take(MAX_ENTRY_BYTES).read_to_end(&mut content).map_err(|error| error.to_string())?;
        let mut parts = Parts(&content);
        let head = parts.next().ok_or("has no head")?;
        let head = serde_json::from_slice(head).map_err(|error| format!("has a head that cannot be read: {error}"))?;
        let records = parts.by_ref().map(<[u8]>::to_vec).collect();
        if parts.0.is_empty() { Ok(Entry { head, records }) } else { Err("is cut off".to_owned()) }
    }
}

/// Parts that follow each other, each after its length. Ends before the first one that is cut off.
struct Parts<'a>(&'a [u8]);

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk::<4>()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.0 = rest;
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_entry_is_read_as_it_was_written_and_damage_is_found() {
        let files = BTreeMap::from([("state.json".to_owned(), "00".to_owned())]);
        for (files, records) in [(None, vec![]), (Some(files), vec![b"one".to_vec(), Vec::new(), vec![7; 9_000]])] {
            let entry = Entry { head: Head { whole: 3, nonce: "n".to_owned(), first: 8, files }, records };
            let bytes = entry.encode().unwrap();
            assert_eq!(Entry::decode(&bytes), Ok(entry));
            for at in 0..bytes.len() {
                let mut broken = bytes.to_vec();
                broken[at] ^= 1;
                assert!(Entry::decode(&broken).is_err(), "byte {at}");
                assert!(Entry::decode(&bytes[..at]).is_err(), "{at} bytes");
            }
        }
    }
}
