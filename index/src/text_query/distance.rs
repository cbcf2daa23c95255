//! How many typos are between two words. It knows no queries.
//!
//! A typo is a character inserted, left out, exchanged for another, or two neighbours swapped. A swap is one typo if nothing
//! is typed between the two (optimal string alignment).

/// How many typos make a word of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Distances {
    /// The typos to the whole word.
    pub(super) whole: Option<usize>,
    /// The typos to its closest beginning.
    pub(super) begun: Option<usize>,
}

/// The distances from `wanted` to `word` that are at most `limit`. `None` if none is, or if the first characters differ.
pub(super) fn distances(wanted: &str, word: &str, limit: usize) -> Option<Distances> {
    match wanted.is_ascii() && word.is_ascii() {
        true => of_characters(wanted.as_bytes(), word.as_bytes(), limit),
        false => {
            let characters = |text: &str| text.chars().collect::<Vec<char>>();
            of_characters(&characters(wanted), &characters(word), limit)
        }
    }
}

/// The rows of the table for a word of at most so many characters are on the stack.
const SHORT: usize = 64;

fn of_characters<C: PartialEq>(wanted: &[C], word: &[C], limit: usize) -> Option<Distances> {
    if wanted.first() != word.first() || wanted.is_empty() || wanted.len() > word.len() + limit {
        return None;
    }
    let columns = wanted.len() + 1;
    if wanted.len() <= SHORT {
        let [a, b, c] = &mut [[0; SHORT + 1]; 3];
        return by_table(wanted, word, limit, [&mut a[..columns], &mut b[..columns], &mut c[..columns]]);
    }
    let mut rows = vec![0; 3 * columns];
    let (a, rest) = rows.split_at_mut(columns);
    let (b, c) = rest.split_at_mut(columns);
    by_table(wanted, word, limit, [a, b, c])
}

/// Fills the rows of the table, of which the last three are kept.
fn by_table<C: PartialEq>(wanted: &[C], word: &[C], limit: usize, mut rows: [&mut [usize]; 3]) -> Option<Distances> {
    // Row by character of `word`, column by character of `wanted`. Cells further from the diagonal than `limit` are over it.
    let over = limit + 1;
    for (column, cell) in rows[0].iter_mut().enumerate() {
        *cell = column.min(over);
    }
    let mut begun = over;
    for (index, character) in word.iter().enumerate() {
        let row = index + 1;
        if row > wanted.len() + limit {
            // Too long to be the whole word, and every beginning in reach was looked at.
            return found(over, begun, limit);
        }
        let [before_last, last, this] = {
            let [a, b, c] = &mut rows;
            match row % 3 {
                0 => [b, c, a],
                1 => [c, a, b],
                _ => [a, b, c],
            }
        };
        let (from, to) = (row.saturating_sub(limit).max(1), (row + limit).min(wanted.len()));
        this[from - 1] = if from == 1 { row.min(over) } else { over };
        let mut least = this[from - 1];
        for column in from..=to {
            let is_same = *character == wanted[column - 1];
            let mut typos = last[column - 1] + usize::from(!is_same);
            // Cells outside the band of the row before are stale.
            if column < row + limit {
                typos = typos.min(last[column] + 1);
            }
            typos = typos.min(this[column - 1] + 1);
            if row > 1 && column > 1 && *character == wanted[column - 2] && word[index - 1] == wanted[column - 1] {
                typos = typos.min(before_last[column - 2] + 1);
            }
            this[column] = typos.min(over);
            least = least.min(this[column]);
        }
        if to == wanted.len() {
            begun = begun.min(this[wanted.len()]);
        }
        if least == over {
            return found(over, begun, limit);
        }
        if row == word.len() {
            let whole = if to == wanted.len() { this[wanted.len()] } else { over };
            return found(whole, begun, limit);
        }
    }
    None
}

fn found(whole: usize, begun: usize, limit: usize) -> Option<Distances> {
    let within = |typos: usize| (typos <= limit).then_some(typos);
    let distances = Distances { whole: within(whole), begun: within(begun) };
    (distances.whole.is_some() || distances.begun.is_some()).then_some(distances)
}
