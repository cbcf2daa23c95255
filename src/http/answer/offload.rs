//! Work that takes too long for a thread that serves connections: it runs on threads that may block, a few at a time.
//! Must not know what the work is.

use std::num::NonZero;
use std::sync::LazyLock;

use tokio::sync::Semaphore;

/// The permits for such work. They leave at least half of the cores to other work.
static TURNS: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    Semaphore::new((cores / 2).max(1))
});

/// Runs the work once there is a permit; returns `None` if it panics. Work whose caller has left before does not begin.
pub(crate) async fn offload<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let turn = TURNS.acquire().await.ok()?;
    let working = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    working.await.ok()
}
