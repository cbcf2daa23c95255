//! Estimates the cost of evaluating a predicate on a disk run. It must not evaluate any.

use super::dictionary::StringsOf;
use super::disk_run::DiskRun;
use super::evaluate::number_of;
use super::terms;
use crate::predicate::PreparedPredicate;
use crate::run::columns::Encoding;
use crate::run::orders::RankRange;
use crate::schema::{Column, ColumnId, Kind};

/// The nanoseconds for each document of a posting list or slice.
const LISTED: u64 = 2;
/// The nanoseconds for each document whose text is read.
const READ: u64 = 50;

impl DiskRun {
    /// Returns the cost in nanoseconds, from the length of the posting list or slice that the predicate would read, if
    /// there is one.
    pub(crate) fn cost(&self, column: Column, predicate: &PreparedPredicate) -> u64 {
        let all = u64::from(self.len()) * READ;
        let stored = match self.columns.column(column.id) {
            [] => return 0,
            [stored] => stored,
            _ => return all,
        };
        match (predicate, stored.encoding) {
            (PreparedPredicate::Null, _) => 0,
            (PreparedPredicate::Equals { text, .. }, Encoding::Text | Encoding::List) => {
                self.cost_of_term(column.id, &terms::exact(text))
            }
            (PreparedPredicate::Equals { hash, .. }, Encoding::Markup) => {
                self.cost_of_term(column.id, &terms::markup(hash))
            }
            (PreparedPredicate::Equals { text, .. }, Encoding::Number) => {
                number_of(text).map_or(0, |number| self.cost_of_range(column.id, &RankRange::of_number(number)))
            }
            (PreparedPredicate::Equals { .. }, Encoding::Bool) => u64::from(self.len()) / 16,
            (PreparedPredicate::Has(element), Encoding::List) => {
                self.cost_of_term(column.id, &terms::element(&element.text))
            }
            (PreparedPredicate::Number(range), Encoding::Number) => {
                self.cost_of_range(column.id, &RankRange::of_numbers(range))
            }
            (PreparedPredicate::Instant(range), Encoding::Instant) => {
                self.cost_of_range(column.id, &RankRange::of_integers(range))
            }
            // Each id is looked up, or all terms of the column are read.
            (PreparedPredicate::AnyId(ids), _) => all.min(500 * ids.listed() as u64 + all / 25),
            (PreparedPredicate::Number(_), _) if !matches!(column.kind, Kind::Text | Kind::Prose) => 0,
            (PreparedPredicate::Equals { .. } | PreparedPredicate::Has(_) | PreparedPredicate::Instant(_), _) => 0,
            // A substring is charged as a scan, although words and grams find most needles in less: to know their
            // lists, the dictionary would have to be searched. So conditions with a known cost come first, and if they
            // leave few candidates, only those are tested.
            (PreparedPredicate::Number(_) | PreparedPredicate::Text(_) | PreparedPredicate::Substring(_), _) => all,
        }
    }

    fn cost_of_term(&self, column: ColumnId, term: &[u8]) -> u64 {
        let list = self.dictionary.get(column, StringsOf::Exacts, term);
        list.map_or(0, |list| u64::from(list.doc_count()) * LISTED)
    }

    fn cost_of_range(&self, column: ColumnId, range: &RankRange) -> u64 {
        self.ranks(column).map_or(0, |order| {
            let inside = order.count_in(range);
            inside.min(order.len() - inside) as u64 * LISTED
        })
    }
}
