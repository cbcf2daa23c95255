//! Where the searches of requests run, and for how long. Must not know what is searched.
//!
//! A search that is known to take microseconds runs where it is asked for. The others wait in one of two lines, each with a
//! few threads of its own: quick ones, and slow ones, so that a few searches that read everything never hold up those that
//! hardly read anything. Which line is a guess; a quick search that turns out to be slow begins again in the other line.
//! What it computed completely is in the index's cache by then.
//!
//! A search ends soon after its time is up, and soon after nobody waits for it any more.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bindery_index::Interrupt;
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use crate::model::error::{Code, Error, Result};

/// Searches that are estimated to take less run at once, on the caller's thread: handing them over would take longer.
const AT_ONCE: Duration = Duration::from_micros(200);
/// Searches that are estimated to take less wait in the quick line.
const QUICK: Duration = Duration::from_millis(20);
/// A search of the quick line that takes longer changes to the slow one.
const QUICK_LIMIT: Duration = Duration::from_millis(50);
/// How many searches may wait in each line. More are refused.
const LINE: usize = 128;

/// The threads that search, and the lines that they take searches from.
pub(crate) struct SearchPool {
    shared: Arc<PoolShared>,
    timeout: Duration,
    threads: Vec<JoinHandle<()>>,
}

struct PoolShared {
    lines: Mutex<Lines>,
    queued: Condvar,
}

#[derive(Default)]
struct Lines {
    quick: VecDeque<Job>,
    slow: VecDeque<Job>,
    is_closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Quick,
    Slow,
}

struct Job {
    task: Box<dyn Task>,
    /// When its time is up.
    until: Instant,
}

/// A search and whoever waits for it.
trait Task: Send {
    /// Searches. Returns false if the interrupt ended it.
    fn attempt(&mut self, until: Instant) -> bool;
    fn is_wanted(&self) -> bool;
    fn refuse(self: Box<Self>, error: Error);
}

struct Search<T, F> {
    search: F,
    reply: Option<oneshot::Sender<Result<T>>>,
}

impl SearchPool {
    /// A pool with as many quick threads as the machine has cores, and half as many slow ones. A search may take `timeout`,
    /// waiting included.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn new(timeout: Duration) -> std::io::Result<SearchPool> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let shared = Arc::new(PoolShared { lines: Mutex::default(), queued: Condvar::new() });
        let mut pool = SearchPool { shared, timeout, threads: Vec::new() };
        let lines = std::iter::repeat_n(Line::Quick, cores).chain(std::iter::repeat_n(Line::Slow, cores.div_ceil(2)));
        for line in lines {
            let shared = Arc::clone(&pool.shared);
            let name = if line == Line::Quick { "search" } else { "search-slow" };
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&shared, line))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Runs a search. `search` may be called again after an interrupt. `estimate` is how long it will probably take.
    ///
    /// # Errors
    /// Those of the search. `OVERLOADED` if too many searches wait, or if this one takes too long.
    pub(crate) async fn run<T, F>(&self, estimate: Duration, search: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Interrupt<'_>) -> Option<Result<T>> + Send + 'static,
    {
        let until = Instant::now() + self.timeout;
        let mut search = search;
        if estimate <= AT_ONCE {
            let is_over = || Instant::now() >= until;
            return search(&Interrupt::when(&is_over)).unwrap_or_else(|| Err(too_slow()));
        }
        let line = if estimate <= QUICK { Line::Quick } else { Line::Slow };
        let (reply, answer) = oneshot::channel();
        self.shared.push(line, Job { task: Box::new(Search { search, reply: Some(reply) }), until });
        answer.await.unwrap_or_else(|_| Err(Error::internal("a search panicked")))
    }
}

impl Drop for SearchPool {
    fn drop(&mut self) {
        self.shared.lines.lock().is_closed = true;
        self.shared.queued.notify_all();
        for thread in self.threads.drain(..) {
            // Its panics are caught.
            let _ = thread.join();
        }
    }
}

impl PoolShared {
    fn push(&self, line: Line, job: Job) {
        let mut lines = self.lines.lock();
        let waiting = lines.of(line);
        // Those that nobody waits for any more take no place.
        if waiting.len() >= LINE {
            waiting.retain(|job| job.task.is_wanted());
        }
        if waiting.len() >= LINE {
            drop(lines);
            let text = "too many searches are waiting; try again in a moment";
            job.task.refuse(Error::new(Code::Overloaded, text));
            return;
        }
        waiting.push_back(job);
        drop(lines);
        self.queued.notify_all();
    }

    /// The next job of a line; `None` when the pool is closed.
    fn next(&self, line: Line) -> Option<Job> {
        let mut lines = self.lines.lock();
        loop {
            if lines.is_closed {
                return None;
            }
            if let Some(job) = lines.of(line).pop_front() {
                return Some(job);
            }
            self.queued.wait(&mut lines);
        }
    }
}

impl Lines {
    fn of(&mut self, line: Line) -> &mut VecDeque<Job> {
        match line {
            Line::Quick => &mut self.quick,
            Line::Slow => &mut self.slow,
        }
    }
}

fn work(shared: &PoolShared, line: Line) {
    while let Some(mut job) = shared.next(line) {
        if !job.task.is_wanted() {
            continue;
        }
        let now = Instant::now();
        let until = if line == Line::Quick { job.until.min(now + QUICK_LIMIT) } else { job.until };
        // A search that panics drops the way back to its caller, which reports it.
        let is_done = now >= job.until || {
            let attempt = catch_unwind(AssertUnwindSafe(|| job.task.attempt(until)));
            match attempt {
                Ok(is_done) => is_done,
                Err(_) => continue,
            }
        };
        match is_done {
            true if now < job.until => {}
            false if line == Line::Quick && Instant::now() < job.until => shared.push(Line::Slow, job),
            _ => job.task.refuse(too_slow()),
        }
    }
}

impl<T, F> Task for Search<T, F>
where
    T: Send,
    F: FnMut(&Interrupt<'_>) -> Option<Result<T>> + Send,
{
    fn attempt(&mut self, until: Instant) -> bool {
        let Search { search, reply } = self;
        let is_over = || reply.as_ref().is_none_or(oneshot::Sender::is_closed) || Instant::now() >= until;
        let Some(result) = search(&Interrupt::when(&is_over)) else { return false };
        if let Some(reply) = reply.take() {
            // The caller may have left just now.
            let _ = reply.send(result);
        }
        true
    }

    fn is_wanted(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| !reply.is_closed())
    }

    fn refuse(self: Box<Self>, error: Error) {
        if let Some(reply) = self.reply {
            let _ = reply.send(Err(error));
        }
    }
}

fn too_slow() -> Error {
    let text = "the search took longer than `query_timeout` allows and was stopped; ask for less, or try again later";
    Error::new(Code::Overloaded, text)
}

#[cfg(test)]
mod tests;
