//! Where passwords are hashed: each takes 19 MiB and tens of milliseconds of a core, so few run at once, and only some may
//! wait. Must not know whose passwords they are.
//!
//! Hashing for an unknown email decides nothing; it only takes the time that a member's would take. It never waits for a turn,
//! so nobody can fill the line with made-up emails: while others have all turns, it only takes that time.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::model::error::{Code, Error, Result};

/// The most passwords that are hashed at once.
const MAX_RUNNING: usize = 2;

/// The most that wait for their turn: about two seconds' worth.
const MAX_WAITING: usize = 50;

/// How many of the latest times are known.
const TIMES: usize = 32;

/// How long hashing takes before it was measured.
const USUAL_TIME: Duration = Duration::from_millis(50);

/// Hashes passwords, a few at once.
pub(crate) struct PasswordPool {
    turns: Arc<Semaphore>,
    running: usize,
    waiting: AtomicUsize,
    times: Arc<Mutex<VecDeque<Duration>>>,
}

/// Counts one that waits or runs.
struct Place<'a>(&'a AtomicUsize);

impl Default for PasswordPool {
    /// Leaves at least half of the cores to everybody else.
    fn default() -> PasswordPool {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let running = (cores / 2).clamp(1, MAX_RUNNING);
        let turns = Arc::new(Semaphore::new(running));
        PasswordPool { turns, running, waiting: AtomicUsize::new(0), times: Arc::default() }
    }
}

impl PasswordPool {
    /// Runs the work when it is its turn. If the caller leaves while it runs, it keeps its turn to its end.
    ///
    /// # Errors
    /// `OVERLOADED` if too many are waiting.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MAX_WAITING {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(too_many());
        }
        let _place = Place(&self.waiting);
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(Error::internal)?;
        self.work(turn, work).await
    }

    /// Takes as long as [`PasswordPool::run`] would, with the same work if it can begin at once.
    ///
    /// # Errors
    /// As [`PasswordPool::run`].
    pub(crate) async fn pretend(&self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        if let Ok(turn) = Arc::clone(&self.turns).try_acquire_owned() {
            return self.work(turn, work).await;
        }
        let ahead = self.waiting.load(Ordering::Relaxed);
        if ahead >= MAX_WAITING {
            return Err(too_many());
        }
        // One that is running has begun at any time before, and each that waits has a time of its own.
        let mut time = self.time().mul_f64(part()) + self.time();
        for _ in 0..ahead.saturating_sub(self.running) / self.running {
            time += self.time();
        }
        tokio::time::sleep(time).await;
        Ok(())
    }

    async fn work<T: Send + 'static>(
        &self,
        turn: OwnedSemaphorePermit,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let times = Arc::clone(&self.times);
        let working = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let begun = Instant::now();
            let done = work();
            let mut times = times.lock();
            times.truncate(TIMES - 1);
            times.push_front(begun.elapsed());
            done
        });
        working.await.map_err(Error::internal)
    }

    /// One of the latest times.
    fn time(&self) -> Duration {
        let times = self.times.lock();
        let nth = (part() * times.len() as f64) as usize;
        times.get(nth).copied().unwrap_or(USUAL_TIME)
    }
}

fn too_many() -> Error {
    Error::new(Code::Overloaded, "too many passwords are waiting to be checked; try again")
}

/// A random number from 0 to 1, without 1.
fn part() -> f64 {
    f64::from(getrandom::u32().unwrap_or_default()) / (f64::from(u32::MAX) + 1.0)
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn few_run_at_once_and_those_beyond_the_line_are_refused() {
        let pool = Arc::new(PasswordPool::default());
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = Vec::new();
        for _ in 0..MAX_WAITING + 30 {
            let (pool, running, most) = (Arc::clone(&pool), Arc::clone(&running), Arc::clone(&most));
            tasks.push(tokio::spawn(async move {
                let work = move || {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(10));
                    running.fetch_sub(1, Ordering::SeqCst);
                };
                pool.run(work).await
            }));
        }
        let mut refused = 0;
        for task in tasks {
            if let Err(error) = task.await.unwrap() {
                assert_eq!(error.code, Code::Overloaded);
                refused += 1;
            }
        }
        assert!((1..=30).contains(&refused), "{refused}");
        assert!((1..=MAX_RUNNING).contains(&most.load(Ordering::SeqCst)));
        assert_eq!(pool.waiting.load(Ordering::SeqCst), 0);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn pretended_work_takes_as_long_and_keeps_nobody_from_a_turn() {
        let pool = Arc::new(PasswordPool::default());
        let work = || std::thread::sleep(Duration::from_millis(20));
        pool.run(work).await.unwrap();
        let (stop, mut pretending) = (Arc::new(AtomicUsize::new(0)), Vec::new());
        for _ in 0..2 * MAX_WAITING {
            let (pool, stop) = (Arc::clone(&pool), Arc::clone(&stop));
            pretending.push(tokio::spawn(async move {
                let mut times = Vec::new();
                while stop.load(Ordering::Relaxed) == 0 {
                    let begun = Instant::now();
                    pool.pretend(work).await.unwrap();
                    times.push(begun.elapsed());
                }
                times
            }));
        }
        let mut real = Duration::ZERO;
        for _ in 0..20 {
            let begun = Instant::now();
            pool.run(work).await.unwrap();
            real += begun.elapsed();
        }
        stop.store(1, Ordering::Relaxed);
        let mut pretended = Vec::new();
        for task in pretending {
            pretended.extend(task.await.unwrap());
        }
        let pretended = pretended.iter().sum::<Duration>() / pretended.len() as u32;
        let real = real / 20;
        assert!(real < 3 * pretended && pretended < 3 * real, "{real:?} and {pretended:?}");
    }
}
