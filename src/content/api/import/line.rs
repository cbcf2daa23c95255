//! A line of an import as it was sent, and the memory that lines take. Must not know the contents of other lines.

use std::sync::Arc;

use bindery_model::error::{Error, Result};
use bindery_model::json;

use crate::command::Item;
use crate::prepare::body::Preparation;
use crate::prepare::import_line::prepare_line;

/// The approximate number of bytes of memory that a line takes while it is written, in addition to its text: its item,
/// its answer, and its records in log, store and index.
const LINE_BYTES: usize = 1 << 10;

/// A line as it was sent.
pub(super) struct RawLine {
    /// Its position among the items of the import, from 0.
    pub(super) index: u64,
    /// An error if the line could not be read.
    pub(super) text: Result<Vec<u8>>,
}

impl RawLine {
    /// Prepares the line as an item. A line that could not be read becomes [`Item::Refused`].
    pub(super) fn prepare(&self, preparation: Preparation<'_>) -> Item {
        match &self.text {
            Ok(text) => prepare_line(preparation, text),
            Err(error) => Item::Refused(error.clone()),
        }
    }

    /// Returns the number of bytes that were sent.
    pub(super) fn bytes(&self) -> usize {
        self.text.as_ref().map_or(0, Vec::len)
    }

    /// Returns the approximate number of bytes that the line takes while it is written.
    pub(super) fn expansion(&self) -> usize {
        LINE_BYTES + self.text.as_ref().map_or(0, |text| json::expansion(text))
    }
}

/// Returns the approximate number of bytes that lines take while they are written. It parses them, so large ones are
/// read on another thread.
pub(super) async fn expansion_of(lines: Vec<Arc<RawLine>>) -> Result<usize> {
    let sum = move || lines.iter().map(|line| line.expansion()).sum();
    tokio::task::spawn_blocking(sum).await.map_err(Error::internal)
}
