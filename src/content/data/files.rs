//! The files that media resources name by their hashes: which of them are still named.
//!
//! Each write that gives a resource another file notes it under [`Key::FileOwner`]. A note stays when the resource gets
//! another file or goes, so a reader of notes looks into the resource, the trash and the history.

use bindery_model::blueprint::{Blueprint, SystemField};
use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_store::{Key, Prefix, Store};
use serde_json::Value;

use crate::data::history::HistoryOf;
use crate::data::lookup::Lookup;
use crate::data::records::{Copy, CopyVersion, Meta};
use crate::data::trash::trashed;

/// The hash of a file.
pub(crate) type FileHash = [u8; 32];

/// Reads the hash of a file from its 64 hexadecimal digits.
pub(crate) fn parse_hash(text: &str) -> Option<FileHash> {
    if text.len() != 64 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    blake3::Hash::from_hex(text).ok().map(|hash| *hash.as_bytes())
}

/// Returns the note that a resource with these values of a copy needs, if they name a file.
pub(crate) fn owner_key(blueprint: &Blueprint, id: ResourceId, values: &[Value]) -> Option<Key> {
    let hash = parse_hash(values[blueprint.position_of(SystemField::Hash)?].as_str()?)?;
    Some(Key::FileOwner { hash, blueprint: blueprint.number, id })
}

/// Returns the notes of resources that named a file.
///
/// # Errors
/// `INTERNAL` if the store fails.
pub(crate) fn owners(store: &Store, hash: FileHash) -> Result<Vec<Key>> {
    let keys = store.scan(Prefix::FileOwners(hash)).map(|entry| entry.map(|(key, _)| key));
    keys.collect::<std::result::Result<_, _>>().map_err(Error::internal)
}

/// Returns whether a resource still names a file: itself, in the trash, or in its history.
///
/// # Errors
/// `INTERNAL` if the store fails.
pub(crate) fn names_file(lookup: &dyn Lookup, blueprint: u32, id: ResourceId, hash: FileHash) -> Result<bool> {
    // The digits appear nowhere else by chance. If somebody wrote them into a text, the file is kept in vain.
    let digits = blake3::Hash::from_bytes(hash).to_hex();
    let is_named = |attributes: &str| attributes.contains(digits.as_str());
    let live = lookup.meta(blueprint, id)?;
    let waiting = trashed(lookup, blueprint, id)?.map(|trashed| trashed.meta);
    let metas: Vec<&Meta> = live.iter().chain(&waiting).collect();
    let versions = || metas.iter().flat_map(|meta| meta.copies.iter().copied());
    for version in versions() {
        if is_named(&lookup.copy(blueprint, id, version)?.attributes) {
            return Ok(true);
        }
    }
    for CopyVersion { variant, .. } in versions() {
        let of = HistoryOf { blueprint, id, variant };
        let Some(range) = of.range(lookup)? else { continue };
        let mut last_read = None;
        for number in range.first..=range.last {
            let copy = of.revision(lookup, number)?.map_or(0, |revision| revision.copy);
            if copy == 0 || last_read.replace(copy) == Some(copy) {
                continue;
            }
            let bytes = of.copy_bytes(lookup, copy)?;
            if Copy::decode(&bytes).is_ok_and(|copy| is_named(&copy.attributes)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Returns the files that resources and revisions name, in the order of their hashes.
///
/// # Errors
/// `INTERNAL` if the store fails.
pub(crate) fn named(store: &Store) -> Result<Vec<FileHash>> {
    let mut named = Vec::new();
    for entry in store.scan(Prefix::AllFileOwners) {
        let Key::FileOwner { hash, blueprint, id } = entry.map_err(Error::internal)?.0 else { continue };
        // A copy may be replaced while it is read.
        if named.last() != Some(&hash) && names_file(store, blueprint, id, hash).unwrap_or(true) {
            named.push(hash);
        }
    }
    Ok(named)
}
