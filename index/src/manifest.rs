//! The manifest: the one file that says which files are the indexes of a data folder, and at which number of the log
//! they stand. It knows the names of files, not what is in them.
//!
//! A line with the checksum of the rest, then JSON. Replaced as a whole by renaming.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::disk::sync_folder;
use crate::error::Error;
use crate::schema::{Column, ColumnId, Kind, Schema, Variant, VariantNumber};

/// Changes whenever files would be read differently, and whenever texts would be folded or collated differently.
/// Indexes of another format are dropped.
const FORMAT: u32 = 1;

const FILE: &str = "MANIFEST";
const TEMPORARY: &str = "MANIFEST.new";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u32,
    /// Everything up to this number of the log is in the indexes.
    pub(crate) number: u64,
    /// Counts checkpoints.
    pub(crate) sequence: u64,
    pub(crate) indexes: Vec<Entry>,
}

/// One index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) name: u32,
    /// Tells apart indexes that had the same name one after the other.
    pub(crate) generation: u64,
    columns: Vec<(ColumnId, KindName)>,
    variants: Vec<(VariantNumber, Option<String>)>,
    /// How many slots there are.
    pub(crate) slots: u32,
    /// Files of slots, in their order.
    pub(crate) slot_files: Vec<String>,
    /// The runs of each variant.
    pub(crate) runs: Vec<(VariantNumber, Vec<u32>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KindName {
    Text,
    Plain,
    Markup,
    Number,
    Bool,
    Instant,
    List,
}

impl Default for Manifest {
    fn default() -> Manifest {
        Manifest { format: FORMAT, number: 0, sequence: 0, indexes: Vec::new() }
    }
}

impl Manifest {
    /// Without indexes.
    pub(crate) fn new(number: u64, sequence: u64) -> Manifest {
        Manifest { number, sequence, ..Manifest::default() }
    }

    /// Reads the manifest of `folder`. If there is none, or one that is damaged or of another format, an empty one: the
    /// indexes are made anew then. Fails only if the operating system refuses to read.
    pub(crate) fn read(folder: &Path) -> Result<Manifest, Error> {
        let path = folder.join(FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Manifest::default()),
            Err(error) => return Err(Error::io(&path)(error)),
        };
        match parse(&bytes) {
            Ok(manifest) => Ok(manifest),
            Err(what) => {
                tracing::warn!("{}: {what}; every index is made anew", path.display());
                Ok(Manifest::default())
            }
        }
    }

    /// Makes this the manifest of `folder`; durable on return.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        let temporary = folder.join(TEMPORARY);
        let json = serde_json::to_vec(self).expect("invariant: no map with other keys than strings");
        let write = || {
            let mut file = File::create(&temporary)?;
            writeln!(file, "{:08x}", crc32fast::hash(&json))?;
            file.write_all(&json)?;
            file.sync_all()
        };
        write().map_err(Error::io(&temporary))?;
        fs::rename(&temporary, folder.join(FILE)).map_err(Error::io(&temporary))?;
        sync_folder(folder)
    }

    /// Whether a file in the folder is the manifest.
    pub(crate) fn is_at(name: &str) -> bool {
        name == FILE
    }
}

impl Entry {
    /// Without files.
    pub(crate) fn new(name: u32, generation: u64, schema: &Schema) -> Entry {
        Entry {
            name,
            generation,
            columns: schema.columns.iter().map(|column| (column.id, KindName::of(column.kind))).collect(),
            variants: schema.variants.iter().map(|variant| (variant.number, variant.locale.clone())).collect(),
            slots: 0,
            slot_files: Vec::new(),
            runs: Vec::new(),
        }
    }

    pub(crate) fn schema(&self) -> Schema {
        let column = |&(id, kind): &(ColumnId, KindName)| Column { id, kind: kind.kind() };
        let variant =
            |(number, locale): &(VariantNumber, Option<String>)| Variant { number: *number, locale: locale.clone() };
        Schema {
            columns: self.columns.iter().map(column).collect(),
            variants: self.variants.iter().map(variant).collect(),
        }
    }
}

impl KindName {
    fn of(kind: Kind) -> KindName {
        match kind {
            Kind::Text => KindName::Text,
            Kind::Plain => KindName::Plain,
            Kind::Markup => KindName::Markup,
            Kind::Number => KindName::Number,
            Kind::Bool => KindName::Bool,
            Kind::Instant => KindName::Instant,
            Kind::List => KindName::List,
        }
    }

    fn kind(self) -> Kind {
        match self {
            KindName::Text => Kind::Text,
            KindName::Plain => Kind::Plain,
            KindName::Markup => Kind::Markup,
            KindName::Number => Kind::Number,
            KindName::Bool => Kind::Bool,
            KindName::Instant => Kind::Instant,
            KindName::List => Kind::List,
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Manifest, String> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let cut = || "it is cut short".to_owned();
    let (checksum, json) = bytes.split_at_checked(9).ok_or_else(cut)?;
    if checksum != format!("{:08x}\n", crc32fast::hash(json)).as_bytes() {
        return Err("its checksum is another".to_owned());
    }
    let Format { format } = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    if format != FORMAT {
        return Err(format!("it has format {format} instead of {FORMAT}"));
    }
    serde_json::from_slice(json).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn manifest() -> Manifest {
        let kinds = [Kind::Text, Kind::Plain, Kind::Markup, Kind::Number, Kind::Bool, Kind::Instant, Kind::List];
        let schema = Schema {
            columns: (7..).zip(kinds).map(|(id, kind)| Column { id, kind }).collect(),
            variants: vec![Variant { number: 3, locale: Some("de".to_owned()) }, Variant { number: 4, locale: None }],
        };
        let mut entry = Entry::new(5, 2, &schema);
        assert_eq!(entry.schema(), schema);
        entry.runs.push((3, vec![1, 9]));
        Manifest { number: 77, sequence: 4, indexes: vec![entry], ..Manifest::default() }
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), Manifest::default());
        manifest().write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), manifest());
    }

    #[test]
    fn what_was_not_written_reads_as_nothing() {
        let folder = tempfile::tempdir().unwrap();
        manifest().write(folder.path()).unwrap();
        let path = folder.path().join(FILE);
        let bytes = fs::read(&path).unwrap();
        for length in 0..bytes.len() {
            fs::remove_file(&path).unwrap();
            fs::write(&path, &bytes[..length]).unwrap();
            assert_eq!(Manifest::read(folder.path()).unwrap(), Manifest::default(), "cut to {length}");
        }
        Manifest { format: FORMAT + 1, ..manifest() }.write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), Manifest::default());
    }
}
