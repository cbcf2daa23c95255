//! The number of typos that are between two words. It knows no queries.
//!
//! A typo is a character inserted, left out, exchanged for another, or two neighbours swapped. A swap is one typo if nothing
//! is typed between the two (optimal string alignment).

/// The number of typos that make a word of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Distances {
    /// The typos to the whole word.
    pub(super) whole: Option<usize>,
    /// The typos to its closest beginning.
    pub(super) begun: Option<usize>,
}

/// No more typos are ever forgiven.
pub(super) const MAX_TYPOS: usize = 2;

/// Measures words against one that is wanted.
///
/// The rows of the table of the word that was measured last are kept. What the next word has in common with it at its beginning
/// is not measured again: in an ascending list, that is most of most words. Of a beginning that is too far away already, nothing
/// more is looked at: after `kernel`, all words that begin with `kz` are dismissed by two characters.
pub(super) struct Distance {
    wanted: Vec<char>,
    limit: usize,
    /// The beginning of the word measured last that the rows are of.
    bytes: Vec<u8>,
    /// For each of the word's beginnings, from the empty one on.
    rows: Vec<Row>,
}

/// A row of the table: the distances from a beginning of the word to beginnings of the wanted one.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// The number of bytes this beginning of the word has.
    end: usize,
    /// Its last character.
    character: char,
    /// To those beginnings of the wanted word that have `limit` characters less, up to `limit` more. Others are farther than the
    /// limit. Distances beyond the limit are one beyond it.
    cells: [u8; 2 * MAX_TYPOS + 1],
    /// The least distance from this beginning or a shorter one to the whole wanted word.
    begun: u8,
    /// True if all words that begin so are too far away, but for their shorter beginnings.
    is_over: bool,
}

impl Distance {
    /// Distances from a word that are at most `limit`, which is [`MAX_TYPOS`] at most.
    pub(super) fn new(wanted: &str, limit: usize) -> Distance {
        let (wanted, limit): (Vec<char>, usize) = (wanted.chars().collect(), limit.min(MAX_TYPOS));
        let mut cells = [limit as u8 + 1; 2 * MAX_TYPOS + 1];
        (0..=limit.min(wanted.len())).for_each(|column| cells[limit + column] = column as u8);
        let begun = if wanted.len() <= limit { wanted.len() } else { limit + 1 } as u8;
        let rows = vec![Row { end: 0, character: '\0', cells, begun, is_over: false }];
        Distance { wanted, limit, bytes: Vec::new(), rows }
    }

    /// The distances to a word, in UTF-8, that are within the limit. `None` if none is, or if the first characters differ.
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
        // Where the wanted word ends in the row of the whole one.
        let column = (self.wanted.len() + self.limit).checked_sub(self.rows.len() - 1);
        let whole = column.filter(|_| last.end == word.len()).and_then(|column| last.cells.get(column)).copied();
        let distances = Distances { whole: whole.and_then(within), begun: within(last.begun) };
        (distances.whole.is_some() || distances.begun.is_some()).then_some(distances)
    }

    /// If all words that begin like the one measured last are too far away, by how many bytes they are alike.
    pub(super) fn hopeless(&self) -> Option<usize> {
        let last = self.last();
        (last.is_over && usize::from(last.begun) > self.limit).then_some(last.end)
    }

    fn last(&self) -> &Row {
        &self.rows[self.rows.len() - 1]
    }

    /// The row after the last one, with another character of so many bytes.
    fn row(&self, character: char, length: usize) -> Row {
        let (last, before) = (self.last(), self.rows.len().checked_sub(2).map(|before| &self.rows[before]));
        let (number, limit, over) = (self.rows.len(), self.limit, self.limit as u8 + 1);
        let mut cells = [over; 2 * MAX_TYPOS + 1];
        let mut begun = last.begun;
        for index in 0..=2 * limit {
            // How many characters of the wanted word this cell is about.
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

/// The first character of a text that is not empty, and its length in bytes.
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
