//! The store of files: each is stored once, under the hash of its bytes. Must not know what the files are for.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt};

use crate::bucket::Bucket;
use crate::error::{MediaError, io_error};
use crate::folder::{Folder, read_part, remove_files};
use crate::hash::Hash;
use crate::upload::{TemporaryFile, Upload};
use crate::workers::Workers;

/// The size of the pieces in which files are read.
const PIECE_BYTES: u64 = 256 * 1024;

/// The place where files are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A folder of this machine.
    Folder(PathBuf),
    /// The address of a bucket: `s3://BUCKET/PREFIX`, `gs://…`, `az://…`, or `file:///FOLDER`. Credentials come from
    /// the environment.
    Bucket(String),
}

/// The store of files. Clones share it.
#[derive(Debug, Clone)]
pub struct Files {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    backend: Backend,
    temporary: PathBuf,
    workers: Workers,
}

#[derive(Debug)]
enum Backend {
    Folder(Arc<Folder>),
    Bucket(Bucket),
}

/// A file in the store, as `list` finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredFile {
    /// The hash of its bytes, which is its name.
    pub hash: Hash,
    /// Its length.
    pub bytes: u64,
    /// The time at which it was stored, or at which the same content was uploaded again.
    pub modified: SystemTime,
}

/// The contents of a file, or of a part of it.
pub struct FileStream {
    /// The length of the whole file.
    pub bytes: u64,
    /// The part that `body` has.
    pub range: Range<u64>,
    /// The bytes, in pieces.
    pub body: BoxStream<'static, Result<Bytes, MediaError>>,
}

/// The result of a check of a stored file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Its bytes have its hash.
    Whole,
    /// It is not stored.
    Missing,
    /// Its bytes have another hash.
    Damaged,
}

impl Files {
    /// Opens the store. Uploads are written to the folder `temporary` first; on the disk of the store, they are renamed
    /// from there. Starts the threads that process pictures: half as many as the machine has cores, and at least one.
    ///
    /// # Errors
    /// If a folder cannot be created, or if the address of a bucket is invalid.
    pub fn open(place: &Place, temporary: &Path) -> Result<Files, MediaError> {
        std::fs::create_dir_all(temporary).map_err(io_error("create the folder", temporary))?;
        let backend = match place {
            Place::Folder(path) => Backend::Folder(Arc::new(Folder::open(path)?)),
            Place::Bucket(address) => Backend::Bucket(Bucket::open(address)?),
        };
        let workers = Workers::start().map_err(io_error("start a thread for", temporary))?;
        Ok(Files { shared: Arc::new(Shared { backend, temporary: temporary.to_owned(), workers }) })
    }

    /// Begins an upload of at most `max_bytes` bytes.
    ///
    /// # Errors
    /// If the temporary file cannot be created.
    pub async fn begin(&self, max_bytes: u64) -> Result<Upload, MediaError> {
        let folder = self.shared.temporary.clone();
        let file = blocking(move || TemporaryFile::create(&folder)).await?;
        Ok(Upload::new(self.clone(), file, max_bytes))
    }

    /// Reads a file, or a part of it. The end of the part may lie behind the end of the file. Returns `None` if the
    /// file is not stored.
    ///
    /// # Errors
    /// `Range` if the part begins behind the end of the file, and errors of the store.
    pub async fn read(&self, hash: &Hash, range: Option<Range<u64>>) -> Result<Option<FileStream>, MediaError> {
        match &self.shared.backend {
            Backend::Folder(folder) => read_local(Arc::clone(folder), hash, range).await,
            Backend::Bucket(bucket) => read_remote(bucket, hash, range).await,
        }
    }

    /// Returns true if the file is stored.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn contains(&self, hash: &Hash) -> Result<bool, MediaError> {
        Ok(self.length(hash).await?.is_some())
    }

    /// Returns the length of a stored file.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn length(&self, hash: &Hash) -> Result<Option<u64>, MediaError> {
        match &self.shared.backend {
            Backend::Bucket(bucket) => bucket.length(hash).await,
            Backend::Folder(folder) => {
                let (folder, hash) = (Arc::clone(folder), *hash);
                blocking(move || folder.length(&hash)).await
            }
        }
    }

    /// Returns all stored files. Files that are stored or removed meanwhile may be missing.
    pub fn list(&self) -> impl Stream<Item = Result<StoredFile, MediaError>> + Send + use<> {
        match &self.shared.backend {
            Backend::Bucket(bucket) => bucket.list(),
            Backend::Folder(folder) => {
                let folder = Arc::clone(folder);
                stream::iter(0..=u8::MAX)
                    .then(move |number| list_local(Arc::clone(&folder), number))
                    .flat_map(|files| match files {
                        Ok(files) => stream::iter(files.into_iter().map(Ok).collect::<Vec<_>>()),
                        Err(error) => stream::iter(vec![Err(error)]),
                    })
                    .boxed()
            }
        }
    }

    /// Returns whether `owner` may remove files: in a folder, which only one server has, and in its own bucket. A
    /// bucket that belongs to nobody is its own from now on.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn claim(&self, owner: &str) -> Result<bool, MediaError> {
        match &self.shared.backend {
            Backend::Folder(_) => Ok(true),
            Backend::Bucket(bucket) => bucket.claim(owner).await,
        }
    }

    /// Gives the bucket to `owner`, also if it belongs to another one.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn own(&self, owner: &str) -> Result<(), MediaError> {
        match &self.shared.backend {
            Backend::Folder(_) => Ok(()),
            Backend::Bucket(bucket) => bucket.own(owner).await,
        }
    }

    /// Removes a file, if it is stored.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn remove(&self, hash: &Hash) -> Result<(), MediaError> {
        self.remove_unchanged(hash, Duration::ZERO).await.map(drop)
    }

    /// Removes a file unless it was stored, or uploaded again, within this time. Returns true if the file is gone.
    ///
    /// A sweep of unused files uses this: an upload that found its content already stored makes the file new, so it is
    /// not removed before the resource names it.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn remove_unchanged(&self, hash: &Hash, unchanged_for: Duration) -> Result<bool, MediaError> {
        match &self.shared.backend {
            Backend::Bucket(bucket) => bucket.remove(hash, unchanged_for).await,
            Backend::Folder(folder) => {
                let (folder, hash) = (Arc::clone(folder), *hash);
                blocking(move || folder.remove(&hash, unchanged_for)).await
            }
        }
    }

    /// Reads a whole file and compares its bytes with its hash.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn verify(&self, hash: &Hash) -> Result<Verdict, MediaError> {
        let Some(mut file) = self.read(hash, None).await? else { return Ok(Verdict::Missing) };
        let mut hasher = blake3::Hasher::new();
        while let Some(piece) = file.body.next().await {
            hasher.update(&piece?);
        }
        Ok(if Hash::from(hasher.finalize()) == *hash { Verdict::Whole } else { Verdict::Damaged })
    }

    /// Stores a copy of a local file under its hash, without a check of its type: for the restore of a backup, and to
    /// move media to another place.
    ///
    /// # Errors
    /// `WrongHash` if the bytes of the file have another hash; and errors of the store.
    pub async fn put_file(&self, hash: &Hash, path: &Path) -> Result<(), MediaError> {
        let (folder, from) = (self.shared.temporary.clone(), path.to_owned());
        let (copy, found, bytes) = blocking(move || {
            let mut source = File::open(&from).map_err(io_error("open", &from))?;
            let mut copy = TemporaryFile::create(&folder)?;
            let (found, bytes) = copy_and_hash(&mut source, &mut copy).map_err(io_error("copy", &from))?;
            Ok((copy, found, bytes))
        })
        .await?;
        if found != *hash {
            return Err(MediaError::WrongHash { expected: *hash, found });
        }
        self.publish(hash, copy, bytes).await
    }

    /// Stores the contents of a stream under their hash, like `put_file`.
    ///
    /// # Errors
    /// `WrongHash` if the bytes have another hash; errors of the store, and of the stream.
    pub async fn put_stream(
        &self,
        hash: &Hash,
        mut body: impl Stream<Item = Result<Bytes, MediaError>> + Unpin,
    ) -> Result<(), MediaError> {
        let mut upload = self.begin(u64::MAX).await?;
        while let Some(piece) = body.next().await {
            upload.write(piece?).await?;
        }
        upload.finish_unchecked(hash).await
    }

    /// Removes the temporary files of uploads that were stopped by the end of an earlier process, and their incomplete
    /// copies on the disk of the store. Returns how many. Must be called before the first upload.
    ///
    /// # Errors
    /// If a folder cannot be read, or a file cannot be removed.
    pub fn remove_stopped_uploads(&self) -> Result<u64, MediaError> {
        let uploads = remove_files(&self.shared.temporary, |_| true)?;
        match &self.shared.backend {
            Backend::Folder(folder) => Ok(uploads + folder.remove_parts()?),
            Backend::Bucket(_) => Ok(uploads),
        }
    }

    /// Returns the path of a file in a folder of this machine, also if it is not stored; `None` for a bucket.
    pub fn local_path(&self, hash: &Hash) -> Option<PathBuf> {
        match &self.shared.backend {
            Backend::Folder(folder) => Some(folder.path_of(hash)),
            Backend::Bucket(_) => None,
        }
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.shared.workers
    }

    pub(crate) fn temporary(&self) -> &Path {
        &self.shared.temporary
    }

    /// Makes a temporary file durable and gives it its name.
    pub(crate) async fn publish(&self, hash: &Hash, mut file: TemporaryFile, bytes: u64) -> Result<(), MediaError> {
        match &self.shared.backend {
            // The bucket makes it durable. The temporary file is removed afterwards.
            Backend::Bucket(bucket) => bucket.publish(hash, file.path(), bytes).await,
            Backend::Folder(folder) => {
                let (folder, hash) = (Arc::clone(folder), *hash);
                blocking(move || {
                    file.sync()?;
                    folder.publish(&hash, file.path())?;
                    file.forget();
                    Ok(())
                })
                .await
            }
        }
    }
}

async fn list_local(folder: Arc<Folder>, number: u8) -> Result<Vec<StoredFile>, MediaError> {
    blocking(move || folder.list(number)).await
}

async fn read_local(
    folder: Arc<Folder>,
    hash: &Hash,
    range: Option<Range<u64>>,
) -> Result<Option<FileStream>, MediaError> {
    let (path, hash) = (folder.path_of(hash), *hash);
    let Some((file, bytes)) = blocking(move || folder.open_file(&hash)).await? else { return Ok(None) };
    let range = clip(range, bytes)?;
    let body =
        stream::try_unfold((file, range.start), move |(file, start)| next_piece(file, path.clone(), start, range.end));
    Ok(Some(FileStream { bytes, range, body: body.boxed() }))
}

async fn read_remote(
    bucket: &Bucket,
    hash: &Hash,
    range: Option<Range<u64>>,
) -> Result<Option<FileStream>, MediaError> {
    let range = match range {
        None => None,
        // Stores differ in what they answer for a range behind the end, so the length is looked up.
        Some(range) => match bucket.length(hash).await? {
            Some(bytes) => Some(clip(Some(range), bytes)?),
            None => return Ok(None),
        },
    };
    if let Some(empty) = range.clone().filter(Range::is_empty) {
        let bytes = bucket.length(hash).await?.unwrap_or_default();
        return Ok(Some(FileStream { bytes, range: empty, body: stream::empty().boxed() }));
    }
    let Some((bytes, body)) = bucket.read(hash, range.clone()).await? else { return Ok(None) };
    Ok(Some(FileStream { bytes, range: range.unwrap_or(0..bytes), body }))
}

/// Cuts a range at the end of the file.
fn clip(range: Option<Range<u64>>, bytes: u64) -> Result<Range<u64>, MediaError> {
    let Some(range) = range else { return Ok(0..bytes) };
    if range.start > bytes || (range.start == bytes && bytes > 0) {
        return Err(MediaError::Range { start: range.start, bytes });
    }
    let end = range.end.clamp(range.start, bytes);
    Ok(range.start..end)
}

/// Reads the next piece of a local file, on a thread that may wait for the disk.
async fn next_piece(
    mut file: File,
    path: PathBuf,
    start: u64,
    end: u64,
) -> Result<Option<(Bytes, (File, u64))>, MediaError> {
    if start >= end {
        return Ok(None);
    }
    blocking(move || {
        let length = PIECE_BYTES.min(end - start);
        let bytes = read_part(&mut file, start, length as usize).map_err(io_error("read", &path))?;
        Ok(Some((Bytes::from(bytes), (file, start + length))))
    })
    .await
}

/// Copies a file to a temporary file, and returns the hash and the length.
fn copy_and_hash(source: &mut File, copy: &mut TemporaryFile) -> io::Result<(Hash, u64)> {
    let mut hashing = bindery_disk::HashingStream::new(&mut *source);
    let bytes = io::copy(&mut (&mut hashing as &mut dyn Read), copy)?;
    Ok((hashing.hasher.finalize().into(), bytes))
}

/// Runs work that waits for the disk, on a thread for such work.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, MediaError> + Send + 'static,
) -> Result<T, MediaError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(MediaError::Stopped))
}
