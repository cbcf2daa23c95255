//! The progress of a blueprint change, for the server's log; and the request to stop it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bindery_model::error::{Code, Error, Result};

use crate::data::blueprint_change::BlueprintChange;
use crate::data::state::State;

/// The time between two reports of a long change's progress.
const INTERVAL: Duration = Duration::from_secs(2);

/// The progress of one step of a change.
pub(super) struct StepProgress<'a> {
    is_stopping: &'a AtomicBool,
    slug: &'a str,
    step: &'static str,
    total: u64,
    reported: Instant,
}

impl<'a> StepProgress<'a> {
    pub(super) fn new(
        is_stopping: &'a AtomicBool,
        change: &'a BlueprintChange,
        step: &'static str,
        state: &State,
    ) -> Self {
        let slug = change.current.slug.as_str();
        let total = state.blueprints.get(slug).map_or(0, |collection| collection.snapshot.total());
        StepProgress { is_stopping, slug, step, total, reported: Instant::now() }
    }

    /// Reports the number of finished resources, from time to time.
    ///
    /// # Errors
    /// `OVERLOADED` if the server is stopping.
    pub(super) fn report(&mut self, n_done: u64) -> Result<()> {
        if self.is_stopping.load(Ordering::SeqCst) {
            return Err(stopping());
        }
        if self.reported.elapsed() > INTERVAL {
            self.reported = Instant::now();
            let (blueprint, step, of) = (self.slug, self.step, self.total);
            tracing::info!(blueprint, step, resources = n_done, of, "blueprint change in progress");
        }
        Ok(())
    }
}

/// Returns `OVERLOADED` for a change that a stop of the server interrupts.
pub(super) fn stopping() -> Error {
    Error::new(Code::Overloaded, "the server is shutting down; the blueprint change continues when it is back")
}
