//! Positions in a log, and the hashes that chain its groups.

use std::fmt::{self, Debug, Display, Formatter};
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// The BLAKE3 hash of a whole group. Each group holds that of the group before, so that one hash stands for everything
/// up to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainHash(pub [u8; 32]);

impl ChainHash {
    /// Returns the hash that the first group of a history continues. It differs between histories, so that a group
    /// never continues another history.
    #[must_use]
    pub fn start(history: Uuid) -> ChainHash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"bindery history ");
        hasher.update(history.as_bytes());
        ChainHash(*hasher.finalize().as_bytes())
    }
}

impl Display for ChainHash {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl Debug for ChainHash {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

impl FromStr for ChainHash {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hash = blake3::Hash::from_hex(text).map_err(|_| "a chain hash has 64 hexadecimal digits")?;
        Ok(ChainHash(*hash.as_bytes()))
    }
}

impl Serialize for ChainHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ChainHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// A position in the log of one history: behind a group, before the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The sequence number of the last group. 0: the history has just begun.
    pub seq: u64,
    /// The number of the last record.
    pub number: u64,
    /// The chain hash of the last group.
    pub chain: ChainHash,
}

impl Position {
    /// Returns the position at which a history begins, whose first base ends with the record `number`.
    #[must_use]
    pub fn start(history: Uuid, number: u64) -> Position {
        Position { seq: 0, number, chain: ChainHash::start(history) }
    }
}
