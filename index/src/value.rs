//! What one value means to a predicate: the one place where matching is defined. Postings, scans and caches are only
//! faster ways to the same answer. It knows no runs.

use std::borrow::Cow;
use std::cmp::Ordering;

use memchr::memmem::Finder;

use crate::query::{Anchor, Bound, Predicate, Range};
use crate::schema::{Kind, exact_hash};
use crate::text::{bool_text, decimal, fold, head, number_text};

/// Stands on both sides of each element of a list; occurs nowhere in UTF-8.
pub(crate) const FRAME: u8 = 0xFF;

/// One value as a run gives it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ValueRef<'a> {
    Null,
    /// Of [`Kind::Text`] and [`Kind::Plain`].
    Text(TextRef<'a>),
    Markup {
        exact: [u8; 16],
        text: TextRef<'a>,
    },
    Number(f64),
    Bool(bool),
    Instant {
        micros: i64,
        text: &'a str,
    },
    List(ListRef<'a>),
}

/// A text: its first 256 code points, the whole, and the whole folded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextRef<'a> {
    pub(crate) head: &'a str,
    pub(crate) full: Full<'a>,
    pub(crate) folded: &'a str,
}

/// Where the whole text is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Full<'a> {
    /// The head is all.
    Head,
    /// As it is.
    Plain(&'a str),
    /// Compressed by zstd.
    Packed(&'a [u8]),
}

/// A list, raw and folded: `FF e1 FF e2 FF`; an empty list is one `FF`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListRef<'a> {
    pub(crate) raw: &'a [u8],
    pub(crate) folded: &'a [u8],
}

/// A predicate made ready to be asked many times.
#[derive(Debug, Clone)]
pub(crate) enum Prepared {
    /// The value is null.
    Null,
    /// The exact form is the text; on markup, its hash is.
    Equals { text: String, hash: [u8; 16] },
    /// The number form lies in the range.
    Number(Range<f64>),
    /// The text form lies in the range.
    Text(Range<String>),
    /// The instant lies in the range of microseconds.
    Instant(Range<i64>),
    /// The folded text form holds the folded needle.
    Substring(Box<Needle>),
    /// The list has exactly this element.
    Has(Box<Element>),
}

/// A folded needle and where it must stand.
#[derive(Debug, Clone)]
pub(crate) struct Needle {
    pub(crate) place: Anchor,
    /// Folded; may be empty.
    pub(crate) folded: String,
    /// Finds the needle; in lists with the frame of its place.
    finder: Finder<'static>,
    in_list: Finder<'static>,
}

/// An exact element of a list.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) text: String,
    framed: Finder<'static>,
}

impl Prepared {
    pub(crate) fn new(predicate: &Predicate) -> Prepared {
        match predicate {
            Predicate::Null => Prepared::Null,
            Predicate::Equals(text) => Prepared::Equals { text: text.clone(), hash: exact_hash(text) },
            Predicate::Number(range) => Prepared::Number(range.clone()),
            Predicate::Text(range) => Prepared::Text(range.clone()),
            Predicate::Instant(range) => Prepared::Instant(range.clone()),
            Predicate::Substring(place, needle) => Prepared::Substring(Box::new(Needle::new(*place, needle))),
            Predicate::Has(element) => Prepared::Has(Box::new(Element {
                text: element.clone(),
                framed: Finder::new(&framed(&[element.as_str()])).into_owned(),
            })),
        }
    }

    /// Whether a value of a column of this kind satisfies the predicate.
    pub(crate) fn matches(&self, kind: Kind, value: ValueRef<'_>) -> bool {
        if let ValueRef::Null = value {
            return matches!(self, Prepared::Null);
        }
        match self {
            Prepared::Null => false,
            Prepared::Equals { text, hash } => equals(value, text, hash),
            Prepared::Number(range) => number_form(kind, value).is_some_and(|number| range.holds(&number)),
            Prepared::Text(range) => text_in_range(value, range),
            Prepared::Instant(range) => matches!(value, ValueRef::Instant { micros, .. } if range.holds(&micros)),
            Prepared::Substring(needle) => needle.is_in(value),
            Prepared::Has(element) => element.is_in(value),
        }
    }
}

impl Needle {
    fn new(place: Anchor, needle: &str) -> Needle {
        let folded = fold(needle).into_owned();
        let mut in_list = Vec::with_capacity(folded.len() + 1);
        if place == Anchor::Start {
            in_list.push(FRAME);
        }
        in_list.extend_from_slice(folded.as_bytes());
        if place == Anchor::End {
            in_list.push(FRAME);
        }
        Needle { place, finder: Finder::new(&folded).into_owned(), in_list: Finder::new(&in_list).into_owned(), folded }
    }

    /// Whether a folded text holds the needle at its place. In UTF-8, one string is in another if its bytes are.
    pub(crate) fn is_in_text(&self, folded: &[u8]) -> bool {
        match self.place {
            Anchor::Anywhere => self.finder.find(folded).is_some(),
            Anchor::Start => folded.starts_with(self.folded.as_bytes()),
            Anchor::End => folded.ends_with(self.folded.as_bytes()),
        }
    }

    /// Whether any element of a folded, framed list holds the needle at its place.
    pub(crate) fn is_in_list(&self, folded: &[u8]) -> bool {
        match self.folded.is_empty() {
            true => folded.len() > 1,
            false => self.in_list.find(folded).is_some(),
        }
    }

    fn is_in(&self, value: ValueRef<'_>) -> bool {
        match value {
            ValueRef::Null => false,
            ValueRef::Text(text) | ValueRef::Markup { text, .. } => self.is_in_text(text.folded.as_bytes()),
            ValueRef::Number(number) => self.is_in_text(fold(&number_text(number)).as_bytes()),
            ValueRef::Bool(value) => self.is_in_text(bool_text(value).as_bytes()),
            ValueRef::Instant { text, .. } => self.is_in_text(fold(text).as_bytes()),
            ValueRef::List(list) => self.is_in_list(list.folded),
        }
    }
}

impl Element {
    /// Whether a raw, framed list has the element.
    pub(crate) fn is_in_list(&self, raw: &[u8]) -> bool {
        self.framed.find(raw).is_some()
    }

    fn is_in(&self, value: ValueRef<'_>) -> bool {
        matches!(value, ValueRef::List(list) if self.is_in_list(list.raw))
    }
}

impl<T: PartialOrd> Range<T> {
    /// Whether the value lies in the range.
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

impl<'a> TextRef<'a> {
    fn is_same(&self, other: &TextRef<'_>) -> bool {
        self.head == other.head && self.folded == other.folded && self.whole() == other.whole()
    }

    /// The text as it was given.
    pub(crate) fn whole(&self) -> Cow<'a, str> {
        match self.full {
            Full::Head => Cow::Borrowed(self.head),
            Full::Plain(text) => Cow::Borrowed(text),
            Full::Packed(packed) => match unpack(packed) {
                Some(text) => Cow::Owned(text),
                None => {
                    tracing::error!("a packed text of the index cannot be unpacked; run `verify`");
                    Cow::Borrowed(self.head)
                }
            },
        }
    }

    /// Compares by code point. The whole is only looked at where the head leaves it open.
    pub(crate) fn compare(&self, other: &str) -> Ordering {
        match self.full {
            Full::Head => self.head.cmp(other),
            _ if !other.starts_with(self.head) => self.head.cmp(other),
            _ => self.whole().as_ref().cmp(other),
        }
    }

    fn is(&self, other: &str) -> bool {
        self.compare(other) == Ordering::Equal
    }
}

impl<'a> ListRef<'a> {
    /// The elements as they were given.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        unframed(self.raw)
    }

    /// The text form: the elements joined by `,`.
    pub(crate) fn joined(&self) -> String {
        let mut joined = String::with_capacity(self.raw.len());
        for (place, element) in self.elements().enumerate() {
            if place > 0 {
                joined.push(',');
            }
            joined.push_str(element);
        }
        joined
    }
}

impl<'a> ValueRef<'a> {
    /// Whether it is the same value, folded text and all.
    pub(crate) fn is_same(&self, other: &ValueRef<'_>) -> bool {
        match (self, other) {
            (ValueRef::Null, ValueRef::Null) => true,
            (ValueRef::Text(one), ValueRef::Text(other)) => one.is_same(other),
            (ValueRef::Markup { exact: a, text: one }, ValueRef::Markup { exact: b, text: other }) => {
                a == b && one.is_same(other)
            }
            (ValueRef::Number(one), ValueRef::Number(other)) => one == other,
            (ValueRef::Bool(one), ValueRef::Bool(other)) => one == other,
            (ValueRef::Instant { micros: a, text: one }, ValueRef::Instant { micros: b, text: other }) => {
                a == b && one == other
            }
            (ValueRef::List(one), ValueRef::List(other)) => one.raw == other.raw && one.folded == other.folded,
            _ => false,
        }
    }

    /// The first 256 code points of the text form of what is sorted by collation; none for other kinds and null.
    pub(crate) fn collated(&self) -> Option<Cow<'a, str>> {
        match self {
            ValueRef::Text(text) | ValueRef::Markup { text, .. } => Some(Cow::Borrowed(text.head)),
            ValueRef::List(list) => Some(Cow::Owned(head(&list.joined()).to_owned())),
            _ => None,
        }
    }

    /// A number in the order of the values of what is not sorted by collation; none for null. Zero, whose complement
    /// orders with null, is only that of the lowest instant there can be.
    pub(crate) fn ranked(&self) -> Option<u64> {
        match *self {
            ValueRef::Number(number) => Some(rank_of_number(number)),
            ValueRef::Bool(value) => Some(1 + u64::from(value)),
            ValueRef::Instant { micros, .. } => Some(rank_of_integer(micros)),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, ValueRef::Null)
    }
}

/// An integer that orders as the double does; both zeros are one.
pub(crate) fn rank_of_number(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}

/// An unsigned integer that orders as the signed one does.
pub(crate) fn rank_of_integer(number: i64) -> u64 {
    number.cast_unsigned() ^ (1 << 63)
}

/// Elements between frames.
pub(crate) fn framed(elements: &[impl AsRef<str>]) -> Vec<u8> {
    let mut bytes = vec![FRAME];
    for element in elements {
        bytes.extend_from_slice(element.as_ref().as_bytes());
        bytes.push(FRAME);
    }
    bytes
}

/// The elements of framed bytes, raw or folded.
pub(crate) fn unframed(bytes: &[u8]) -> impl Iterator<Item = &str> {
    // Without the outer frames; an empty list has one frame, and so no inside.
    let inside = bytes.get(1..).and_then(|rest| rest.strip_suffix(&[FRAME]));
    inside
        .into_iter()
        .flat_map(|inside| inside.split(|&byte| byte == FRAME))
        .map(|element| str::from_utf8(element).unwrap_or_default())
}

fn unpack(packed: &[u8]) -> Option<String> {
    String::from_utf8(zstd::decode_all(packed).ok()?).ok()
}

fn equals(value: ValueRef<'_>, text: &str, hash: &[u8; 16]) -> bool {
    match value {
        ValueRef::Null | ValueRef::Instant { .. } => false,
        ValueRef::Text(value) => value.is(text),
        ValueRef::Markup { exact, .. } => exact == *hash,
        ValueRef::Number(number) => number_text(number) == text,
        ValueRef::Bool(value) => bool_text(value) == text,
        ValueRef::List(list) => list.joined() == text,
    }
}

fn number_form(kind: Kind, value: ValueRef<'_>) -> Option<f64> {
    match (kind, value) {
        (_, ValueRef::Number(number)) => Some(number),
        (Kind::Text, ValueRef::Text(text)) => {
            // Most texts are no numbers, and their first byte says so.
            matches!(text.head.as_bytes().first(), Some(b'-' | b'0'..=b'9')).then(|| decimal(&text.whole())).flatten()
        }
        _ => None,
    }
}

fn text_in_range(value: ValueRef<'_>, range: &Range<String>) -> bool {
    match value {
        ValueRef::Null => false,
        ValueRef::Text(text) | ValueRef::Markup { text, .. } => {
            let above = match &range.from {
                None => true,
                Some(Bound::Included(from)) => text.compare(from).is_ge(),
                Some(Bound::Excluded(from)) => text.compare(from).is_gt(),
            };
            above
                && match &range.to {
                    None => true,
                    Some(Bound::Included(to)) => text.compare(to).is_le(),
                    Some(Bound::Excluded(to)) => text.compare(to).is_lt(),
                }
        }
        ValueRef::Number(number) => range.holds(&number_text(number)),
        ValueRef::Bool(value) => range.holds(&bool_text(value).to_owned()),
        ValueRef::Instant { text, .. } => range.holds(&text.to_owned()),
        ValueRef::List(list) => range.holds(&list.joined()),
    }
}

#[cfg(test)]
mod tests;
