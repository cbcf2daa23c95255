//! Tests of the crate.

#![allow(clippy::unwrap_used)]

mod damage;
mod files;
mod films;
mod hostile;
mod metadata;
mod pictures;
mod renditions;
mod types;

use std::path::Path;

use bytes::Bytes;
use futures_util::StreamExt;

use crate::{Accepted, Files, Hash, MediaError, Place, Taken};

/// A store in a folder that is removed with it.
struct Store {
    files: Files,
    folder: tempfile::TempDir,
}

impl Store {
    fn new() -> Store {
        Store::at(|folder| Place::Folder(folder.join("media")))
    }

    fn at(place: impl Fn(&Path) -> Place) -> Store {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::open(&place(folder.path()), &folder.path().join("uploads")).unwrap();
        Store { files, folder }
    }

    /// Uploads a file in small pieces.
    async fn upload(&self, name: &str, bytes: &[u8]) -> Result<Taken, MediaError> {
        let mut upload = self.files.begin(100 << 20).await?;
        for piece in bytes.chunks(10_000) {
            upload.write(Bytes::copy_from_slice(piece)).await?;
        }
        upload.finish(&Accepted::new(["*/*"]).unwrap(), name).await
    }

    async fn read(&self, hash: &Hash) -> Option<Vec<u8>> {
        read(&self.files, hash).await
    }

    /// Returns the names of the files in the folder of uploads.
    fn uploads(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path().join("uploads")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

async fn read(files: &Files, hash: &Hash) -> Option<Vec<u8>> {
    let mut file = files.read(hash, None).await.unwrap()?;
    let mut bytes = Vec::new();
    while let Some(piece) = file.body.next().await {
        bytes.extend_from_slice(&piece.unwrap());
    }
    assert_eq!(bytes.len() as u64, file.bytes);
    Some(bytes)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
