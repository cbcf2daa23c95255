//! Asking a disk run. Whatever way is taken, the answer is that of [`Prepared::matches`] for each document.

use super::{DiskRun, terms};
use crate::columns;
use crate::error::Error;
use crate::query::{Anchor, Range};
use crate::schema::{Column, ColumnId, Kind};
use crate::segment::Term;
use crate::text::number_text;
use crate::value::{Needle, Prepared, ValueRef};

/// So many of the rarest grams of a needle are intersected; more seldom pay.
const GRAMS_ASKED: usize = 4;
/// A gram that is so many times as frequent as the rarest is not asked.
const FREQUENCY_RATIO: u32 = 32;

impl DiskRun {
    /// Emits the documents, ascending and each once, whose value is not null and satisfies the predicate.
    pub(crate) fn evaluate(
        &self,
        column: Column,
        predicate: &Prepared,
        emit: &mut dyn FnMut(u32),
    ) -> Result<(), Error> {
        let [stored] = self.columns.of(column.id) else {
            self.scan_forms(column, predicate, emit);
            return Ok(());
        };
        let asked = Asked { run: self, stored, kind: column.kind };
        match predicate {
            Prepared::Null => Ok(()),
            Prepared::Equals { text, hash } => asked.equals(text, hash, predicate, emit),
            Prepared::Has(element) => match stored.form {
                columns::Form::List => asked.term(&terms::element(column.id, &element.text), emit),
                _ => Ok(()),
            },
            Prepared::Substring(needle) => asked.substring(needle, predicate, emit),
            Prepared::Number(range) => {
                asked.number_range(range, predicate, emit);
                Ok(())
            }
            Prepared::Instant(range) => {
                if let Some(micros) = stored.micros() {
                    asked.present_with(micros, |micros| range.holds(&micros), emit);
                }
                Ok(())
            }
            Prepared::Text(_) => {
                asked.scan(predicate, emit);
                Ok(())
            }
        }
    }

    /// Emits the documents, ascending and each once, whose value is not null.
    pub(crate) fn present(&self, column: ColumnId, emit: &mut dyn FnMut(u32)) {
        match self.columns.of(column) {
            [stored] => stored.presence.each(emit),
            forms => {
                let present = |document: &u32| forms.iter().any(|stored| stored.presence.has(*document));
                (0..self.len()).filter(present).for_each(emit);
            }
        }
    }

    /// For columns whose kind was changed under way, and those that the run has not.
    fn scan_forms(&self, column: Column, predicate: &Prepared, emit: &mut dyn FnMut(u32)) {
        if self.columns.of(column.id).is_empty() {
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

/// A column under a predicate.
#[derive(Clone, Copy)]
struct Asked<'a> {
    run: &'a DiskRun,
    stored: &'a columns::Column,
    kind: Kind,
}

impl Asked<'_> {
    fn equals(self, text: &str, hash: &[u8; 16], predicate: &Prepared, emit: &mut dyn FnMut(u32)) -> Result<(), Error> {
        match self.stored.form {
            columns::Form::Text | columns::Form::List => self.term(&terms::exact(self.stored.id, text), emit),
            columns::Form::Markup => self.term(&terms::markup(self.stored.id, hash), emit),
            columns::Form::Number => {
                // The text form is one to one but for the sign of zero, which `==` ignores as well.
                let number = text.parse().ok().filter(|number| number_text(*number) == text);
                if let (Some(number), Some(numbers)) = (number, self.stored.numbers()) {
                    self.present_with(numbers, |other: f64| other == number, emit);
                }
                Ok(())
            }
            columns::Form::Bool => {
                self.scan(predicate, emit);
                Ok(())
            }
            columns::Form::Instant => Ok(()),
        }
    }

    fn number_range(self, range: &Range<f64>, predicate: &Prepared, emit: &mut dyn FnMut(u32)) {
        match (self.stored.numbers(), self.kind) {
            (Some(numbers), _) => self.present_with(numbers, |number| range.holds(&number), emit),
            (None, Kind::Text) => self.scan(predicate, emit),
            (None, _) => {}
        }
    }

    fn substring(self, needle: &Needle, predicate: &Prepared, emit: &mut dyn FnMut(u32)) -> Result<(), Error> {
        let has_grams = matches!(self.stored.form, columns::Form::Text | columns::Form::Markup | columns::Form::List);
        if !has_grams || needle.folded.is_empty() {
            self.scan_folded(needle, predicate, emit);
            return Ok(());
        }
        let grams = windows(&needle.folded);
        let mut found: Vec<Term> = Vec::new();
        for gram in &grams {
            match self.run.segment.term(&terms::gram(self.stored.id, gram))? {
                Some(term) => found.push(term),
                None => return Ok(()),
            }
        }
        if let ([only], [gram], Anchor::Anywhere) = (&found[..], &grams[..], needle.place)
            && *gram == needle.folded
        {
            return self.run.segment.each(only, emit);
        }
        found.sort_by_key(Term::documents);
        let rarest = found.first().map_or(0, Term::documents);
        found.retain(|term| term.documents() / FREQUENCY_RATIO <= rarest);
        found.truncate(GRAMS_ASKED);
        self.run.segment.each_of_all(&found, &mut |document| {
            if self.holds(needle, document) {
                emit(document);
            }
        })
    }

    /// For empty needles, and for forms whose text is not kept folded.
    fn scan_folded(self, needle: &Needle, predicate: &Prepared, emit: &mut dyn FnMut(u32)) {
        match self.stored.form {
            columns::Form::Number | columns::Form::Bool | columns::Form::Instant => self.scan(predicate, emit),
            _ => self.stored.presence.each(|document| {
                if self.holds(needle, document) {
                    emit(document);
                }
            }),
        }
    }

    fn holds(self, needle: &Needle, document: u32) -> bool {
        match (self.stored.form, self.stored.folded(document)) {
            (columns::Form::List, Some(folded)) => needle.is_in_list(folded),
            (_, Some(folded)) => needle.is_in_text(folded),
            (_, None) => false,
        }
    }

    fn term(self, term: &[u8], emit: &mut dyn FnMut(u32)) -> Result<(), Error> {
        match self.run.segment.term(term)? {
            Some(term) => self.run.segment.each(&term, emit),
            None => Ok(()),
        }
    }

    /// Emits the documents that have a value and whose fixed value holds.
    fn present_with<T>(self, values: impl Iterator<Item = T>, holds: impl Fn(T) -> bool, emit: &mut dyn FnMut(u32)) {
        for (document, value) in (0..).zip(values) {
            if holds(value) && self.stored.presence.has(document) {
                emit(document);
            }
        }
    }

    /// Asks every document, by all but its folded text.
    fn scan(self, predicate: &Prepared, emit: &mut dyn FnMut(u32)) {
        self.stored.presence.each(|document| {
            let value: ValueRef<'_> = self.stored.unfolded(document);
            if predicate.matches(self.kind, value) {
                emit(document);
            }
        });
    }
}

/// The distinct grams of three code points of a needle; of a shorter one, itself.
fn windows(needle: &str) -> Vec<&str> {
    let starts: Vec<usize> = needle.char_indices().map(|(at, _)| at).chain([needle.len()]).collect();
    if starts.len() <= 4 {
        return vec![needle];
    }
    let mut grams: Vec<&str> = starts.windows(4).map(|window| &needle[window[0]..window[3]]).collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}
