//! The closeness of a match: the ways in which a word is found, the best first. Fewer typos are always closer.

/// The closeness of a match; 0 is best. The closeness of several words is the sum.
pub(crate) type Closeness = u16;

/// The word as it was asked for.
pub(crate) const WHOLE: Closeness = 0;
/// A part of a name, or several in a row. It is as close as a whole word, but counts less in the score: otherwise a
/// title with the name would come after every text that mentions the word.
pub(crate) const PART: Closeness = 1;
/// All parts of the name that was asked for, not in a row.
pub(crate) const PARTS: Closeness = 2;
/// A word, or a part of a name, with the same stem.
pub(crate) const FORM: Closeness = 3;
/// A compound of the word and another.
pub(crate) const COMPOUND: Closeness = 5;
/// A word, or a part of a name, that continues after what was asked for.
pub(crate) const BEGUN: Closeness = 6;
/// All words of a phrase that stands for the word.
pub(crate) const SYNONYM: Closeness = 7;

/// The closeness of a typo. It is more than a hundred words without typos can sum up to.
const TYPO: Closeness = 1_024;

/// The farthest match of a word.
pub(crate) const FARTHEST: Closeness = 2 * TYPO + BEGUN;

/// Returns what a match adds to the distance of a resource.
pub(crate) fn distance_of(closeness: Closeness) -> u32 {
    if closeness == PART { 0 } else { closeness.into() }
}

/// Returns the number of typos of a match.
pub(crate) fn typos_of(closeness: Closeness) -> usize {
    (closeness / TYPO).into()
}

/// Returns the closeness that a match would have without its typos.
pub(crate) fn without_typos(closeness: Closeness) -> Closeness {
    closeness % TYPO
}

/// Returns the number of typos that a distance without lacked words has, and the rest.
pub(crate) fn typos_and_ways(distance: u32) -> [u32; 2] {
    [distance / u32::from(TYPO), distance % u32::from(TYPO)]
}

/// Returns the closeness of a match with typos, of which there are at most 2.
pub(crate) fn with_typos(closeness: Closeness, typos: usize) -> Closeness {
    TYPO.saturating_mul(typos.min(2) as Closeness) + closeness
}
