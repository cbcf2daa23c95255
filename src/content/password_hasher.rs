//! Hashes passwords. Each hash takes 19 MiB and tens of milliseconds of a processor. Must not know whose passwords they
//! are.
//!
//! For an unknown email, a password is hashed as well, only to take the same time as for a member. This never queues
//! for a thread, so nobody can hold up members with made-up emails: if all threads are busy, it only sleeps for the
//! time that hashing would take.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_model::error::Result;
use parking_lot::Mutex;

use crate::thread_pool::{Caller, Class, ThreadPool};

/// The number of latest durations that are kept.
const TIMES: usize = 32;

/// The assumed duration of hashing before one was measured.
const USUAL_TIME: Duration = Duration::from_millis(50);

/// Hashes passwords, a few at once.
pub(crate) struct PasswordHasher {
    pool: Arc<ThreadPool>,
    times: Arc<Mutex<VecDeque<Duration>>>,
}

impl PasswordHasher {
    pub(crate) fn new(pool: Arc<ThreadPool>) -> PasswordHasher {
        PasswordHasher { pool, times: Arc::default() }
    }

    /// Runs the work when a thread is free. Work that has begun runs to its end even if the caller leaves.
    ///
    /// # Errors
    /// `OVERLOADED` if too many are waiting.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        self.pool.run(Class::Password, self.timed(work)).await
    }

    /// Takes as long as [`PasswordHasher::run`] would, with the same work if it can begin at once.
    ///
    /// # Errors
    /// `OVERLOADED` if too many are waiting.
    pub(crate) async fn pretend(&self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let timed = self.timed(work);
        if let Some(done) = self.pool.run_now(Class::Password, timed).await {
            return done;
        }
        let (ahead, threads) = (self.pool.occupancy(Class::Password), self.pool.threads(Class::Password));
        if ahead >= threads + Class::Password.limit() {
            return Err(Class::Password.too_many());
        }
        // The running hash is finished after a random part of its duration. Each waiting one takes a whole duration.
        let mut time = self.time().mul_f64(part()) + self.time();
        for _ in 0..ahead.saturating_sub(threads) / threads {
            time += self.time();
        }
        tokio::time::sleep(time).await;
        Ok(())
    }

    /// Wraps the work so that its duration is recorded.
    fn timed<T, F: FnOnce() -> T>(&self, work: F) -> impl FnOnce(&Caller<'_>) -> T + use<T, F> {
        let times = Arc::clone(&self.times);
        move |_| {
            let begun = Instant::now();
            let done = work();
            let mut times = times.lock();
            times.truncate(TIMES - 1);
            times.push_front(begun.elapsed());
            done
        }
    }

    /// Returns one of the latest durations, at random.
    fn time(&self) -> Duration {
        let times = self.times.lock();
        let nth = (part() * times.len() as f64) as usize;
        times.get(nth).copied().unwrap_or(USUAL_TIME)
    }
}

/// Returns a random number from 0 to 1, without 1.
fn part() -> f64 {
    f64::from(getrandom::u32().unwrap_or_default()) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::{AtomicUsize, Ordering};

    use bindery_model::error::Code;

    use super::*;

    const LIMIT: usize = 50;

    #[tokio::test(flavor = "multi_thread")]
    async fn few_run_at_once_and_those_beyond_the_line_are_refused() {
        let pool = Arc::new(PasswordHasher::new(Arc::new(ThreadPool::new().unwrap())));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = Vec::new();
        for _ in 0..LIMIT + 30 {
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
        assert!((1..=2).contains(&most.load(Ordering::SeqCst)));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn pretended_work_takes_as_long_and_keeps_nobody_from_a_turn() {
        let pool = Arc::new(PasswordHasher::new(Arc::new(ThreadPool::new().unwrap())));
        let work = || std::thread::sleep(Duration::from_millis(20));
        pool.run(work).await.unwrap();
        let (stop, mut pretending) = (Arc::new(AtomicUsize::new(0)), Vec::new());
        for _ in 0..2 * LIMIT {
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
