//! The steps of a search, for people who ask why it takes its time. It knows no queries and no files.

use std::cell::RefCell;
use std::time::Duration;

/// More steps are not noted.
const MAX_STEPS: usize = 1_000;

/// The steps of a search, noted while it runs. A search without one notes nothing, which costs nothing.
#[derive(Debug, Default)]
pub struct Trace(RefCell<Vec<TraceStep>>);

/// A step of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceStep {
    /// The kind of step.
    pub done: StepKind,
    /// Where the result came from, or how it was found.
    pub from: &'static str,
    /// The number of resources that were found, or put in order.
    pub count: u64,
    /// The time that it took.
    pub took: Duration,
}

/// The kind of a step of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// Found the resources that meet a condition on this column.
    Column {
        /// The column's number.
        column: u32,
        /// The part of the value that the condition compares.
        compares: &'static str,
    },
    /// Found the resources that meet a condition on this date.
    Date(&'static str),
    /// Found the resources that have the words of a text query.
    Words,
    /// Tested the few candidates that were left, one by one, on the conditions that were left.
    Tested {
        /// The number of candidates.
        candidates: u64,
    },
    /// Put the matches in order, as far as the page needs.
    Ordered,
}

impl Trace {
    /// The steps so far, which are then forgotten.
    pub fn take(&self) -> Vec<TraceStep> {
        self.0.take()
    }

    pub(crate) fn note(&self, step: TraceStep) {
        let mut steps = self.0.borrow_mut();
        if steps.len() < MAX_STEPS {
            steps.push(step);
        }
    }
}
