//! The texts of a column as small numbers: each different text, or element of a list, has an *ordinal*, and each document those
//! of its values. So counting the values of many documents compares no texts. It knows nothing of how documents are kept.

use std::borrow::Cow;

use hashbrown::HashMap;

use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::value::ValueRef;

/// The ordinals of a column's texts in one run, in the order in which the texts come first. Those of documents that are not
/// current are among them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ordinals {
    starts: Option<Vec<u32>>,
    /// Of texts one for each document.
    codes: Codes,
    /// For each ordinal, where its text is: a document, and the index of the element in its list.
    places: Vec<(u32, u32)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Codes {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Ordinals {
    /// Those of the texts and lists of a run with so many documents. `None` if there are more than `limit`.
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
        let mut code_of = |text: Cow<'a, str>, place: (u32, u32)| {
            *ordinals.entry(text).or_insert_with(|| {
                places.push(place);
                places.len() as u32
            })
        };
        for document in 0..documents {
            interrupt.step()?;
            if let Some(starts) = &mut starts {
                starts.push(codes.len() as u32);
            }
            match value(document) {
                ValueRef::Text(text) => codes.push(code_of(text.whole(), (document, 0))),
                ValueRef::List(list) => {
                    let start = codes.len();
                    for (index, element) in (0..).zip(list.elements()) {
                        codes.push(code_of(Cow::Borrowed(element), (document, index)));
                    }
                    let mut of_document = codes.split_off(start);
                    of_document.sort_unstable();
                    of_document.dedup();
                    codes.append(&mut of_document);
                }
                _ if are_lists => {}
                _ => codes.push(0),
            }
            // The highest code of a document is its last one.
            if codes.last().is_some_and(|&code| code as usize > limit) {
                return Ok(None);
            }
        }
        if let Some(starts) = &mut starts {
            starts.push(codes.len() as u32);
        }
        Ok(Some(Ordinals::new(starts, codes, places)))
    }

    /// The same from what [`Ordinals::starts`], [`Ordinals::codes`] and [`Ordinals::places`] returned.
    pub(crate) fn new(starts: Option<Vec<u32>>, codes: Vec<u32>, places: Vec<(u32, u32)>) -> Ordinals {
        let codes = match u16::try_from(places.len()) {
            Ok(_) => Codes::Narrow(codes.into_iter().map(|code| code as u16).collect()),
            Err(_) => Codes::Wide(codes),
        };
        Ordinals { starts, codes, places }
    }

    /// For lists: where the codes of each document begin, and where those of the last one end.
    pub(crate) fn starts(&self) -> Option<&[u32]> {
        self.starts.as_deref()
    }

    /// The codes of all documents, one after another: an ordinal increased by one, or zero for null.
    pub(crate) fn codes(&self) -> impl Iterator<Item = u32> + '_ {
        let count = match &self.codes {
            Codes::Narrow(codes) => codes.len(),
            Codes::Wide(codes) => codes.len(),
        };
        (0..count).map(|index| self.code(index))
    }

    /// The place of each ordinal; see [`Ordinals::place`].
    pub(crate) fn places(&self) -> &[(u32, u32)] {
        &self.places
    }

    /// The number of them.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// A document that has the ordinal, and the index of the element in its list.
    pub(crate) fn place(&self, ordinal: usize) -> (u32, u32) {
        self.places[ordinal]
    }

    /// The ordinal of a document's text; `None` for null and for lists.
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
            // Most columns have few values: these two lines are where a facet spends its time.
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

    /// The size in memory.
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

/// The text at a place of [`Ordinals`].
pub(crate) fn text_at(value: ValueRef<'_>, element: u32) -> Cow<'_, str> {
    match value {
        ValueRef::Text(text) => text.whole(),
        ValueRef::List(list) => Cow::Borrowed(list.elements().nth(element as usize).unwrap_or_default()),
        _ => Cow::Borrowed(""),
    }
}
