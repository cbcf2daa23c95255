//! The threads that read and write what answers show, when that may take long. Must not know what an answer is.
//!
//! Threads that serve requests never wait for the disk, or a few cold pages would hold up all other clients. A disk serves
//! several reads beside each other in little more than the time of one, so the reads of one answer are shared among threads.
//! What waits for a thread is bounded by the requests that are under way, each of which has a few pieces.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::model::error::{Error, Result};

/// So many threads wait for the disk at once. More would keep more memory, and hardly be faster.
const WAITING: usize = 8;

/// These threads.
pub(crate) struct ReadPool {
    waiting: Line,
    computing: Line,
}

/// What work does most of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// It waits for the disk.
    Waits,
    /// It keeps a processor busy: as many at once as there are processors.
    Computes,
}

/// Threads of one kind.
struct Line {
    /// `None` once they are to end.
    jobs: Option<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

type Job = Box<dyn FnOnce() + Send>;

impl ReadPool {
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn new() -> std::io::Result<ReadPool> {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Ok(ReadPool { waiting: Line::new("read", WAITING)?, computing: Line::new("answer", cores)? })
    }

    /// Does something with all items, at least `at_least` of them at a time, on several threads. Returns what it makes of each
    /// piece, in order.
    ///
    /// # Errors
    /// `INTERNAL` if it panics.
    pub(crate) async fn share<I, T>(
        &self,
        kind: Work,
        items: &[I],
        at_least: usize,
        work: impl Fn(&[I]) -> T + Clone + Send + 'static,
    ) -> Result<Vec<T>>
    where
        I: Clone + Send + 'static,
        T: Send + 'static,
    {
        let line = match kind {
            Work::Waits => &self.waiting,
            Work::Computes => &self.computing,
        };
        let mut replies = Vec::new();
        for piece in items.chunks(items.len().div_ceil(line.threads.len().max(1)).max(at_least)) {
            let (work, piece) = (work.clone(), piece.to_vec());
            let (reply, answer) = oneshot::channel();
            line.push(Box::new(move || {
                // Otherwise nobody waits for it any more.
                if !reply.is_closed() {
                    let _ = reply.send(work(&piece));
                }
            }));
            replies.push(answer);
        }
        let mut done = Vec::with_capacity(replies.len());
        for answer in replies {
            done.push(answer.await.map_err(|_| Error::internal("a read panicked"))?);
        }
        Ok(done)
    }
}

impl Line {
    fn new(name: &str, count: usize) -> std::io::Result<Line> {
        let (jobs, waiting) = mpsc::channel::<Job>();
        let waiting = Arc::new(Mutex::new(waiting));
        let mut line = Line { jobs: Some(jobs), threads: Vec::with_capacity(count) };
        for _ in 0..count {
            let waiting = Arc::clone(&waiting);
            let next = move || waiting.lock().recv();
            let work = move || {
                while let Ok(job) = next() {
                    // A job that panics drops the way back to its caller, which reports it.
                    let _ = catch_unwind(AssertUnwindSafe(job));
                }
            };
            line.threads.push(std::thread::Builder::new().name(name.to_owned()).spawn(work)?);
        }
        Ok(line)
    }

    fn push(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // The threads live as long as this does.
            let _ = jobs.send(job);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // Panics of jobs are caught.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn pieces_come_back_in_order_and_a_panic_costs_its_request_only() {
        let pool = ReadPool::new().unwrap();
        let items = Vec::from_iter(0..100);
        for kind in [Work::Waits, Work::Computes] {
            let pieces = pool.share(kind, &items, 3, <[i32]>::to_vec).await.unwrap();
            assert!(pieces.len() > 1);
            assert_eq!(pieces.concat(), items);
            assert_eq!(pool.share(kind, &items[..2], 3, <[i32]>::len).await.unwrap(), [2]);
            for _ in 0..20 {
                let found = pool.share(kind, &items, 3, |items| assert!(!items.contains(&50))).await;
                assert!(found.is_err());
            }
            assert_eq!(pool.share(kind, &[0; 0], 3, <[i32]>::len).await.unwrap(), [0; 0]);
        }
    }
}
