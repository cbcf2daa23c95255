//! The manifest: the file that lists the indexes of a data folder, their files, and the log number up to which they are
//! complete. It knows the names of files, not their contents.
//!
//! Its first line is the checksum of the rest, which is JSON. It is replaced as a whole by renaming.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use bindery_disk::failure;
use bindery_disk::sync;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files::sync_folder;
use crate::run::RunNumber;
use crate::schema::{Column, ColumnId, Kind, Schema, Variant, VariantNumber};

/// The format of the index files. Must be increased whenever any of them would be read differently. Indexes of another
/// format are dropped and rebuilt.
const FORMAT: u32 = 8;

/// The versions of the crates whose data defines folding and collation, from `build.rs`. With other data a text may
/// have another folded form or another position in an order, so indexes of other versions are dropped and rebuilt too.
pub const TEXT_DATA: &str = env!("BINDERY_TEXT_DATA");

/// The system's error number for a failed read.
const EIO: i32 = 5;

const FILE: &str = "MANIFEST";
const TEMPORARY: &str = "MANIFEST.new";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: u32,
    /// The value of [`TEXT_DATA`].
    texts: String,
    /// The indexes include everything up to this log number.
    pub(super) number: u64,
    /// Counts checkpoints, including failed ones.
    pub(super) sequence: u64,
    pub(super) indexes: Vec<IndexManifest>,
}

/// The schema and files of one index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexManifest {
    pub(super) name: u32,
    /// Distinguishes indexes that had the same name at different times.
    pub(super) generation: u64,
    columns: Vec<(ColumnId, Kind)>,
    variants: Vec<(VariantNumber, Option<String>)>,
    /// The number of slots the slot files hold.
    pub(super) slots: u32,
    /// The slot files, in order.
    pub(super) slot_files: Vec<NamedSlotFile>,
    /// The runs of each variant.
    pub(super) runs: Vec<(VariantNumber, Vec<NamedRun>)>,
}

/// A slot file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NamedSlotFile {
    pub(super) name: String,
    /// The checksum of its contents.
    pub(super) crc: u32,
}

/// A run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NamedRun {
    pub(super) number: RunNumber,
    /// The checksum of its file of checksums.
    pub(super) crc: u32,
}

/// The manifest that a folder holds.
#[derive(Debug)]
pub(super) enum FoundManifest {
    Missing,
    /// The manifest is intact, but its indexes must be rebuilt, for this reason.
    Outdated(String),
    Usable(Manifest),
}

impl Default for Manifest {
    fn default() -> Manifest {
        Manifest { format: FORMAT, texts: TEXT_DATA.to_owned(), number: 0, sequence: 0, indexes: Vec::new() }
    }
}

impl Manifest {
    /// Makes a manifest without indexes.
    pub(super) fn new(number: u64, sequence: u64) -> Manifest {
        Manifest { number, sequence, ..Manifest::default() }
    }

    /// Reads the manifest of `folder`. Returns an empty one if it is missing, damaged or of another format: then every
    /// index must be rebuilt. Fails only on other I/O errors.
    pub(super) fn read(folder: &Path) -> Result<Manifest, Error> {
        match Manifest::find(folder) {
            Ok(FoundManifest::Usable(manifest)) => Ok(manifest),
            Ok(FoundManifest::Missing) => Ok(Manifest::default()),
            Ok(FoundManifest::Outdated(why)) => {
                tracing::warn!("{}: {why}; every index must be rebuilt", folder.join(FILE).display());
                Ok(Manifest::default())
            }
            // The disk cannot read the file. A new one takes its place.
            Err(Error::Io { source, .. }) if source.raw_os_error() != Some(EIO) => {
                Err(Error::io(&folder.join(FILE))(source))
            }
            Err(error) => {
                tracing::warn!("{error}; every index must be rebuilt");
                Ok(Manifest::default())
            }
        }
    }

    /// Reads the manifest of `folder`. Fails if it is damaged.
    pub(super) fn find(folder: &Path) -> Result<FoundManifest, Error> {
        let path = folder.join(FILE);
        match fs::read(&path) {
            Ok(bytes) => parse(&bytes).map_err(|what| Error::corrupt(&path, what)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(FoundManifest::Missing),
            Err(error) => Err(Error::io(&path)(error)),
        }
    }

    /// Replaces the manifest of `folder`; durable on return.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Error> {
        let temporary = folder.join(TEMPORARY);
        let json = serde_json::to_vec(self).expect("invariant: every map has string keys");
        let write = || {
            let mut file = File::create(&temporary)?;
            writeln!(file, "{:08x}", crc32fast::hash(&json))?;
            failure::write("index::manifest", &json, |bytes| file.write_all(bytes))?;
            failure::point("index::manifest_sync")?;
            sync::all(&file)?;
            failure::point("index::manifest_rename")?;
            sync::record(|| fs::rename(&temporary, folder.join(FILE)))?;
            failure::point("index::manifest_renamed")
        };
        write().map_err(Error::io(&temporary))?;
        sync_folder(folder)
    }

    /// Returns whether this is the name of the manifest file.
    pub(super) fn is_file(name: &str) -> bool {
        name == FILE
    }
}

impl IndexManifest {
    /// Makes an index without files.
    pub(super) fn new(name: u32, generation: u64, schema: &Schema) -> IndexManifest {
        IndexManifest {
            name,
            generation,
            columns: schema.columns.iter().map(|column| (column.id, column.kind)).collect(),
            variants: schema.variants.iter().map(|variant| (variant.number, variant.locale.clone())).collect(),
            slots: 0,
            slot_files: Vec::new(),
            runs: Vec::new(),
        }
    }

    pub(super) fn schema(&self) -> Schema {
        let column = |&(id, kind): &(ColumnId, Kind)| Column { id, kind };
        let variant =
            |(number, locale): &(VariantNumber, Option<String>)| Variant { number: *number, locale: locale.clone() };
        Schema {
            columns: self.columns.iter().map(column).collect(),
            variants: self.variants.iter().map(variant).collect(),
        }
    }
}

fn parse(bytes: &[u8]) -> Result<FoundManifest, String> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
        #[serde(default)]
        texts: String,
    }
    let truncated = || "the manifest is truncated".to_owned();
    let (checksum, json) = bytes.split_at_checked(9).ok_or_else(truncated)?;
    if checksum != format!("{:08x}\n", crc32fast::hash(json)).as_bytes() {
        return Err("the checksum of the manifest does not match".to_owned());
    }
    let Format { format, texts } = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    if format != FORMAT {
        return Ok(FoundManifest::Outdated(format!("the manifest has format {format}, expected {FORMAT}")));
    }
    if texts != TEXT_DATA {
        let why = format!("texts were folded and collated by {texts}, this program uses {TEXT_DATA}");
        return Ok(FoundManifest::Outdated(why));
    }
    serde_json::from_slice(json).map(FoundManifest::Usable).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn manifest() -> Manifest {
        let kinds =
            [Kind::Text, Kind::Prose, Kind::Plain, Kind::Markup, Kind::Number, Kind::Bool, Kind::Instant, Kind::List];
        let schema = Schema {
            columns: (7..).zip(kinds).map(|(id, kind)| Column { id, kind }).collect(),
            variants: vec![Variant { number: 3, locale: Some("de".to_owned()) }, Variant { number: 4, locale: None }],
        };
        let mut index = IndexManifest::new(5, 2, &schema);
        assert_eq!(index.schema(), schema);
        index.runs.push((3, vec![NamedRun { number: 1, crc: 7 }, NamedRun { number: 9, crc: u32::MAX }]));
        Manifest { number: 77, sequence: 4, indexes: vec![index], ..Manifest::default() }
    }

    #[test]
    fn a_manifest_is_read_back_as_written() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), Manifest::default());
        manifest().write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), manifest());
    }

    #[test]
    fn a_damaged_or_foreign_manifest_reads_as_empty() {
        let folder = tempfile::tempdir().unwrap();
        manifest().write(folder.path()).unwrap();
        let path = folder.path().join(FILE);
        let bytes = fs::read(&path).unwrap();
        for length in 0..bytes.len() {
            fs::remove_file(&path).unwrap();
            fs::write(&path, &bytes[..length]).unwrap();
            assert_eq!(Manifest::read(folder.path()).unwrap(), Manifest::default(), "truncated to {length}");
        }
        for other in [
            Manifest { format: FORMAT + 1, ..manifest() },
            Manifest { texts: TEXT_DATA.replacen('.', ".1", 1), ..manifest() },
            Manifest { texts: String::new(), ..manifest() },
        ] {
            other.write(folder.path()).unwrap();
            assert_eq!(Manifest::read(folder.path()).unwrap(), Manifest::default());
        }
    }

    #[test]
    fn the_text_data_names_a_release_of_each_crate_that_folds_or_collates() {
        let names = ["icu_casemap", "icu_casemap_data", "icu_collator", "icu_collator_data", "icu_normalizer"];
        for name in names.iter().chain(&["icu_normalizer_data"]) {
            let at = TEXT_DATA.find(&format!("{name} ")).unwrap_or_else(|| panic!("{name} in {TEXT_DATA}"));
            let release = &TEXT_DATA[at + name.len() + 1..];
            assert!(release.starts_with(|first: char| first.is_ascii_digit()), "{name} in {TEXT_DATA}");
        }
    }
}
