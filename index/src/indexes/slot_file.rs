//! Slot files: the rows of a range of slots, and the locations of their copies in each variant. It knows no runs.
//!
//! A file is a magic number, the numbers of slots and of variants (u32 each), the rows, and each variant's number (u32)
//! and locations. Integers are little-endian. Its checksum is in the manifest, so that it cannot be confused with
//! another slot file.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use bindery_disk::failure;
use bindery_disk::sync;

use crate::error::Error;
use crate::files::take;
use crate::schema::VariantNumber;
use crate::version::{Location, Row};

/// The number of slots in a full file; a multiple of a [`SlotTable`](crate::slot_table::SlotTable)'s node.
pub(super) const SLOTS: usize = 65_536;

const MAGIC: [u8; 8] = *b"bndslt03";

/// The contents of a slot file.
#[derive(Debug, PartialEq)]
pub(super) struct SlotFile {
    pub(super) rows: Vec<Row>,
    /// For each variant, a location for each row.
    pub(super) locations: Vec<(VariantNumber, Vec<Location>)>,
}

impl SlotFile {
    /// Writes the file, which is synced on return; its folder is not. Returns the checksum of its contents.
    pub(super) fn write(&self, path: &Path) -> Result<u32, Error> {
        let mut bytes = Vec::with_capacity(64 + self.rows.len() * (48 + 16 * self.locations.len()));
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&(self.rows.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(self.locations.len() as u32).to_le_bytes());
        for row in &self.rows {
            bytes.extend_from_slice(&row.id.to_le_bytes());
            bytes.extend_from_slice(&row.version.to_le_bytes());
            for date in [row.created, row.updated, row.published] {
                bytes.extend_from_slice(&date.to_le_bytes());
            }
        }
        for (variant, locations) in &self.locations {
            bytes.extend_from_slice(&u32::from(*variant).to_le_bytes());
            for location in locations {
                bytes.extend_from_slice(&location.run.to_le_bytes());
                bytes.extend_from_slice(&location.doc.to_le_bytes());
                bytes.extend_from_slice(&location.number.to_le_bytes());
            }
        }
        let crc = crc32fast::hash(&bytes);
        let write = || {
            let mut file = File::create(path)?;
            failure::write("index::slots", &bytes, |bytes| file.write_all(bytes))?;
            failure::point("index::slots_sync")?;
            sync::all(&file)
        };
        // The rest of a file that could not be written would keep a full disk full.
        write().inspect_err(|_| drop(fs::remove_file(path))).map_err(Error::io(path))?;
        Ok(crc)
    }

    /// Reads a file whose contents have this checksum.
    pub(super) fn read(path: &Path, crc: u32) -> Result<SlotFile, Error> {
        let bytes = fs::read(path).map_err(Error::io(path))?;
        parse(&bytes, crc).ok_or_else(|| Error::corrupt(path, "the slot file is damaged, truncated or another one"))
    }
}

fn parse(bytes: &[u8], crc: u32) -> Option<SlotFile> {
    if crc32fast::hash(bytes) != crc {
        return None;
    }
    let mut rest = bytes.strip_prefix(&MAGIC)?;
    let slots = u32::from_le_bytes(take(&mut rest)?);
    let variants = u32::from_le_bytes(take(&mut rest)?);
    let mut file = SlotFile { rows: Vec::new(), locations: Vec::new() };
    for _ in 0..slots {
        let id = u128::from_le_bytes(take(&mut rest)?);
        let version = u64::from_le_bytes(take(&mut rest)?);
        let mut date = || Some(i64::from_le_bytes(take(&mut rest)?));
        file.rows.push(Row { id, version, created: date()?, updated: date()?, published: date()? });
    }
    for _ in 0..variants {
        let variant = VariantNumber::try_from(u32::from_le_bytes(take(&mut rest)?)).ok()?;
        let mut locations = Vec::with_capacity(file.rows.len());
        for _ in 0..slots {
            let (run, doc) = (u32::from_le_bytes(take(&mut rest)?), u32::from_le_bytes(take(&mut rest)?));
            locations.push(Location { run, doc, number: u64::from_le_bytes(take(&mut rest)?) });
        }
        file.locations.push((variant, locations));
    }
    rest.is_empty().then_some(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_slot_file_is_read_back_as_written_and_damage_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slots");
        let row = |id| Row { id, version: u64::MAX, created: -1, updated: 2, published: i64::MIN };
        let location = |doc| Location { run: 7, doc, number: u64::MAX };
        let file = SlotFile {
            rows: vec![row(1), row(u128::MAX)],
            locations: vec![(0, vec![location(0), Location::default()]), (u16::MAX, vec![location(3), location(4)])],
        };
        let crc = file.write(&path).unwrap();
        assert_eq!(SlotFile::read(&path, crc).unwrap(), file);
        assert!(SlotFile::read(&path, crc ^ 1).is_err());

        let bytes = fs::read(&path).unwrap();
        for length in 0..bytes.len() {
            assert_eq!(parse(&bytes[..length], crc), None, "truncated to {length}");
            let mut changed = bytes.clone();
            changed[length] ^= 4;
            assert_eq!(parse(&changed, crc), None, "byte {length} changed");
        }
    }
}
