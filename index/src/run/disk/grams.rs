//! Grams: the distinct sequences of one and two code points in texts, also of three in text of scripts without spaces,
//! and the documents that contain them. It does not know columns or terms.
//!
//! Text of scripts without spaces has no words by which a needle of three code points could be found. Frequent ones,
//! such as `使用者`, are in tens of thousands of texts. With grams of three, no text has to be read.

use std::io;

use super::dictionary::StringSink;
use super::inverter::KeyedInverter;
use crate::pieces::{CharClass, class};

/// All sequences of at most this many code points are grams.
pub(super) const MAX_CHARS: usize = 2;
/// Sequences of this many code points are also grams in unspaced text.
pub(super) const UNSPACED_CHARS: usize = 3;

/// Collects the grams of documents, which must come in ascending order.
pub(super) struct Grams {
    grams: KeyedInverter,
    /// Pairs that were added recently, each with its document plus one. This makes the test of most positions cheap.
    seen: Vec<(u32, u64)>,
    /// For each ASCII character, the document plus one to which it was last added.
    seen_ascii: Box<[u32; 128]>,
}

/// The number of entries of [`Grams::seen`]: a power of two.
const SEEN: usize = 1 << 11;

impl Default for Grams {
    fn default() -> Grams {
        Grams { grams: KeyedInverter::new(false), seen: vec![(0, 0); SEEN], seen_ascii: Box::new([0; 128]) }
    }
}

impl Grams {
    /// Adds the grams of a text of a document. A document may have several texts; grams do not cross from one to the
    /// next.
    pub(super) fn add(&mut self, document: u32, text: &str) {
        self.add_short(document, text);
        if !text.is_ascii() {
            self.add_unspaced(document, text);
        }
    }

    fn add_short(&mut self, document: u32, text: &str) {
        let mut chars = text.char_indices().peekable();
        while let Some((start, first)) = chars.next() {
            let middle = start + first.len_utf8();
            let Some(&(_, second)) = chars.peek() else {
                self.add_single(document, &text[start..middle]);
                break;
            };
            let pair = u64::from(first) << 32 | u64::from(second);
            // The upper bits of a product with a large odd number depend on all bits of the pair.
            let at = (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - SEEN.trailing_zeros())) as usize;
            if self.seen[at] != (document + 1, pair) {
                self.seen[at] = (document + 1, pair);
                self.grams.add(document, &text.as_bytes()[start..middle + second.len_utf8()]);
                self.add_single(document, &text[start..middle]);
            }
        }
    }

    fn add_unspaced(&mut self, document: u32, text: &str) {
        // The starts of the last two code points, if they are unspaced.
        let (mut first, mut second) = (None, None);
        for (start, char) in text.char_indices() {
            if class(char) != CharClass::Unspaced {
                (first, second) = (None, None);
                continue;
            }
            if let Some(first) = first {
                self.grams.add(document, &text.as_bytes()[first..start + char.len_utf8()]);
            }
            (first, second) = (second, Some(start));
        }
    }

    fn add_single(&mut self, document: u32, char: &str) {
        if let [ascii @ 0..128] = char.as_bytes() {
            let seen = &mut self.seen_ascii[usize::from(*ascii)];
            if *seen == document + 1 {
                return;
            }
            *seen = document + 1;
        }
        self.grams.add(document, char.as_bytes());
    }

    /// Emits every gram, in ascending order of its UTF-8, with its documents.
    pub(super) fn finish(self, sink: &mut StringSink<'_>) -> io::Result<()> {
        self.grams.finish(sink)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn naive_grams(documents: &[Vec<String>]) -> BTreeMap<String, Vec<u32>> {
        let mut grams: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for (document, texts) in documents.iter().enumerate() {
            let mut distinct = BTreeSet::new();
            for text in texts {
                let chars: Vec<char> = text.chars().collect();
                distinct.extend((1..=MAX_CHARS).flat_map(|n| chars.windows(n).map(String::from_iter)));
                let is_unspaced = |window: &&[char]| window.iter().all(|char| class(*char) == CharClass::Unspaced);
                distinct.extend(chars.windows(UNSPACED_CHARS).filter(is_unspaced).map(String::from_iter));
            }
            for gram in distinct {
                grams.entry(gram).or_default().push(document as u32);
            }
        }
        grams
    }

    proptest! {
        #[test]
        fn grams_are_the_windows_of_every_text(
            documents in prop::collection::vec(prop::collection::vec("[ab\u{e9}\u{10ffff}\0]{0,7}|[日本aー。ก]{0,9}|\\PC{0,12}", 0..3), 0..6)
        ) {
            let mut grams = Grams::default();
            for (document, texts) in documents.iter().enumerate() {
                for text in texts {
                    grams.add(document as u32, text);
                }
            }
            let mut found = Vec::new();
            grams.finish(&mut |gram, posting| {
                found.push((str::from_utf8(gram).unwrap().to_owned(), posting.documents.to_vec()));
                Ok(())
            }).unwrap();
            prop_assert_eq!(found, Vec::from_iter(naive_grams(&documents)));
        }
    }
}
