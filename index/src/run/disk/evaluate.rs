//! Evaluating a predicate on a disk run: by posting lists where there are any, else by scanning columns. Every way
//! gives the same result as [`PreparedPredicate::matches`] on each document. It knows no filters, and not which
//! documents are current.

use super::disk_run::DiskRun;
use super::terms;
use crate::error::Error;
use crate::interrupt::Interrupt;
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
/// Comparing numbers is so fast that counting each would show: so many are compared between two looks at the interrupt.
const CHECK_EVERY: u32 = 4_096;

impl DiskRun {
    /// Emits the documents whose value is not null and satisfies the predicate, ascending and without duplicates.
    pub(crate) fn evaluate(
        &self,
        column: Column,
        predicate: &PreparedPredicate,
        interrupt: &Interrupt<'_>,
        emit: &mut dyn FnMut(u32),
    ) -> Result<(), Error> {
        let [stored] = self.columns.column(column.id) else {
            return self.scan_encodings(column, predicate, interrupt, emit);
        };
        let queried = QueriedColumn { run: self, stored, kind: column.kind, interrupt };
        match predicate {
            PreparedPredicate::Null => Ok(()),
            PreparedPredicate::Equals { text, hash } => queried.equals(text, hash, predicate, emit),
            PreparedPredicate::Has(element) => match stored.encoding {
                Encoding::List => queried.term(&terms::element(column.id, &element.text), emit),
                _ => Ok(()),
            },
            PreparedPredicate::Substring(needle) => queried.substring(needle, predicate, emit),
            PreparedPredicate::Number(range) => queried.number_range(range, predicate, emit),
            PreparedPredicate::Instant(range) => match stored.micros() {
                Some(micros) => queried.present_with(micros, |micros| range.holds(&micros), emit),
                None => Ok(()),
            },
            PreparedPredicate::Text(_) => queried.scan(predicate, emit),
        }
    }

    /// Emits the documents whose value is not null, ascending and without duplicates.
    pub(crate) fn present(
        &self,
        column: ColumnId,
        interrupt: &Interrupt<'_>,
        emit: &mut dyn FnMut(u32),
    ) -> Result<(), Error> {
        let encodings = match self.columns.column(column) {
            [stored] => {
                return stored.presence.each(|document| {
                    emit(document);
                    interrupt.step()
                });
            }
            encodings => encodings,
        };
        for document in 0..self.len() {
            interrupt.step()?;
            if encodings.iter().any(|stored| stored.presence.contains(document)) {
                emit(document);
            }
        }
        Ok(())
    }

    /// For a column that the run has in several encodings, since its kind changed between writes, or not at all.
    fn scan_encodings(
        &self,
        column: Column,
        predicate: &PreparedPredicate,
        interrupt: &Interrupt<'_>,
        emit: &mut dyn FnMut(u32),
    ) -> Result<(), Error> {
        if self.columns.column(column.id).is_empty() {
            return Ok(());
        }
        for document in 0..self.len() {
            interrupt.step()?;
            let value = self.value(document, column.id);
            if !value.is_null() && predicate.matches(column.kind, value) {
                emit(document);
            }
        }
        Ok(())
    }
}

/// A column that a predicate is evaluated on.
#[derive(Clone, Copy)]
struct QueriedColumn<'a> {
    run: &'a DiskRun,
    stored: &'a StoredColumn,
    kind: Kind,
    interrupt: &'a Interrupt<'a>,
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
                match number.zip(self.stored.numbers()) {
                    Some((number, numbers)) => self.present_with(numbers, |other: f64| other == number, emit),
                    None => Ok(()),
                }
            }
            Encoding::Bool => self.scan(predicate, emit),
            Encoding::Instant => Ok(()),
        }
    }

    fn number_range(
        self,
        range: &Range<f64>,
        predicate: &PreparedPredicate,
        emit: &mut dyn FnMut(u32),
    ) -> Result<(), Error> {
        match (self.stored.numbers(), self.kind) {
            (Some(numbers), _) => self.present_with(numbers, |number| range.holds(&number), emit),
            (None, Kind::Text) => self.scan(predicate, emit),
            (None, _) => Ok(()),
        }
    }

    fn substring(self, needle: &Needle, predicate: &PreparedPredicate, emit: &mut dyn FnMut(u32)) -> Result<(), Error> {
        let has_grams = matches!(self.stored.encoding, Encoding::Text | Encoding::Markup | Encoding::List);
        if !has_grams || needle.folded.is_empty() {
            return self.scan_folded(needle, predicate, emit);
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
            return self.docs_of(only, emit);
        }
        found.sort_by_key(Term::doc_count);
        let rarest = found.first().map_or(0, Term::doc_count);
        found.retain(|term| term.doc_count() / MAX_FREQUENCY_RATIO <= rarest);
        found.truncate(MAX_GRAMS);
        self.run.segment.each_doc_with_all(&found, self.interrupt, |document| {
            if self.holds(needle, document) {
                emit(document);
            }
            self.interrupt.step()
        })
    }

    /// For empty needles, and for encodings without a folded text.
    fn scan_folded(
        self,
        needle: &Needle,
        predicate: &PreparedPredicate,
        emit: &mut dyn FnMut(u32),
    ) -> Result<(), Error> {
        match self.stored.encoding {
            Encoding::Number | Encoding::Bool | Encoding::Instant => self.scan(predicate, emit),
            _ => self.stored.presence.each(|document| {
                if self.holds(needle, document) {
                    emit(document);
                }
                self.interrupt.step()
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
            Some(term) => self.docs_of(&term, emit),
            None => Ok(()),
        }
    }

    fn docs_of(self, term: &Term, emit: &mut dyn FnMut(u32)) -> Result<(), Error> {
        self.run.segment.each_doc(term, self.interrupt, |document| {
            emit(document);
            Ok(())
        })
    }

    /// Emits the documents that have a value, if it satisfies `holds`.
    fn present_with<T>(
        self,
        values: impl Iterator<Item = T>,
        holds: impl Fn(T) -> bool,
        emit: &mut dyn FnMut(u32),
    ) -> Result<(), Error> {
        for (document, value) in (0..).zip(values) {
            if document % CHECK_EVERY == 0 {
                self.interrupt.check()?;
            }
            if holds(value) && self.stored.presence.contains(document) {
                emit(document);
            }
        }
        Ok(())
    }

    /// Tests every document, without its folded text.
    fn scan(self, predicate: &PreparedPredicate, emit: &mut dyn FnMut(u32)) -> Result<(), Error> {
        self.stored.presence.each(|document| {
            if predicate.matches(self.kind, self.stored.value_without_folded(document)) {
                emit(document);
            }
            self.interrupt.step()
        })
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
