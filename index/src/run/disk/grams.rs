//! Grams: the distinct sequences of one, two and three code points in texts, and the documents that contain them. It
//! knows nothing of columns or terms.
//!
//! Building a run spends most of its time here. So no string is allocated per gram, and each position of a text usually
//! takes one lookup.

use tantivy::TantivyError;

/// Collects the grams of documents, which must come in ascending order.
#[derive(Default)]
pub(super) struct Grams {
    /// A hash table with open addressing. Its length is a power of two, or zero.
    table: Vec<Bucket>,
    /// The grams by number, in order of appearance.
    keys: Vec<u64>,
    /// How many documents have a gram, by its number.
    counts: Vec<u32>,
    /// The numbers of the grams of each document, one document after another.
    found: Vec<u32>,
    documents: Vec<DocumentGrams>,
}

/// The grams of one document.
struct DocumentGrams {
    document: u32,
    /// Where they end in [`Grams::found`].
    end: usize,
}

/// A bucket of the hash table.
#[derive(Clone, Copy, Default)]
struct Bucket {
    /// The gram; zero if the bucket is empty.
    key: u64,
    /// The gram's number.
    number: u32,
    /// The last document that has the gram, plus one.
    last: u32,
}

/// Bits of a code point in a key. A key holds each code point plus one, the first in the highest bits, so keys sort as
/// the grams' UTF-8 does and no key is zero.
const BITS: u32 = 21;

impl Grams {
    /// Adds the grams of a text of a document. A document may have several texts; grams do not cross from one to the
    /// next.
    pub(super) fn add(&mut self, document: u32, text: &str) {
        if self.documents.last().is_none_or(|last| last.document != document) {
            self.documents.push(DocumentGrams { document, end: self.found.len() });
        }
        let mark = document + 1;
        let mut codes = text.chars().map(|char| u64::from(char) + 1);
        let Some(mut first) = codes.next() else { return };
        if let Some(mut second) = codes.next() {
            for third in codes {
                let pair = first << (2 * BITS) | second << BITS;
                // A gram seen before in this document was added together with its prefixes.
                if self.add_gram(pair | third, mark) && self.add_gram(pair, mark) {
                    self.add_gram(first << (2 * BITS), mark);
                }
                (first, second) = (second, third);
            }
            self.add_gram(first << (2 * BITS) | second << BITS, mark);
            self.add_gram(first << (2 * BITS), mark);
            first = second;
        }
        self.add_gram(first << (2 * BITS), mark);
        if let Some(last) = self.documents.last_mut() {
            last.end = self.found.len();
        }
    }

    /// Emits every gram, in ascending order of its UTF-8, with its documents, ascending.
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
        for &DocumentGrams { document, end } in &self.documents {
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

    /// Adds a gram to the current document. Returns whether it is the first time.
    fn add_gram(&mut self, key: u64, mark: u32) -> bool {
        if self.keys.len() * 2 >= self.table.len() {
            self.grow();
        }
        let mut index = bucket_of(key, self.table.len());
        loop {
            let bucket = &mut self.table[index];
            if bucket.key == key {
                if bucket.last == mark {
                    return false;
                }
                bucket.last = mark;
                self.counts[bucket.number as usize] += 1;
                self.found.push(bucket.number);
                return true;
            }
            if bucket.key == 0 {
                let number = self.keys.len() as u32;
                *bucket = Bucket { key, number, last: mark };
                self.keys.push(key);
                self.counts.push(1);
                self.found.push(number);
                return true;
            }
            index = (index + 1) & (self.table.len() - 1);
        }
    }

    fn grow(&mut self) {
        let length = (self.table.len() * 2).max(1 << 10);
        let old = std::mem::replace(&mut self.table, vec![Bucket::default(); length]);
        for bucket in old.into_iter().filter(|bucket| bucket.key != 0) {
            let mut index = bucket_of(bucket.key, length);
            while self.table[index].key != 0 {
                index = (index + 1) & (length - 1);
            }
            self.table[index] = bucket;
        }
    }
}

/// Hashes by multiplication: the upper bits of a product with a large odd number depend on all bits of the key.
fn bucket_of(key: u64, length: usize) -> usize {
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

    fn naive_grams(documents: &[Vec<String>]) -> BTreeMap<String, Vec<u32>> {
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
        fn grams_are_the_windows_of_every_text(
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
            prop_assert_eq!(found, Vec::from_iter(naive_grams(&documents)));
        }
    }
}
