//! Uploads: a file is received into a temporary file, checked, and published under its hash.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bindery_disk::PacedFile;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::accepted::Accepted;
use crate::error::{MediaError, io_error};
use crate::files::{Files, blocking};
use crate::hash::Hash;
use crate::inspect::{self, Inspected};
use crate::kind;

/// The bytes that are collected before they are written and hashed, so that small pieces do not each take a thread.
const BUFFER_BYTES: usize = 512 * 1024;

/// A file that is removed when it is dropped, unless it was published.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    path: PathBuf,
    file: PacedFile,
    is_published: bool,
}

impl TemporaryFile {
    pub(crate) fn create(folder: &Path) -> Result<TemporaryFile, MediaError> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| io_error("name a file in", folder)(io::Error::other(error)))?;
        let path = folder.join(format!("{:032x}.upload", u128::from_le_bytes(random)));
        let created = File::options().read(true).write(true).create_new(true).open(&path);
        let file = created.map_err(io_error("create", &path))?;
        Ok(TemporaryFile { path, file: PacedFile::new(file), is_published: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &File {
        self.file.file()
    }

    /// Makes the contents durable.
    pub(crate) fn sync(&mut self) -> Result<(), MediaError> {
        self.file.finish().map_err(io_error("sync", &self.path))
    }

    /// Leaves the file, because it has another name now.
    pub(crate) fn forget(mut self) {
        self.is_published = true;
    }
}

impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.is_published
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            tracing::warn!(%error, file = %self.path.display(), "a temporary file cannot be removed");
        }
    }
}

/// A file that is being received. Its temporary file is removed when it is dropped.
#[derive(Debug)]
pub struct Upload {
    files: Files,
    /// `None` only while a thread writes to it.
    received: Option<Received>,
    waiting: Vec<Bytes>,
    waiting_bytes: usize,
    bytes: u64,
    max_bytes: u64,
}

/// The part of an upload that was written.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) file: TemporaryFile,
    /// The first bytes, from which the type is found.
    pub(crate) head: Vec<u8>,
    pub(crate) hasher: Box<blake3::Hasher>,
    pub(crate) bytes: u64,
}

/// A file that was taken into the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The hash of the file as it is stored, which is without metadata.
    pub hash: Hash,
    /// The length of the file as it is stored.
    pub bytes: u64,
    /// The type, such as `image/jpeg`.
    pub mime: String,
    /// Set for pictures whose size is known.
    pub picture: Option<Picture>,
}

/// Properties of a picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// The width in pixels, as the picture is shown.
    pub width: u32,
    /// The height in pixels, as the picture is shown.
    pub height: u32,
    /// A thumbhash in Base64, for a blurred preview. `None` for formats that are not decoded: SVG, AVIF, HEIC, BMP,
    /// ICO.
    pub placeholder: Option<String>,
    /// Is true if the picture has more than one frame.
    pub is_animated: bool,
}

impl Upload {
    pub(crate) fn new(files: Files, file: TemporaryFile, max_bytes: u64) -> Upload {
        let received = Received { file, head: Vec::new(), hasher: Box::default(), bytes: 0 };
        Upload { files, received: Some(received), waiting: Vec::new(), waiting_bytes: 0, bytes: 0, max_bytes }
    }

    /// Receives the next bytes.
    ///
    /// # Errors
    /// `TooLarge` if the file exceeds the limit, and errors of the disk. The upload is unusable afterwards.
    pub async fn write(&mut self, piece: Bytes) -> Result<(), MediaError> {
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
        if self.bytes > self.max_bytes {
            return Err(MediaError::TooLarge { max_bytes: self.max_bytes });
        }
        self.waiting_bytes += piece.len();
        self.waiting.push(piece);
        // A slow client may send a byte at a time, each of which holds the buffer it was read into.
        if self.waiting_bytes >= BUFFER_BYTES || self.waiting.len() >= 64 { self.write_waiting().await } else { Ok(()) }
    }

    /// Checks the file, removes the metadata of a picture, and stores it. The file is durable when this returns.
    /// `name` is the name that the client gave the file.
    ///
    /// # Errors
    /// `Empty`, `NotAccepted`, `BrokenPicture`, `PictureTooLarge`, `Busy`, and errors of the disk or bucket.
    pub async fn finish(mut self, rules: &Accepted, name: &str) -> Result<Taken, MediaError> {
        self.write_waiting().await?;
        let received = self.received.take().ok_or(MediaError::Stopped)?;
        if received.bytes == 0 {
            return Err(MediaError::Empty);
        }
        let name = name.to_owned();
        let (received, mime) = blocking(move || {
            let mut file = received.file.file();
            let mut reading = file.try_clone().map_err(io_error("read", received.file.path()))?;
            file.flush().map_err(io_error("write", received.file.path()))?;
            let mime = kind::detect(&received.head, &mut reading, &name);
            Ok((received, mime))
        })
        .await?;
        let mime = mime.map_err(io_error("read", received.file.path()))?;
        rules.check(mime)?;
        let Inspected { file, hash, bytes, picture } = inspect::inspect(&self.files, received, mime).await?;
        self.files.publish(&hash, file, bytes).await?;
        Ok(Taken { hash, bytes, mime: mime.to_owned(), picture })
    }

    /// Stores the file under a known hash, without a check of its type.
    pub(crate) async fn finish_unchecked(mut self, hash: &Hash) -> Result<(), MediaError> {
        self.write_waiting().await?;
        let received = self.received.take().ok_or(MediaError::Stopped)?;
        let found = Hash::from(received.hasher.finalize());
        if found != *hash {
            return Err(MediaError::WrongHash { expected: *hash, found });
        }
        self.files.publish(hash, received.file, received.bytes).await
    }

    /// Writes the collected pieces. If it fails or is cancelled, the upload has no file any more.
    async fn write_waiting(&mut self) -> Result<(), MediaError> {
        let pieces = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let mut received = self.received.take().ok_or(MediaError::Stopped)?;
        let received = blocking(move || {
            for piece in pieces {
                received.write(&piece)?;
            }
            Ok(received)
        });
        self.received = Some(received.await?);
        Ok(())
    }
}

impl Received {
    fn write(&mut self, piece: &[u8]) -> Result<(), MediaError> {
        let written = self.file.write_all(piece);
        written.map_err(io_error("write", self.file.path()))?;
        self.hasher.update(piece);
        self.bytes += piece.len() as u64;
        let missing = kind::HEAD_BYTES.saturating_sub(self.head.len()).min(piece.len());
        self.head.extend_from_slice(&piece[..missing]);
        Ok(())
    }
}
