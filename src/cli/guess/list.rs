//! Guesses whether the cells of a column are lists: repeated short words with a separator between them. Must not know
//! what the guess is used for.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// The separators that are considered. A slash is not among them, because it occurs in dates, units and paths.
const SEPARATORS: [char; 3] = [',', ';', '|'];

/// The length in characters above which an element is prose.
const LONGEST: usize = 40;
/// The least average number of occurrences of a list's words. Texts below are not lists but names such as
/// `Miller, Ann`.
const REPEATED: u64 = 2;
/// The number of distinct words above which a column is prose. It bounds the memory of a column.
const MOST_WORDS: usize = 400;
/// The least number of cells with several elements. They must also be at least one in `ONE_OF` cells.
const FEWEST: u64 = 3;
const ONE_OF: u64 = 4;

/// The facts known of the cells of a column, for each separator.
#[derive(Debug, Default)]
pub(super) struct Lists([Words; SEPARATORS.len()]);

/// The elements of cells when they are cut at one separator.
#[derive(Debug, Default)]
struct Words {
    /// True if a cell is not a list of short words.
    is_prose: bool,
    /// The number of cells with several elements.
    several: u64,
    elements: u64,
    /// Hashes of the elements.
    distinct: HashSet<u64>,
}

impl Lists {
    /// Adds a cell that is not empty.
    pub(super) fn add(&mut self, cell: &str) {
        SEPARATORS.into_iter().zip(&mut self.0).for_each(|(separator, words)| words.add(cell, separator));
    }

    /// Returns the separator, and the number of cells with several elements.
    pub(super) fn separator(&self, filled: u64) -> Option<(char, u64)> {
        let found = SEPARATORS.into_iter().zip(&self.0).filter(|(_, words)| words.are_lists(filled));
        found.map(|(separator, words)| (separator, words.several)).max_by_key(|(_, several)| *several)
    }
}

impl Words {
    fn add(&mut self, cell: &str, separator: char) {
        if self.is_prose {
            return;
        }
        let mut count = 0;
        for element in cell.split(separator).map(str::trim).filter(|element| !element.is_empty()) {
            count += 1;
            self.distinct.insert(BuildHasherDefault::<DefaultHasher>::default().hash_one(element));
            self.is_prose |= element.chars().nth(LONGEST).is_some();
        }
        self.is_prose |= self.distinct.len() > MOST_WORDS;
        self.elements += count;
        self.several += u64::from(count > 1);
    }

    fn are_lists(&self, filled: u64) -> bool {
        let repeats = self.elements >= REPEATED * self.distinct.len() as u64;
        !self.is_prose && repeats && self.several >= FEWEST && self.several * ONE_OF >= filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_one_of_lists_if_its_short_words_repeat() {
        let prose = format!("{}, red", "x".repeat(LONGEST + 1));
        let none = (' ', 0);
        let cases: [(&[&str], (char, u64)); 6] = [
            (&["red, dry", "red", "white, dry", "white, red", "dry"], (',', 3)),
            (&["red; dry", "red;dry", "white; dry", "red;white"], (';', 4)),
            // Not lists: names, too few lists, prose, a decimal comma.
            (&["Miller, Ann", "Smith, Joe", "Jones, Eve"], none),
            (&["red, dry", "red, dry", "red", "dry"], none),
            (&["red, dry", "red, dry", "red, dry", &prose], none),
            (&["1,5", "2,5", "3,25"], none),
        ];
        for (cells, expected) in cases {
            let mut lists = Lists::default();
            cells.iter().for_each(|cell| lists.add(cell));
            assert_eq!(lists.separator(cells.len() as u64).unwrap_or(none), expected, "{cells:?}");
        }
    }
}
