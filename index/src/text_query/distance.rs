//! The number of typos between two words. It knows no queries.
//!
//! A typo is an inserted, omitted or replaced character, or two swapped neighbors. A swap counts as one typo only if
//! nothing is typed between the two (optimal string alignment).

/// The number of typos that turn the wanted word into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Distances {
    /// The typos to the whole word.
    pub(super) whole: Option<usize>,
    /// The typos to its closest beginning.
    pub(super) begun: Option<usize>,
}

/// The most typos that are ever allowed.
pub(super) const MAX_TYPOS: usize = 2;

/// Measures words against a wanted one.
///
/// A row for each character of the last word says how far its beginning is from the beginnings of the wanted word. The beginning
/// that the next word shares with it is not measured again: in an ascending list, that is most of most words. Measuring stops at a
/// beginning that is too far away: after `kernel`, all words that begin with `kz` are rejected by two characters.
pub(super) struct Distance {
    /// The characters of the wanted word, with [`MARGIN`] times [`NO_CHAR`] before it, and more behind it.
    wanted: Vec<u32>,
    /// The number of characters of the wanted word.
    length: usize,
    limit: usize,
    /// The beginning of the last word that the rows belong to.
    bytes: Vec<u8>,
    /// A row for each beginning of the word, from the empty one on.
    rows: Vec<Row>,
}

/// What is not a character.
const NO_CHAR: u32 = u32::MAX;
/// The number of places before the wanted word.
const MARGIN: usize = MAX_TYPOS + 2;
/// The number of beginnings of the wanted word that differ from a beginning of another word by at most [`MAX_TYPOS`] characters in
/// length. The others are farther than any limit.
const NEAR: usize = 2 * MAX_TYPOS + 1;
/// The number of places of the wanted word that are looked at for a row.
const WINDOW: usize = NEAR + 2;

/// The distances from a beginning of the word to beginnings of the wanted one.
///
/// In sets of bits, bit `b` of the row of a beginning with `n` characters stands for the beginning of the wanted word with
/// `n + b - MAX_TYPOS` characters.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// The number of bytes this beginning of the word has.
    end: usize,
    /// For each number of typos, the beginnings of the wanted word that are so close or closer.
    within: [u8; MAX_TYPOS + 1],
    /// Bit `b` is set if the last character of this beginning is the one that the wanted word has at `n + b - MAX_TYPOS - 2`.
    equal: u8,
    /// The least distance from this beginning or a shorter one to the whole wanted word.
    begun: u8,
}

impl Distance {
    /// Creates a measure of distances up to `limit`, which is [`MAX_TYPOS`] at most.
    pub(super) fn new(word: &str, limit: usize) -> Distance {
        let limit = limit.min(MAX_TYPOS);
        let mut wanted = vec![NO_CHAR; MARGIN];
        wanted.extend(word.chars().map(u32::from));
        let length = wanted.len() - MARGIN;
        wanted.resize(wanted.len() + MARGIN + WINDOW, NO_CHAR);
        let mut distance = Distance { wanted, length, limit, bytes: Vec::new(), rows: Vec::new() };
        let mut within = [0; MAX_TYPOS + 1];
        for (typos, within) in within.iter_mut().enumerate() {
            (0..=typos).for_each(|length| *within |= 1 << (MAX_TYPOS + length));
            *within &= distance.existing(0);
        }
        let begun = distance.to_whole(0, &within);
        distance.rows.push(Row { end: 0, within, equal: 0, begun });
        distance
    }

    /// Returns the distances to a word in UTF-8 that are within the limit. Returns `None` if none is, or if the first
    /// characters differ.
    pub(super) fn to(&mut self, word: &[u8]) -> Option<Distances> {
        let shared = self.bytes.iter().zip(word).take_while(|(one, other)| one == other).count();
        while self.rows.len() > 1 && self.last().end > shared {
            self.rows.pop();
        }
        let kept = self.last().end;
        while !self.is_over() && self.last().end < word.len() {
            let (character, length) = character_at(&word[self.last().end..]);
            let row = self.row(character, length);
            self.rows.push(row);
        }
        let last = *self.last();
        self.bytes.truncate(kept);
        self.bytes.extend_from_slice(&word[kept..last.end]);
        let begins_alike = self.rows.get(1).is_some_and(|row| row.equal >> (MAX_TYPOS + 1) & 1 == 1);
        if !begins_alike {
            return None;
        }
        let within = |typos: u8| Some(usize::from(typos)).filter(|typos| *typos <= self.limit);
        let whole = (last.end == word.len()).then(|| self.to_whole(self.rows.len() - 1, &last.within));
        let distances = Distances { whole: whole.and_then(within), begun: within(last.begun) };
        (distances.whole.is_some() || distances.begun.is_some()).then_some(distances)
    }

    /// Returns the number of bytes of the shortest beginning of the last word with which all words are too far away, if
    /// there is one.
    pub(super) fn hopeless(&self) -> Option<usize> {
        (self.is_over() && usize::from(self.last().begun) > self.limit).then_some(self.last().end)
    }

    fn last(&self) -> &Row {
        &self.rows[self.rows.len() - 1]
    }

    /// Returns whether all words with the beginning of the last row are too far away, except for their shorter beginnings.
    fn is_over(&self) -> bool {
        self.last().within[self.limit] == 0
    }

    /// Returns the row after the last one, for another character of `length` bytes.
    fn row(&self, character: char, length: usize) -> Row {
        let number = self.rows.len();
        let (last, before) = (self.last(), number.checked_sub(2).map_or([0; MAX_TYPOS + 1], |at| self.rows[at].within));
        let equal = self.equal(number, u32::from(character));
        let swapped = equal & last.equal >> 2;
        let existing = self.existing(number);
        let mut within = [0; MAX_TYPOS + 1];
        within[0] = last.within[0] & equal >> 1 & existing;
        for typos in 1..=self.limit {
            let one_less = last.within[typos - 1];
            let exchanged_or_added = one_less | one_less >> 1;
            let omitted = within[typos - 1] << 1;
            let equal = last.within[typos] & equal >> 1;
            within[typos] = (equal | exchanged_or_added | omitted | before[typos - 1] & swapped) & existing;
        }
        let begun = last.begun.min(self.to_whole(number, &within));
        Row { end: last.end + length, within, equal, begun }
    }

    /// Returns [`Row::equal`] of a row.
    fn equal(&self, number: usize, character: u32) -> u8 {
        // Because of the margin, the first character of the row's window is at its number. There are no windows far behind the end.
        let window = self.wanted.get(number..).and_then(<[u32]>::first_chunk::<WINDOW>);
        let bits = |window: &[u32; WINDOW]| {
            (0..).zip(window).fold(0, |bits, (bit, wanted)| bits | u8::from(*wanted == character) << bit)
        };
        window.map_or(0, bits)
    }

    /// Returns the bits of a row that stand for beginnings of the wanted word.
    fn existing(&self, number: usize) -> u8 {
        let from_first = u8::MAX << MAX_TYPOS.saturating_sub(number);
        let to_last = (self.length + MAX_TYPOS + 1).saturating_sub(number).min(NEAR);
        from_first & ((1 << to_last) - 1)
    }

    /// Returns the distance to the whole wanted word; more than the limit if it is farther.
    fn to_whole(&self, number: usize, within: &[u8; MAX_TYPOS + 1]) -> u8 {
        let bit = (self.length + MAX_TYPOS).checked_sub(number).filter(|bit| *bit < NEAR);
        let closest = bit.and_then(|bit| (0..=self.limit).find(|typos| within[*typos] >> bit & 1 == 1));
        closest.unwrap_or(self.limit + 1) as u8
    }
}

/// Returns the first character of a text that is not empty, and its length in bytes.
fn character_at(text: &[u8]) -> (char, usize) {
    match text[0] {
        byte if byte.is_ascii() => (char::from(byte), 1),
        _ => {
            let chunk = text.utf8_chunks().next();
            let character = chunk.and_then(|chunk| chunk.valid().chars().next());
            character.map_or((char::REPLACEMENT_CHARACTER, 1), |character| (character, character.len_utf8()))
        }
    }
}
