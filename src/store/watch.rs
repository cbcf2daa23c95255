//! Detects failures of sled's own threads. These threads write buffers, clean segments up (nothing else does so often
//! enough), and sync the file. If they fail, they only write a line to the log. So the log is searched for these lines.
//! Their texts are known, because the version of sled is fixed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use bindery_disk::sync;
use log_facade::{Level, LevelFilter, Log, Metadata, Record};
use tracing_log::LogTracer;

/// The beginning of the line about a failed sync.
const FAILED_SYNC: &str = "failed to fsync from periodic flush thread";
/// The beginning of the line about a buffer that could not be written. From then on sled fails at every step until it
/// is opened again, even if the cause was a lack of space.
const FAILED_WRITE: &str = "hit error while writing iobuf";
/// The texts that the line contains if there is no space or quota. Then only the data is lost that could not be
/// written.
const NO_ROOM: [&str; 2] = ["(os error 28)", "(os error 122)"];

static HAS_FAILED_WRITE: AtomicBool = AtomicBool::new(false);

/// Is true if a store of this process could not write a buffer. It writes nothing more until it is opened again.
pub fn has_failed_write() -> bool {
    HAS_FAILED_WRITE.load(Ordering::SeqCst)
}

/// The logger that passes all lines on to `tracing`, and looks for failures of sled.
struct Watch(LogTracer);

/// Starts the detection of failures of sled's threads. Must be called before logging is started.
pub fn watch_syncs() {
    static WATCH: OnceLock<Watch> = OnceLock::new();
    if log_facade::set_logger(WATCH.get_or_init(|| Watch(LogTracer::new()))).is_ok() {
        // Lower levels are left out because some crates log every step there.
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
