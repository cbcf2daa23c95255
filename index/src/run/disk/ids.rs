//! Finding texts and list elements that are ids of a set, by their terms. It knows no filters.

use super::evaluate::QueriedColumn;
use super::terms::WholeTerms;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::ids::{IdSet, parse, text_of};
use crate::run::columns::Encoding;
use crate::run::segment::TermList;

/// Looking a term up takes as long as reading so many of them in a row.
const TERMS_PER_LOOKUP: u64 = 16;

impl QueriedColumn<'_> {
    /// Adds the documents whose text, or an element of whose list, is in the set: each id is looked up, or, if there are many
    /// of them, all terms of the column are compared with the ids, both in order.
    pub(super) fn any_id(self, ids: &IdSet, documents: &mut Bitmap) -> Result<(), Error> {
        let terms = match self.stored.encoding {
            Encoding::Text => WholeTerms::of_texts(self.stored.id),
            Encoding::List => WholeTerms::of_elements(self.stored.id),
            _ => return Ok(()),
        };
        let (segment, range) = (&self.run.segment, terms.range());
        if !ids.is_complement() && ids.listed() as u64 * TERMS_PER_LOOKUP <= segment.count_terms(&range)? {
            let mut found = Vec::with_capacity(ids.listed());
            for id in ids.ids() {
                self.interrupt.step()?;
                found.extend(segment.term(TermList::Plain, &terms.term(&text_of(*id)))?);
            }
            return segment.union(&found, self.interrupt, documents);
        }
        let mut rest = ids.ids();
        let accept = |term: &[u8]| {
            let id = terms.text(term).and_then(parse);
            let is_listed = id.is_some_and(|id| {
                rest = skip_below(rest, id);
                rest.first() == Some(&id)
            });
            is_listed != ids.is_complement()
        };
        segment.union_range(&range, accept, self.interrupt, documents)
    }
}

/// The ids from `id` on. Takes few steps if it is near the front.
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
