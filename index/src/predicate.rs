//! Decides whether a value satisfies a predicate. This is the only definition of a match: posting lists, scans and
//! caches are faster ways to the same result. It knows no runs.

use memchr::memmem::Finder;

use crate::ids::IdSet;
use crate::query::{Anchor, Bound, Predicate, Range};
use crate::schema::{Kind, exact_hash};
use crate::text::{bool_text, decimal, fold, number_text};
use crate::value::{FRAME, ValueRef, framed};

/// A predicate prepared for testing many values.
#[derive(Debug, Clone)]
pub(crate) enum PreparedPredicate {
    /// The value is null.
    Null,
    /// The exact form is this text; for markup, it has this hash.
    Equals { text: String, hash: [u8; 16] },
    /// The number form is in the range.
    Number(Range<f64>),
    /// The text form is in the range.
    Text(Range<String>),
    /// The instant in microseconds is in the range.
    Instant(Range<i64>),
    /// The folded text form contains the folded needle.
    Substring(Box<Needle>),
    /// The list has exactly this element.
    Has(Box<Element>),
    /// The text, or an element of the list, is an id of the set.
    AnyId(IdSet),
}

/// A folded needle and its anchor.
#[derive(Debug, Clone)]
pub(crate) struct Needle {
    pub(crate) anchor: Anchor,
    /// May be empty.
    pub(crate) folded: String,
    in_text: Finder<'static>,
    /// Finds the needle in a list, together with the frames that its anchor requires.
    in_list: Finder<'static>,
}

/// An exact element of a list.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) text: String,
    framed: Finder<'static>,
}

impl PreparedPredicate {
    pub(crate) fn new(predicate: &Predicate) -> PreparedPredicate {
        match predicate {
            Predicate::Null => PreparedPredicate::Null,
            Predicate::Equals(text) => PreparedPredicate::Equals { text: text.clone(), hash: exact_hash(text) },
            Predicate::Number(range) => PreparedPredicate::Number(range.clone()),
            Predicate::Text(range) => PreparedPredicate::Text(range.clone()),
            Predicate::Instant(range) => PreparedPredicate::Instant(range.clone()),
            Predicate::Substring(anchor, needle) => {
                PreparedPredicate::Substring(Box::new(Needle::new(*anchor, needle)))
            }
            Predicate::Has(element) => PreparedPredicate::Has(Box::new(Element {
                text: element.clone(),
                framed: Finder::new(&framed(&[element.as_str()])).into_owned(),
            })),
            Predicate::AnyId(ids) => PreparedPredicate::AnyId(ids.clone()),
        }
    }

    /// Returns whether a value of a column of this kind satisfies the predicate.
    pub(crate) fn matches(&self, kind: Kind, value: ValueRef<'_>) -> bool {
        if let ValueRef::Null = value {
            return matches!(self, PreparedPredicate::Null);
        }
        match self {
            PreparedPredicate::Null => false,
            PreparedPredicate::Equals { text, hash } => equals(value, text, hash),
            PreparedPredicate::Number(range) => number_form(kind, value).is_some_and(|number| range.holds(&number)),
            PreparedPredicate::Text(range) => text_in_range(value, range),
            PreparedPredicate::Instant(range) => {
                matches!(value, ValueRef::Instant { micros, .. } if range.holds(&micros))
            }
            PreparedPredicate::Substring(needle) => needle.is_in(value),
            PreparedPredicate::Has(element) => element.is_in(value),
            PreparedPredicate::AnyId(ids) => has_any_id(ids, value),
        }
    }

    /// Returns the part of a value that it compares, as `explain` names it.
    pub(crate) fn compares(&self) -> &'static str {
        match self {
            PreparedPredicate::Null => "null",
            PreparedPredicate::Equals { .. } => "value",
            PreparedPredicate::Number(_) => "number",
            PreparedPredicate::Text(_) => "text",
            PreparedPredicate::Instant(_) => "instant",
            PreparedPredicate::Substring(_) => "substring",
            PreparedPredicate::Has(_) => "element",
            PreparedPredicate::AnyId(_) => "ids",
        }
    }
}

impl Needle {
    fn new(anchor: Anchor, needle: &str) -> Needle {
        let folded = fold(needle).into_owned();
        let mut in_list = Vec::with_capacity(folded.len() + 1);
        if anchor == Anchor::Start {
            in_list.push(FRAME);
        }
        in_list.extend_from_slice(folded.as_bytes());
        if anchor == Anchor::End {
            in_list.push(FRAME);
        }
        let in_text = Finder::new(&folded).into_owned();
        Needle { anchor, in_text, in_list: Finder::new(&in_list).into_owned(), folded }
    }

    /// Returns whether a folded text contains the needle at its anchor. Comparing bytes is enough: a UTF-8 string
    /// contains another exactly if its bytes contain the other's.
    pub(crate) fn is_in_text(&self, folded: &[u8]) -> bool {
        match self.anchor {
            Anchor::Anywhere => self.in_text.find(folded).is_some(),
            Anchor::Start => folded.starts_with(self.folded.as_bytes()),
            Anchor::End => folded.ends_with(self.folded.as_bytes()),
        }
    }

    /// Returns whether any element of a folded, framed list contains the needle at its anchor.
    pub(crate) fn is_in_list(&self, folded: &[u8]) -> bool {
        match self.folded.is_empty() {
            true => folded.len() > 1,
            false => self.in_list.find(folded).is_some(),
        }
    }

    fn is_in(&self, value: ValueRef<'_>) -> bool {
        match value {
            ValueRef::Null => false,
            ValueRef::Text(text) | ValueRef::Markup { text, .. } => text.folded.with(|folded| self.is_in_text(folded)),
            ValueRef::Number(number) => self.is_in_text(fold(&number_text(number)).as_bytes()),
            ValueRef::Bool(value) => self.is_in_text(bool_text(value).as_bytes()),
            ValueRef::Instant { text, .. } => self.is_in_text(fold(text).as_bytes()),
            ValueRef::List(list) => self.is_in_list(list.folded),
        }
    }
}

impl Element {
    fn is_in(&self, value: ValueRef<'_>) -> bool {
        matches!(value, ValueRef::List(list) if self.framed.find(list.raw).is_some())
    }
}

impl<T> Range<T> {
    /// Returns whether the value is in the range.
    pub(crate) fn holds<U: PartialOrd<T> + ?Sized>(&self, value: &U) -> bool {
        let above = match &self.from {
            None => true,
            Some(Bound::Included(from)) => value >= from,
            Some(Bound::Excluded(from)) => value > from,
        };
        above
            && match &self.to {
                None => true,
                Some(Bound::Included(to)) => value <= to,
                Some(Bound::Excluded(to)) => value < to,
            }
    }
}

fn equals(value: ValueRef<'_>, text: &str, hash: &[u8; 16]) -> bool {
    match value {
        ValueRef::Null | ValueRef::Instant { .. } => false,
        ValueRef::Text(value) => value.compare(text).is_eq(),
        ValueRef::Markup { exact, .. } => exact == *hash,
        ValueRef::Number(number) => number_text(number) == text,
        ValueRef::Bool(value) => bool_text(value) == text,
        ValueRef::List(list) => list.joined() == text,
    }
}

fn has_any_id(ids: &IdSet, value: ValueRef<'_>) -> bool {
    match value {
        ValueRef::Text(text) => ids.contains(text.whole().as_bytes()),
        ValueRef::List(list) => list.elements().any(|element| ids.contains(element.as_bytes())),
        _ => false,
    }
}

fn number_form(kind: Kind, value: ValueRef<'_>) -> Option<f64> {
    match (kind, value) {
        (_, ValueRef::Number(number)) => Some(number),
        (Kind::Text | Kind::Prose, ValueRef::Text(text)) => {
            // Checks the first byte, because it rules out most texts that are not numbers.
            matches!(text.start().as_bytes().first(), Some(b'-' | b'0'..=b'9'))
                .then(|| decimal(&text.whole()))
                .flatten()
        }
        _ => None,
    }
}

fn text_in_range(value: ValueRef<'_>, range: &Range<String>) -> bool {
    match value {
        ValueRef::Null => false,
        ValueRef::Text(text) | ValueRef::Markup { text, .. } => range.holds(&text),
        ValueRef::Number(number) => range.holds(&number_text(number)),
        ValueRef::Bool(value) => range.holds(&bool_text(value).to_owned()),
        ValueRef::Instant { text, .. } => range.holds(&text.to_owned()),
        ValueRef::List(list) => range.holds(&list.joined()),
    }
}

#[cfg(test)]
mod tests;
