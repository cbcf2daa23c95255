//! The texts of a column as small numbers: each different text, or element of a list, has an *ordinal*, and each
//! document has the ordinals of its values. So counting the values of many documents compares no texts. It does not
//! know how documents are stored.

use std::borrow::Cow;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::run::Unpacked;
use crate::value::ValueRef;

/// The ordinals of a column's texts in one run, in the order of their first appearance. Outdated documents are
/// included.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ordinals {
    starts: Option<Vec<u32>>,
    /// For texts, one code for each document.
    codes: Codes,
    /// For each ordinal, the place of its text: a document, and the index of the element in its list.
    places: Vec<(u32, u32)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Codes {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Ordinals {
    /// Computes the ordinals of a run's texts or lists. Returns `None` if there are more than `limit`.
    ///
    /// # Errors
    /// [`Error::Interrupted`], [`Error::TooMuchText`].
    pub(crate) fn of<'a>(
        documents: u32,
        value: impl Fn(u32) -> ValueRef<'a>,
        are_lists: bool,
        limit: usize,
        interrupt: &Interrupt<'_>,
    ) -> Result<Option<Ordinals>, Error> {
        let mut ordinals: HashMap<Cow<'a, str>, u32> = HashMap::new();
        let (mut codes, mut places) = (Vec::with_capacity(documents as usize), Vec::new());
        let mut starts = are_lists.then(|| Vec::with_capacity(documents as usize + 1));
        let mut code_of = |text: Cow<'a, str>, place: (u32, u32), unpacked: &mut Unpacked| match ordinals.entry(text) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                unpacked.add(entry.key(), matches!(entry.key(), Cow::Owned(_)));
                places.push(place);
                *entry.insert(places.len() as u32)
            }
        };
        let mut unpacked = Unpacked::default();
        for document in 0..documents {
            interrupt.step()?;
            unpacked.check()?;
            if let Some(starts) = &mut starts {
                starts.push(codes.len() as u32);
            }
            match value(document) {
                ValueRef::Text(text) => codes.push(code_of(text.whole(), (document, 0), &mut unpacked)),
                ValueRef::List(list) => {
                    let start = codes.len();
                    for (index, element) in (0..).zip(list.elements()) {
                        codes.push(code_of(Cow::Borrowed(element), (document, index), &mut unpacked));
                    }
                    let mut of_document = codes.split_off(start);
                    of_document.sort_unstable();
                    of_document.dedup();
                    codes.append(&mut of_document);
                }
                _ if are_lists => {}
                _ => codes.push(0),
            }
            // New ordinals are the highest so far, and the last code of a document is its highest.
            if codes.last().is_some_and(|&code| code as usize > limit) {
                return Ok(None);
            }
        }
        if let Some(starts) = &mut starts {
            starts.push(codes.len() as u32);
        }
        Ok(Some(Ordinals::new(starts, codes, places)))
    }

    /// Restores ordinals from the results of [`Ordinals::starts`], [`Ordinals::codes`] and [`Ordinals::places`].
    pub(crate) fn new(starts: Option<Vec<u32>>, codes: Vec<u32>, places: Vec<(u32, u32)>) -> Ordinals {
        let codes = match u16::try_from(places.len()) {
            Ok(_) => Codes::Narrow(codes.into_iter().map(|code| code as u16).collect()),
            Err(_) => Codes::Wide(codes),
        };
        Ordinals { starts, codes, places }
    }

    /// Returns, for lists, the start of each document's codes, and the end of the last one's.
    pub(crate) fn starts(&self) -> Option<&[u32]> {
        self.starts.as_deref()
    }

    /// Returns the codes of all documents, one after another: an ordinal increased by one, or zero for null.
    pub(crate) fn codes(&self) -> impl Iterator<Item = u32> + '_ {
        let count = match &self.codes {
            Codes::Narrow(codes) => codes.len(),
            Codes::Wide(codes) => codes.len(),
        };
        (0..count).map(|index| self.code(index))
    }

    /// Returns the place of each ordinal; see [`Ordinals::place`].
    pub(crate) fn places(&self) -> &[(u32, u32)] {
        &self.places
    }

    /// Returns the number of ordinals.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns a document with the ordinal, and the index of the element in its list.
    pub(crate) fn place(&self, ordinal: usize) -> (u32, u32) {
        self.places[ordinal]
    }

    /// Returns the ordinal of a document's text; `None` for null and for lists.
    pub(crate) fn of_document(&self, document: u32) -> Option<usize> {
        match self.starts {
            Some(_) => None,
            None => (self.code(document as usize) as usize).checked_sub(1),
        }
    }

    /// Counts the documents that have each ordinal, and those that have any.
    pub(crate) fn count(&self, documents: &Bitmap, interrupt: &Interrupt<'_>) -> Result<(Vec<u32>, u64), Error> {
        let mut counts = vec![0u32; self.len() + 1];
        let check = || interrupt.check();
        if let Some(starts) = &self.starts {
            let mut valued = 0;
            documents.each(check, |document| {
                let Some([start, end]) = starts.get(document as usize..document as usize + 2) else { return };
                (*start..*end).for_each(|index| counts[self.code(index as usize) as usize] += 1);
                valued += u64::from(start < end);
            })?;
            return Ok((counts.split_off(1), valued));
        }
        match &self.codes {
            // Most columns have few values, so a facet spends most of its time in these two lines.
            Codes::Narrow(codes) => documents.each(check, |document| {
                counts[codes.get(document as usize).copied().unwrap_or_default() as usize] += 1;
            })?,
            Codes::Wide(codes) => documents.each(check, |document| {
                counts[codes.get(document as usize).copied().unwrap_or_default() as usize] += 1;
            })?,
        }
        let valued = documents.count() as u64 - u64::from(counts[0]);
        Ok((counts.split_off(1), valued))
    }

    /// Returns the size in memory.
    pub(crate) fn bytes(&self) -> usize {
        let codes = match &self.codes {
            Codes::Narrow(codes) => codes.capacity() * 2,
            Codes::Wide(codes) => codes.capacity() * 4,
        };
        codes + self.starts.as_ref().map_or(0, |starts| starts.capacity() * 4) + self.places.capacity() * 8
    }

    fn code(&self, index: usize) -> u32 {
        match &self.codes {
            Codes::Narrow(codes) => codes.get(index).copied().unwrap_or_default().into(),
            Codes::Wide(codes) => codes.get(index).copied().unwrap_or_default(),
        }
    }
}

/// Returns the text at a place of [`Ordinals`].
pub(crate) fn text_at(value: ValueRef<'_>, element: u32) -> Cow<'_, str> {
    match value {
        ValueRef::Text(text) => text.whole(),
        ValueRef::List(list) => Cow::Borrowed(list.elements().nth(element as usize).unwrap_or_default()),
        _ => Cow::Borrowed(""),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::Path;

    use super::*;
    use crate::damage::{Damage, FileDamage};
    use crate::packing::Packer;
    use crate::value::{FoldedText, PackedFolded, PackedText, RawText, TextRef};

    #[test]
    fn long_texts_are_counted_until_they_take_too_much_memory() {
        let packed = |number: u32| {
            let text = format!("{number} {}", "x".repeat(1 << 20));
            let mut packer = Packer::new(None).unwrap();
            (packer.pack(&text).unwrap(), packer.pack_behind(&text, &text).unwrap())
        };
        let texts: Vec<_> =
            (0..80).map(|document| packed(if document < 70 { document % 60 } else { document })).collect();
        let damage = Damage::default();
        let value = |document: u32| {
            let (folded, difference) = &texts[document as usize];
            let file = FileDamage { path: Path::new("file"), damage: &damage };
            let folded = PackedFolded { bytes: folded, dictionary: None, file };
            let raw = RawText::Packed(PackedText { start: "", difference, folded });
            ValueRef::Text(TextRef { raw, folded: FoldedText::Packed(folded) })
        };
        let of = |documents| Ordinals::of(documents, value, false, usize::MAX, &Interrupt::never());
        assert_eq!(of(70).unwrap().unwrap().len(), 60);
        assert!(matches!(of(80), Err(Error::TooMuchText { .. })));
    }
}
