//! Errors of media. Each message says what would be right.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::hash::Hash;

/// An error of a file or picture. It can be cloned, because one rendition may be awaited by many requests.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MediaError {
    /// The upload has more bytes than allowed.
    #[error("the file is too large; at most {max_bytes} bytes are accepted")]
    TooLarge {
        /// The limit.
        max_bytes: u64,
    },
    /// The upload has no bytes.
    #[error("the file is empty; upload a file with contents")]
    Empty,
    /// The type of the file is not in the list.
    #[error("files of the type `{found}` are not accepted; accepted are {}", accepted.join(", "))]
    NotAccepted {
        /// The type that the bytes of the file have.
        found: String,
        /// The types that are accepted.
        accepted: Vec<String>,
    },
    /// A type in the list of accepted types has no valid form.
    #[error("`{found}` is not a media type; use a form such as `image/png` or `image/*`")]
    InvalidType {
        /// The invalid entry.
        found: String,
    },
    /// The picture cannot be read.
    #[error("the picture is broken: {reason}; open it in an editor for pictures and export it again")]
    BrokenPicture {
        /// The part of the file that is invalid.
        reason: String,
    },
    /// The picture is beyond a limit.
    #[error("the picture is too large: {reason}")]
    PictureTooLarge {
        /// The limit, and the size that was found.
        reason: String,
    },
    /// Too many pictures wait for a thread.
    #[error("too many pictures are waiting to be processed; try again in a few seconds")]
    Busy,
    /// The file is not stored.
    #[error("the file {hash} is missing from the store of media")]
    Missing {
        /// The file.
        hash: Hash,
    },
    /// The requested range begins behind the end of the file.
    #[error("the range begins at byte {start}, but the file has {bytes} bytes")]
    Range {
        /// The first byte that was requested.
        start: u64,
        /// The length of the file.
        bytes: u64,
    },
    /// A file does not have the hash under which it should be stored.
    #[error("the file has the hash {found}, not {expected}")]
    WrongHash {
        /// The hash under which it should be stored.
        expected: Hash,
        /// The hash of its bytes.
        found: Hash,
    },
    /// A text is not a hash.
    #[error("`{found}` is not a hash; use the 64 hexadecimal digits of a BLAKE3 hash")]
    InvalidHash {
        /// The text.
        found: String,
    },
    /// The address of a bucket is invalid.
    #[error("`{address}` is not the address of a bucket: {reason}")]
    Address {
        /// The address.
        address: String,
        /// The reason, with the accepted forms.
        reason: String,
    },
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", file.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The file or folder.
        file: PathBuf,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// The bucket returned an error.
    #[error("cannot {action} in the bucket: {source}")]
    Bucket {
        /// The operation that failed.
        action: &'static str,
        /// The error of its client.
        source: Arc<object_store::Error>,
    },
    /// The threads have stopped, because the server stops.
    #[error("the server is stopping; send the request again")]
    Stopped,
}

impl MediaError {
    pub(crate) fn broken(reason: impl Into<String>) -> MediaError {
        MediaError::BrokenPicture { reason: reason.into() }
    }

    pub(crate) fn beyond(reason: impl Into<String>) -> MediaError {
        MediaError::PictureTooLarge { reason: reason.into() }
    }
}

/// Adds the operation and the file to an error of the system.
pub(crate) fn io_error(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> MediaError {
    move |source| MediaError::Io { action, file: file.to_owned(), source: Arc::new(source) }
}

/// Adds the operation to an error of a bucket.
pub(crate) fn bucket_error(action: &'static str) -> impl FnOnce(object_store::Error) -> MediaError {
    move |source| MediaError::Bucket { action, source: Arc::new(source) }
}
