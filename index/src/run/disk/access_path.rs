//! Decides how the documents of a disk run that satisfy a predicate are found: by a posting list, by a slice of an
//! order, or by a scan. It neither finds them nor knows how long that takes.

use super::terms::{self, WholeTerms};
use crate::ids::IdSet;
use crate::predicate::{Needle, PreparedPredicate};
use crate::run::columns::Encoding;
use crate::run::orders::RankRange;
use crate::schema::Kind;
use crate::text::number_text;

/// The way to the documents that satisfy a predicate.
pub(super) enum AccessPath<'a> {
    /// No document satisfies it.
    Nothing,
    /// The posting list of this exact term.
    Term(Vec<u8>),
    /// A slice of the column's order.
    Slice(RankRange),
    /// The bits of a column of booleans. Those with this text form satisfy the predicate.
    Bits(&'a str),
    /// The posting lists of the ids.
    Ids(&'a IdSet),
    /// The posting lists of words, joints and grams. The needle is not empty.
    Containing(&'a Needle),
    /// A scan of the folded texts. The needle is empty.
    ScanFolded(&'a Needle),
    /// A scan of the values, without folded texts.
    Scan,
}

impl<'a> AccessPath<'a> {
    /// Returns the way that suits a column, which the run has in this encoding and the query reads as this kind.
    pub(super) fn of(predicate: &'a PreparedPredicate, encoding: Encoding, kind: Kind) -> AccessPath<'a> {
        match predicate {
            PreparedPredicate::Null => AccessPath::Nothing,
            PreparedPredicate::Equals { text, hash } => match encoding {
                Encoding::Text | Encoding::List => AccessPath::Term(WholeTerms::OF_TEXTS.term(text.as_bytes())),
                Encoding::Markup => AccessPath::Term(terms::markup(hash)),
                // Different numbers have different text forms, except for the two zeros, which `==` does not
                // distinguish either.
                Encoding::Number => match number_of(text) {
                    Some(number) => AccessPath::Slice(RankRange::of_number(number)),
                    None => AccessPath::Nothing,
                },
                Encoding::Bool => AccessPath::Bits(text),
                Encoding::Instant => AccessPath::Nothing,
            },
            PreparedPredicate::Has(element) => match encoding {
                Encoding::List => AccessPath::Term(WholeTerms::OF_ELEMENTS.term(element.text.as_bytes())),
                _ => AccessPath::Nothing,
            },
            PreparedPredicate::AnyId(ids) => AccessPath::Ids(ids),
            PreparedPredicate::Substring(needle) => match encoding {
                Encoding::Number | Encoding::Bool | Encoding::Instant => AccessPath::Scan,
                Encoding::Text | Encoding::Markup | Encoding::List => match needle.folded.is_empty() {
                    true => AccessPath::ScanFolded(needle),
                    false => AccessPath::Containing(needle),
                },
            },
            PreparedPredicate::Number(range) => match (encoding, kind) {
                (Encoding::Number, _) => AccessPath::Slice(RankRange::of_numbers(range)),
                (_, Kind::Text | Kind::Prose) => AccessPath::Scan,
                _ => AccessPath::Nothing,
            },
            PreparedPredicate::Instant(range) => match encoding {
                Encoding::Instant => AccessPath::Slice(RankRange::of_integers(range)),
                _ => AccessPath::Nothing,
            },
            PreparedPredicate::Text(_) => AccessPath::Scan,
        }
    }
}

/// Returns the number with this text form.
fn number_of(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number| number_text(*number) == text)
}
