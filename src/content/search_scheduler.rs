//! The choice of the thread and the time limit of a search. Must not know the resources that are searched.
//!
//! A search that is known to take microseconds begins on the caller's thread. The others wait for one of two classes of
//! threads, quick and slow, so that a few searches that read everything never hold up short ones. The class is chosen
//! by an estimate. A search that takes longer than its class allows is interrupted and begins again in the slower
//! class. The parts that it completed are in the index's cache by then.
//!
//! A search ends soon after its time is up, or soon after its caller has left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_disk::failure;
use bindery_index::Interrupt;
use bindery_model::error::{Code, Error, Result};

use crate::thread_pool::{Caller, Class, ThreadPool};

/// Searches that are estimated to take less begin on the caller's thread: handing them over would take longer.
const AT_ONCE: Duration = Duration::from_micros(200);
/// A search that takes longer leaves the caller's thread, which serves others too.
const AT_ONCE_LIMIT: Duration = Duration::from_millis(1);
/// Searches that are estimated to take less are quick ones.
const QUICK: Duration = Duration::from_millis(20);
/// A quick search that takes longer becomes a slow one.
const QUICK_LIMIT: Duration = Duration::from_millis(50);

/// Runs searches, each within the time that it may take.
pub(crate) struct SearchScheduler {
    pool: Arc<ThreadPool>,
    timeout: Duration,
}

impl SearchScheduler {
    /// Makes a scheduler. A search may take `timeout`, including its wait.
    pub(crate) fn new(pool: Arc<ThreadPool>, timeout: Duration) -> SearchScheduler {
        SearchScheduler { pool, timeout }
    }

    /// Runs a search. `search` is called again after an interrupt, at which it returns `None`. `estimate` is the
    /// expected duration.
    ///
    /// # Errors
    /// The errors of the search. `OVERLOADED` if too many searches wait, or if this one takes too long.
    pub(crate) async fn run<T, F>(&self, estimate: Duration, mut search: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Interrupt<'_>) -> Option<Result<T>> + Send + 'static,
    {
        let until = Instant::now() + self.timeout;
        let estimate = if failure::is_asked_for("search::misjudge") { Duration::ZERO } else { estimate };
        if estimate <= AT_ONCE {
            let until = until.min(Instant::now() + AT_ONCE_LIMIT);
            if let Some(result) = search(&Interrupt::when(&|| Instant::now() >= until)) {
                return result;
            }
        }
        if estimate <= QUICK {
            let (next, result) = self.attempt(Class::QuickSearch, until, QUICK_LIMIT, search).await?;
            if let Some(result) = result {
                return result;
            }
            search = next;
        }
        let (_, result) = self.attempt(Class::SlowSearch, until, self.timeout, search).await?;
        result.unwrap_or_else(|| Err(too_slow()))
    }

    /// Searches in a class of threads until its time is up, and no longer than `limit` once it has begun. Returns the
    /// search as well, and no result if it was interrupted.
    async fn attempt<T, F>(
        &self,
        class: Class,
        until: Instant,
        limit: Duration,
        mut search: F,
    ) -> Result<(F, Option<Result<T>>)>
    where
        T: Send + 'static,
        F: FnMut(&Interrupt<'_>) -> Option<Result<T>> + Send + 'static,
    {
        if Instant::now() >= until {
            return Err(too_slow());
        }
        let attempt = move |caller: &Caller<'_>| {
            let now = Instant::now();
            let end = until.min(now + limit);
            let is_over = || caller.has_left() || Instant::now() >= end;
            let result = if now < until { search(&Interrupt::when(&is_over)) } else { None };
            (search, result)
        };
        self.pool.run(class, attempt).await
    }
}

fn too_slow() -> Error {
    let text = "the search took longer than `query_timeout` allows and was stopped; ask for less, or try again later";
    Error::new(Code::Overloaded, text)
}

#[cfg(test)]
mod tests;
