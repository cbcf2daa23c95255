//! The steps of a search, for users who ask why it takes long. It knows no queries and no files.

use std::cell::RefCell;
use std::time::Duration;

/// The most steps of a trace; further ones are left out.
const MAX_STEPS: usize = 1_000;

/// The steps of a search, recorded while it runs. Searches without a trace record nothing, at no cost.
#[derive(Debug, Default)]
pub struct Trace(RefCell<Vec<TraceStep>>);

/// A step of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceStep {
    /// The kind of step.
    pub done: StepKind,
    /// The source of the result, or the method that found it.
    pub from: &'static str,
    /// The number of resources that were found or sorted.
    pub count: u64,
    /// The duration of the step.
    pub took: Duration,
}

/// The kind of a step of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// Found the resources that meet a condition on this column.
    Column {
        /// The column's number.
        column: u32,
        /// The part of the value that the condition tests.
        compares: &'static str,
    },
    /// Found the resources that meet a condition on this date.
    Date(&'static str),
    /// Found the resources that have the words of a text query.
    Words,
    /// Tested the few remaining candidates, one by one, on the remaining conditions.
    Tested {
        /// The number of candidates.
        candidates: u64,
    },
    /// Put the matches in order, as far as the page needs.
    Ordered,
}

impl Trace {
    /// Removes and returns the steps so far.
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
