//! Finds texts and list elements that are ids of a set, by their terms. It knows no filters.

use super::dictionary::StringsOf;
use super::evaluate::QueriedColumn;
use super::terms::WholeTerms;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::ids::{IdSet, parse, text_of};
use crate::run::columns::Encoding;

/// The number of terms that are read in a row in the time of one look-up.
const TERMS_PER_LOOKUP: usize = 16;

/// The number of posting lists that are held until their documents are added.
const UNITED_AT_ONCE: usize = 1_024;

impl QueriedColumn<'_> {
    /// Adds the documents whose text, or an element of whose list, is in the set. Each id is looked up. If there are
    /// many ids, all terms of the column are compared with them instead, both in order.
    pub(super) fn any_id(self, ids: &IdSet, documents: &mut Bitmap) -> Result<(), Error> {
        let terms = match self.stored.encoding {
            Encoding::Text => WholeTerms::OF_TEXTS,
            Encoding::List => WholeTerms::OF_ELEMENTS,
            _ => return Ok(()),
        };
        let (dictionary, column, range) = (&self.run.dictionary, self.stored.id, terms.range());
        let range = &range.start[..]..&range.end[..];
        let count = dictionary.count_between(column, StringsOf::Exacts, range.clone());
        if !ids.is_complement() && ids.listed() * TERMS_PER_LOOKUP <= count {
            let mut found = Vec::with_capacity(ids.listed());
            for id in ids.ids() {
                self.interrupt.step()?;
                found.extend(dictionary.get(column, StringsOf::Exacts, &terms.term(&text_of(*id))));
            }
            return dictionary.lists().union(&found, self.interrupt, documents);
        }
        let mut rest = ids.ids();
        let mut accept = |term: &[u8]| {
            let id = terms.text(term).and_then(parse);
            let is_listed = id.is_some_and(|id| {
                rest = skip_below(rest, id);
                rest.first() == Some(&id)
            });
            is_listed != ids.is_complement()
        };
        let mut accepted = Vec::with_capacity(UNITED_AT_ONCE);
        for (term, list) in dictionary.between(column, StringsOf::Exacts, range) {
            self.interrupt.step()?;
            if accept(term) {
                accepted.push(list);
            }
            if accepted.len() == UNITED_AT_ONCE {
                dictionary.lists().union(&accepted, self.interrupt, documents)?;
                accepted.clear();
            }
        }
        dictionary.lists().union(&accepted, self.interrupt, documents)
    }
}

/// Returns the ids from `id` on. Takes few steps if it is near the front.
fn skip_below(ids: &[u128], id: u128) -> &[u128] {
    let mut step = 1;
    while ids.get(step - 1).is_some_and(|other| *other < id) {
        step *= 2;
    }
    let (from, to) = (step / 2, step.min(ids.len()));
    &ids[from + ids[from..to].partition_point(|other| *other < id)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_finds_the_first_id_that_is_not_below() {
        let ids: Vec<u128> = (0..50).map(|id| id * 2).collect();
        for from in 0..50 {
            for id in 0..101 {
                let expected =
                    ids[from..].iter().position(|other| *other >= id).map_or(&[][..], |at| &ids[from + at..]);
                assert_eq!(skip_below(&ids[from..], id), expected, "{from} {id}");
            }
        }
    }
}
