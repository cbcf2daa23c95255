//! The lengths of a run's current texts: statistics of ranked search. It knows neither queries nor scores.
//!
//! Adding up the lengths of all documents would take longer than many a search, and most searches follow few writes. So
//! the sum is kept, and the next search looks only at documents that have become outdated or current since.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::memory::BlockSteps;
use super::token_match::FieldLengths;
use crate::live_set::LiveSet;
use crate::schema::ColumnId;

/// The lengths of the texts of a column of a run, outdated ones included.
pub(crate) enum LengthSteps<'a> {
    Memory(BlockSteps),
    Disk(&'a [u8]),
}

/// The sums of the lengths of a run's current texts, for the columns that were searched.
#[derive(Debug, Default)]
pub(super) struct LiveLengths {
    columns: Mutex<BTreeMap<ColumnId, CountedLengths>>,
}

/// The lengths of some documents.
#[derive(Debug, Default)]
struct CountedLengths {
    documents: LiveSet,
    lengths: FieldLengths,
}

impl LengthSteps<'_> {
    /// Returns the number of tokens in the text of a document, rounded as Tantivy does; 0 without a text.
    #[inline]
    pub(crate) fn get(&self, document: u32) -> u8 {
        match self {
            LengthSteps::Memory(steps) => steps.get(document),
            LengthSteps::Disk(steps) => steps.get(document as usize).copied().unwrap_or(0),
        }
    }
}

impl LiveLengths {
    /// Returns the lengths of the texts of `live` in a column. Versions may ask in any order: the result depends on
    /// `live` only. `steps` returns the lengths of all texts.
    pub(super) fn of<'a>(
        &self,
        column: ColumnId,
        live: &LiveSet,
        steps: impl FnOnce() -> LengthSteps<'a>,
    ) -> FieldLengths {
        let mut columns = self.columns.lock();
        let CountedLengths { documents, lengths } = columns.entry(column).or_default();
        if !live.shares_all(documents) {
            let steps = steps();
            live.each_difference(documents, |document, is_live| match is_live {
                true => lengths.add(steps.get(document)),
                false => lengths.remove(steps.get(document)),
            });
            *documents = live.clone();
        }
        *lengths
    }
}
