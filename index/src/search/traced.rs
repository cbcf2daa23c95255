//! The steps of a search as they appear in a trace. It evaluates nothing.

use super::evaluate::Test;
use crate::bitmap::Bitmap;
use crate::query::DateColumn;
use crate::trace::StepKind;

/// The kind of a step, the source of its result, and the number of its resources.
pub(super) type StepSummary = (StepKind, &'static str, u64);

impl Test {
    /// Returns the step that found the slots for which it holds.
    pub(super) fn step(&self, from: &'static str, found: &Bitmap) -> StepSummary {
        let done = match self {
            Test::Date(date, _) => StepKind::Date(name_of(*date)),
            Test::Draft => StepKind::Date(name_of(DateColumn::Published)),
            Test::Present(column) => StepKind::Column { column: column.id, compares: "null" },
            Test::Column(column, predicate) => StepKind::Column { column: column.id, compares: predicate.compares() },
        };
        (done, from, found.count() as u64)
    }
}

fn name_of(date: DateColumn) -> &'static str {
    match date {
        DateColumn::Created => "created_at",
        DateColumn::Updated => "updated_at",
        DateColumn::Published => "published_at",
    }
}
