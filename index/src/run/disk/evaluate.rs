//! Evaluating a predicate on a disk run: by posting lists where there are any, else by scanning columns. Every way
//! gives the same result as [`PreparedPredicate::matches`] on each document. It knows no filters, and not which
//! documents are current.

use super::disk_run::DiskRun;
use super::terms;
use crate::error::Error;
use crate::predicate::{Needle, PreparedPredicate};
use crate::query::{Anchor, Range};
use crate::run::columns::{Encoding, StoredColumn};
use crate::run::segment::Term;
use crate::schema::{Column, ColumnId, Kind};
use crate::text::number_text;

/// How many of a needle's rarest grams are intersected. More rarely pay off.
const MAX_GRAMS: usize = 4;
/// Grams that are more than this many times as frequent as the rarest are skipped.
const MAX_FREQUENCY_RATIO: u32 = 32;

impl DiskRun {
    /// Emits the documents whose value is not null and satisfies the predicate, ascending and without duplicates.
    pub(crate) fn evaluate(
        &self,
        column: Column,
        predicate: &PreparedPredicate,
        emit: &mut dyn FnMut(u32),
    ) -> Result<(), Error> {
        let [stored] = self.columns.column(column.id) else {
            self.scan_encodings(column, predicate, emit);
            return Ok(());
        };
        let queried = QueriedColumn { run: self, stored, kind: column.kind };
        match predicate {
            PreparedPredicate::Null => Ok(()),
            PreparedPredicate::Equals { text, hash } => queried.equals(text, hash, predicate, emit),
            PreparedPredicate::Has(element) => match stored.encoding {
                Encoding::List => queried.term(&terms::element(column.id, &element.text), emit),
                _ => Ok(()),
            },
            PreparedPredicate::Substring(needle) => queried.substring(needle, predicate, emit),
            PreparedPredicate::Number(range) => {
                queried.number_range(range, predicate, emit);
                Ok(())
            }
            PreparedPredicate::Instant(range) => {
                if let Some(micros) = stored.micros() {
                    queried.present_with(micros, |micros| range.holds(&micros), emit);
                }
                Ok(())
            }
            PreparedPredicate::Text(_) => {
                queried.scan(predicate, emit);
                Ok(())
            }
        }
    }

    /// Emits the documents whose value is not null, ascending and without duplicates.
    pub(crate) fn present(&self, column: ColumnId, emit: &mut dyn FnMut(u32)) {
        match self.columns.column(column) {
            [stored] => stored.presence.each(emit),
            encodings => {
                let present = |document: &u32| encodings.iter().any(|stored| stored.presence.contains(*document));
                (0..self.len()).filter(present).for_each(emit);
            }
        }
    }

    /// For a column that the run has in several encodings, since its kind changed between writes, or not at all.
    fn scan_encodings(&self, column: Column, predicate: &PreparedPredicate, emit: &mut dyn FnMut(u32)) {
        if self.columns.column(column.id).is_empty() {
            return;
        }
        for document in 0..self.len() {
            let value = self.value(document, column.id);
            if !value.is_null() && predicate.matches(column.kind, value) {
                emit(document);
            }
        }
    }
}

/// A column that a predicate is evaluated on.
#[derive(Clone, Copy)]
struct QueriedColumn<'a> {
    run: &'a DiskRun,
    stored: &'a StoredColumn,
    kind: Kind,
}

impl QueriedColumn<'_> {
    fn equals(
        self,
        text: &str,
        hash: &[u8; 16],
        predicate: &PreparedPredicate,
        emit: &mut dyn FnMut(u32),
    ) -> Result<(), Error> {
        match self.stored.encoding {
            Encoding::Text | Encoding::List => self.term(&terms::exact(self.stored.id, text), emit),
            Encoding::Markup => self.term(&terms::markup(self.stored.id, hash), emit),
            Encoding::Number => {
                // Different numbers have different text forms, except for the two zeros, which `==` does not
                // distinguish either.
                let number = text.parse().ok().filter(|number| number_text(*number) == text);
                if let (Some(number), Some(numbers)) = (number, self.stored.numbers()) {
                    self.present_with(numbers, |other: f64| other == number, emit);
                }
                Ok(())
            }
            Encoding::Bool => {
                self.scan(predicate, emit);
                Ok(())
            }
            Encoding::Instant => Ok(()),
        }
    }

    fn number_range(self, range: &Range<f64>, predicate: &PreparedPredicate, emit: &mut dyn FnMut(u32)) {
        match (self.stored.numbers(), self.kind) {
            (Some(numbers), _) => self.present_with(numbers, |number| range.holds(&number), emit),
            (None, Kind::Text) => self.scan(predicate, emit),
            (None, _) => {}
        }
    }

    fn substring(self, needle: &Needle, predicate: &PreparedPredicate, emit: &mut dyn FnMut(u32)) -> Result<(), Error> {
        let has_grams = matches!(self.stored.encoding, Encoding::Text | Encoding::Markup | Encoding::List);
        if !has_grams || needle.folded.is_empty() {
            self.scan_folded(needle, predicate, emit);
            return Ok(());
        }
        let grams = grams_of(&needle.folded);
        let mut found: Vec<Term> = Vec::new();
        for gram in &grams {
            match self.run.segment.term(&terms::gram(self.stored.id, gram))? {
                Some(term) => found.push(term),
                None => return Ok(()),
            }
        }
        if let ([only], [gram], Anchor::Anywhere) = (&found[..], &grams[..], needle.anchor)
            && *gram == needle.folded
        {
            return self.run.segment.each_doc(only, emit);
        }
        found.sort_by_key(Term::doc_count);
        let rarest = found.first().map_or(0, Term::doc_count);
        found.retain(|term| term.doc_count() / MAX_FREQUENCY_RATIO <= rarest);
        found.truncate(MAX_GRAMS);
        self.run.segment.each_doc_with_all(&found, &mut |document| {
            if self.holds(needle, document) {
                emit(document);
            }
        })
    }

    /// For empty needles, and for encodings without a folded text.
    fn scan_folded(self, needle: &Needle, predicate: &PreparedPredicate, emit: &mut dyn FnMut(u32)) {
        match self.stored.encoding {
            Encoding::Number | Encoding::Bool | Encoding::Instant => self.scan(predicate, emit),
            _ => self.stored.presence.each(|document| {
                if self.holds(needle, document) {
                    emit(document);
                }
            }),
        }
    }

    fn holds(self, needle: &Needle, document: u32) -> bool {
        match (self.stored.encoding, self.stored.folded(document)) {
            (Encoding::List, Some(folded)) => needle.is_in_list(folded),
            (_, Some(folded)) => needle.is_in_text(folded),
            (_, None) => false,
        }
    }

    fn term(self, term: &[u8], emit: &mut dyn FnMut(u32)) -> Result<(), Error> {
        match self.run.segment.term(term)? {
            Some(term) => self.run.segment.each_doc(&term, emit),
            None => Ok(()),
        }
    }

    /// Emits the documents that have a value, if it satisfies `holds`.
    fn present_with<T>(self, values: impl Iterator<Item = T>, holds: impl Fn(T) -> bool, emit: &mut dyn FnMut(u32)) {
        for (document, value) in (0..).zip(values) {
            if holds(value) && self.stored.presence.contains(document) {
                emit(document);
            }
        }
    }

    /// Tests every document, without its folded text.
    fn scan(self, predicate: &PreparedPredicate, emit: &mut dyn FnMut(u32)) {
        self.stored.presence.each(|document| {
            if predicate.matches(self.kind, self.stored.value_without_folded(document)) {
                emit(document);
            }
        });
    }
}

/// The distinct grams of three code points of a needle. A shorter needle is its own only gram.
fn grams_of(needle: &str) -> Vec<&str> {
    let starts: Vec<usize> = needle.char_indices().map(|(at, _)| at).chain([needle.len()]).collect();
    if starts.len() <= 4 {
        return vec![needle];
    }
    let mut grams: Vec<&str> = starts.windows(4).map(|window| &needle[window[0]..window[3]]).collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}
