//! Work that would keep a serving thread from all its other requests: it runs on threads that may block, a few at a time.
//! Must not know what the work is.

use std::num::NonZero;
use std::sync::LazyLock;

use tokio::sync::Semaphore;

/// Leaves at least half of the cores to everything else.
static TURNS: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    Semaphore::new((cores / 2).max(1))
});

/// Runs the work when it is its turn; `None` if it panics. Work whose caller has left meanwhile does not begin.
pub(crate) async fn offload<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let turn = TURNS.acquire().await.ok()?;
    let working = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    working.await.ok()
}
