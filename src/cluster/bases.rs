//! Bases: large files from which a server begins, each ending at a position of the log.
//!
//! ```text
//! "BNDYBASE" version  history(16)  seq(8)  number(8)  chain(32)  length(8)  BLAKE3 of the file(32)
//! BLAKE3 of the header before it (32)
//! the file
//! ```
//!
//! Integers are little-endian. An upload that was cut leaves no object, or one that is shorter than its header says.
//! Must not know what is in the file.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::{ObjectMeta, ObjectStoreExt as _, WriteMultipart};
use uuid::Uuid;

use crate::cluster::History;
use crate::error::{ClusterError, at};
use crate::id::random_bytes;
use crate::log::{Log, LogShared};
use crate::objects::{Objects, block};
use crate::position::{ChainHash, Position};

const MAGIC: &[u8; 8] = b"BNDYBASE";
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 8 + 1 + 16 + 8 + 8 + 32 + 8 + 32 + 32;
/// The size of the parts in which a base is sent and read, unless that would be too many parts.
const PART_BYTES: u64 = 8 << 20;
/// Stores accept 10,000 parts.
const MAX_PARTS: u64 = 9_000;
/// Parts that are on their way at a time.
const CONCURRENT_PARTS: usize = 4;
/// The number of reads of a part before the download fails.
const READS_OF_PART: u32 = 4;
/// The bases that are never removed.
const KEPT_BASES: usize = 2;

/// A base in the storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseInfo {
    /// The name, by which it is downloaded.
    pub name: String,
    /// The position that the base ends at.
    pub position: Position,
    /// The size of the file, in bytes.
    pub bytes: u64,
    hash: [u8; 32],
}

/// The header of an object, which describes the base in it.
struct Header {
    history: Uuid,
    position: Position,
    bytes: u64,
    hash: [u8; 32],
}

/// The kind of an object in the folder of bases.
enum Listed {
    Base(BaseInfo),
    /// A base of a creation that was interrupted, or a cut one.
    NoBase,
    NewerVersion(u8),
}

impl Log {
    /// Uploads a file as a base that ends at a position, reads it back and compares it. Asks `is_wanted` about every
    /// part.
    ///
    /// # Errors
    /// [`ClusterError::NotWanted`]; if the file cannot be read or changes meanwhile, or the storage fails. The base
    /// does not exist then, or is ignored.
    pub fn upload_base(
        &self,
        file: &Path,
        position: &Position,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<BaseInfo, ClusterError> {
        block(upload(&self.shared.objects, &self.shared.history, file, position, is_wanted))
    }

    /// Returns the newest bases of this history, newest first: `n` at most.
    ///
    /// # Errors
    /// If the storage cannot be read, or a newer version of the server wrote all of them.
    pub fn newest_bases(&self, n: usize) -> Result<Vec<BaseInfo>, ClusterError> {
        block(async {
            let mut bases = Vec::new();
            let mut newer = None;
            for object in self.shared.listed_bases().await? {
                if bases.len() >= n {
                    break;
                }
                match self.shared.read_header(&object).await? {
                    Listed::Base(base) => bases.push(base),
                    Listed::NewerVersion(version) => newer = Some((object, version)),
                    Listed::NoBase => {}
                }
            }
            match newer {
                Some((object, version)) if bases.is_empty() && n > 0 => {
                    Err(ClusterError::NewerVersion { name: object.location.to_string(), version: version.into() })
                }
                _ => Ok(bases),
            }
        })
    }

    /// Downloads a base into the file `to`, which is created or replaced, synced and checked. Calls `progress` with the
    /// bytes that have arrived and the bytes of the whole file.
    ///
    /// # Errors
    /// [`ClusterError::NoBase`] if it was removed meanwhile, [`ClusterError::Damaged`], or if the storage or the disk
    /// fails. The file is incomplete then.
    pub fn download_base(&self, base: &BaseInfo, to: &Path, progress: &dyn Fn(u64, u64)) -> Result<(), ClusterError> {
        let mut file = File::create(to).map_err(at("create", to))?;
        let mut done = 0;
        block(read_back(&self.shared.objects, &self.shared.history, base, &mut |part| {
            file.write_all(part).map_err(at("write", to))?;
            done += part.len() as u64;
            progress(done, base.bytes);
            Ok(())
        }))?;
        file.sync_all().map_err(at("sync", to))
    }

    /// Removes the bases that left the two newest more than `age` ago, so that no download that goes on is cut short.
    /// Returns their number.
    ///
    /// # Errors
    /// If the storage fails. Some bases may have been removed.
    pub fn remove_bases(&self, age: Duration) -> Result<usize, ClusterError> {
        block(async {
            let now = self.shared.objects.now();
            // The uploads of the valid bases, newest first.
            let mut uploaded: Vec<DateTime<Utc>> = Vec::new();
            let mut removed = 0;
            for object in self.shared.listed_bases().await? {
                let left_at = match self.shared.read_header(&object).await? {
                    Listed::NewerVersion(_) => continue,
                    // It never was one of the newest. Perhaps its creation goes on.
                    Listed::NoBase => object.last_modified,
                    Listed::Base(_) => {
                        uploaded.push(object.last_modified);
                        let Some(index) = uploaded.len().checked_sub(KEPT_BASES + 1) else { continue };
                        uploaded[index]
                    }
                };
                let name = object.location.filename().unwrap_or_default();
                if (now - left_at).to_std().is_ok_and(|passed| passed > age) {
                    self.shared.objects.remove(&path(&self.shared.history, name)).await?;
                    removed += 1;
                }
            }
            Ok(removed)
        })
    }
}

impl LogShared {
    /// Lists the objects in the folder of bases, newest position first.
    async fn listed_bases(&self) -> Result<Vec<ObjectMeta>, ClusterError> {
        let mut objects = self.objects.list(&format!("{}/bases", self.history.folder()), None).await?;
        let key = |object: &ObjectMeta| {
            let seq = object.location.filename().and_then(|name| name.split_once('-')?.0.parse::<u64>().ok());
            (seq, object.last_modified)
        };
        objects.retain(|object| key(object).0.is_some());
        objects.sort_by_key(|object| std::cmp::Reverse(key(object)));
        Ok(objects)
    }

    async fn read_header(&self, object: &ObjectMeta) -> Result<Listed, ClusterError> {
        let name = object.location.filename().unwrap_or_default();
        let Some(file_bytes) = object.size.checked_sub(HEADER_BYTES as u64) else { return Ok(Listed::NoBase) };
        let bytes = match self.objects.bulk().get_range(&object.location, 0..HEADER_BYTES as u64).await {
            // Otherwise it may look like no base at all, and be removed.
            Ok(bytes) if bytes.len() == HEADER_BYTES => bytes,
            Ok(_) => return Err(self.objects.unreachable("read", name, "its content was cut off")),
            // It was removed since it was listed.
            Err(object_store::Error::NotFound { .. }) => return Ok(Listed::NoBase),
            Err(error) => return Err(self.objects.error("read", name, &error)),
        };
        if bytes.starts_with(MAGIC) && bytes.get(MAGIC.len()).is_some_and(|&version| version > VERSION) {
            return Ok(Listed::NewerVersion(bytes[MAGIC.len()]));
        }
        let header = Header::decode(&bytes);
        let header = header.filter(|header| header.history == self.history.id && header.bytes == file_bytes);
        Ok(header.map_or(Listed::NoBase, |header| {
            let Header { position, bytes, hash, .. } = header;
            Listed::Base(BaseInfo { name: name.to_owned(), position, bytes, hash })
        }))
    }
}

impl Header {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.push(VERSION);
        bytes.extend_from_slice(self.history.as_bytes());
        bytes.extend_from_slice(&self.position.seq.to_le_bytes());
        bytes.extend_from_slice(&self.position.number.to_le_bytes());
        bytes.extend_from_slice(&self.position.chain.0);
        bytes.extend_from_slice(&self.bytes.to_le_bytes());
        bytes.extend_from_slice(&self.hash);
        let hash = *blake3::hash(&bytes).as_bytes();
        bytes.extend_from_slice(&hash);
        bytes
    }

    /// `None` if the bytes are not a header of this version.
    fn decode(bytes: &[u8]) -> Option<Header> {
        let (content, hash) = bytes.split_at_checked(HEADER_BYTES - 32)?;
        if blake3::hash(content).as_bytes() != hash {
            return None;
        }
        let mut rest = content.strip_prefix(MAGIC)?.strip_prefix(&[VERSION])?;
        Some(Header {
            history: Uuid::from_bytes(take(&mut rest)?),
            position: Position {
                seq: u64::from_le_bytes(take(&mut rest)?),
                number: u64::from_le_bytes(take(&mut rest)?),
                chain: ChainHash(take(&mut rest)?),
            },
            bytes: u64::from_le_bytes(take(&mut rest)?),
            hash: take(&mut rest)?,
        })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*taken)
}

/// Returns the name of a base's object.
pub(crate) fn path(history: &History, name: &str) -> String {
    format!("{}/bases/{name}", history.folder())
}

/// Uploads a file as a base, reads it back and compares it.
pub(crate) async fn upload(
    objects: &Objects,
    history: &History,
    file: &Path,
    position: &Position,
    is_wanted: &dyn Fn() -> bool,
) -> Result<BaseInfo, ClusterError> {
    let require = || if is_wanted() { Ok(()) } else { Err(ClusterError::NotWanted) };
    let mut hasher = blake3::Hasher::new();
    let bytes = read_file(file, async |piece| {
        hasher.update(piece);
        require()
    })
    .await?;
    let random = u64::from_le_bytes(random_bytes()?[..8].try_into().unwrap_or_default());
    let name = format!("{:020}-{random:016x}", position.seq);
    let base = BaseInfo { name, position: *position, bytes, hash: *hasher.finalize().as_bytes() };
    send(objects, history, file, &base, &require).await?;
    let result = read_back(objects, history, &base, &mut |_| require()).await;
    if matches!(result, Err(ClusterError::Damaged { .. })) {
        objects.remove(&path(history, &base.name)).await?;
    }
    result.map(|()| base)
}

/// Sends the header and the file in parts. The object appears when all have arrived.
async fn send(
    objects: &Objects,
    history: &History,
    file: &Path,
    base: &BaseInfo,
    require: &dyn Fn() -> Result<(), ClusterError>,
) -> Result<(), ClusterError> {
    let name = path(history, &base.name);
    let failed = |error: object_store::Error| objects.error("upload", &name, &error);
    let header = Header { history: history.id, position: base.position, bytes: base.bytes, hash: base.hash }.encode();
    let part_bytes = PART_BYTES.max((base.bytes + header.len() as u64).div_ceil(MAX_PARTS));
    let part_bytes = usize::try_from(part_bytes).unwrap_or(usize::MAX);
    let upload = objects.bulk().put_multipart(&objects.path(&name)).await.map_err(failed)?;
    let mut upload = WriteMultipart::new_with_chunk_size(upload, part_bytes);
    upload.write(&header);
    let mut hasher = blake3::Hasher::new();
    let result = read_file(file, async |piece| {
        require()?;
        hasher.update(piece);
        upload.wait_for_capacity(CONCURRENT_PARTS).await.map_err(failed)?;
        upload.write(piece);
        Ok(())
    })
    .await;
    let result = match result {
        Ok(bytes) if bytes == base.bytes && hasher.finalize().as_bytes() == &base.hash => Ok(()),
        Ok(_) => Err(ClusterError::Changed { file: file.to_owned() }),
        Err(error) => Err(error),
    };
    match result {
        Ok(()) => upload.finish().await.map(drop).map_err(failed),
        Err(error) => {
            let _ = upload.abort().await;
            Err(error)
        }
    }
}

/// Reads a file in pieces. Returns its size in bytes.
async fn read_file(
    path: &Path,
    mut each: impl AsyncFnMut(&[u8]) -> Result<(), ClusterError>,
) -> Result<u64, ClusterError> {
    let mut file = File::open(path).map_err(at("open", path))?;
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let n_read = file.read(&mut buffer).map_err(at("read", path))?;
        if n_read == 0 {
            return Ok(bytes);
        }
        bytes += n_read as u64;
        each(&buffer[..n_read]).await?;
    }
}

/// Reads the file of a base in pieces, in order, and checks its hash.
async fn read_back(
    objects: &Objects,
    history: &History,
    base: &BaseInfo,
    each: &mut dyn FnMut(&[u8]) -> Result<(), ClusterError>,
) -> Result<(), ClusterError> {
    let name = path(history, &base.name);
    let starts = (0..base.bytes.div_ceil(PART_BYTES)).map(|part| part * PART_BYTES);
    let parts = futures_util::stream::iter(starts).map(|start| {
        let end = base.bytes.min(start + PART_BYTES);
        read_part(objects, &name, start + HEADER_BYTES as u64..end + HEADER_BYTES as u64)
    });
    let mut hasher = blake3::Hasher::new();
    let mut parts = std::pin::pin!(parts.buffered(CONCURRENT_PARTS));
    while let Some(part) = parts.try_next().await? {
        hasher.update(&part);
        each(&part)?;
    }
    if hasher.finalize().as_bytes() != &base.hash {
        return Err(ClusterError::Damaged { name: name.clone(), what: "its hash is wrong".to_owned() });
    }
    Ok(())
}

async fn read_part(objects: &Objects, name: &str, range: std::ops::Range<u64>) -> Result<Bytes, ClusterError> {
    let path = objects.path(name);
    let mut reads = 1;
    loop {
        let error = match objects.bulk().get_range(&path, range.clone()).await {
            Ok(bytes) if bytes.len() as u64 == range.end - range.start => return Ok(bytes),
            Ok(_) => ClusterError::Damaged { name: name.to_owned(), what: "it is too short".to_owned() },
            Err(object_store::Error::NotFound { .. }) => return Err(ClusterError::NoBase { name: name.to_owned() }),
            Err(error) => objects.error("read", name, &error),
        };
        if reads == READS_OF_PART {
            return Err(error);
        }
        tokio::time::sleep(Duration::from_millis(200) * reads).await;
        reads += 1;
    }
}
