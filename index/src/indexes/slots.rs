//! The files of slots: the rows of a range of slots, and where each part has their copies. It knows no runs.
//!
//! A magic number, how many slots and how many parts (u32 each), the rows, each part's variant (u32) and locations, and
//! the checksum of all that. Integers are little-endian.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::error::Error;
use crate::schema::VariantNumber;
use crate::state::{Location, Row};

/// Slots of one file; a multiple of a table's chunk.
pub(super) const SLOTS: usize = 65_536;

const MAGIC: [u8; 8] = *b"bndslt02";

/// What one file holds.
#[derive(Debug, PartialEq)]
pub(super) struct SlotFile {
    pub(super) rows: Vec<Row>,
    /// As many locations as rows each.
    pub(super) parts: Vec<(VariantNumber, Vec<Location>)>,
}

impl SlotFile {
    /// Durable on return but for the file's entry in its folder.
    pub(super) fn write(&self, path: &Path) -> Result<(), Error> {
        let mut bytes = Vec::with_capacity(64 + self.rows.len() * (48 + 16 * self.parts.len()));
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&(self.rows.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(self.parts.len() as u32).to_le_bytes());
        for row in &self.rows {
            bytes.extend_from_slice(&row.id.to_le_bytes());
            bytes.extend_from_slice(&row.version.to_le_bytes());
            for date in [row.created, row.updated, row.published] {
                bytes.extend_from_slice(&date.to_le_bytes());
            }
        }
        for (variant, locations) in &self.parts {
            bytes.extend_from_slice(&u32::from(*variant).to_le_bytes());
            for location in locations {
                bytes.extend_from_slice(&location.run.to_le_bytes());
                bytes.extend_from_slice(&location.doc.to_le_bytes());
                bytes.extend_from_slice(&location.number.to_le_bytes());
            }
        }
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        let write = || {
            let mut file = File::create(path)?;
            file.write_all(&bytes)?;
            file.sync_all()
        };
        write().map_err(Error::io(path))
    }

    /// Reads a file and checks it.
    pub(super) fn read(path: &Path) -> Result<SlotFile, Error> {
        let bytes = fs::read(path).map_err(Error::io(path))?;
        parse(&bytes).ok_or_else(|| Error::corrupt(path, "it is damaged or cut short"))
    }
}

fn parse(bytes: &[u8]) -> Option<SlotFile> {
    let (content, checksum) = bytes.split_last_chunk()?;
    if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let mut rest = content.strip_prefix(&MAGIC)?;
    let slots = u32::from_le_bytes(take(&mut rest)?);
    let parts = u32::from_le_bytes(take(&mut rest)?);
    let mut file = SlotFile { rows: Vec::new(), parts: Vec::new() };
    for _ in 0..slots {
        let id = u128::from_le_bytes(take(&mut rest)?);
        let version = u64::from_le_bytes(take(&mut rest)?);
        let mut date = || Some(i64::from_le_bytes(take(&mut rest)?));
        file.rows.push(Row { id, version, created: date()?, updated: date()?, published: date()? });
    }
    for _ in 0..parts {
        let variant = VariantNumber::try_from(u32::from_le_bytes(take(&mut rest)?)).ok()?;
        let mut locations = Vec::with_capacity(file.rows.len());
        for _ in 0..slots {
            let (run, doc) = (u32::from_le_bytes(take(&mut rest)?), u32::from_le_bytes(take(&mut rest)?));
            locations.push(Location { run, doc, number: u64::from_le_bytes(take(&mut rest)?) });
        }
        file.parts.push((variant, locations));
    }
    rest.is_empty().then_some(file)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(*bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_was_written_is_read_and_anything_else_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slots");
        let row = |id| Row { id, version: u64::MAX, created: -1, updated: 2, published: i64::MIN };
        let location = |doc| Location { run: 7, doc, number: u64::MAX };
        let file = SlotFile {
            rows: vec![row(1), row(u128::MAX)],
            parts: vec![(0, vec![location(0), Location::default()]), (u16::MAX, vec![location(3), location(4)])],
        };
        file.write(&path).unwrap();
        assert_eq!(SlotFile::read(&path).unwrap(), file);

        let bytes = fs::read(&path).unwrap();
        for length in 0..bytes.len() {
            assert_eq!(parse(&bytes[..length]), None, "cut to {length}");
            let mut changed = bytes.clone();
            changed[length] ^= 4;
            assert_eq!(parse(&changed), None, "byte {length} changed");
        }
    }
}
