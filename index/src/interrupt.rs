//! Stopping and tracing a search, and stopping other long work. It does not know why work is stopped or a search
//! traced, or what it searches.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::error::Error;
use crate::trace::{StepKind, Trace, TraceStep};

/// Decides while a search runs whether it continues. Asked after about every ten microseconds of work, sometimes less
/// often.
pub struct Interrupt<'a> {
    is_over: Option<&'a dyn Fn() -> bool>,
    /// The number of small steps since it was last asked.
    steps: Cell<u32>,
    /// The trace to which the search adds its steps.
    trace: Option<&'a Trace>,
}

/// The number of small steps between two questions. A step takes from nanoseconds to about a microsecond, a question
/// about 30 nanoseconds.
const STEPS: u32 = 64;

/// A sign that work which writes is to end before it is done. All clones are one sign.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopSign(Arc<AtomicBool>);

impl StopSign {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Fails once the sign is set.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.is_set() { Err(io::Error::other("this was stopped before its end")) } else { Ok(()) }
    }
}

impl<'a> Interrupt<'a> {
    /// Lets the search run to its end.
    pub fn never() -> Interrupt<'static> {
        Interrupt { is_over: None, steps: Cell::new(0), trace: None }
    }

    /// Ends the search with [`Error::Interrupted`] soon after `is_over` returns true. The function may also block,
    /// which pauses the search.
    pub fn when(is_over: &'a dyn Fn() -> bool) -> Interrupt<'a> {
        Interrupt { is_over: Some(is_over), steps: Cell::new(0), trace: None }
    }

    /// Returns the same interrupt for a search that adds its steps to `trace`, if there is one.
    pub fn with_trace<'b>(&self, trace: Option<&'b Trace>) -> Interrupt<'b>
    where
        'a: 'b,
    {
        Interrupt { is_over: self.is_over, steps: Cell::new(0), trace }
    }

    /// Runs a step of the search. If the search is traced, adds the step that `describe` returns for its result, if
    /// any.
    pub(crate) fn traced<T>(
        &self,
        step: impl FnOnce() -> Result<T, Error>,
        describe: impl FnOnce(&T) -> Option<(StepKind, &'static str, u64)>,
    ) -> Result<T, Error> {
        let Some(trace) = self.trace else { return step() };
        let started = Instant::now();
        let result = step()?;
        let took = started.elapsed();
        if let Some((done, from, count)) = describe(&result) {
            trace.note(TraceStep { done, from, count, took });
        }
        Ok(result)
    }

    /// Counts a small step. Must be called for every document, slot or comparison.
    #[inline]
    pub(crate) fn step(&self) -> Result<(), Error> {
        let steps = self.steps.get() + 1;
        if steps < STEPS {
            self.steps.set(steps);
            return Ok(());
        }
        self.check()
    }

    /// Asks at once. Must be called before and during work that takes longer than a few microseconds.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.steps.set(0);
        if self.is_over() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Returns whether the search is to end.
    pub fn is_over(&self) -> bool {
        self.is_over.is_some_and(|is_over| is_over())
    }
}
