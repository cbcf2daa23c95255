//! Estimates the cost of evaluating a predicate on a disk run. It must not evaluate any.

use super::access_path::AccessPath;
use super::dictionary::StringsOf;
use super::disk_run::DiskRun;
use crate::predicate::PreparedPredicate;
use crate::schema::Column;

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
        match AccessPath::of(predicate, stored.encoding, column.kind) {
            AccessPath::Nothing => 0,
            AccessPath::Term(term) => {
                let list = self.dictionary.get(column.id, StringsOf::Exacts, &term);
                list.map_or(0, |list| u64::from(list.doc_count()) * LISTED)
            }
            AccessPath::Slice(range) => self.orders.ranks(column.id).map_or(0, |order| {
                let inside = order.count_in(&range);
                inside.min(order.len() - inside) as u64 * LISTED
            }),
            AccessPath::Bits(_) => u64::from(self.len()) / 16,
            // Each id is looked up, or all terms of the column are read.
            AccessPath::Ids(ids) => all.min(500 * ids.listed() as u64 + all / 25),
            // A substring is charged as a scan, although words and grams find most needles in less: to know their
            // lists, the dictionary would have to be searched. So conditions with a known cost come first, and if they
            // leave few candidates, only those are tested.
            AccessPath::Containing(_) | AccessPath::ScanFolded(_) | AccessPath::Scan => all,
        }
    }
}
