//! Finds the documents whose text contains a needle: by words, joints and grams if those decide, or else by testing the
//! remaining candidates. It does not know filters, or which documents are current.
//!
//! Examples, with what decides them:
//!
//! | needle | decided by |
//! |---|---|
//! | `io` | its gram |
//! | `nterrup` | the words that contain it |
//! | `of th`, `). t` | the joints that contain it |
//! | `this device` | the joints that begin with `his dev`; then tests of the documents with other words that end with `his`
//! | | or begin with `dev` |
//! | `e of the kern` | joints that contain `e of`, joints that begin with `of the` or `the ker`, words that begin with
//! | | `kern`; then tests of candidates |
//! | `日本語` | its gram |
//! | `日本語で` | the grams `日本語` and `本語で`; then tests of candidates |

use std::borrow::Cow;
use std::ops::Range;

use super::dictionary::{Place, StringsOf};
use super::evaluate::{QueriedColumn, holds};
use super::grams;
use super::terms;
use super::words::{JOINT_GAP, JOINT_SIDE, MAX_WORD};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::pieces::{CharClass, Span, class, last_chars, spans};
use crate::predicate::Needle;
use crate::query::Anchor;
use crate::run::postings::PostingList;
use crate::shared_test::those_that;
use crate::text::first_chars;

/// Posting lists that are read together. A document is in them if it is in one of them.
struct UnitedLists {
    lists: Vec<PostingList>,
    /// The total length of the lists.
    postings: u64,
}

/// The way in which a needle is looked up.
enum Lookup {
    /// The documents in `certain` contain the needle. Others contain it only if they are in one of the lists `possible`.
    Decides { certain: UnitedLists, possible: Vec<PostingList> },
    /// Documents contain the needle only if they are in `joint` and in each of `words`. Those in `joint` certainly do,
    /// unless they are also in `doubtful`: then they have a word that fits the joint, but not the needle.
    Joins { joint: UnitedLists, words: Vec<UnitedLists>, doubtful: UnitedLists },
    /// Documents contain the needle only if they are in each of these.
    Narrows(Vec<UnitedLists>),
}

/// A text that one of a document's words or joints must contain at a place.
struct WantedText<'a> {
    of: StringsOf,
    text: Cow<'a, str>,
    place: Place,
}

impl WantedText<'_> {
    /// Returns whether it can be found without searching all words or joints.
    fn is_looked_up(&self) -> bool {
        matches!(self.place, Place::AtStart | Place::Whole)
    }
}

/// The number of candidates above which all words or joints are searched. Testing fewer candidates takes less time.
const SEARCH_PAYS_FROM: u64 = 256;
/// The greatest length of needed posting lists, as a multiple of the number of candidates: testing a candidate
/// takes as long as reading this many postings.
const POSTINGS_PER_CANDIDATE: u64 = 100;
/// The number of candidates below which no more lists are read.
const FEW_CANDIDATES: u64 = 32;
/// The length of posting lists, as a multiple of the number of candidates, from which they are searched instead of
/// read.
const SEARCHED_FROM: u64 = 16;

impl QueriedColumn<'_> {
    /// Adds the documents whose folded text contains the needle at its anchor. The needle must not be empty.
    pub(super) fn containing(self, needle: &Needle, documents: &mut Bitmap) -> Result<(), Error> {
        let candidates = match self.lookup(needle)? {
            Lookup::Decides { certain, possible } if needle.anchor == Anchor::Anywhere => {
                self.run.dictionary.lists().union(&certain.lists, self.interrupt, documents)?;
                if possible.is_empty() {
                    return Ok(());
                }
                self.candidates(vec![UnitedLists::of(possible)])?
            }
            Lookup::Decides { certain: mut needed, possible } => {
                needed.lists.extend(possible);
                self.candidates(vec![needed])?
            }
            Lookup::Joins { joint, words, doubtful } => {
                let mut joined = self.candidates(vec![joint])?;
                let doubted = self.possibly_in(&doubtful, &joined)?;
                joined.subtract(&doubted);
                documents.union(&joined);
                self.narrowed(doubted, words)?
            }
            Lookup::Narrows(needed) => self.candidates(needed)?,
        };
        let stored = self.stored;
        documents.union(&those_that(&candidates, self.interrupt, |document| holds(stored, needle, document))?);
        Ok(())
    }

    /// Returns the documents that are in all of the needed lists that are worth reading.
    fn candidates(self, mut needed: Vec<UnitedLists>) -> Result<Bitmap, Error> {
        needed.sort_by_key(|one| one.postings);
        let mut candidates = Bitmap::with_room(self.run.len() as usize);
        let mut needed = needed.into_iter();
        let Some(first) = needed.next() else {
            self.stored.presence.each(|document| {
                candidates.insert(document);
                self.interrupt.step()
            })?;
            return Ok(candidates);
        };
        self.run.dictionary.lists().union(&first.lists, self.interrupt, &mut candidates)?;
        self.narrowed(candidates, needed.collect())
    }

    /// Returns the candidates that are in all of the needed lists that are worth reading.
    fn narrowed(self, mut candidates: Bitmap, needed: Vec<UnitedLists>) -> Result<Bitmap, Error> {
        for one in needed {
            let count = candidates.count() as u64;
            if count <= FEW_CANDIDATES {
                break;
            }
            match &one.lists[..] {
                [only] if one.postings > count * SEARCHED_FROM => {
                    self.run.dictionary.lists().retain(*only, self.interrupt, &mut candidates)?;
                }
                lists if one.postings <= count * POSTINGS_PER_CANDIDATE => {
                    let mut satisfying = Bitmap::with_room(self.run.len() as usize);
                    self.run.dictionary.lists().union(lists, self.interrupt, &mut satisfying)?;
                    candidates.intersect(&satisfying);
                }
                _ => {}
            }
        }
        Ok(candidates)
    }

    /// Returns the candidates that are in these lists; all of them if testing them takes less time than reading the
    /// lists, or if the lists are so long that they have most documents.
    fn possibly_in(self, lists: &UnitedLists, candidates: &Bitmap) -> Result<Bitmap, Error> {
        let most = (candidates.count() as u64 * POSTINGS_PER_CANDIDATE).min(u64::from(self.run.len()));
        if lists.postings > most {
            return Ok(candidates.clone());
        }
        let mut found = Bitmap::with_room(self.run.len() as usize);
        self.run.dictionary.lists().union(&lists.lists, self.interrupt, &mut found)?;
        found.intersect(candidates);
        Ok(found)
    }

    fn lookup(self, Needle { folded: needle, anchor, .. }: &Needle) -> Result<Lookup, Error> {
        let spans: Vec<Span<'_>> = spans(needle).collect();
        let chars: usize = spans.iter().map(|span| span.chars).sum();
        if chars <= grams::MAX_CHARS {
            return Ok(Lookup::Decides { certain: self.gram(needle), possible: Vec::new() });
        }
        match &spans[..] {
            [Span { class: CharClass::Unspaced, chars: grams::UNSPACED_CHARS, .. }] => {
                return Ok(Lookup::Decides { certain: self.gram(needle), possible: Vec::new() });
            }
            [Span { class: CharClass::Word, chars, .. }] if *chars <= MAX_WORD => {
                let certain = self.strings(StringsOf::Words, needle, Place::Anywhere)?;
                return Ok(Lookup::Decides { certain, possible: self.long_words().lists });
            }
            spans if is_one_gap(spans, JOINT_SIDE) => {
                let certain = self.strings(StringsOf::Joints, needle, Place::Anywhere)?;
                return Ok(Lookup::Decides { certain, possible: Vec::new() });
            }
            _ => {}
        }
        let mut needed = Vec::new();
        let has_gaps_only = matches!(spans[..], [Span { class: CharClass::Gap, .. }]);
        if has_gaps_only || spans.iter().any(|span| span.class == CharClass::Unspaced) {
            self.grams(needle, has_gaps_only, &mut needed);
        }
        if spans.iter().any(|span| span.class == CharClass::Word && span.chars > MAX_WORD) {
            needed.push(self.long_words());
        }
        let mut wanted = wanted(&spans);
        wanted.sort_by_key(|wanted| !wanted.is_looked_up());
        let are_many = |needed: &[UnitedLists]| needed.iter().all(|one| one.postings > SEARCH_PAYS_FROM);
        for wanted in &wanted {
            if wanted.is_looked_up() || are_many(&needed) {
                needed.push(self.needed_for(wanted)?);
            }
        }
        match *anchor == Anchor::Anywhere && is_one_gap(&spans, MAX_WORD) && are_many(&needed) {
            true => self.joined(&wanted, needed),
            false => Ok(Lookup::Narrows(needed)),
        }
    }

    /// Looks up the words that leave a needle of one gap in doubt. `needed` are the lists of what is wanted of it.
    fn joined(self, wanted: &[WantedText<'_>], needed: Vec<UnitedLists>) -> Result<Lookup, Error> {
        let (mut joint, mut words, mut doubtful) = (None, Vec::new(), self.long_words());
        for (WantedText { of, text, place }, needed) in wanted.iter().zip(needed) {
            if *of == StringsOf::Joints {
                joint = Some(needed);
                continue;
            }
            let end =
                if *place == Place::AtStart { first_chars(text, JOINT_SIDE) } else { last_chars(text, JOINT_SIDE) };
            let fitting = self.strings(StringsOf::Words, end, *place)?;
            // Both are in the order of the words, and all words of the needle fit.
            let mut left = needed.lists.iter().peekable();
            let others = fitting.lists.into_iter().filter(|list| left.next_if_eq(&list).is_none()).collect();
            doubtful = doubtful.and(UnitedLists::of(others));
            words.push(needed);
        }
        Ok(match joint {
            Some(joint) => Lookup::Joins { joint, words, doubtful },
            None => Lookup::Narrows(words),
        })
    }

    fn needed_for(self, wanted: &WantedText<'_>) -> Result<UnitedLists, Error> {
        let needed = self.strings(wanted.of, &wanted.text, wanted.place)?;
        // A part of a word may also be in a word that is too long to be a term.
        Ok(match wanted.of == StringsOf::Words && wanted.place != Place::Whole {
            true => needed.and(self.long_words()),
            false => needed,
        })
    }

    /// Adds the lists of the grams of the needle: all pairs of code points if the needle has only gaps, otherwise only
    /// grams with unspaced text.
    fn grams(self, needle: &str, has_gaps_only: bool, needed: &mut Vec<UnitedLists>) {
        let chars: Vec<(usize, bool)> =
            needle.char_indices().map(|(at, char)| (at, class(char) == CharClass::Unspaced)).collect();
        let end = |index: usize| chars.get(index).map_or(needle.len(), |(at, _)| *at);
        let is_unspaced = |range: Range<usize>| chars.get(range).is_some_and(|chars| chars.iter().all(|char| char.1));
        let is_gram = |start: usize| is_unspaced(start..start + grams::UNSPACED_CHARS);
        let mut grams = Vec::new();
        for (index, &(start, _)) in chars.iter().enumerate() {
            if is_gram(index) {
                grams.push(&needle[start..end(index + grams::UNSPACED_CHARS)]);
                continue;
            }
            // A gram of three includes the pairs in it.
            let is_inside = index.checked_sub(1).is_some_and(is_gram);
            let has_unspaced = chars[index..].iter().take(2).any(|char| char.1);
            if index + 1 < chars.len() && !is_inside && (has_gaps_only || has_unspaced) {
                grams.push(&needle[start..end(index + 2)]);
            }
        }
        grams.sort_unstable();
        grams.dedup();
        needed.extend(grams.into_iter().map(|gram| self.gram(gram)));
    }

    fn gram(self, gram: &str) -> UnitedLists {
        self.looked_up(StringsOf::Grams, gram.as_bytes())
    }

    fn long_words(self) -> UnitedLists {
        self.looked_up(StringsOf::Exacts, terms::LONG_WORD)
    }

    fn looked_up(self, of: StringsOf, string: &[u8]) -> UnitedLists {
        UnitedLists::of(self.run.dictionary.get(self.stored.id, of, string).into_iter().collect())
    }

    /// Returns the words or joints that contain a text at this place.
    fn strings(self, of: StringsOf, text: &str, place: Place) -> Result<UnitedLists, Error> {
        self.run.dictionary.find(self.stored.id, of, text.as_bytes(), place, self.interrupt).map(UnitedLists::of)
    }
}

impl UnitedLists {
    fn of(lists: Vec<PostingList>) -> UnitedLists {
        let postings = lists.iter().map(|list| u64::from(list.doc_count())).sum();
        UnitedLists { lists, postings }
    }

    /// Returns the lists of both.
    fn and(mut self, other: UnitedLists) -> UnitedLists {
        self.lists.extend(other.lists);
        self.postings += other.postings;
        self
    }
}

/// Returns the words and joints that every text with a needle of these spans has.
fn wanted<'a>(spans: &[Span<'a>]) -> Vec<WantedText<'a>> {
    let mut wanted = Vec::new();
    for (index, span) in spans.iter().enumerate() {
        match span.class {
            CharClass::Word => wanted.extend(wanted_word(spans, index)),
            CharClass::Gap => add_wanted_joints(spans, index, &mut wanted),
            CharClass::Unspaced => {}
        }
    }
    wanted
}

/// Returns the word to look up; `None` if it is too long, or so short that the joints around it imply it.
fn wanted_word<'a>(spans: &[Span<'a>], index: usize) -> Option<WantedText<'a>> {
    let Span { text, chars, .. } = spans[index];
    let has_joints = spans.len() > 1 && spans.iter().all(|span| span.class != CharClass::Unspaced);
    if chars > MAX_WORD || (chars <= JOINT_SIDE && has_joints) {
        return None;
    }
    let place = match (index > 0, index + 1 < spans.len()) {
        (true, true) => Place::Whole,
        (true, false) => Place::AtStart,
        (false, true) => Place::AtEnd,
        (false, false) => Place::Anywhere,
    };
    Some(WantedText { of: StringsOf::Words, text: Cow::Borrowed(text), place })
}

/// Adds the joints of a gap, with the ends of the words around it.
fn add_wanted_joints(spans: &[Span<'_>], index: usize, wanted: &mut Vec<WantedText<'_>>) {
    let gap = spans[index];
    let before = index.checked_sub(1).map(|before| spans[before]);
    let after = spans.get(index + 1).copied();
    let left = before.filter(|span| span.class == CharClass::Word).map_or("", |span| last_chars(span.text, JOINT_SIDE));
    let right =
        after.filter(|span| span.class == CharClass::Word).map_or("", |span| first_chars(span.text, JOINT_SIDE));
    // The wanted text is the beginning of a joint if the needle contains all characters that the joint takes from the
    // word.
    let is_begin = before.is_some_and(|span| span.class == CharClass::Word && (index > 1 || span.chars >= JOINT_SIDE));
    let place = if is_begin { Place::AtStart } else { Place::Anywhere };
    let mut add = |parts: [&str; 3], place| {
        wanted.push(WantedText { of: StringsOf::Joints, text: Cow::Owned(parts.concat()), place });
    };
    let is_whole = before.is_some() && after.is_some();
    if gap.chars <= JOINT_GAP && (is_whole || left.is_empty() != right.is_empty()) {
        if !(left.is_empty() && right.is_empty()) {
            add([left, gap.text, right], place);
        }
        return;
    }
    if !left.is_empty() {
        add([left, first_chars(gap.text, JOINT_GAP), ""], place);
    }
    if !right.is_empty() {
        add(["", last_chars(gap.text, JOINT_GAP), right], Place::Anywhere);
    }
}

/// Returns whether the spans are one gap that a joint holds completely, with a word before it, behind it, or both. The
/// words have at most `most` code points. With [`JOINT_SIDE`], every text that contains them has them inside a joint.
fn is_one_gap(spans: &[Span<'_>], most: usize) -> bool {
    let is_side = |span: &Span<'_>| span.class == CharClass::Word && span.chars <= most;
    let is_gap = |span: &Span<'_>| span.class == CharClass::Gap && span.chars <= JOINT_GAP;
    match spans {
        [left, gap, right] => is_side(left) && is_gap(gap) && is_side(right),
        [one, other] => (is_side(one) && is_gap(other)) || (is_gap(one) && is_side(other)),
        _ => false,
    }
}
