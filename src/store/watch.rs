//! Notices failed syncs of sled's own thread. It writes buffers, cleans segments up, which nothing else does often enough, and
//! syncs the file; of a sync that failed, it only writes a line to the log. So that line is looked for: the version of sled is
//! fixed.

use std::sync::OnceLock;

use log_facade::{Level, LevelFilter, Log, Metadata, Record};
use tracing_log::LogTracer;

use crate::sync;

/// The beginning of such a line.
const FAILED_SYNC: &str = "failed to fsync from periodic flush thread";
/// The texts that it contains if there is no room or quota, which loses nothing but what had no room.
const NO_ROOM: [&str; 2] = ["(os error 28)", "(os error 122)"];

/// Passes everything on to the log of `tracing`.
struct Watch(LogTracer);

/// Has failed syncs of sled's threads noticed. To be called before logging is started.
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
        if record.level() == Level::Error && is_failed_sync(record.target(), &record.args().to_string()) {
            sync::note_failed();
        }
        self.0.log(record);
    }

    fn flush(&self) {
        self.0.flush();
    }
}

fn is_failed_sync(target: &str, text: &str) -> bool {
    target.starts_with("sled") && text.starts_with(FAILED_SYNC) && !NO_ROOM.iter().any(|number| text.contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failed_syncs_of_sled_are_meant() {
        let line = |error: i32| format!("{FAILED_SYNC}: IO error: {}", std::io::Error::from_raw_os_error(error));
        assert!(is_failed_sync("sled::flusher", &line(5)));
        assert!(!is_failed_sync("sled::flusher", &line(28)));
        assert!(!is_failed_sync("hyper", &line(5)));
        assert!(!is_failed_sync("sled::pagecache", "unexpected corruption"));
    }
}
