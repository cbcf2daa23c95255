//! Keys of predicates in the query cache. Predicates with different results never share a key. It knows no columns.

use crate::query::{Bound, Predicate, Range};
use crate::text::fold;
use crate::value::rank_of_number;

/// Appends bytes that identify a predicate. Needles are folded first, so needles that differ only in case share a key.
pub(super) fn write_predicate(key: &mut Vec<u8>, predicate: &Predicate) {
    match predicate {
        Predicate::Null => key.push(0),
        Predicate::Equals(text) => {
            key.push(1);
            write_text(key, text);
        }
        Predicate::Number(range) => {
            key.push(2);
            write_range(key, range, |key, number| key.extend_from_slice(&rank_of_number(*number).to_be_bytes()));
        }
        Predicate::Text(range) => {
            key.push(3);
            write_range(key, range, |key, text| write_text(key, text));
        }
        Predicate::Instant(range) => {
            key.push(4);
            write_range(key, range, |key, micros| key.extend_from_slice(&micros.to_be_bytes()));
        }
        Predicate::Substring(anchor, needle) => {
            key.extend_from_slice(&[5, *anchor as u8]);
            write_text(key, &fold(needle));
        }
        Predicate::Has(element) => {
            key.push(6);
            write_text(key, element);
        }
        Predicate::AnyId(ids) => {
            key.push(7);
            key.extend_from_slice(&ids.identity());
        }
    }
}

/// Appends a text after its length, which marks where it ends.
fn write_text(key: &mut Vec<u8>, text: &str) {
    key.extend_from_slice(&(text.len() as u64).to_be_bytes());
    key.extend_from_slice(text.as_bytes());
}

/// Appends bytes that identify a range.
pub(super) fn write_range<T>(key: &mut Vec<u8>, range: &Range<T>, write: impl Fn(&mut Vec<u8>, &T)) {
    for bound in [&range.from, &range.to] {
        match bound {
            None => key.push(0),
            Some(Bound::Included(bound)) => {
                key.push(1);
                write(key, bound);
            }
            Some(Bound::Excluded(bound)) => {
                key.push(2);
                write(key, bound);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::IdSet;
    use crate::query::Anchor;

    fn key(predicate: Predicate) -> Vec<u8> {
        let mut key = Vec::new();
        write_predicate(&mut key, &predicate);
        key
    }

    fn range<T>(from: Option<Bound<T>>, to: Option<Bound<T>>) -> Range<T> {
        Range { from, to }
    }

    #[test]
    fn only_equal_predicates_share_a_key() {
        let text = |text: &str| Some(Bound::Included(text.to_owned()));
        let predicates = [
            Predicate::Null,
            Predicate::Equals("a".into()),
            Predicate::Equals("A".into()),
            Predicate::Has("a".into()),
            Predicate::Substring(Anchor::Anywhere, "a".into()),
            Predicate::Substring(Anchor::Anywhere, "ab".into()),
            Predicate::Substring(Anchor::Start, "a".into()),
            Predicate::Substring(Anchor::End, "a".into()),
            Predicate::Text(range(text("a"), None)),
            Predicate::Text(range(None, text("a"))),
            Predicate::Text(range(Some(Bound::Excluded("a".into())), None)),
            Predicate::Text(range(text("a"), text("b"))),
            Predicate::Text(range(text("ab"), text(""))),
            Predicate::Number(range(Some(Bound::Included(1.0)), None)),
            Predicate::Number(range(Some(Bound::Included(-1.0)), None)),
            Predicate::Instant(range(Some(Bound::Included(1)), None)),
            Predicate::Instant(range(Some(Bound::Included(2)), None)),
            Predicate::AnyId(IdSet::of([])),
            Predicate::AnyId(IdSet::of([1])),
            Predicate::AnyId(IdSet::of([1]).complement()),
            Predicate::AnyId(IdSet::of([1, 2])),
        ];
        let keys: std::collections::HashSet<_> = predicates.iter().cloned().map(key).collect();
        assert_eq!(keys.len(), predicates.len());
        assert_eq!(
            key(Predicate::Substring(Anchor::Start, "STRASSE".into())),
            key(Predicate::Substring(Anchor::Start, "straße".into()))
        );
    }
}
