//! Where passwords are hashed: each takes 19 MiB and tens of milliseconds of a core, so few run at once, and only some may
//! wait. Must not know whose passwords they are.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

use crate::model::error::{Code, Error, Result};

/// The most passwords that are hashed at once.
const MAX_RUNNING: usize = 2;

/// The most that wait for their turn: about two seconds' worth.
const MAX_WAITING: usize = 50;

/// Hashes passwords, a few at once.
pub(crate) struct PasswordPool {
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// Counts one that waits or runs.
struct Place<'a>(&'a AtomicUsize);

impl Default for PasswordPool {
    /// Leaves at least half of the cores to everybody else.
    fn default() -> PasswordPool {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let turns = Arc::new(Semaphore::new((cores / 2).clamp(1, MAX_RUNNING)));
        PasswordPool { turns, waiting: AtomicUsize::new(0) }
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
            return Err(Error::new(Code::Overloaded, "too many passwords are waiting to be checked; try again"));
        }
        let _place = Place(&self.waiting);
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(Error::internal)?;
        let working = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        working.await.map_err(Error::internal)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

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
}
