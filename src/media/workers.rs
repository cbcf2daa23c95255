//! Threads that decode and encode pictures, at a low priority, so that requests are answered first. Bounds the pictures
//! that wait, and the memory of those in work. Must not know what is done with the pictures, or whose turn it is.

use std::any::Any;
use std::collections::VecDeque;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use crate::error::MediaError;
use crate::turns::{Clients, Turns};

/// The sum of the memory that all pictures in work may take. One picture alone must not need more.
pub(crate) const MEMORY_BYTES: u64 = 512 * 1024 * 1024;

/// The number of pictures of one class that may wait for a thread.
const MAX_WAITING: usize = 128;

/// A picture that has waited this long is refused: its client has probably left.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The kind of work. Uploads go first: an editor waits for each.
#[derive(Debug)]
pub(crate) enum Class {
    Upload,
    /// A rendition for these clients, who take turns.
    Rendition(Clients),
}

/// The threads. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct Workers {
    queue: Arc<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    memory: Memory,
}

#[derive(Debug, Default)]
struct State {
    uploads: VecDeque<Job>,
    renditions: Turns<Job>,
    is_closed: bool,
}

struct Job {
    since: Instant,
    run: Box<dyn FnOnce(Start) + Send>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("since", &self.since).finish_non_exhaustive()
    }
}

/// The reason for which a job is called.
enum Start {
    Work,
    /// It has waited for too long, or too many wait.
    Refused,
}

/// The memory that pictures in work have reserved. Those that wait for memory get it in the order in which they came:
/// otherwise a large picture would wait for as long as small ones keep coming.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    reserved: Mutex<Reserved>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Reserved {
    bytes: u64,
    /// The number of reservations that were asked for, and of those that were made.
    asked: u64,
    made: u64,
}

/// A reservation of memory, which ends when it is dropped.
pub(crate) struct Reservation<'a> {
    memory: &'a Memory,
    bytes: u64,
}

impl Workers {
    /// Starts the threads.
    pub(crate) fn start() -> std::io::Result<Workers> {
        let workers = Workers { queue: Arc::default() };
        for number in 0..threads() {
            let queue = Arc::clone(&workers.queue);
            std::thread::Builder::new().name(format!("picture-{number}")).spawn(move || {
                lower_priority();
                work(&queue);
            })?;
        }
        Ok(workers)
    }

    /// Runs work on one of the threads. A panic of a decoder becomes `BrokenPicture`.
    ///
    /// # Errors
    /// `Busy` if too many wait, or if it waited too long; and the errors of the work.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        class: Class,
        work: impl FnOnce(&Memory) -> Result<T, MediaError> + Send + 'static,
    ) -> Result<T, MediaError> {
        let (reply, answer) = oneshot::channel();
        let queue = Arc::downgrade(&self.queue);
        let run = move |start: Start| {
            let result = match (start, queue.upgrade()) {
                // Nobody waits for the result any more.
                _ if reply.is_closed() => return,
                (Start::Refused, _) => Err(MediaError::Busy),
                (Start::Work, None) => Err(MediaError::Stopped),
                (Start::Work, Some(queue)) => catch_unwind(AssertUnwindSafe(|| work(&queue.memory)))
                    .unwrap_or_else(|panic| Err(MediaError::broken(message_of(&*panic)))),
            };
            let _ = reply.send(result);
        };
        self.queue.push(class, Job { since: Instant::now(), run: Box::new(run) })?;
        answer.await.unwrap_or(Err(MediaError::Stopped))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.queue.state.lock().is_closed = true;
        self.queue.changed.notify_all();
    }
}

impl Queue {
    fn push(&self, class: Class, job: Job) -> Result<(), MediaError> {
        let mut state = self.state.lock();
        let displaced = match class {
            Class::Upload if state.uploads.len() >= MAX_WAITING => return Err(MediaError::Busy),
            Class::Upload => {
                state.uploads.push_back(job);
                None
            }
            Class::Rendition(clients) => state.renditions.push(clients, job, MAX_WAITING),
        };
        drop(state);
        self.changed.notify_one();
        if let Some(displaced) = displaced {
            (displaced.run)(Start::Refused);
        }
        Ok(())
    }

    /// Waits for the next job. Returns `None` when the threads shall end.
    fn pop(&self) -> Option<Job> {
        let mut state = self.state.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(job) = state.uploads.pop_front().or_else(|| state.renditions.pop()) {
                return Some(job);
            }
            self.changed.wait(&mut state);
        }
    }
}

fn work(queue: &Queue) {
    while let Some(job) = queue.pop() {
        let start = if job.since.elapsed() > MAX_WAIT { Start::Refused } else { Start::Work };
        (job.run)(start);
    }
}

impl Memory {
    /// Waits until this much memory is free, and reserves it. A thread must not wait for memory while it has some
    /// reserved: the one before it may wait for that.
    ///
    /// # Errors
    /// `PictureTooLarge` if it is more than all pictures may take.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<Reservation<'_>, MediaError> {
        if bytes > MEMORY_BYTES {
            let (needed, limit) = (bytes.div_ceil(1 << 20), MEMORY_BYTES >> 20);
            return Err(MediaError::beyond(format!(
                "it needs {needed} MiB of memory; at most {limit} MiB are allowed"
            )));
        }
        let mut reserved = self.reserved.lock();
        let turn = reserved.asked;
        reserved.asked += 1;
        while reserved.made != turn || reserved.bytes + bytes > MEMORY_BYTES {
            self.changed.wait(&mut reserved);
        }
        reserved.made += 1;
        reserved.bytes += bytes;
        // There may be enough memory for the next one, too.
        self.changed.notify_all();
        Ok(Reservation { memory: self, bytes })
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.memory.reserved.lock().bytes -= self.bytes;
        self.memory.changed.notify_all();
    }
}

/// Half of the cores, so that the other half always answers requests.
fn threads() -> usize {
    (std::thread::available_parallelism().map_or(1, NonZero::get) / 2).max(1)
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the decoder failed ({})", text.unwrap_or("without a message"))
}

/// Lowers the priority of the calling thread, for the rest of its life.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICENESS) {
        tracing::debug!(%error, "the priority of a thread cannot be lowered");
    }
}

/// The `nice` value: beside a busy thread with 0, one with 10 gets a tenth of the time.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_large_picture_gets_memory_before_a_small_one_that_came_later() {
        let memory = Memory::default();
        let order = Mutex::new(Vec::new());
        let first = memory.reserve(MEMORY_BYTES - 10).unwrap();
        let wait_for = |asked: u64| {
            while memory.reserved.lock().asked < asked {
                std::thread::yield_now();
            }
        };
        std::thread::scope(|scope| {
            for (number, (name, bytes)) in [("large", MEMORY_BYTES), ("small", 5)].into_iter().enumerate() {
                let (memory, order) = (&memory, &order);
                scope.spawn(move || {
                    let _reservation = memory.reserve(bytes).unwrap();
                    order.lock().push(name);
                });
                wait_for(number as u64 + 2);
            }
            drop(first);
        });
        assert_eq!(order.into_inner(), ["large", "small"]);
        let reserved = memory.reserved.lock();
        assert_eq!((reserved.bytes, reserved.made), (0, 3));
    }
}
