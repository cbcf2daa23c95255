//! Groups: the objects of the log, and their encoding.
//!
//! ```text
//! "BNDYGRP" version  history(16)  seq(8)  first(8)  count(4)  previous(32)  nonce(16)  term(8)  node_len(2) node
//! then for each record: length(4) bytes
//! then the BLAKE3 of everything before it (32), which is the chain hash
//! ```
//!
//! Integers are little-endian. Must not know what a record means or where an object is.

use uuid::Uuid;

use crate::position::{ChainHash, Position};

const MAGIC: &[u8; 7] = b"BNDYGRP";
const VERSION: u8 = 1;
const HASH_BYTES: usize = 32;

/// The largest encoded group, in bytes. Object stores have no conditional uploads in parts, and a group is sent again
/// when an answer is lost.
pub const MAX_GROUP_BYTES: u64 = 64 << 20;

/// The content of one append: records in order, and the position that they continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The history that the group belongs to.
    pub history: Uuid,
    /// The sequence number: 1, 2, 3.
    pub seq: u64,
    /// The number of the first record.
    pub first: u64,
    /// The records, in order. A group without records is the *seal*: the history ends with it, and nobody appends
    /// behind it.
    pub records: Vec<Vec<u8>>,
    /// The chain hash of the group before.
    pub previous: ChainHash,
    /// Drawn for this group, so that two groups with the same records differ.
    pub nonce: [u8; 16],
    /// The node that appended the group.
    pub writer: String,
    /// The term of the leader, as the node that appended the group knew it.
    pub term: u64,
}

/// The reason why bytes are not a group.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// The bytes are not those of a group, or not all of them.
    #[error("{0}")]
    Damaged(&'static str),
    /// A newer version of the server wrote the group.
    #[error("format {0} is newer than this server")]
    NewerVersion(u8),
}

impl Group {
    /// Returns the position behind this group, whose chain hash is `chain`.
    #[must_use]
    pub fn position(&self, chain: ChainHash) -> Position {
        Position { seq: self.seq, number: self.first.wrapping_add(self.records.len() as u64).wrapping_sub(1), chain }
    }

    /// Returns the encoded group and its chain hash.
    #[must_use]
    pub fn encode(&self) -> (Vec<u8>, ChainHash) {
        let mut bytes = Vec::with_capacity(self.encoded_bytes());
        bytes.extend_from_slice(MAGIC);
        bytes.push(VERSION);
        bytes.extend_from_slice(self.history.as_bytes());
        bytes.extend_from_slice(&self.seq.to_le_bytes());
        bytes.extend_from_slice(&self.first.to_le_bytes());
        bytes.extend_from_slice(&length(self.records.len()).to_le_bytes());
        bytes.extend_from_slice(&self.previous.0);
        bytes.extend_from_slice(&self.nonce);
        bytes.extend_from_slice(&self.term.to_le_bytes());
        let writer = &self.writer.as_bytes()[..self.writer.len().min(usize::from(u16::MAX))];
        bytes.extend_from_slice(&u16::try_from(writer.len()).unwrap_or(u16::MAX).to_le_bytes());
        bytes.extend_from_slice(writer);
        for record in &self.records {
            bytes.extend_from_slice(&length(record.len()).to_le_bytes());
            bytes.extend_from_slice(record);
        }
        let hash = *blake3::hash(&bytes).as_bytes();
        bytes.extend_from_slice(&hash);
        (bytes, ChainHash(hash))
    }

    /// Returns the size of the encoded group, in bytes.
    #[must_use]
    pub fn encoded_bytes(&self) -> usize {
        let header = MAGIC.len() + 1 + 16 + 8 + 8 + 4 + 32 + 16 + 8 + 2 + self.writer.len();
        header + self.records.iter().map(|record| 4 + record.len()).sum::<usize>() + HASH_BYTES
    }

    /// Returns the group of an object and its chain hash. Allocates no more than the bytes justify.
    ///
    /// # Errors
    /// [`GroupError`] if the bytes are not exactly one group with its hash.
    pub fn decode(bytes: &[u8]) -> Result<(Group, ChainHash), GroupError> {
        let mut input = Input(bytes);
        if input.take(MAGIC.len())? != MAGIC {
            return Err(GroupError::Damaged("it is not a group of a log"));
        }
        // The version comes before the hash: a newer version may hash in another way.
        match input.array::<1>()?[0] {
            VERSION => {}
            version if version > VERSION => return Err(GroupError::NewerVersion(version)),
            _ => return Err(GroupError::Damaged("it has no valid format")),
        }
        let (content, hash) =
            bytes.split_at_checked(bytes.len().saturating_sub(HASH_BYTES)).unwrap_or((bytes, &[][..]));
        if blake3::hash(content).as_bytes() != hash {
            return Err(GroupError::Damaged("its hash is wrong"));
        }
        let chain = ChainHash(hash.try_into().map_err(|_| GroupError::Damaged(CUT))?);
        input = Input(content.get(MAGIC.len() + 1..).ok_or(GroupError::Damaged(CUT))?);
        Ok((Group::decode_content(input)?, chain))
    }

    /// Returns the chain hash that an encoded group continues, and its own.
    pub(crate) fn hashes(bytes: &[u8]) -> Option<[[u8; HASH_BYTES]; 2]> {
        let rest = bytes.strip_prefix(MAGIC)?.get(1 + 16 + 8 + 8 + 4..)?;
        Some([*rest.first_chunk()?, *rest.last_chunk()?])
    }

    fn decode_content(mut input: Input<'_>) -> Result<Group, GroupError> {
        let history = Uuid::from_bytes(input.array()?);
        let seq = u64::from_le_bytes(input.array()?);
        let first = u64::from_le_bytes(input.array()?);
        let count = u32::from_le_bytes(input.array()?);
        let previous = ChainHash(input.array()?);
        let nonce = input.array()?;
        let term = u64::from_le_bytes(input.array()?);
        let writer = usize::from(u16::from_le_bytes(input.array()?));
        let writer = String::from_utf8(input.take(writer)?.to_vec())
            .map_err(|_| GroupError::Damaged("the name of its node is not UTF-8"))?;
        // A record takes 4 bytes at least, so a larger count is not justified by the input.
        let count = usize::try_from(count).ok().filter(|&count| count <= input.0.len() / 4);
        let count = count.ok_or(GroupError::Damaged("it has fewer records than it says"))?;
        if seq == 0 || first == 0 || first.checked_add(count as u64).is_none() {
            return Err(GroupError::Damaged("its numbers are impossible"));
        }
        let mut records = Vec::with_capacity(count);
        for _ in 0..count {
            let bytes = u32::from_le_bytes(input.array()?);
            records.push(input.take(bytes as usize)?.to_vec());
        }
        if !input.0.is_empty() {
            return Err(GroupError::Damaged("it is longer than it says"));
        }
        Ok(Group { history, seq, first, records, previous, nonce, writer, term })
    }

    /// Checks that this group is the next one after `position` in `history`.
    ///
    /// # Errors
    /// The difference, in words.
    pub fn continues(&self, history: Uuid, position: &Position) -> Result<(), String> {
        if self.history != history {
            return Err(format!("it belongs to history {}, not {history}", self.history));
        }
        if self.seq != position.seq.wrapping_add(1) {
            return Err(format!("it says that it is group {}", self.seq));
        }
        if self.previous != position.chain {
            return Err(format!("it continues group {} with the hash {}", position.seq, self.previous));
        }
        if self.first != position.number.wrapping_add(1) {
            return Err(format!("its first record is {}, not {}", self.first, position.number.wrapping_add(1)));
        }
        Ok(())
    }
}

/// Lengths of records and counts are 32 bits wide. Larger groups are refused before they are encoded.
fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

const CUT: &str = "it ends too early";

/// Bytes that are read from their beginning.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, n_bytes: usize) -> Result<&'a [u8], GroupError> {
        let (taken, rest) = self.0.split_at_checked(n_bytes).ok_or(GroupError::Damaged(CUT))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], GroupError> {
        self.take(N)?.try_into().map_err(|_| GroupError::Damaged(CUT))
    }
}
