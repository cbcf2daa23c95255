//! Notices failures of sled's own threads. They write buffers, clean segments up, which nothing else does often enough, and
//! sync the file; of what failed, they only write a line to the log. So these lines are looked for: the version of sled is
//! fixed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use bindery_disk::sync;
use log_facade::{Level, LevelFilter, Log, Metadata, Record};
use tracing_log::LogTracer;

/// The beginning of such a line.
const FAILED_SYNC: &str = "failed to fsync from periodic flush thread";
/// The beginning of the line about a buffer that could not be written. From then on sled fails at every step until it is opened
/// again, also if it was for a lack of room.
const FAILED_WRITE: &str = "hit error while writing iobuf";
/// The texts that it contains if there is no room or quota, which loses nothing but what had no room.
const NO_ROOM: [&str; 2] = ["(os error 28)", "(os error 122)"];

static HAS_FAILED_WRITE: AtomicBool = AtomicBool::new(false);

/// True if a store of this process could not write a buffer, and so writes nothing more until it is opened again.
pub fn has_failed_write() -> bool {
    HAS_FAILED_WRITE.load(Ordering::SeqCst)
}

/// Passes everything on to the log of `tracing`.
struct Watch(LogTracer);

/// Has failures of sled's threads noticed. To be called before logging is started.
pub fn watch_syncs() {
    static WATCH: OnceLock<Watch> = OnceLock::new();
    if log_facade::set_logger(WATCH.get_or_init(|| Watch(LogTracer::new()))).is_ok() {
        // Some crates log every step at lower levels.
        log_facade::set_max_level(LevelFilter::Warn);
    }
}

impl Log for Watch {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() == Level::Error || self.0.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        if record.level() == Level::Error && record.target().starts_with("sled") {
            let text = record.args().to_string();
            if is_failed_sync(&text) {
                sync::note_failed();
            }
            if text.starts_with(FAILED_WRITE) {
                HAS_FAILED_WRITE.store(true, Ordering::SeqCst);
            }
        }
        self.0.log(record);
    }

    fn flush(&self) {
        self.0.flush();
    }
}

fn is_failed_sync(text: &str) -> bool {
    text.starts_with(FAILED_SYNC) && !NO_ROOM.iter().any(|number| text.contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_no_failed_sync() {
        let line = |error: i32| format!("{FAILED_SYNC}: IO error: {}", std::io::Error::from_raw_os_error(error));
        assert!(is_failed_sync(&line(5)));
        assert!(!is_failed_sync(&line(28)));
        assert!(!is_failed_sync("unexpected corruption"));
    }
}
