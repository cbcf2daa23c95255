//! Lines of an import that relate to resources that a later line may bring. They are kept as they were sent, and
//! ordered at the end of the file so that each comes after the lines to which it relates.
//!
//! Must not write anything.

use std::sync::Arc;

use bindery_model::error::{Code, Error, Result};

use super::line::RawLine;
use crate::admission::{Admission, MemoryPermit};
use crate::data::waiting_names::WaitingNames;
use crate::prepare::import_order::{Relations, in_order};

/// The approximate number of bytes that a line takes while it waits, beside its text and its relations.
const WAITING_LINE_BYTES: usize = 400;

/// The lines that wait.
#[derive(Default)]
pub(super) struct WaitingLines {
    lines: Vec<WaitingLine>,
    /// The names of their resources: later lines about the same resources wait as well.
    names: WaitingNames,
}

struct WaitingLine {
    waited: ReadyLine,
    relations: Relations,
}

/// A line that has waited, and the memory that it takes until it is written.
pub(super) struct ReadyLine {
    pub(super) line: Arc<RawLine>,
    pub(super) memory: MemoryPermit,
}

impl WaitingLines {
    /// Returns the names of the resources of the lines that wait, also of those that are added later.
    pub(super) fn names(&self) -> &WaitingNames {
        &self.names
    }

    /// Adds a line.
    ///
    /// # Errors
    /// `OVERLOADED` if there is no memory for it.
    pub(super) fn add(&mut self, admission: &Admission, line: Arc<RawLine>, relations: Relations) -> Result<()> {
        let Some(memory) = admission.try_wait(WAITING_LINE_BYTES + line.bytes() + relations.bytes()) else {
            let text = "the line relates to a resource that is not there yet, and lines that wait for later ones already \
                        take all memory for that; nothing of it was applied; import it again after the others";
            return Err(Error::new(Code::Overloaded, text));
        };
        self.names.add(&relations.names);
        self.lines.push(WaitingLine { waited: ReadyLine { line, memory }, relations });
        Ok(())
    }

    /// Returns the lines with their relations, whose targets the caller computes again.
    pub(super) fn lines_mut(&mut self) -> impl Iterator<Item = (&Arc<RawLine>, &mut Relations)> {
        self.lines.iter_mut().map(|waiting| (&waiting.waited.line, &mut waiting.relations))
    }

    /// Returns the lines in groups, without their relations. A group comes after the groups that it relates to. The
    /// lines of a group relate to each other.
    pub(super) fn into_groups(mut self) -> Vec<Vec<ReadyLine>> {
        // Lines were added when it was known that they wait. Of two about one resource the later one in the file wins.
        self.lines.sort_by_key(|waiting| waiting.waited.line.index);
        let relations: Vec<&Relations> = self.lines.iter().map(|waiting| &waiting.relations).collect();
        let order = in_order(&relations);
        let mut lines: Vec<Option<ReadyLine>> = self.lines.into_iter().map(|waiting| Some(waiting.waited)).collect();
        let take = |group: Vec<usize>| group.into_iter().filter_map(|position| lines[position].take()).collect();
        order.into_iter().map(take).collect()
    }
}
