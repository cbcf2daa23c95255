//! Outcomes of the lines of an import. Must not know how they are written.

use bindery_model::error::{Code, Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::value::FieldRemovals;

use crate::command::{Item, ItemOutcome, Outcome};

/// The outcome of a line.
#[derive(Debug)]
pub struct ImportLine {
    /// The line's position among the items of the import, from 0.
    pub index: u64,
    /// The resource that was written, or the problem with the line.
    pub result: Result<ImportedResource>,
}

/// The resource that a line wrote.
#[derive(Debug)]
pub struct ImportedResource {
    /// The resource.
    pub id: ResourceId,
    /// `created` or `updated`.
    pub op: &'static str,
    /// The parts that sanitizing removed from it.
    pub sanitized: FieldRemovals,
}

pub(super) fn too_many_together(index: u64, count: usize) -> ImportLine {
    let text = format!(
        "the line is one of {count} that relate to each other, which is more than one transaction takes; import them without \
         these relations first, and once more with them"
    );
    ImportLine { index, result: Err(Error::new(Code::PayloadTooLarge, text)) }
}

/// Returns the answers to an import in one transaction.
pub(super) fn lines_of(outcome: &Outcome, items: &[Item]) -> Result<Vec<ImportLine>> {
    let outcomes = (0..).zip(outcome.items()?).zip(items);
    Ok(outcomes.map(|((index, outcome), item)| answer_of(index, outcome, item)).collect())
}

pub(super) fn answer_of(index: u64, outcome: &ItemOutcome, item: &Item) -> ImportLine {
    let imported = outcome.written().map(|written| {
        let (id, op, sanitized) = (written.id, written.effect.as_str(), item.sanitized());
        ImportedResource { id, op, sanitized }
    });
    ImportLine { index, result: imported }
}
