//! Evaluates a predicate on a disk run, in the way that [`AccessPath`] says. Every way gives the same result as
//! [`PreparedPredicate::matches`] on each document. It does not know filters, or which documents are current.

use super::access_path::AccessPath;
use super::dictionary::StringsOf;
use super::disk_run::DiskRun;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::predicate::{Needle, PreparedPredicate};
use crate::run::columns::{Encoding, StoredColumn};
use crate::schema::{Column, ColumnId};
use crate::text::bool_text;

impl DiskRun {
    /// Adds the documents whose value is not null and satisfies the predicate.
    pub(crate) fn evaluate(
        &self,
        column: Column,
        predicate: &PreparedPredicate,
        interrupt: &Interrupt<'_>,
        documents: &mut Bitmap,
    ) -> Result<(), Error> {
        let [stored] = self.columns.column(column.id) else {
            return self.scan_encodings(column, predicate, interrupt, documents);
        };
        let queried = QueriedColumn { run: self, stored, interrupt };
        match AccessPath::of(predicate, stored.encoding, column.kind) {
            AccessPath::Nothing => Ok(()),
            AccessPath::Term(term) => {
                let list = self.dictionary.get(stored.id, StringsOf::Exacts, &term);
                self.dictionary.lists().union(list.as_slice(), interrupt, documents)
            }
            AccessPath::Slice(range) => match self.orders.ranks(stored.id) {
                Some(order) => order.add_in_range(&range, || stored.presence.to_bitmap(), interrupt, documents),
                None => Ok(()),
            },
            AccessPath::Bits(text) => queried.bits(text, documents),
            AccessPath::Ids(ids) => queried.any_id(ids, documents),
            AccessPath::Containing(needle) => queried.containing(needle, documents),
            AccessPath::ScanFolded(needle) => queried.scan(|document| holds(stored, needle, document), documents),
            AccessPath::Scan => {
                let is_match = |document| predicate.matches(column.kind, stored.value_without_folded(document));
                queried.scan(is_match, documents)
            }
        }
    }

    /// Adds the documents whose value is not null.
    pub(crate) fn present(
        &self,
        column: ColumnId,
        interrupt: &Interrupt<'_>,
        documents: &mut Bitmap,
    ) -> Result<(), Error> {
        let encodings = match self.columns.column(column) {
            [stored] => {
                documents.union(&stored.presence.to_bitmap());
                return interrupt.check();
            }
            encodings => encodings,
        };
        for document in 0..self.len() {
            interrupt.step()?;
            if encodings.iter().any(|stored| stored.presence.contains(document)) {
                documents.insert(document);
            }
        }
        Ok(())
    }

    /// Scans a column that the run has in several encodings, because its kind changed between writes, or not at all.
    fn scan_encodings(
        &self,
        column: Column,
        predicate: &PreparedPredicate,
        interrupt: &Interrupt<'_>,
        documents: &mut Bitmap,
    ) -> Result<(), Error> {
        if self.columns.column(column.id).is_empty() {
            return Ok(());
        }
        for document in 0..self.len() {
            interrupt.step()?;
            let value = self.value(document, column.id);
            if !value.is_null() && predicate.matches(column.kind, value) {
                documents.insert(document);
            }
        }
        Ok(())
    }
}

/// A column that a predicate is evaluated on.
#[derive(Clone, Copy)]
pub(super) struct QueriedColumn<'a> {
    pub(super) run: &'a DiskRun,
    pub(super) stored: &'a StoredColumn,
    pub(super) interrupt: &'a Interrupt<'a>,
}

impl QueriedColumn<'_> {
    /// Adds the documents whose boolean has this text form.
    fn bits(self, text: &str, documents: &mut Bitmap) -> Result<(), Error> {
        if let Some(bits) = self.stored.bools().filter(|_| text == bool_text(true) || text == bool_text(false)) {
            let (mut equal, bits) = (self.stored.presence.to_bitmap(), bits.to_bitmap());
            match text == bool_text(true) {
                true => equal.intersect(&bits),
                false => equal.subtract(&bits),
            }
            documents.union(&equal);
        }
        self.interrupt.check()
    }

    /// Adds the documents for which `is_match` is true: tests each that has a value.
    fn scan(self, is_match: impl Fn(u32) -> bool, documents: &mut Bitmap) -> Result<(), Error> {
        self.stored.presence.each(|document| {
            if is_match(document) {
                documents.insert(document);
            }
            self.interrupt.step()
        })
    }
}

/// Returns whether a document's folded text contains the needle at its anchor.
pub(super) fn holds(stored: &StoredColumn, needle: &Needle, document: u32) -> bool {
    let is_list = stored.encoding == Encoding::List;
    let holds = |folded: &[u8]| if is_list { needle.is_in_list(folded) } else { needle.is_in_text(folded) };
    stored.with_folded(document, holds).unwrap_or(false)
}
