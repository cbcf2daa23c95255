//! The analytics in the storage of a cluster: numbered entries, and files named by their contents.
//!
//! An entry is created once, behind the newest one. So of two nodes that count at the same time, one finds that the
//! number is taken, and knows that it does not count any more. A number of which the entry was removed is free again;
//! whoever uses it finds later entries. Must not know who counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::SystemTime;

use bindery_analytics::{Analytics, Assembly, SharedFiles, SharedUpTo};
use bindery_cluster::Store;
use bindery_disk::sync;
use bytes::Bytes;

use crate::entry::{Entry, Head, MAX_ENTRY_BYTES};
use crate::error::CountingError;

const ENTRIES: &str = "analytics/entries";
const FILES: &str = "analytics/files";
/// The entries after which one has everything again, so that the next leader need not read more.
const MOST_PARTS: u64 = 1_024;
/// The attempts to read entries while another node replaces them.
const ATTEMPTS: u32 = 5;

/// Writes what is counted.
pub(crate) struct Publisher {
    store: Store,
    /// The number of the newest entry, and that of the newest one with everything.
    last: u64,
    whole: u64,
    up_to: Option<SharedUpTo>,
    /// The entry that was prepared and may have been written: nothing else may get its number.
    prepared: Option<Prepared>,
    /// The hashes of files that did not change since they were read, by name.
    hashes: BTreeMap<String, (SystemTime, String)>,
}

/// An entry that is about to be written.
struct Prepared {
    bytes: Bytes,
    up_to: SharedUpTo,
    batches: BTreeMap<String, u64>,
    /// The hashes of the files that it names, and of all others that are there, if it has everything.
    files: Option<(BTreeSet<String>, BTreeSet<String>)>,
}

impl Publisher {
    /// Continues behind the entry `last`.
    pub(crate) fn after(store: Store, last: u64) -> Publisher {
        Publisher { store, last, whole: 0, up_to: None, prepared: None, hashes: BTreeMap::new() }
    }

    /// Returns the number of the newest entry.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Writes what was counted since the last time. Returns the last batch of each sender that is in the storage then;
    /// `None` if nothing was counted.
    ///
    /// Errors: [`CountingError::Superseded`]; others, after which it may be tried again.
    pub(crate) fn publish(&mut self, analytics: &Analytics) -> Result<Option<BTreeMap<String, u64>>, CountingError> {
        self.write()?;
        self.prepared = self.prepare(analytics)?;
        self.write()
    }

    fn write(&mut self) -> Result<Option<BTreeMap<String, u64>>, CountingError> {
        let Some(prepared) = &self.prepared else { return Ok(None) };
        let number = self.last + 1;
        let is_newest = self.store.create_object(&entry_name(number), &prepared.bytes)?
            && !self.store.has_later_object(ENTRIES, &entry_number(number))?;
        if !is_newest {
            return Err(CountingError::Superseded);
        }
        let Some(Prepared { up_to, batches, files, .. }) = self.prepared.take() else { return Ok(None) };
        self.last += 1;
        self.up_to = Some(up_to);
        if let Some((named, others)) = files {
            self.whole = self.last;
            if let Err(error) = self.clean(others.difference(&named)) {
                tracing::warn!(%error, "old analytics could not be removed from the storage; this is tried again");
            }
        }
        Ok(Some(batches))
    }

    fn prepare(&mut self, analytics: &Analytics) -> Result<Option<Prepared>, CountingError> {
        let shared = analytics.share(self.up_to.filter(|_| self.last - self.whole < MOST_PARTS))?;
        if shared.files.is_none() && shared.records.is_empty() {
            return Ok(None);
        }
        let uploaded = shared.files.as_ref().map(|files| self.upload(files)).transpose()?;
        let whole = if uploaded.is_some() { self.last + 1 } else { self.whole };
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(std::io::Error::other)?;
        let nonce = nonce.iter().map(|byte| format!("{byte:02x}")).collect();
        let first = shared.records.first().map_or(1, |(number, _)| *number);
        let (files, names) = uploaded.map_or((None, None), |(files, others)| {
            let named = files.values().cloned().collect();
            (Some(files), Some((named, others)))
        });
        let records = shared.records.into_iter().map(|(_, record)| record).collect();
        let bytes = Entry { head: Head { whole, nonce, first, files }, records }.encode()?;
        Ok(Some(Prepared { bytes, up_to: shared.up_to, batches: shared.batches, files: names }))
    }

    /// Uploads the files that are not there. Returns the hash of each, and the hashes of all that were there.
    fn upload(&mut self, files: &SharedFiles) -> Result<(BTreeMap<String, String>, BTreeSet<String>), CountingError> {
        let there = self.store.object_names(FILES)?;
        let (mut named, mut hashes) = (BTreeMap::new(), BTreeMap::new());
        for (name, path) in files.list()? {
            let modified = fs::metadata(&path)?.modified()?;
            let known = self.hashes.get(&name).filter(|(at, hash)| *at == modified && there.contains(hash));
            let hash = match known {
                Some((_, hash)) => hash.clone(),
                None => {
                    let bytes = fs::read(&path)?;
                    let hash = blake3::hash(&bytes).to_hex().to_string();
                    if !there.contains(&hash) {
                        self.store.put_object(&format!("{FILES}/{hash}"), bytes.into())?;
                    }
                    hash
                }
            };
            hashes.insert(name.clone(), (modified, hash.clone()));
            named.insert(name, hash);
        }
        self.hashes = hashes;
        Ok((named, there))
    }

    /// Removes the entries that the newest one made superfluous, and files.
    fn clean<'a>(&self, files: impl Iterator<Item = &'a String>) -> Result<(), CountingError> {
        for name in self.store.object_names(ENTRIES)? {
            if name.parse::<u64>().is_ok_and(|number| number < self.whole) {
                self.store.remove_object(&format!("{ENTRIES}/{name}"))?;
            }
        }
        for hash in files {
            self.store.remove_object(&format!("{FILES}/{hash}"))?;
        }
        Ok(())
    }
}

/// Returns the number of the newest entry; `None` if a cluster has no analytics yet.
pub(crate) fn newest(store: &Store) -> Result<Option<u64>, CountingError> {
    let listed = store.object_names(ENTRIES)?;
    Ok(listed.iter().filter_map(|name| name.parse::<u64>().ok()).max())
}

/// Makes the folder of the analytics that a cluster has, which must not exist. Returns the number of the newest entry;
/// 0, and makes nothing, if there is none. Takes files from `old`, a folder of an earlier time, where they are
/// unchanged.
pub(crate) fn load(store: &Store, folder: &Path, old: Option<&Path>) -> Result<u64, CountingError> {
    let mut missing = String::new();
    for _ in 0..ATTEMPTS {
        match try_load(store, folder, old)? {
            Attempt::Loaded(last) => return Ok(last),
            Attempt::Missing(name) => missing = name,
        }
    }
    Err(CountingError::damaged(&missing, "is missing"))
}

enum Attempt {
    Loaded(u64),
    /// An object was removed meanwhile, because there is a newer entry with everything.
    Missing(String),
}

fn try_load(store: &Store, folder: &Path, old: Option<&Path>) -> Result<Attempt, CountingError> {
    let listed = store.object_names(ENTRIES)?;
    let Some(mut last) = listed.iter().filter_map(|name| name.parse::<u64>().ok()).max() else {
        return Ok(Attempt::Loaded(0));
    };
    let Some(newest) = entry(store, last)? else { return Ok(Attempt::Missing(entry_name(last))) };
    let whole = newest.head.whole;
    if last.saturating_sub(whole) >= listed.len() as u64 {
        return Ok(Attempt::Missing(entry_name(whole)));
    }
    let parts: Vec<String> = (whole..=last).map(entry_name).collect();
    let mut entries = Vec::new();
    for (name, bytes) in parts.iter().zip(store.objects(&parts, MAX_ENTRY_BYTES)?) {
        match bytes {
            Some(bytes) => entries.push(decoded(name, &bytes)?),
            None => return Ok(Attempt::Missing(name.clone())),
        }
    }
    while let Some(later) = entry(store, last + 1)? {
        entries.push(later);
        last += 1;
    }
    let files = entries.first().and_then(|entry| entry.head.files.clone());
    let Some(files) = files else { return Ok(Attempt::Missing(entry_name(whole))) };
    let mut assembly = Assembly::begin(folder)?;
    if let Some(name) = place_files(store, &assembly, &files, old)? {
        return Ok(Attempt::Missing(name));
    }
    for Entry { head, records } in entries {
        for (record, payload) in (head.first..).zip(&records) {
            assembly.record(record, payload)?;
        }
    }
    assembly.finish()?;
    Ok(Attempt::Loaded(last))
}

/// Puts all files in place. Returns the name of one that is missing in the storage, if one is.
fn place_files(
    store: &Store,
    assembly: &Assembly,
    files: &BTreeMap<String, String>,
    old: Option<&Path>,
) -> Result<Option<String>, CountingError> {
    for (name, hash) in files {
        let path = assembly.file(name).ok_or_else(|| CountingError::damaged(name, "is a file of an unknown kind"))?;
        let is_unchanged = |old: &Path| fs::read(old).is_ok_and(|bytes| blake3::hash(&bytes).to_hex().as_str() == hash);
        if let Some(old) = old.map(|old| old.join(name)).filter(|old| is_unchanged(old)) {
            fs::rename(old, path)?;
            continue;
        }
        let object = format!("{FILES}/{hash}");
        let Some(bytes) = store.object(&object, MAX_ENTRY_BYTES)? else { return Ok(Some(object)) };
        if blake3::hash(&bytes).to_hex().as_str() != hash {
            return Err(CountingError::damaged(&object, "has a wrong checksum"));
        }
        let mut file = File::create(path)?;
        file.write_all(&bytes)?;
        sync::all(&file)?;
    }
    Ok(None)
}

fn entry(store: &Store, number: u64) -> Result<Option<Entry>, CountingError> {
    let name = entry_name(number);
    let Some(bytes) = store.object(&name, MAX_ENTRY_BYTES)? else { return Ok(None) };
    decoded(&name, &bytes).map(Some)
}

fn decoded(name: &str, bytes: &[u8]) -> Result<Entry, CountingError> {
    Entry::decode(bytes).map_err(|what| CountingError::damaged(name, &what))
}

pub(crate) fn entry_name(number: u64) -> String {
    format!("{ENTRIES}/{}", entry_number(number))
}

/// Returns the name of an entry within its folder. These names are in the order of the numbers.
fn entry_number(number: u64) -> String {
    format!("{number:020}")
}
