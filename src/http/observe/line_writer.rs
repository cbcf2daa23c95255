//! Writes lines to standard output on its own thread, so that no request waits for a slow reader of the log. Lines that
//! do not fit into the queue are dropped and counted. Must not know the content of lines.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use parking_lot::Mutex;

/// The number of lines that may wait.
const QUEUE: usize = 4_096;

/// The number of lines that are written at once.
const BATCH: usize = 256;

/// The time that a stopping server waits for the remaining lines. It is bounded because nothing may be reading them.
const END_TIME: Duration = Duration::from_secs(1);

/// The writer. Dropping it writes the remaining lines.
pub(crate) struct LineWriter {
    lines: Option<SyncSender<String>>,
    dropped: Arc<AtomicU64>,
    /// Disconnected when the thread has ended. The lock only makes it shareable; it is used once, at the end.
    ended: Mutex<Receiver<()>>,
}

impl LineWriter {
    /// Starts the thread of the writer. If that fails, all lines are dropped.
    pub(crate) fn start(mut out: impl Write + Send + 'static) -> LineWriter {
        let (lines, received) = sync_channel::<String>(QUEUE);
        let (alive, ended) = sync_channel(0);
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&dropped);
        let write = move || {
            let _alive = alive;
            while let Ok(mut batch) = received.recv() {
                received.try_iter().take(BATCH).for_each(|line| batch.push_str(&line));
                // If standard output is closed, the lines are lost, and the server continues.
                let _ = out.write_all(batch.as_bytes()).and_then(|()| out.flush());
                let dropped = counted.swap(0, Ordering::Relaxed);
                if dropped > 0 {
                    tracing::warn!(dropped, "lines of the access log were dropped: they are not read fast enough");
                }
            }
        };
        if let Err(error) = std::thread::Builder::new().name("access-log".to_owned()).spawn(write) {
            tracing::warn!(%error, "there is no access log: its thread could not be started");
        }
        LineWriter { lines: Some(lines), dropped, ended: Mutex::new(ended) }
    }

    /// Queues a line, or drops it. Never waits.
    pub(crate) fn write(&self, line: String) {
        if self.lines.as_ref().is_none_or(|lines| lines.try_send(line).is_err()) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for LineWriter {
    fn drop(&mut self) {
        self.lines = None;
        let _ = self.ended.get_mut().recv_timeout(END_TIME);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io;
    use std::time::Instant;

    use super::*;

    /// Writes into memory while it is allowed to.
    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_written_in_order_to_the_last() {
        let sink = Sink::default();
        let writer = LineWriter::start(sink.clone());
        (0..1_000).for_each(|n| writer.write(format!("{n}\n")));
        drop(writer);
        let expected: String = (0..1_000).map(|n| format!("{n}\n")).collect();
        assert_eq!(String::from_utf8(sink.0.lock().clone()).unwrap(), expected);
    }

    #[test]
    fn a_reader_that_stands_still_holds_nobody_up() {
        let sink = Sink::default();
        let standing_still = sink.0.lock();
        let writer = LineWriter::start(sink.clone());
        let started = Instant::now();
        (0..3 * QUEUE).for_each(|_| writer.write("x\n".to_owned()));
        assert!(writer.dropped.load(Ordering::Relaxed) >= QUEUE as u64);
        drop(writer);
        assert!(started.elapsed() < 5 * END_TIME);
        drop(standing_still);
    }
}
