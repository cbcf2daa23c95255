//! A file that the disk stores while it is written. Must not know what the file holds.
//!
//! The kernel keeps what is written in memory, and stores all of it at the next sync of any file on the same disk. So
//! after a gigabyte was written at once, the sync of a small write takes as long as that of the gigabyte.

use std::fs::File;
use std::io::{self, Write};
use std::thread::{self, JoinHandle};

use crate::{failure, sync};

/// The bytes that are synced together. At most twice as many are in memory only.
const PIECE_BYTES: u64 = 8 << 20;

/// A file that is synced in pieces while it is written, each on a thread of its own while the next one is written.
#[derive(Debug)]
pub struct PacedFile {
    file: File,
    /// The bytes since the last sync began.
    unsynced: u64,
    syncing: Option<JoinHandle<io::Result<()>>>,
}

impl PacedFile {
    /// Paces the writes to a file.
    pub fn new(file: File) -> PacedFile {
        PacedFile { file, unsynced: 0, syncing: None }
    }

    /// Returns the file. What is written to it directly is not paced.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Syncs what is left. The contents are durable on return; the entry in the folder may not be.
    ///
    /// # Errors
    /// The system's error, also that of an earlier piece.
    pub fn finish(&mut self) -> io::Result<()> {
        self.end_of_piece()?;
        self.unsynced = 0;
        sync::data(&self.file)
    }

    fn begin_piece(&mut self) -> io::Result<()> {
        self.end_of_piece()?;
        self.unsynced = 0;
        let file = self.file.try_clone()?;
        let piece = move || failure::point("paced::sync").and_then(|()| sync::data(&file));
        self.syncing = Some(thread::Builder::new().name("sync".to_owned()).spawn(piece)?);
        Ok(())
    }

    /// Waits for the sync that is under way. The system reports a failure only once, so its result must not be lost.
    fn end_of_piece(&mut self) -> io::Result<()> {
        let ended = |sync: JoinHandle<io::Result<()>>| {
            sync.join().unwrap_or_else(|_| Err(io::Error::other("the thread that syncs a file panicked")))
        };
        self.syncing.take().map_or(Ok(()), ended)
    }
}

impl Write for PacedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.unsynced += written as u64;
        if self.unsynced >= PIECE_BYTES {
            self.begin_piece()?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
