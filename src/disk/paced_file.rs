//! A file that goes to the disk while it is written. It must not know what it holds.
//!
//! What is written lies in the memory of the system first. If a sync is the first to send a gigabyte to the disk, every other
//! sync waits behind it, and with it a write that somebody waits for. In pieces, none waits for more than one piece.

use std::fs::File;
use std::io::{self, Write};

use crate::sync;

/// The number of bytes that are sent to the disk at once: large enough that a disk writes it nearly as fast as everything at
/// once.
const PIECE: usize = 4 << 20;

/// A file of which at most 4 MiB are not on the disk yet.
#[derive(Debug)]
pub struct PacedFile {
    file: File,
    unsynced: usize,
}

impl PacedFile {
    /// Paces the writes to a file.
    pub fn new(file: File) -> PacedFile {
        PacedFile { file, unsynced: 0 }
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Write for PacedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.unsynced += written;
        if self.unsynced >= PIECE {
            self.unsynced = 0;
            sync::data(&self.file)?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
