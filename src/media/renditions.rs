//! Renditions: pictures in other sizes and formats, made on request and kept on disk.

use std::path::Path;

use crate::error::MediaError;
use crate::files::Files;
use crate::hash::Hash;
use crate::rendition::{Rendition, Source, Wanted};

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
pub struct Renditions {}

impl Renditions {
    /// Opens the folder of renditions, and creates it if it does not exist.
    ///
    /// # Errors
    /// If the folder cannot be created or read.
    pub fn open(_folder: &Path, _files: Files, _limits: RenditionLimits) -> Result<Renditions, MediaError> {
        Ok(Renditions {})
    }

    /// Returns a picture in the wanted size and format. It is made once for all who ask at once, and then kept.
    ///
    /// # Errors
    /// `Missing` if the source is not stored, `Busy` if too many pictures are being made, and errors of the store. A
    /// source that cannot be decoded is answered with `Rendition::Original`.
    pub async fn get(&self, _source: &Source, _wanted: &Wanted) -> Result<Rendition, MediaError> {
        Ok(Rendition::Original)
    }

    /// Removes the renditions of a picture, because it was removed.
    pub fn forget(&self, _hash: &Hash) {}
}
