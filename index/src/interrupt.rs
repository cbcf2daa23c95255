//! Stopping a search. It knows nothing of why one is stopped, or of what it searches.

use std::cell::Cell;

use crate::error::Error;

/// Decides while a search runs whether it goes on: asked about every ten microseconds of work, sometimes less often.
pub struct Interrupt<'a> {
    is_over: Option<&'a dyn Fn() -> bool>,
    /// Small steps since it was asked.
    steps: Cell<u32>,
}

/// Asked after so many small steps. A step takes from nanoseconds to about a microsecond, asking about 30 nanoseconds.
const STEPS: u32 = 64;

impl<'a> Interrupt<'a> {
    /// The search runs to its end.
    pub fn never() -> Interrupt<'static> {
        Interrupt { is_over: None, steps: Cell::new(0) }
    }

    /// The search ends with [`Error::Interrupted`] soon after `is_over` returns true. The function may also block: the
    /// search is paused meanwhile.
    pub fn when(is_over: &'a dyn Fn() -> bool) -> Interrupt<'a> {
        Interrupt { is_over: Some(is_over), steps: Cell::new(0) }
    }

    /// Counts a small step. To be called for every document, slot or comparison.
    #[inline]
    pub(crate) fn step(&self) -> Result<(), Error> {
        let steps = self.steps.get() + 1;
        if steps < STEPS {
            self.steps.set(steps);
            return Ok(());
        }
        self.check()
    }

    /// Asks now. To be called before and within work that takes longer than a few microseconds.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.steps.set(0);
        if self.is_over() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Whether the search is to end.
    pub fn is_over(&self) -> bool {
        self.is_over.is_some_and(|is_over| is_over())
    }
}
