//! The folder of renditions: bounded in bytes, the least recently used go first. Must not know what a rendition shows.
//!
//! Nothing here is synced: a rendition can be made again. A file has a checksum, and one that a crash left incomplete
//! is removed when it is read.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::error::{MediaError, io_error};
use crate::hash::Hash;

/// The first bytes of a file, in front of the checksum.
const MAGIC: &[u8; 8] = b"bindery1";
const HEADER_BYTES: usize = MAGIC.len() + 32;
/// The ending of files that are being written.
const PART: &str = "part";
/// The bytes that a small file takes on disk.
const BLOCK: u64 = 4096;

/// The name of a rendition: its source, and a hash of everything else that it depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) source: Hash,
    pub(crate) variant: [u8; 16],
}

impl Key {
    /// Returns the hash of the variant as text.
    pub(crate) fn variant(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.variant))
    }

    fn parse(name: &str) -> Option<Key> {
        let (source, variant) = name.split_once('-')?;
        let variant = u128::from_str_radix(variant, 16).ok().filter(|_| variant.len() == 32)?;
        Some(Key { source: source.parse().ok()?, variant: variant.to_be_bytes() })
    }
}

/// The folder of renditions.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    max_bytes: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: BTreeMap<Key, Entry>,
    /// The keys by the number of their last use.
    order: BTreeMap<u64, Key>,
    bytes: u64,
    uses: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    bytes: u64,
    last_use: u64,
}

impl Cache {
    /// Opens the folder. The order of use begins with the times at which the files were written.
    pub(crate) fn open(folder: &Path, max_bytes: u64) -> Result<Cache, MediaError> {
        fs::create_dir_all(folder).map_err(io_error("create the folder", folder))?;
        let cache = Cache { folder: folder.to_owned(), max_bytes, state: Mutex::default() };
        let mut found = Vec::new();
        for number in 0..=u8::MAX {
            cache.find(&folder.join(format!("{number:02x}")), &mut found)?;
        }
        found.sort_unstable();
        let mut state = cache.state.lock();
        for (_, key, bytes) in found {
            state.insert(key, bytes);
        }
        let removed = state.shrink(max_bytes);
        drop(state);
        cache.remove_files(&removed);
        Ok(cache)
    }

    fn find(&self, folder: &Path, found: &mut Vec<(SystemTime, Key, u64)>) -> Result<(), MediaError> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(io_error("list", folder))?,
        };
        for entry in entries {
            let entry = entry.map_err(io_error("list", folder))?;
            let Ok(metadata) = entry.metadata() else { continue };
            let name = entry.file_name();
            match name.to_str().and_then(Key::parse) {
                Some(key) => {
                    let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    found.push((modified, key, size_on_disk(metadata.len())));
                }
                // A file that was being written when the process ended.
                None if Path::new(&name).extension().is_some_and(|ending| ending == PART) => {
                    let _ = fs::remove_file(entry.path());
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Reads a rendition, on a thread that may wait for the disk. A damaged file is removed.
    pub(crate) fn read(&self, key: &Key) -> Option<Bytes> {
        if !self.state.lock().touch(key) {
            return None;
        }
        let path = self.path(key);
        let contents = fs::read(&path).ok().and_then(check);
        if contents.is_none() {
            self.state.lock().remove(key);
            let _ = fs::remove_file(path);
        }
        contents
    }

    /// Keeps a rendition. An error is logged only: the rendition is served without being kept.
    pub(crate) fn write(&self, key: &Key, contents: &[u8]) {
        let size = size_on_disk((contents.len() + HEADER_BYTES) as u64);
        if size > self.max_bytes {
            return;
        }
        if let Err(error) = self.write_file(key, contents) {
            tracing::warn!(%error, folder = %self.folder.display(), "a rendition cannot be kept");
            return;
        }
        let mut state = self.state.lock();
        state.insert(*key, size);
        let removed = state.shrink(self.max_bytes);
        drop(state);
        self.remove_files(&removed);
    }

    fn write_file(&self, key: &Key, contents: &[u8]) -> io::Result<()> {
        let path = self.path(key);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        // Each rendition is made once at a time, so no other thread writes this file.
        let part = path.with_extension(PART);
        let file = [MAGIC.as_slice(), blake3::hash(contents).as_bytes(), contents].concat();
        fs::write(&part, file).and_then(|()| fs::rename(&part, &path)).inspect_err(|_| {
            let _ = fs::remove_file(&part);
        })
    }

    /// Removes all renditions of a source.
    pub(crate) fn forget(&self, source: &Hash) {
        let mut state = self.state.lock();
        let range = Key { source: *source, variant: [0; 16] }..=Key { source: *source, variant: [u8::MAX; 16] };
        let keys: Vec<Key> = state.entries.range(range).map(|(key, _)| *key).collect();
        keys.iter().for_each(|key| state.remove(key));
        drop(state);
        self.remove_files(&keys);
    }

    /// Returns the bytes on disk.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.state.lock().bytes
    }

    fn remove_files(&self, keys: &[Key]) {
        for key in keys {
            let _ = fs::remove_file(self.path(key));
        }
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(key.source.folder()).join(format!("{}-{}", key.source, key.variant()))
    }
}

impl State {
    /// Makes a key the last used one. Returns false if it is not kept.
    fn touch(&mut self, key: &Key) -> bool {
        let Some(entry) = self.entries.get_mut(key) else { return false };
        self.uses += 1;
        self.order.remove(&entry.last_use);
        entry.last_use = self.uses;
        self.order.insert(self.uses, *key);
        true
    }

    fn insert(&mut self, key: Key, bytes: u64) {
        self.remove(&key);
        self.uses += 1;
        self.entries.insert(key, Entry { bytes, last_use: self.uses });
        self.order.insert(self.uses, key);
        self.bytes += bytes;
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.last_use);
            self.bytes -= entry.bytes;
        }
    }

    /// Removes the least recently used keys until the rest fits.
    fn shrink(&mut self, max_bytes: u64) -> Vec<Key> {
        let mut removed = Vec::new();
        while self.bytes > max_bytes {
            let Some((_, &key)) = self.order.first_key_value() else { break };
            self.remove(&key);
            removed.push(key);
        }
        removed
    }
}

fn size_on_disk(bytes: u64) -> u64 {
    bytes.next_multiple_of(BLOCK)
}

/// Returns the contents behind the header, if they have its checksum.
fn check(file: Vec<u8>) -> Option<Bytes> {
    let file = Bytes::from(file);
    if file.len() < HEADER_BYTES || !file.starts_with(MAGIC) {
        return None;
    }
    let contents = file.slice(HEADER_BYTES..);
    (blake3::hash(&contents).as_bytes() == &file[MAGIC.len()..HEADER_BYTES]).then_some(contents)
}
