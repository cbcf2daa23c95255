//! Words that may have been meant by a word that is not found. It knows no indexes.

use super::{Rest, WantedToken};

/// The least number of characters of a word in which two typos are assumed.
const TWO_TYPOS_FROM: usize = 5;
/// The letters that are tried in place of the first one, of its script.
const ALPHABETS: [std::ops::RangeInclusive<char>; 3] = ['a'..='z', '\u{3b1}'..='\u{3c9}', '\u{430}'..='\u{44f}'];

/// Returns a token that finds words with the same first character and one or two typos.
pub(crate) fn similar_to(word: &str) -> WantedToken {
    let typos = if word.chars().count() < TWO_TYPOS_FROM { 1 } else { 2 };
    WantedToken { text: word.to_owned(), typos, rest: Rest::Nothing, alternatives: None }
}

/// Returns the words that differ from a word by one typo in the first character.
pub(crate) fn changed_beginnings(word: &str) -> Vec<String> {
    let mut chars = word.chars();
    let Some(first) = chars.next() else { return Vec::new() };
    let rest = chars.as_str();
    let mut words = vec![rest.to_owned()];
    if let Some(second) = chars.next() {
        words.push(format!("{second}{first}{}", chars.as_str()));
    }
    for letter in ALPHABETS.into_iter().filter(|letters| letters.contains(&first)).flatten() {
        words.extend([format!("{letter}{rest}"), format!("{letter}{word}")]);
    }
    words.retain(|other| other != word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_character_may_be_wrong() {
        let words = changed_beginnings("cernel");
        for word in ["kernel", "ernel", "ecrnel", "acernel"] {
            assert!(words.contains(&word.to_owned()), "{word}");
        }
        assert!(!words.contains(&"cernel".to_owned()));
        assert_eq!(changed_beginnings(""), [""; 0]);
    }
}
