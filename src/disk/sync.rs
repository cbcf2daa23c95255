//! Makes files durable, and remembers if that ever failed. It must not know what the files hold.
//!
//! A sync of one file flushes the cache of the whole disk. If that fails, the disk may have dropped what any thread
//! wrote to any file, and the kernel believes that it is written: every later sync succeeds and proves nothing. So
//! whichever sync fails, the process must acknowledge no more writes and record no more progress.

use std::fs::File;
use std::io::{self, ErrorKind};

use parking_lot::RwLock;

use crate::failure;

static HAS_FAILED: RwLock<bool> = RwLock::new(false);

/// Syncs a file or folder.
///
/// # Errors
/// The system's error.
pub fn all(file: &File) -> io::Result<()> {
    note(failure::point("sync::file").and_then(|()| file.sync_all()))
}

/// Syncs the contents of a file, and of its metadata what is needed to read them.
///
/// # Errors
/// The system's error.
pub fn data(file: &File) -> io::Result<()> {
    note(failure::point("sync::file").and_then(|()| file.sync_data()))
}

/// Records that a sync failed elsewhere.
pub fn note_failed() {
    *HAS_FAILED.write() = true;
}

/// Is true if a sync of this process failed in such a way that data of other files may be lost.
pub fn has_failed() -> bool {
    *HAS_FAILED.read()
}

/// Runs a step that records progress, unless a sync has failed. No other thread can record a failure while the step
/// runs. So no progress is recorded after a failure is known.
///
/// # Errors
/// The errors of the step, or the error that an earlier sync has failed.
pub fn record(step: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let has_failed = HAS_FAILED.read();
    if *has_failed { Err(io::Error::other("an earlier sync failed")) } else { step() }
}

/// Records the failure of a sync, except for a full disk: that affects only the file that has no room, and loses
/// nothing else.
fn note(synced: io::Result<()>) -> io::Result<()> {
    synced.inspect_err(|error| {
        if !matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
            note_failed();
        }
    })
}
