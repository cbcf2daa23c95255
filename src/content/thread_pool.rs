//! Threads that work for requests, so that threads that serve connections never wait for the disk and never compute for
//! long. Each class of work has its own threads, so a full class does not hold up another. Must not know what the work
//! is.

use std::collections::VecDeque;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use bindery_model::error::{Code, Error, Result};
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

/// A kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// A search that takes milliseconds.
    QuickSearch,
    /// A search that takes longer.
    SlowSearch,
    /// Reading the store, which waits for the disk most of its time, and writing what was read as JSON.
    Read,
    /// Hashing a password: 19 MiB and tens of milliseconds of a processor.
    Password,
}

/// All classes, in the order of their numbers.
const CLASSES: [Class; 4] = [Class::QuickSearch, Class::SlowSearch, Class::Read, Class::Password];

/// The threads of all classes.
pub(crate) struct ThreadPool {
    queues: [Arc<WorkQueue>; CLASSES.len()],
    threads: Vec<JoinHandle<()>>,
}

/// The work of one class that waits for a thread.
struct WorkQueue {
    class: Class,
    /// The number of its threads. It is stored because computing it reads files of the system.
    threads: usize,
    state: Mutex<WorkQueueState>,
    queued: Condvar,
}

#[derive(Default)]
struct WorkQueueState {
    waiting: VecDeque<Box<dyn Job>>,
    busy: usize,
    is_closed: bool,
}

trait Job: Send {
    fn perform(self: Box<Self>);
    fn is_wanted(&self) -> bool;
    fn refuse(self: Box<Self>);
}

/// The work, and the channel to its caller.
struct Work<T, F> {
    work: F,
    reply: oneshot::Sender<Result<T>>,
    class: Class,
}

/// The caller of some work, who may leave before it is done.
pub(crate) struct Caller<'a>(&'a dyn Fn() -> bool);

impl Class {
    /// Returns the number of its threads.
    fn threads(self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        match self {
            Class::QuickSearch => cores,
            Class::SlowSearch => cores.div_ceil(2),
            // A disk serves several reads in little more time than one. More than eight would take more memory and
            // hardly be faster.
            Class::Read => 8,
            // Leaves at least half of the cores to other work.
            Class::Password => (cores / 2).clamp(1, 2),
        }
    }

    /// Returns the greatest number of jobs that may wait. Reads need no smaller limit: they are bounded by the requests
    /// in progress, each of which has a few.
    pub(crate) fn limit(self) -> usize {
        match self {
            Class::QuickSearch | Class::SlowSearch => 128,
            Class::Read => usize::MAX,
            // About two seconds of hashing.
            Class::Password => 50,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Class::QuickSearch => "search",
            Class::SlowSearch => "search-slow",
            Class::Read => "read",
            Class::Password => "password",
        }
    }

    /// Returns the error of a job when the class has too many waiting.
    pub(crate) fn too_many(self) -> Error {
        let text = match self {
            Class::Password => "too many passwords are waiting to be checked; try again",
            _ => "too many searches are waiting; try again in a moment",
        };
        Error::new(Code::Overloaded, text)
    }
}

impl ThreadPool {
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn new() -> std::io::Result<ThreadPool> {
        let queues = CLASSES.map(|class| {
            Arc::new(WorkQueue { class, threads: class.threads(), state: Mutex::default(), queued: Condvar::new() })
        });
        let mut pool = ThreadPool { queues, threads: Vec::new() };
        for queue in &pool.queues {
            for _ in 0..queue.threads {
                let builder = std::thread::Builder::new().name(queue.class.name().to_owned());
                let queue = Arc::clone(queue);
                pool.threads.push(builder.spawn(move || queue.work())?);
            }
        }
        Ok(pool)
    }

    /// Runs work when a thread of its class is free. Work whose caller has left before does not begin.
    ///
    /// # Errors
    /// `OVERLOADED` if too much of the class waits, `INTERNAL` if the work panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        class: Class,
        work: impl FnOnce(&Caller<'_>) -> T + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.queue(class).push(Box::new(Work { work, reply, class }));
        answered(answer).await
    }

    /// Runs work if a thread of its class is free now. Returns `None` at once if none is.
    ///
    /// # Errors
    /// `INTERNAL` if the work panics.
    pub(crate) async fn run_now<T: Send + 'static>(
        &self,
        class: Class,
        work: impl FnOnce(&Caller<'_>) -> T + Send + 'static,
    ) -> Option<Result<T>> {
        let (reply, answer) = oneshot::channel();
        if !self.queue(class).push_if_free(Box::new(Work { work, reply, class })) {
            return None;
        }
        Some(answered(answer).await)
    }

    /// Runs work on all items, split into pieces of at least `at_least` items, on several threads. Returns the results
    /// of the pieces, in order.
    ///
    /// # Errors
    /// `OVERLOADED` if too much of the class waits, `INTERNAL` if the work panics.
    pub(crate) async fn share<I, T>(
        &self,
        class: Class,
        items: &[I],
        at_least: usize,
        work: impl Fn(&[I]) -> T + Clone + Send + 'static,
    ) -> Result<Vec<T>>
    where
        I: Clone + Send + 'static,
        T: Send + 'static,
    {
        let mut answers = Vec::new();
        for piece in items.chunks(items.len().div_ceil(self.threads(class)).max(at_least)) {
            let (work, piece) = (work.clone(), piece.to_vec());
            let (reply, answer) = oneshot::channel();
            self.queue(class).push(Box::new(Work { work: move |_: &Caller<'_>| work(&piece), reply, class }));
            answers.push(answer);
        }
        let mut done = Vec::with_capacity(answers.len());
        for answer in answers {
            done.push(answered(answer).await?);
        }
        Ok(done)
    }

    /// Returns the number of jobs of a class that run or wait.
    pub(crate) fn occupancy(&self, class: Class) -> usize {
        let state = self.queue(class).state.lock();
        state.busy + state.waiting.len()
    }

    /// Returns the number of threads of a class.
    pub(crate) fn threads(&self, class: Class) -> usize {
        self.queue(class).threads
    }

    fn queue(&self, class: Class) -> &WorkQueue {
        &self.queues[class as usize]
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        for queue in &self.queues {
            queue.state.lock().is_closed = true;
            queue.queued.notify_all();
        }
        for thread in self.threads.drain(..) {
            // Panics of the work are caught.
            let _ = thread.join();
        }
    }
}

impl WorkQueue {
    fn push(&self, job: Box<dyn Job>) {
        let mut state = self.state.lock();
        // Jobs whose callers have left make room first.
        if state.waiting.len() >= self.class.limit() {
            state.waiting.retain(|job| job.is_wanted());
        }
        if state.waiting.len() >= self.class.limit() {
            drop(state);
            return job.refuse();
        }
        state.waiting.push_back(job);
        drop(state);
        self.queued.notify_one();
    }

    /// Returns whether a thread is free.
    fn push_if_free(&self, job: Box<dyn Job>) -> bool {
        let mut state = self.state.lock();
        if state.busy + state.waiting.len() >= self.threads {
            return false;
        }
        state.waiting.push_back(job);
        drop(state);
        self.queued.notify_one();
        true
    }

    fn work(&self) {
        while let Some(job) = self.next() {
            if job.is_wanted() {
                // A job that panics drops its reply channel, so its caller gets an error.
                let _ = catch_unwind(AssertUnwindSafe(|| job.perform()));
            }
            self.state.lock().busy -= 1;
        }
    }

    /// Returns the next job, which counts as busy from then on; `None` when the pool is closed.
    fn next(&self) -> Option<Box<dyn Job>> {
        let mut state = self.state.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(job) = state.waiting.pop_front() {
                state.busy += 1;
                return Some(job);
            }
            self.queued.wait(&mut state);
        }
    }
}

impl<T, F> Job for Work<T, F>
where
    T: Send,
    F: FnOnce(&Caller<'_>) -> T + Send,
{
    fn perform(self: Box<Self>) {
        let Work { work, reply, .. } = *self;
        let done = work(&Caller(&|| reply.is_closed()));
        // The caller may have left just now.
        let _ = reply.send(Ok(done));
    }

    fn is_wanted(&self) -> bool {
        !self.reply.is_closed()
    }

    fn refuse(self: Box<Self>) {
        let _ = self.reply.send(Err(self.class.too_many()));
    }
}

impl Caller<'_> {
    /// Is true if the caller no longer waits for the work.
    pub(crate) fn has_left(&self) -> bool {
        (self.0)()
    }
}

async fn answered<T>(answer: oneshot::Receiver<Result<T>>) -> Result<T> {
    answer.await.unwrap_or_else(|_| Err(Error::internal("work for a request panicked")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn pieces_come_back_in_order_and_a_panic_costs_its_request_only() {
        let pool = ThreadPool::new().unwrap();
        let items = Vec::from_iter(0..100);
        for class in [Class::Read, Class::QuickSearch] {
            let pieces = pool.share(class, &items, 3, <[i32]>::to_vec).await.unwrap();
            assert!(pieces.len() > 1);
            assert_eq!(pieces.concat(), items);
            assert_eq!(pool.share(class, &items[..2], 3, <[i32]>::len).await.unwrap(), [2]);
            for _ in 0..20 {
                let found = pool.share(class, &items, 3, |items| assert!(!items.contains(&50))).await;
                assert!(found.is_err());
            }
            assert_eq!(pool.share(class, &[0; 0], 3, <[i32]>::len).await.unwrap(), [0; 0]);
        }
    }

    #[tokio::test]
    async fn a_class_that_is_full_holds_up_no_other() {
        let pool = Arc::new(ThreadPool::new().unwrap());
        for class in CLASSES {
            for _ in 0..class.threads() {
                let pool = Arc::clone(&pool);
                tokio::spawn(async move {
                    let wait = |caller: &Caller<'_>| {
                        while !caller.has_left() {
                            std::thread::sleep(std::time::Duration::from_millis(1));
                        }
                    };
                    tokio::time::timeout(std::time::Duration::from_secs(1), pool.run(class, wait)).await
                });
            }
            while pool.occupancy(class) < class.threads() {
                tokio::task::yield_now().await;
            }
            assert!(pool.run_now(class, |_| ()).await.is_none());
            for other in CLASSES.into_iter().filter(|other| *other != class) {
                assert!(pool.run(other, |_| ()).await.is_ok());
            }
            // Their callers leave after a second.
            assert!(pool.run(class, |_| ()).await.is_ok());
        }
    }
}
