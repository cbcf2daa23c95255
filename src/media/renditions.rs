//! Renditions: pictures in other sizes and formats, made on request and kept on disk.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};

use crate::cache::{Cache, Key};
use crate::clean;
use crate::decode::{MAX_FILE_BYTES, Raster};
use crate::error::{MediaError, io_error};
use crate::files::{Files, blocking};
use crate::geometry;
use crate::hash::Hash;
use crate::render;
use crate::rendition::{MadePicture, Rendition, Source, Wanted};
use crate::turns::Clients;
use crate::workers::{Class, Memory};

/// Changes whenever a rendition of the same source and wish gets other bytes, such as by other settings of an encoder.
const VERSION: u32 = 2;

/// The number of renditions that are expected in the memory, from which it computes the size of its tables.
const EXPECTED_IN_MEMORY: usize = 1024;

/// The number of pictures of which it is remembered if they are animated.
const REMEMBERED: usize = 10_000;
/// The first bytes of a file in which a second frame is looked for. If they are too few, eight times as many are read,
/// up to the most.
const FIRST_BYTES: u64 = 16 << 10;
const MOST_BYTES: u64 = 8 << 20;
/// The files in which a second frame is looked for at the same time. Requests without a token ask for it, and each
/// takes memory.
const SEARCHES: usize = 8;

/// The time for which it is remembered that a rendition cannot be made. Another server may store the file again.
const FAILED_FOR: Duration = Duration::from_secs(60);

/// Bounds of the renditions that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenditionLimits {
    /// The bytes of renditions on disk. Beyond it, the least recently used are removed.
    pub cache_bytes: u64,
    /// The bytes of renditions in memory, which are those that were used last.
    pub memory_bytes: u64,
}

/// The renditions of all pictures. Clones share them.
#[derive(Debug, Clone)]
pub struct Renditions {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    files: Files,
    disk: Cache,
    memory: quick_cache::sync::Cache<Key, Option<Bytes>, Weight>,
    /// The pictures that are known to be animated, or not to be.
    animated: quick_cache::sync::Cache<Hash, bool>,
    searches: Semaphore,
    /// The renditions that are being made, with those who wait for them.
    flights: Mutex<HashMap<Key, (Clients, Outcome)>>,
    #[cfg(test)]
    made: std::sync::atomic::AtomicU64,
    #[cfg(test)]
    searched: std::sync::atomic::AtomicU64,
}

/// The contents of a rendition. They are empty if the original file serves better, and `None` if the file cannot be
/// decoded. That is remembered in the memory only: it may be damaged, and be stored again.
type Made = Result<Option<Bytes>, MediaError>;
type Outcome = watch::Receiver<Option<Made>>;

#[derive(Debug, Clone)]
struct Weight;

impl quick_cache::Weighter<Key, Option<Bytes>> for Weight {
    fn weight(&self, _: &Key, contents: &Option<Bytes>) -> u64 {
        contents.as_ref().map_or(0, Bytes::len) as u64 + 256
    }
}

impl Renditions {
    /// Opens the folder of renditions, and creates it if it does not exist.
    ///
    /// # Errors
    /// If the folder cannot be created or read.
    pub fn open(folder: &Path, files: Files, limits: RenditionLimits) -> Result<Renditions, MediaError> {
        let disk = Cache::open(folder, limits.cache_bytes)?;
        let memory = quick_cache::sync::Cache::with_weighter(EXPECTED_IN_MEMORY, limits.memory_bytes, Weight);
        let shared = Shared {
            files,
            disk,
            memory,
            animated: quick_cache::sync::Cache::new(REMEMBERED),
            searches: Semaphore::new(SEARCHES),
            flights: Mutex::default(),
            #[cfg(test)]
            made: std::sync::atomic::AtomicU64::new(0),
            #[cfg(test)]
            searched: std::sync::atomic::AtomicU64::new(0),
        };
        Ok(Renditions { shared: Arc::new(shared) })
    }

    /// Returns a picture in the wanted size and format, for a client at this address. It is made once for all who ask
    /// at once, and then kept. Clients take turns.
    ///
    /// # Errors
    /// `Missing` if the source is not stored, `Busy` if too many pictures are being made, and errors of the store. A
    /// source that cannot be decoded is answered with `Rendition::Failed`.
    pub async fn get(&self, source: &Source, wanted: &Wanted, client: IpAddr) -> Result<Rendition, MediaError> {
        let Some(kind) = Raster::of(&source.mime) else { return Ok(Rendition::Original) };
        let key = key_of(source, wanted);
        let contents = match self.shared.memory.get(&key) {
            Some(contents) => contents,
            None => self.fly(key, kind, source, wanted, client).await?,
        };
        Ok(match contents {
            None => Rendition::Failed,
            Some(bytes) if bytes.is_empty() => Rendition::Original,
            Some(bytes) => Rendition::Made(MadePicture { mime: wanted.format.mime(), bytes, tag: key.variant() }),
        })
    }

    /// Returns true if a picture has more than one frame, which only its file says. If that takes more than the first 8
    /// MiB, it counts as animated. The file is read once for all who ask at once.
    ///
    /// # Errors
    /// `Missing` if the file is not stored, and errors of the store.
    pub async fn is_animated(&self, hash: &Hash, mime: &str) -> Result<bool, MediaError> {
        let Some(kind @ (Raster::Gif | Raster::Webp | Raster::Png)) = Raster::of(mime) else { return Ok(false) };
        let search = async {
            let _permit = self.shared.searches.acquire().await.map_err(|_| MediaError::Stopped)?;
            #[cfg(test)]
            self.shared.searched.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            find_second_frame(&self.shared.files, hash, kind).await
        };
        self.shared.animated.get_or_insert_async(hash, search).await
    }

    /// Removes the renditions of a picture, because it was removed, or stored again: the file before may have been
    /// damaged.
    pub fn forget(&self, hash: &Hash) {
        self.shared.animated.remove_if(hash, |_| true);
        self.shared.memory.retain(|key, _| key.source != *hash);
        self.shared.disk.forget(hash);
    }

    /// Returns the number of renditions that were made.
    #[cfg(test)]
    pub(crate) fn made(&self) -> u64 {
        self.shared.made.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Returns the number of files that were read for a second frame.
    #[cfg(test)]
    pub(crate) fn searched(&self) -> u64 {
        self.shared.searched.load(std::sync::atomic::Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(crate) fn bytes_on_disk(&self) -> u64 {
        self.shared.disk.bytes()
    }

    /// Waits for a rendition that is read or made in a task of its own, so that it is finished for others if this
    /// request ends early.
    async fn fly(&self, key: Key, kind: Raster, source: &Source, wanted: &Wanted, client: IpAddr) -> Made {
        let mut outcome = self.join(key, kind, source, wanted, client);
        match outcome.wait_for(Option::is_some).await {
            Ok(made) => made.clone().unwrap_or(Err(MediaError::Stopped)),
            Err(_) => Err(MediaError::Stopped),
        }
    }

    fn join(&self, key: Key, kind: Raster, source: &Source, wanted: &Wanted, client: IpAddr) -> Outcome {
        let mut flights = self.shared.flights.lock();
        if let Some((clients, outcome)) = flights.get(&key) {
            clients.join(client);
            return outcome.clone();
        }
        let (sender, outcome) = watch::channel(None);
        let clients = Clients::of(client);
        flights.insert(key, (clients.clone(), outcome.clone()));
        drop(flights);
        let flight = Flight { shared: Arc::clone(&self.shared), key };
        let (source, wanted) = (source.clone(), *wanted);
        tokio::spawn(async move {
            let made = read_or_make(&flight.shared, key, kind, &source, &wanted, clients).await;
            if let Ok(contents) = &made {
                flight.shared.memory.insert(key, contents.clone());
                if contents.is_none() {
                    let shared = Arc::clone(&flight.shared);
                    tokio::spawn(async move {
                        tokio::time::sleep(FAILED_FOR).await;
                        shared.memory.remove_if(&key, Option::is_none);
                    });
                }
            }
            // Whoever asks from now on finds it in the memory, or asks for it anew after `forget`.
            drop(flight);
            let _ = sender.send(Some(made));
        });
        outcome
    }
}

async fn find_second_frame(files: &Files, hash: &Hash, kind: Raster) -> Result<bool, MediaError> {
    let mut length = FIRST_BYTES;
    loop {
        let mut file = files.read(hash, Some(0..length)).await?.ok_or(MediaError::Missing { hash: *hash })?;
        let mut head = Vec::with_capacity(file.range.end as usize);
        while let Some(piece) = file.body.next().await {
            head.extend_from_slice(&piece?);
        }
        match clean::is_animated(kind, &head) {
            Ok(found) => return Ok(found),
            // The file is cut off.
            Err(_) if file.range.end >= file.bytes => return Ok(false),
            Err(_) if length >= MOST_BYTES => return Ok(true),
            Err(_) => length *= 8,
        }
    }
}

/// A rendition that is being made. Dropping it, also after a panic, lets the next request begin anew.
struct Flight {
    shared: Arc<Shared>,
    key: Key,
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.shared.flights.lock().remove(&self.key);
    }
}

async fn read_or_make(
    shared: &Arc<Shared>,
    key: Key,
    kind: Raster,
    source: &Source,
    wanted: &Wanted,
    clients: Clients,
) -> Made {
    let disk = Arc::clone(shared);
    if let Some(contents) = blocking(move || Ok(disk.disk.read(&key))).await? {
        return Ok(Some(contents));
    }
    let (making, source, wanted) = (Arc::clone(shared), source.clone(), *wanted);
    let runtime = tokio::runtime::Handle::current();
    let work = move |memory: &Memory| make(&making, memory, &runtime, kind, &source, &wanted);
    match shared.files.workers().run(Class::Rendition(clients), work).await {
        Err(error @ (MediaError::BrokenPicture { .. } | MediaError::PictureTooLarge { .. })) => {
            tracing::warn!(%error, file = %key.source, "a picture is served as it is, because it cannot be resized");
            Ok(None)
        }
        Err(error) => Err(error),
        Ok(contents) => keep(shared, key, contents).await,
    }
}

/// Writes a rendition to the disk.
async fn keep(shared: &Arc<Shared>, key: Key, contents: Bytes) -> Made {
    let shared = Arc::clone(shared);
    blocking(move || {
        shared.disk.write(&key, &contents);
        Ok(Some(contents))
    })
    .await
}

/// Makes a rendition, on a thread for pictures.
fn make(
    shared: &Shared,
    memory: &Memory,
    runtime: &tokio::runtime::Handle,
    kind: Raster,
    source: &Source,
    wanted: &Wanted,
) -> Result<Bytes, MediaError> {
    #[cfg(test)]
    shared.made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let original = read(&shared.files, runtime, &source.hash)?;
    let made = render::render(memory, kind, &original, source, wanted)?;
    Ok(Bytes::from(made.unwrap_or_default()))
}

/// Reads the source. This happens on the thread that makes the rendition, so that the files of pictures that wait take
/// no memory.
fn read(files: &Files, runtime: &tokio::runtime::Handle, hash: &Hash) -> Result<Vec<u8>, MediaError> {
    if let Some(path) = files.local_path(hash) {
        return match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(MediaError::Missing { hash: *hash }),
            read => read.map_err(io_error("read", &path)),
        };
    }
    runtime.block_on(async {
        let Some(mut file) = files.read(hash, None).await? else { return Err(MediaError::Missing { hash: *hash }) };
        let mut bytes = Vec::with_capacity(file.bytes.min(MAX_FILE_BYTES) as usize);
        while let Some(piece) = file.body.next().await {
            bytes.extend_from_slice(&piece?);
        }
        Ok(bytes)
    })
}

/// Names a rendition by its plan, so that wishes with the same result share it.
fn key_of(source: &Source, wanted: &Wanted) -> Key {
    let plan = geometry::plan(source.width.max(1), source.height.max(1), wanted);
    let crop = [plan.crop.left, plan.crop.top, plan.crop.width, plan.crop.height].map(|number| number.round() as i64);
    let text = format!(
        "{VERSION} {} {} {crop:?} {:?} {:?} {:?} {}",
        source.hash,
        source.is_animated,
        plan.size,
        plan.canvas,
        wanted.format,
        render::quality(wanted)
    );
    let mut variant = [0; 16];
    variant.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    Key { source: source.hash, variant }
}
