//! The distinct runs of one, two and three code points of texts, and which documents have them. This is where building
//! a run spends its time, so it makes no string per gram and looks each place of a text up once.

use tantivy::TantivyError;

/// Grams of documents that come in ascending order.
#[derive(Default)]
pub(super) struct Grams {
    /// Open addressing; a power of two long, or empty.
    table: Vec<Anchor>,
    /// The grams by number, in order of appearance.
    keys: Vec<u64>,
    /// How many documents have a gram, by its number.
    counts: Vec<u32>,
    /// The numbers of the grams of each document, one document after the other.
    found: Vec<u32>,
    /// Documents, and where their grams end in `found`.
    documents: Vec<(u32, usize)>,
}

/// A place of the hash table: a gram, its number, and the last document that had it, plus one.
#[derive(Clone, Copy, Default)]
struct Anchor {
    key: u64,
    number: u32,
    last: u32,
}

/// Each code point plus one takes 21 bits, the first the highest, so that keys order as the grams' UTF-8 does and no
/// key is zero.
const BITS: u32 = 21;

impl Grams {
    /// Adds the grams of a text of a document. A document may have several texts: grams do not span them.
    pub(super) fn add(&mut self, document: u32, text: &str) {
        if self.documents.last().is_none_or(|(last, _)| *last != document) {
            self.documents.push((document, self.found.len()));
        }
        let mark = document + 1;
        let mut codes = text.chars().map(|char| u64::from(char) + 1);
        let Some(mut first) = codes.next() else { return };
        if let Some(mut second) = codes.next() {
            for third in codes {
                let pair = first << (2 * BITS) | second << BITS;
                // Whatever has been seen in this document, has been seen with its beginnings.
                if self.see(pair | third, mark) && self.see(pair, mark) {
                    self.see(first << (2 * BITS), mark);
                }
                (first, second) = (second, third);
            }
            self.see(first << (2 * BITS) | second << BITS, mark);
            self.see(first << (2 * BITS), mark);
            first = second;
        }
        self.see(first << (2 * BITS), mark);
        if let Some((_, end)) = self.documents.last_mut() {
            *end = self.found.len();
        }
    }

    /// Gives every gram in ascending order of its UTF-8 with its documents, ascending.
    pub(super) fn finish(
        self,
        mut emit: impl FnMut(&str, &[u32]) -> Result<(), TantivyError>,
    ) -> Result<(), TantivyError> {
        let mut order: Vec<u32> = (0..self.keys.len() as u32).collect();
        order.sort_unstable_by_key(|&number| self.keys[number as usize]);
        let mut next = vec![0; self.keys.len()];
        let mut total = 0;
        for &number in &order {
            next[number as usize] = total;
            total += self.counts[number as usize] as usize;
        }
        let mut postings = vec![0; total];
        let mut start = 0;
        for &(document, end) in &self.documents {
            for &number in &self.found[start..end] {
                postings[next[number as usize]] = document;
                next[number as usize] += 1;
            }
            start = end;
        }
        let mut gram = String::new();
        let mut start = 0;
        for &number in &order {
            gram.clear();
            gram.extend(code_points(self.keys[number as usize]));
            let end = next[number as usize];
            emit(&gram, &postings[start..end])?;
            start = end;
        }
        Ok(())
    }

    /// Notes a gram of the current document. Whether that is news.
    fn see(&mut self, key: u64, mark: u32) -> bool {
        if self.keys.len() * 2 >= self.table.len() {
            self.grow();
        }
        let mut at = home(key, self.table.len());
        loop {
            let place = &mut self.table[at];
            if place.key == key {
                if place.last == mark {
                    return false;
                }
                place.last = mark;
                self.counts[place.number as usize] += 1;
                self.found.push(place.number);
                return true;
            }
            if place.key == 0 {
                let number = self.keys.len() as u32;
                *place = Anchor { key, number, last: mark };
                self.keys.push(key);
                self.counts.push(1);
                self.found.push(number);
                return true;
            }
            at = (at + 1) & (self.table.len() - 1);
        }
    }

    fn grow(&mut self) {
        let length = (self.table.len() * 2).max(1 << 10);
        let old = std::mem::replace(&mut self.table, vec![Anchor::default(); length]);
        for place in old.into_iter().filter(|place| place.key != 0) {
            let mut at = home(place.key, length);
            while self.table[at].key != 0 {
                at = (at + 1) & (length - 1);
            }
            self.table[at] = place;
        }
    }
}

/// The upper bits of a product with a large odd number depend on all bits of the key.
fn home(key: u64, length: usize) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - length.trailing_zeros())) as usize
}

fn code_points(key: u64) -> impl Iterator<Item = char> {
    let codes = [2 * BITS, BITS, 0].map(|shift| (key >> shift) as u32 & ((1 << BITS) - 1));
    codes.into_iter().filter(|&code| code != 0).filter_map(|code| char::from_u32(code - 1))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn plainly(documents: &[Vec<String>]) -> BTreeMap<String, Vec<u32>> {
        let mut grams: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for (document, texts) in documents.iter().enumerate() {
            let mut distinct = BTreeSet::new();
            for text in texts {
                let chars: Vec<char> = text.chars().collect();
                distinct.extend((1..=3).flat_map(|n| chars.windows(n).map(String::from_iter)));
            }
            for gram in distinct {
                grams.entry(gram).or_default().push(document as u32);
            }
        }
        grams
    }

    proptest! {
        #[test]
        fn grams_are_those_of_every_window(
            documents in prop::collection::vec(prop::collection::vec("[ab\u{e9}\u{10ffff}\0]{0,7}|\\PC{0,12}", 0..3), 0..6)
        ) {
            let mut grams = Grams::default();
            for (document, texts) in documents.iter().enumerate() {
                for text in texts {
                    grams.add(document as u32, text);
                }
            }
            let mut found = Vec::new();
            grams.finish(|gram, documents| {
                found.push((gram.to_owned(), documents.to_vec()));
                Ok(())
            }).unwrap();
            prop_assert_eq!(found, Vec::from_iter(plainly(&documents)));
        }
    }
}
