//! Dictionaries for compression: each holds once, beside many texts, parts that they share, so that a text takes less
//! although it is compressed on its own. It has nothing to do with the dictionary of strings. It does not know where it
//! is stored:
//!
//! ```text
//! the bytes of the texts for which it was made (8, little-endian)   the dictionary of zstd
//! ```

use zstd::zstd_safe::{CDict, DDict};

/// For fewer bytes of texts, no dictionary is made: it would be made of too few, and take as much as it saves.
const FROM_BYTES: u64 = 4 << 20;
/// For fewer bytes of texts, not even a known dictionary is used: it would take about as much as it saves. A full run in
/// memory usually has more, so its texts are compressed once, and merges copy them.
const KNOWN_FROM_BYTES: u64 = 1 << 20;
/// The number of bytes of texts of which one is made. Twice as many make no better one, and take twice as long: 0.3 s.
const SAMPLE_BYTES: u64 = 4 << 20;
/// The number of bytes of one text that are used at most.
const TEXT_BYTES: usize = 32 << 10;
/// The size that zstd recommends.
const DICTIONARY_BYTES: usize = 112 << 10;
/// A dictionary serves up to so many times the texts for which it was made. Then the texts may have changed, and
/// another one is worth the time to compress all of them again.
const GROWTH: u64 = 256;
/// With a dictionary, this level takes hardly longer than the fastest one, and texts become a ninth smaller.
const LEVEL: i32 = 3;
const MADE_FOR_BYTES: usize = 8;

/// Identifies a dictionary by its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DictionaryId(blake3::Hash);

/// A dictionary for reading.
pub(crate) struct CompressionDictionary {
    id: DictionaryId,
    pub(super) decoder: DDict<'static>,
}

/// A dictionary for writing.
pub(super) struct CompressionEncoder {
    id: DictionaryId,
    pub(super) encoder: CDict<'static>,
}

impl CompressionDictionary {
    /// Reads a stored dictionary. Returns `None` if these bytes are none.
    pub(crate) fn read(stored: &[u8]) -> Option<CompressionDictionary> {
        let (_, dictionary) = stored.split_at_checked(MADE_FOR_BYTES)?;
        let decoder = DDict::try_create(dictionary)?;
        // Anything else is taken for a dictionary without an id.
        decoder.get_dict_id()?;
        Some(CompressionDictionary { id: DictionaryId::of(stored), decoder })
    }

    pub(crate) fn id(&self) -> DictionaryId {
        self.id
    }
}

impl std::fmt::Debug for CompressionDictionary {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "CompressionDictionary({})", self.id.0)
    }
}

impl CompressionEncoder {
    pub(super) fn of(stored: &[u8]) -> Option<CompressionEncoder> {
        let (_, dictionary) = stored.split_at_checked(MADE_FOR_BYTES)?;
        Some(CompressionEncoder { id: DictionaryId::of(stored), encoder: CDict::try_create(dictionary, LEVEL)? })
    }

    pub(super) fn id(&self) -> DictionaryId {
        self.id
    }
}

impl DictionaryId {
    fn of(stored: &[u8]) -> DictionaryId {
        DictionaryId(blake3::hash(stored))
    }
}

/// Returns the number of bytes of the texts for which a stored dictionary was made.
fn made_for(stored: &[u8]) -> u64 {
    stored.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Returns the one of these stored dictionaries that was made for the most texts.
pub(crate) fn most_used<'a>(stored: impl Iterator<Item = &'a [u8]>) -> Option<&'a [u8]> {
    stored.max_by_key(|stored| made_for(stored))
}

/// Returns the dictionary, in its stored form, with which texts of these lengths are to be compressed: the known one as
/// a rule, or else one that is made now. `None` if they are few. A length of 0 stands for no text. `text` returns the
/// text of an index in `lengths`.
pub(crate) fn for_texts(lengths: &[usize], known: Option<&[u8]>, text: &dyn Fn(usize) -> String) -> Option<Vec<u8>> {
    let total = lengths.iter().map(|&length| length as u64).sum::<u64>();
    let least = if known.is_some() { KNOWN_FROM_BYTES } else { FROM_BYTES };
    if total < least {
        return None;
    }
    let known = known.map(<[u8]>::to_vec);
    if known.as_ref().is_some_and(|known| total / GROWTH <= made_for(known)) {
        return known;
    }
    make(lengths, total, text).or(known)
}

/// Makes a dictionary of texts that are spread over all of them.
fn make(lengths: &[usize], total: u64, text: &dyn Fn(usize) -> String) -> Option<Vec<u8>> {
    let (mut sample, mut sizes) = (Vec::new(), Vec::new());
    let mut passed = 0;
    for (index, &length) in lengths.iter().enumerate() {
        // The share of the texts so far is the share of the sample.
        let due = u128::from(passed) * u128::from(SAMPLE_BYTES) / u128::from(total);
        passed += length as u64;
        if length > 0 && due >= sample.len() as u128 {
            let text = text(index).into_bytes();
            let used = &text[..text.len().min(TEXT_BYTES)];
            sample.extend_from_slice(used);
            sizes.push(used.len());
        }
    }
    let dictionary = zstd::dict::from_continuous(&sample, &sizes, DICTIONARY_BYTES).ok()?;
    let stored = [&total.to_le_bytes()[..], &dictionary].concat();
    CompressionDictionary::read(&stored).map(|_| stored)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::packing::{Packer, with_unpacked};

    /// Makes a text that shares sentences with the others.
    fn text(number: usize) -> String {
        let sentence = |number: usize| format!("the {} of part {} is {}. ", number * 7919, number % 977, number * 31);
        (0..40).map(|index| sentence((number * 17 + index * index * 5) % 3001)).collect()
    }

    fn choose(texts: &[String], known: Option<&[u8]>) -> Option<Vec<u8>> {
        let lengths = Vec::from_iter(texts.iter().map(String::len));
        for_texts(&lengths, known, &|index| texts[index].clone())
    }

    #[test]
    fn many_texts_get_a_dictionary_that_makes_them_smaller() {
        let texts: Vec<String> = (0..6_000).map(text).collect();
        let total = texts.iter().map(String::len).sum::<usize>() as u64;
        assert!(total > FROM_BYTES);
        let stored = choose(&texts, None).unwrap();
        assert_eq!(made_for(&stored), total);
        let dictionary = CompressionDictionary::read(&stored).unwrap();
        let (mut plain, mut packer) = (Packer::new(None).unwrap(), Packer::new(Some(&stored)).unwrap());
        assert_eq!((packer.dictionary(), plain.dictionary()), (Some(dictionary.id()), None));
        let [mut with, mut without] = [0; 2];
        for text in &texts {
            let packed = packer.pack(text).unwrap();
            with_unpacked(&packed, Some(&dictionary), |unpacked| assert_eq!(unpacked, Some(text.as_bytes())));
            with_unpacked(&packed, None, |unpacked| assert_eq!(unpacked, None));
            with += packed.len();
            without += plain.pack(text).unwrap().len();
        }
        assert!(with * 4 < without * 3, "{with} {without}");
    }

    #[test]
    fn a_known_dictionary_is_used_until_there_are_many_more_texts() {
        let texts: Vec<String> = (0..6_000).map(text).collect();
        let total = texts.iter().map(String::len).sum::<usize>() as u64;
        let made = choose(&texts, None).unwrap();
        let made_for = |bytes: u64| [&bytes.to_le_bytes()[..], &made[MADE_FOR_BYTES..]].concat();
        for (name, known, is_known) in [
            ("for as many", made_for(total), true),
            ("for more", made_for(total * 100), true),
            ("for a few less", made_for(total / 250), true),
            ("for many less", made_for(total / 260), false),
        ] {
            let chosen = choose(&texts, Some(&known)).unwrap();
            assert_eq!(chosen == known, is_known, "{name}");
        }
        let [small, large] = [made_for(7), made_for(8)];
        assert_eq!(most_used([&large[..], &small].into_iter()), Some(&large[..]));
        let some = &texts[..1_500];
        let total = some.iter().map(String::len).sum::<usize>() as u64;
        assert!((KNOWN_FROM_BYTES..FROM_BYTES).contains(&total));
        assert_eq!(choose(some, None), None, "for some texts, none is made");
        assert_eq!(choose(some, Some(&made)).as_ref(), Some(&made), "but a known one is used");
        assert_eq!(choose(&texts[..100], Some(&made)), None, "few texts need none");
    }

    #[test]
    fn texts_of_which_no_dictionary_can_be_made_have_none_or_the_known_one() {
        let texts = vec!["x".repeat(5 << 20)];
        assert_eq!(choose(&texts, None), None);
        assert_eq!(choose(&texts, Some(&[0; 9])), Some(vec![0; 9]));
    }

    #[test]
    fn other_bytes_are_no_dictionary() {
        let stored = choose(&(0..6_000).map(text).collect::<Vec<_>>(), None).unwrap();
        for length in [0, 7, 8, 9, 100] {
            assert!(CompressionDictionary::read(&stored[..length]).is_none(), "{length}");
        }
        assert!(CompressionDictionary::read(&[1; 5_000]).is_none());
    }
}
