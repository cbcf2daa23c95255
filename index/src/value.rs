//! A value in a run: raw, folded, and as a sort key. It knows no predicates and no runs.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::damage::FileDamage;
use crate::packing::{CompressionDictionary, unpack_behind, with_unpacked};
use crate::text::{head, with_lower_case};

/// The byte before and after each element of a list. It never occurs in UTF-8.
pub(crate) const FRAME: u8 = 0xFF;

/// A value borrowed from a run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ValueRef<'a> {
    Null,
    /// Of [`Kind::Text`](crate::Kind::Text), [`Kind::Prose`](crate::Kind::Prose) and
    /// [`Kind::Plain`](crate::Kind::Plain).
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

/// A text, raw and folded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextRef<'a> {
    pub(crate) raw: RawText<'a>,
    pub(crate) folded: FoldedText<'a>,
}

/// The storage of a folded text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FoldedText<'a> {
    Plain(&'a str),
    /// The raw text, which differs by ASCII capitals only.
    Capitals(&'a str),
    Packed(PackedFolded<'a>),
}

/// A folded text that is compressed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackedFolded<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) dictionary: Option<&'a CompressionDictionary>,
    /// The place to report that it cannot be decompressed.
    pub(crate) file: FileDamage<'a>,
}

/// The storage of a raw text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RawText<'a> {
    Plain(&'a str),
    Packed(PackedText<'a>),
}

/// A text that is stored as what differs from its folded form, which is compressed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackedText<'a> {
    /// Its first characters, which decide most comparisons.
    pub(crate) start: &'a str,
    pub(crate) difference: &'a [u8],
    pub(crate) folded: PackedFolded<'a>,
}

/// The elements of a list, raw and folded, with frames: `FF e1 FF e2 FF`. An empty list is a single `FF`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListRef<'a> {
    pub(crate) raw: &'a [u8],
    pub(crate) folded: &'a [u8],
}

impl<'a> TextRef<'a> {
    fn is_same(&self, other: &TextRef<'_>) -> bool {
        self.folded.get() == other.folded.get() && self.whole() == other.whole()
    }

    /// Returns the whole text, not folded.
    pub(crate) fn whole(&self) -> Cow<'a, str> {
        match self.raw {
            RawText::Plain(text) => Cow::Borrowed(text),
            RawText::Packed(PackedText { start, difference, folded }) => {
                match unpack_behind(&FoldedText::Packed(folded).get(), difference) {
                    Some(text) => Cow::Owned(text),
                    None => {
                        folded.file.report("a text cannot be decompressed");
                        Cow::Borrowed(start)
                    }
                }
            }
        }
    }

    /// Returns the first 256 code points.
    pub(crate) fn head(&self) -> Cow<'a, str> {
        match self.whole() {
            Cow::Borrowed(text) => Cow::Borrowed(head(text)),
            Cow::Owned(text) => Cow::Owned(head(&text).to_owned()),
        }
    }

    /// Returns the first characters, or all of them: at least one unless the text is empty.
    pub(crate) fn start(&self) -> &'a str {
        match self.raw {
            RawText::Plain(start) | RawText::Packed(PackedText { start, .. }) => start,
        }
    }

    /// Compares the whole text by code point. Reads more than the start only if needed.
    pub(crate) fn compare(&self, other: &str) -> Ordering {
        match self.raw {
            RawText::Packed(PackedText { start, .. }) if !other.starts_with(start) => start.cmp(other),
            _ => self.whole().as_ref().cmp(other),
        }
    }
}

impl<'a> FoldedText<'a> {
    /// Passes the bytes of the text to `read`; empty bytes if it cannot be decompressed.
    pub(crate) fn with<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        match *self {
            FoldedText::Plain(text) => read(text.as_bytes()),
            FoldedText::Capitals(text) => with_lower_case(text.as_bytes(), read),
            FoldedText::Packed(packed) => with_unpacked(packed.bytes, packed.dictionary, |text| {
                read(text.unwrap_or_else(|| {
                    packed.file.report("a folded text cannot be decompressed");
                    &[]
                }))
            }),
        }
    }

    /// Returns the text; empty if it cannot be decompressed.
    pub(crate) fn get(&self) -> Cow<'a, str> {
        match *self {
            FoldedText::Plain(text) => Cow::Borrowed(text),
            FoldedText::Capitals(text) => Cow::Owned(text.to_ascii_lowercase()),
            FoldedText::Packed(..) => Cow::Owned(self.with(|text| String::from_utf8_lossy(text).into_owned())),
        }
    }
}

impl PartialEq<String> for TextRef<'_> {
    fn eq(&self, other: &String) -> bool {
        self.compare(other).is_eq()
    }
}

impl PartialOrd<String> for TextRef<'_> {
    fn partial_cmp(&self, other: &String) -> Option<Ordering> {
        Some(self.compare(other))
    }
}

impl<'a> ListRef<'a> {
    /// Returns the elements, not folded.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        unframed(self.raw)
    }

    /// Returns the text form: the elements joined by `,`.
    pub(crate) fn joined(&self) -> String {
        let mut joined = String::with_capacity(self.raw.len());
        for (index, element) in self.elements().enumerate() {
            if index > 0 {
                joined.push(',');
            }
            joined.push_str(element);
        }
        joined
    }
}

impl<'a> ValueRef<'a> {
    /// Returns whether both are the same value with the same folded text.
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

    /// Returns the text of a text or of markup. `None` for other kinds and for null.
    pub(crate) fn text(&self) -> Option<TextRef<'a>> {
        match self {
            ValueRef::Text(text) | ValueRef::Markup { text, .. } => Some(*text),
            ValueRef::Null | ValueRef::Number(_) | ValueRef::Bool(_) | ValueRef::Instant { .. } | ValueRef::List(_) => {
                None
            }
        }
    }

    /// Returns the sort key of text, markup and lists: the first 256 code points of the text form. `None` for other
    /// kinds and for null.
    pub(crate) fn sort_text(&self) -> Option<Cow<'a, str>> {
        match self {
            ValueRef::Text(text) | ValueRef::Markup { text, .. } => Some(text.head()),
            ValueRef::List(list) => Some(Cow::Owned(head(&list.joined()).to_owned())),
            _ => None,
        }
    }

    /// Returns whether there is a sort text, without reading it.
    pub(crate) fn has_sort_text(&self) -> bool {
        matches!(self, ValueRef::Text(_) | ValueRef::Markup { .. } | ValueRef::List(_))
    }

    /// Returns the sort key of numbers, booleans and instants. `None` for other kinds and for null.
    ///
    /// A descending order complements the ranks, and represents null by `u64::MAX`. Only the rank 0 would collide with
    /// it, and only the instant `i64::MIN` has that rank, which callers never pass.
    pub(crate) fn rank(&self) -> Option<u64> {
        match *self {
            ValueRef::Number(number) => Some(rank_of_number(number)),
            ValueRef::Bool(value) => Some(1 + u64::from(value)),
            ValueRef::Instant { micros, .. } => Some(rank_of_integer(micros)),
            _ => None,
        }
    }

    /// Emits the texts of texts, markup and lists, folded and as they are.
    pub(crate) fn each_text(&self, mut emit: impl FnMut(&str, &str)) {
        match self {
            ValueRef::Text(text) | ValueRef::Markup { text, .. } => emit(&text.folded.get(), &text.whole()),
            ValueRef::List(list) => {
                unframed(list.folded).zip(list.elements()).for_each(|(folded, raw)| emit(folded, raw))
            }
            ValueRef::Null | ValueRef::Number(_) | ValueRef::Bool(_) | ValueRef::Instant { .. } => {}
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, ValueRef::Null)
    }
}

/// Returns an integer that sorts as the number does. Both zeros have the same rank.
pub(crate) fn rank_of_number(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}

/// Returns the number of a rank.
pub(crate) fn number_of_rank(rank: u64) -> f64 {
    f64::from_bits(match rank >> 63 {
        0 => !rank,
        _ => rank & !(1 << 63),
    })
}

/// Returns the integer of a rank.
pub(crate) fn integer_of_rank(rank: u64) -> i64 {
    (rank ^ (1 << 63)).cast_signed()
}

/// Returns an unsigned integer that sorts as the signed one does.
pub(crate) fn rank_of_integer(number: i64) -> u64 {
    number.cast_unsigned() ^ (1 << 63)
}

/// Returns the elements with frames.
pub(crate) fn framed(elements: &[impl AsRef<str>]) -> Vec<u8> {
    let mut bytes = vec![FRAME];
    for element in elements {
        bytes.extend_from_slice(element.as_ref().as_bytes());
        bytes.push(FRAME);
    }
    bytes
}

/// Returns the elements of a framed list, raw or folded.
pub(crate) fn unframed(bytes: &[u8]) -> impl Iterator<Item = &str> {
    // Strips the outer frames. An empty list is a single frame, so there is nothing between them.
    let inside = bytes.get(1..).and_then(|rest| rest.strip_suffix(&[FRAME]));
    inside
        .into_iter()
        .flat_map(|inside| inside.split(|&byte| byte == FRAME))
        .map(|element| str::from_utf8(element).unwrap_or_default())
}

#[cfg(test)]
mod tests;
