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
/// A row for each character of the last word says how far its beginning is from the beginnings of the wanted word. The
/// beginning that the next word shares with it is not measured again: in an ascending list, that is most of most words.
/// Measuring stops at a beginning that is too far away: after `kernel`, all words that begin with `kz` are rejected by
/// two characters.
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

/// The place of the next word in an ascending list that may be near enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Skip {
    /// The number of bytes with which it begins as the last word does.
    pub(crate) shared: usize,
    /// The character behind them; `None` for the first word that does not begin with these bytes.
    pub(crate) next: Option<char>,
}

/// No character has this number.
const NO_CHAR: u32 = u32::MAX;
/// The number of beginnings of the wanted word that differ from a beginning of another word by at most [`MAX_TYPOS`]
/// characters in length. The others are farther than any limit.
const NEAR: usize = 2 * MAX_TYPOS + 1;
/// The number of places of the wanted word that are looked at for a row, from the one [`MARGIN`] before the row's
/// number on.
const WINDOW: usize = NEAR + 2;
/// The number of places before the wanted word.
const MARGIN: usize = MAX_TYPOS + 2;
/// The lowest bit of each lane of [`Row::within`].
const LANES: u32 = 0x01_01_01;

/// The distances from a beginning of the word to beginnings of the wanted one.
///
/// In sets of bits, bit `b` of the row of a beginning with `n` characters stands for the beginning of the wanted word
/// with `n + b - MAX_TYPOS` characters.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// The number of bytes this beginning of the word has.
    end: usize,
    /// The last character of this beginning.
    character: u32,
    /// For each number of typos up to the limit, in a lane of eight bits, the beginnings of the wanted word that are so
    /// close or closer.
    within: u32,
    /// Bit `b` is set if `character` is at place `b` of the row's window.
    equal: u8,
    /// The least distance from this beginning or a shorter one to the whole wanted word.
    begun: u8,
}

impl Row {
    /// Returns whether all words with this beginning are too far away, except for shorter beginnings.
    fn is_over(&self) -> bool {
        self.within == 0
    }

    /// Returns the beginnings of the wanted word that are at most so many typos away.
    fn lane(&self, typos: usize) -> u8 {
        (self.within >> (8 * typos)) as u8
    }
}

impl Distance {
    /// Creates a measure of distances up to `limit`, from 1 to [`MAX_TYPOS`].
    pub(super) fn new(word: &str, limit: usize) -> Distance {
        let limit = limit.clamp(1, MAX_TYPOS);
        let mut wanted = vec![NO_CHAR; MARGIN];
        wanted.extend(word.chars().map(u32::from));
        let length = wanted.len() - MARGIN;
        wanted.resize(wanted.len() + MARGIN + WINDOW, NO_CHAR);
        let mut distance = Distance { wanted, length, limit, bytes: Vec::new(), rows: Vec::new() };
        let beginnings = |typos: usize| (0..=typos).fold(0, |bits, length| bits | 1 << (MAX_TYPOS + length));
        let within = (0..=limit).fold(0, |within, typos| within | beginnings(typos) << (8 * typos));
        let within = within & distance.existing(0);
        let begun = distance.to_whole(0, within);
        distance.rows.push(Row { end: 0, character: NO_CHAR, within, equal: 0, begun });
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
        while !self.last().is_over() && self.last().end < word.len() {
            let (character, length) = character_at(&word[self.last().end..]);
            let row = self.row(u32::from(character), length);
            self.rows.push(row);
        }
        let Row { end, within, begun, .. } = *self.last();
        self.bytes.truncate(kept);
        self.bytes.extend_from_slice(&word[kept..end]);
        let begins_alike = self.rows.get(1).is_some_and(|row| row.character == self.wanted[MARGIN]);
        if !begins_alike {
            return None;
        }
        let near = |typos: u8| Some(usize::from(typos)).filter(|typos| *typos <= self.limit);
        let whole = (end == word.len()).then(|| self.to_whole(self.rows.len() - 1, within));
        let distances = Distances { whole: whole.and_then(near), begun: near(begun) };
        (distances.whole.is_some() || distances.begun.is_some()).then_some(distances)
    }

    /// Returns the place of the next word that may be near enough, if the last one is too far away, and so are words
    /// directly behind it. `is_open` says whether a word is near enough if its beginning is.
    pub(super) fn skip(&self, is_open: bool) -> Option<Skip> {
        if !self.last().is_over() || (is_open && usize::from(self.last().begun) <= self.limit) {
            return None;
        }
        // Another character at the end of the beginning that is too far away; if none is near enough, one before it,
        // and so on.
        let place = (1..self.rows.len()).rev().find_map(|number| {
            if self.takes_any(number) {
                return Some(Skip { shared: self.rows[number].end, next: None });
            }
            let next = self.taken(number).filter(|next| *next > self.rows[number].character).min()?;
            Some(Skip { shared: self.rows[number - 1].end, next: char::from_u32(next) })
        });
        Some(place.unwrap_or(Skip { shared: 0, next: None }))
    }

    fn last(&self) -> &Row {
        &self.rows[self.rows.len() - 1]
    }

    /// Returns the row with two characters less.
    fn before(&self, number: usize) -> Option<&Row> {
        self.rows.get(number.checked_sub(2)?)
    }

    /// Returns the row after the last one, for another character of `length` bytes.
    fn row(&self, character: u32, length: usize) -> Row {
        let number = self.rows.len();
        let (last, before) = (self.last(), self.before(number).map_or(0, |before| before.within));
        let equal = self.equal(number, character);
        let lanes = |bits: u8| LANES * u32::from(bits);
        let existing = self.existing(number);
        let kept = last.within & lanes(equal >> 1);
        let one_less = last.within << 8;
        let (exchanged, added) = (one_less, one_less >> 1);
        let swapped = (before << 8) & lanes(equal & (last.equal >> 2));
        let mut within = (kept | exchanged | added | swapped) & existing;
        for _ in 0..self.limit {
            // An omitted character.
            within |= (within << 9) & existing;
        }
        let begun = last.begun.min(self.to_whole(number, within));
        Row { end: last.end + length, character, within, equal, begun }
    }

    /// Returns whether every character may be the last one of a beginning with so many characters, the others of which
    /// are those of the last word.
    fn takes_any(&self, number: usize) -> bool {
        let one_less = self.rows[number - 1].lane(self.limit - 1);
        u32::from(one_less | one_less >> 1) & self.existing(number) != 0
    }

    /// Returns the characters that may be the last one of such a beginning, if not every character may.
    fn taken(&self, number: usize) -> impl Iterator<Item = u32> {
        let last = &self.rows[number - 1];
        let before = self.before(number).map_or(0, |before| before.lane(self.limit - 1));
        let existing = self.existing(number) as u8;
        let kept = last.lane(self.limit) & existing;
        let swapped = before & (last.equal >> 2) & existing;
        let places = (kept << 1) | swapped;
        let window = self.window(number).into_iter().flatten();
        window.enumerate().filter(move |(place, _)| places >> place & 1 == 1).map(|(_, character)| *character)
    }

    /// Returns the places of the wanted word that are looked at for a row; `None` far behind its end.
    fn window(&self, number: usize) -> Option<&[u32; WINDOW]> {
        self.wanted.get(number..)?.first_chunk()
    }

    /// Returns [`Row::equal`] of a row.
    fn equal(&self, number: usize, character: u32) -> u8 {
        let bits = |window: &[u32; WINDOW]| {
            (0..).zip(window).fold(0, |bits, (bit, wanted)| bits | u8::from(*wanted == character) << bit)
        };
        self.window(number).map_or(0, bits)
    }

    /// Returns the bits of a row that stand for beginnings of the wanted word, in each lane that is used.
    fn existing(&self, number: usize) -> u32 {
        let from_first = u32::from(u8::MAX << MAX_TYPOS.saturating_sub(number));
        let to_last = (self.length + MAX_TYPOS + 1).saturating_sub(number).min(NEAR);
        (from_first & ((1 << to_last) - 1)) * (LANES >> (8 * (MAX_TYPOS - self.limit)))
    }

    /// Returns the distance to the whole wanted word; more than the limit if it is farther.
    fn to_whole(&self, number: usize, within: u32) -> u8 {
        match (self.length + MAX_TYPOS).checked_sub(number).filter(|bit| *bit < NEAR) {
            Some(bit) if within >> bit & LANES != 0 => ((within >> bit & LANES).trailing_zeros() / 8) as u8,
            _ => self.limit as u8 + 1,
        }
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
