//! Words and joints of texts, and the documents that contain them. It does not know columns, or how terms are written.
//!
//! A *joint* is a gap with the ends of the words around it: of `kernel, of the` the joints are `nel, of` and `of the`.
//! So a needle that crosses one gap, with at most three code points on either side, is in a text exactly if it is in
//! one of its joints; and a needle inside a word is in a text exactly if it is in one of its words.

use std::io;

use super::dictionary::StringSink;
use super::inverter::KeyedInverter;
use crate::pieces::{CharClass, last_chars, spans};
use crate::text::first_chars;

/// The most code points that a joint takes from the word before the gap, and from the word after it.
pub(super) const JOINT_SIDE: usize = 3;
/// The most code points of a gap that is completely in a joint. A longer gap makes two joints: one with its first code
/// points, one with its last.
pub(super) const JOINT_GAP: usize = 4;
/// The most code points of a word that is a term. Documents with longer words are in a separate list.
pub(super) const MAX_WORD: usize = 64;

/// Collects the words of documents, which must come in ascending order.
pub(super) struct Words {
    words: KeyedInverter,
    /// The documents with a word that is too long to be a term.
    long: Vec<u32>,
}

/// Collects the joints of documents, which must come in ascending order.
pub(super) struct Joints {
    joints: KeyedInverter,
    joint: Vec<u8>,
}

impl Default for Words {
    fn default() -> Words {
        Words { words: KeyedInverter::new(false), long: Vec::new() }
    }
}

impl Default for Joints {
    fn default() -> Joints {
        Joints { joints: KeyedInverter::new(false), joint: Vec::new() }
    }
}

impl Words {
    /// Adds the words of a text of a document. A document may have several texts.
    pub(super) fn add(&mut self, document: u32, text: &str) {
        for span in spans(text).filter(|span| span.class == CharClass::Word) {
            if span.chars <= MAX_WORD {
                self.words.add(document, span.text.as_bytes());
            } else if self.long.last() != Some(&document) {
                self.long.push(document);
            }
        }
    }

    /// Returns the documents with a word that is too long to be a term.
    pub(super) fn take_long(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.long)
    }

    /// Emits every word that is a term.
    pub(super) fn finish(self, sink: &mut StringSink<'_>) -> io::Result<()> {
        self.words.finish(sink)
    }
}

impl Joints {
    /// Adds the joints of a text of a document. A document may have several texts; joints do not cross from one to the
    /// next.
    pub(super) fn add(&mut self, document: u32, text: &str) {
        // The end of the word before the gap; empty at the beginning of the text and after unspaced text.
        let mut left = "";
        let mut gap: Option<(&str, usize)> = None;
        for span in spans(text) {
            if span.class == CharClass::Gap {
                gap = Some((span.text, span.chars));
                continue;
            }
            let is_word = span.class == CharClass::Word;
            if let Some((gap, chars)) = gap.take() {
                let right = if is_word { first_chars(span.text, JOINT_SIDE) } else { "" };
                self.add_joints(document, left, gap, chars, right);
            }
            left = if is_word { last_chars(span.text, JOINT_SIDE) } else { "" };
        }
        if let Some((gap, chars)) = gap {
            self.add_joints(document, left, gap, chars, "");
        }
    }

    fn add_joints(&mut self, document: u32, left: &str, gap: &str, gap_chars: usize, right: &str) {
        let Joints { joints, joint } = self;
        let mut add = |parts: [&str; 3]| {
            joint.clear();
            parts.iter().for_each(|part| joint.extend_from_slice(part.as_bytes()));
            joints.add(document, joint);
        };
        match gap_chars <= JOINT_GAP {
            true if left.is_empty() && right.is_empty() => {}
            true => add([left, gap, right]),
            false => {
                if !left.is_empty() {
                    add([left, first_chars(gap, JOINT_GAP), ""]);
                }
                if !right.is_empty() {
                    add(["", last_chars(gap, JOINT_GAP), right]);
                }
            }
        }
    }

    /// Emits every joint.
    pub(super) fn finish(self, sink: &mut StringSink<'_>) -> io::Result<()> {
        self.joints.finish(sink)
    }
}
