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
/// The rows of the table of the last word are kept. The beginning that the next word shares with it is not measured
/// again: in an ascending list, that is most of most words. Measuring stops at a beginning that is too far away: after
/// `kernel`, all words that begin with `kz` are rejected by two characters.
pub(super) struct Distance {
    wanted: Vec<char>,
    limit: usize,
    /// The beginning of the last word that the rows belong to.
    bytes: Vec<u8>,
    /// A row for each beginning of the word, from the empty one on.
    rows: Vec<Row>,
}

/// A row of the table: the distances from a beginning of the word to beginnings of the wanted one.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// The number of bytes this beginning of the word has.
    end: usize,
    /// The last character of this beginning.
    character: char,
    /// The distances to the beginnings of the wanted word that have from `limit` characters less to `limit` more. Other
    /// beginnings are farther than the limit. Distances above the limit are stored as one above it.
    cells: [u8; 2 * MAX_TYPOS + 1],
    /// The least distance from this beginning or a shorter one to the whole wanted word.
    begun: u8,
    /// True if all words with this beginning are too far away, except for their shorter beginnings.
    is_over: bool,
}

impl Distance {
    /// Creates a measure of distances up to `limit`, which is [`MAX_TYPOS`] at most.
    pub(super) fn new(wanted: &str, limit: usize) -> Distance {
        let (wanted, limit): (Vec<char>, usize) = (wanted.chars().collect(), limit.min(MAX_TYPOS));
        let mut cells = [limit as u8 + 1; 2 * MAX_TYPOS + 1];
        (0..=limit.min(wanted.len())).for_each(|column| cells[limit + column] = column as u8);
        let begun = if wanted.len() <= limit { wanted.len() } else { limit + 1 } as u8;
        let rows = vec![Row { end: 0, character: '\0', cells, begun, is_over: false }];
        Distance { wanted, limit, bytes: Vec::new(), rows }
    }

    /// Returns the distances to a word in UTF-8 that are within the limit. Returns `None` if none is, or if the first
    /// characters differ.
    pub(super) fn to(&mut self, word: &[u8]) -> Option<Distances> {
        let shared = self.bytes.iter().zip(word).take_while(|(one, other)| one == other).count();
        while self.rows.len() > 1 && self.last().end > shared {
            self.rows.pop();
        }
        self.bytes.truncate(self.last().end);
        while !self.last().is_over && self.last().end < word.len() {
            let (character, length) = character_at(&word[self.last().end..]);
            let row = self.row(character, length);
            self.bytes.extend_from_slice(&word[self.last().end..row.end]);
            self.rows.push(row);
        }
        if self.rows.get(1).map(|row| row.character) != self.wanted.first().copied() {
            return None;
        }
        let last = self.last();
        let within = |typos: u8| Some(usize::from(typos)).filter(|typos| *typos <= self.limit);
        // The cell of the whole wanted word in the row of the whole word.
        let column = (self.wanted.len() + self.limit).checked_sub(self.rows.len() - 1);
        let whole = column.filter(|_| last.end == word.len()).and_then(|column| last.cells.get(column)).copied();
        let distances = Distances { whole: whole.and_then(within), begun: within(last.begun) };
        (distances.whole.is_some() || distances.begun.is_some()).then_some(distances)
    }

    /// Returns the number of bytes of the shortest beginning of the last word with which all words are too far away, if
    /// there is one.
    pub(super) fn hopeless(&self) -> Option<usize> {
        let last = self.last();
        (last.is_over && usize::from(last.begun) > self.limit).then_some(last.end)
    }

    fn last(&self) -> &Row {
        &self.rows[self.rows.len() - 1]
    }

    /// Returns the row after the last one, for another character of `length` bytes.
    fn row(&self, character: char, length: usize) -> Row {
        let (last, before) = (self.last(), self.rows.len().checked_sub(2).map(|before| &self.rows[before]));
        let (number, limit, over) = (self.rows.len(), self.limit, self.limit as u8 + 1);
        let mut cells = [over; 2 * MAX_TYPOS + 1];
        let mut begun = last.begun;
        for index in 0..=2 * limit {
            // The number of characters of the wanted word for this cell.
            let Some(column) = (number + index).checked_sub(limit).filter(|column| *column <= self.wanted.len()) else {
                continue;
            };
            let mut typos = number.min(usize::from(over)) as u8;
            if column > 0 {
                let wanted = self.wanted[column - 1];
                typos = last.cells[index] + u8::from(character != wanted);
                if index < 2 * limit {
                    typos = typos.min(last.cells[index + 1] + 1);
                }
                if index > 0 {
                    typos = typos.min(cells[index - 1] + 1);
                }
                if let Some(before) = before
                    && column > 1
                    && character == self.wanted[column - 2]
                    && last.character == wanted
                {
                    typos = typos.min(before.cells[index] + 1);
                }
            }
            cells[index] = typos.min(over);
            if column == self.wanted.len() {
                begun = begun.min(cells[index]);
            }
        }
        let is_over = cells.iter().all(|typos| *typos >= over);
        Row { end: last.end + length, character, cells, begun, is_over }
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
