//! Compressed texts. It does not know where they are stored.
//!
//! A folded text differs little from the original. So the folded text, which searches read, is compressed on its own,
//! and the original is stored as what differs: the places of its capitals or, if it has many or differs by more,
//! compressed as a continuation of the folded text. This takes less than a third of the space, but reading the original
//! requires the folded text.

use std::cell::RefCell;
use std::io;

use zstd::zstd_safe::{CCtx, CParameter, DCtx, SafeResult, compress_bound, get_error_name, get_frame_content_size};

mod compression_dictionary;

pub(crate) use compression_dictionary::{CompressionDictionary, DictionaryId, for_texts, most_used};

use compression_dictionary::CompressionEncoder;

use crate::varint::{put_varint, take_varint};

/// The level of zstd without a dictionary: a fast one.
const COMPRESSION_LEVEL: i32 = 1;

/// The first byte of a text that is compressed as a continuation of its folded form.
const COMPRESSED: u8 = 0;
/// The first byte of the places of a text's capitals.
const CAPITALS: u8 = 1;
/// A text with more capitals than one in so many bytes is compressed.
const BYTES_PER_CAPITAL: usize = 8;

/// Compresses texts.
pub(crate) struct Packer<'a> {
    context: CCtx<'a>,
    dictionary: Option<CompressionEncoder>,
}

impl<'a> Packer<'a> {
    /// Makes one that compresses with this dictionary, in its stored form, if there is one.
    pub(crate) fn new(dictionary: Option<&[u8]>) -> io::Result<Packer<'a>> {
        let mut context = CCtx::create();
        done(context.set_parameter(CParameter::CompressionLevel(COMPRESSION_LEVEL)))?;
        let invalid = || io::Error::other("these bytes are no dictionary for compression");
        let dictionary = dictionary.map(|stored| CompressionEncoder::of(stored).ok_or_else(invalid)).transpose()?;
        Ok(Packer { context, dictionary })
    }

    /// Returns the dictionary that is needed to unpack what [`Packer::pack`] makes.
    pub(crate) fn dictionary(&self) -> Option<DictionaryId> {
        self.dictionary.as_ref().map(CompressionEncoder::id)
    }

    /// Compresses a text, with the dictionary if there is one.
    pub(crate) fn pack(&mut self, text: &str) -> io::Result<Vec<u8>> {
        let Some(dictionary) = &self.dictionary else { return self.pack_alone(text) };
        let mut packed = Vec::with_capacity(compress_bound(text.len()));
        done(self.context.compress_using_cdict(&mut packed, text.as_bytes(), &dictionary.encoder))?;
        Ok(packed)
    }

    fn pack_alone(&mut self, text: &str) -> io::Result<Vec<u8>> {
        let mut packed = Vec::with_capacity(compress_bound(text.len()));
        done(self.context.compress2(&mut packed, text.as_bytes()))?;
        Ok(packed)
    }

    /// Stores a text as what differs from its folded form, which is needed to unpack it.
    pub(crate) fn pack_behind(&mut self, folded: &'a str, text: &str) -> io::Result<Vec<u8>> {
        if let Some(capitals) = capitals(folded, text) {
            return Ok(capitals);
        }
        done(self.context.ref_prefix(folded.as_bytes()))?;
        let mut packed = self.pack_alone(text)?;
        packed.insert(0, COMPRESSED);
        Ok(packed)
    }
}

/// A decompression context and its output buffer. Both are reused, since most texts are short.
struct Unpacker {
    context: DCtx<'static>,
    text: Vec<u8>,
}

impl Unpacker {
    fn unpack(&mut self, packed: &[u8], dictionary: Option<&CompressionDictionary>) -> Option<&[u8]> {
        self.text.clear();
        self.text.reserve(unpacked_length(packed)?);
        match dictionary {
            Some(dictionary) => self.context.decompress_using_ddict(&mut self.text, packed, &dictionary.decoder),
            None => self.context.decompress(&mut self.text, packed),
        }
        .ok()?;
        Some(&self.text)
    }
}

/// A larger output buffer is not kept.
const KEPT_BYTES: usize = 1 << 18;

/// Unpacks the output of [`Packer::pack`] and passes it to `read`; passes `None` if it is not valid. `dictionary` is
/// the one it was made with.
pub(crate) fn with_unpacked<T>(
    packed: &[u8],
    dictionary: Option<&CompressionDictionary>,
    read: impl FnOnce(Option<&[u8]>) -> T,
) -> T {
    thread_local! {
        static UNPACKER: RefCell<Option<Unpacker>> = const { RefCell::new(None) };
    }
    let new = || Unpacker { context: DCtx::create(), text: Vec::new() };
    UNPACKER.with(|kept| match kept.try_borrow_mut() {
        Ok(mut kept) => {
            let unpacker = kept.get_or_insert_with(new);
            let result = read(unpacker.unpack(packed, dictionary));
            unpacker.text.clear();
            unpacker.text.shrink_to(KEPT_BYTES);
            result
        }
        // `read` is reading another text, so the shared context is in use.
        Err(_) => read(new().unpack(packed, dictionary)),
    })
}

/// Unpacks the output of [`Packer::pack_behind`]. Returns `None` if it is not valid.
pub(crate) fn unpack_behind(folded: &str, packed: &[u8]) -> Option<String> {
    let packed = match packed.split_first()? {
        (&CAPITALS, places) => return with_capitals(folded, places),
        (_, packed) => packed,
    };
    let mut text = Vec::with_capacity(unpacked_length(packed)?);
    let mut context = DCtx::create();
    context.ref_prefix(folded.as_bytes()).ok()?;
    context.decompress(&mut text, packed).ok()?;
    String::from_utf8(text).ok()
}

/// Returns the places of the capitals of a text, each as the number of bytes of the folded text since the one before.
/// `None` if the text has many, or differs by more than capitals of the same length.
fn capitals(folded: &str, text: &str) -> Option<Vec<u8>> {
    let mut places = vec![CAPITALS];
    let mut last = 0;
    for ((place, lower), char) in folded.char_indices().zip(text.chars()) {
        if lower == char {
            continue;
        }
        if capital(lower) != Some(char) || places.len() > folded.len() / BYTES_PER_CAPITAL {
            return None;
        }
        put_varint(&mut places, (place - last) as u64);
        last = place;
    }
    // The characters after the end of the shorter text were not compared.
    (folded.len() == text.len()).then_some(places)
}

/// Returns the folded text with capitals at these places; `None` if there can be none.
fn with_capitals(folded: &str, mut places: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(folded.len());
    let mut place = 0;
    while !places.is_empty() {
        place += usize::try_from(take_varint(&mut places)?).ok()?;
        text.push_str(folded.get(text.len()..place)?);
        text.push(capital(folded.get(place..)?.chars().next()?)?);
    }
    text.push_str(folded.get(text.len()..)?);
    Some(text)
}

/// Returns the capital of a letter if it has one of the same length in bytes.
fn capital(letter: char) -> Option<char> {
    let mut capital = letter.to_uppercase();
    let first = capital.next()?;
    (capital.next().is_none() && first != letter && first.len_utf8() == letter.len_utf8()).then_some(first)
}

/// Returns the length of the text; `None` if it is implausible, as damaged bytes with a matching checksum could claim
/// any length.
pub(crate) fn unpacked_length(packed: &[u8]) -> Option<usize> {
    let length = get_frame_content_size(packed).ok().flatten()?;
    usize::try_from(length).ok().filter(|&length| length <= u32::MAX as usize)
}

fn done(result: SafeResult) -> io::Result<usize> {
    result.map_err(|code| io::Error::other(get_error_name(code)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn unpacked(packed: &[u8]) -> Option<String> {
        with_unpacked(packed, None, |text| text.map(|text| str::from_utf8(text).unwrap().to_owned()))
    }

    #[test]
    fn packed_texts_are_unpacked_and_others_are_not() {
        let text = "Some Text, WITH Capitals. ".repeat(300);
        let folded = text.to_lowercase();
        let mut packer = Packer::new(None).unwrap();
        let packed = packer.pack(&folded).unwrap();
        let behind = packer.pack_behind(&folded, &text).unwrap();
        // The context must not remember the previous text.
        assert_eq!(packer.pack(&folded).unwrap(), packed);
        assert!(packed.len() < folded.len() / 10 && behind.len() < 200, "{} {}", packed.len(), behind.len());
        assert_eq!(unpacked(&packed).unwrap(), folded);
        assert_eq!(unpack_behind(&folded, &behind).unwrap(), text);
        assert_eq!(unpack_behind(&text, &packer.pack_behind(&folded, "").unwrap()).unwrap(), "");
        assert!((0..packed.len()).all(|length| unpacked(&packed[..length]).is_none()));
        assert!(unpack_behind("", &behind).is_none());
        let nested = with_unpacked(&packed, None, |outer| with_unpacked(&packed, None, |inner| inner == outer));
        assert!(nested);
    }

    #[test]
    fn a_text_with_few_capitals_is_stored_as_their_places() {
        let text = format!("Über die Ärzte. {}Ende", "wörter ".repeat(300));
        let folded = crate::text::fold(&text);
        let places = Packer::new(None).unwrap().pack_behind(&folded, &text).unwrap();
        // The tag, two near places, and one that takes two bytes.
        assert_eq!(places.len(), 5);
        assert_eq!(unpack_behind(&folded, &places).unwrap(), text);
        // A place inside a character, one with a character that has no capital, and one behind the end.
        for wrong in [&[CAPITALS, 1][..], &[CAPITALS, 5], &[CAPITALS, 255, 127], &[CAPITALS, 255]] {
            assert_eq!(unpack_behind("über…", wrong), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn every_text_is_unpacked_as_it_was(text in "[a-zäöß ςσΣİıŸÿ]{0,80}|[A-Za-z]{0,40}|\\PC{0,40}|[a-z]{0,300}[A-ZÄẞ][a-z]{0,300}") {
            let folded = crate::text::fold(&text);
            let behind = Packer::new(None).unwrap().pack_behind(&folded, &text).unwrap();
            prop_assert_eq!(unpack_behind(&folded, &behind), Some(text));
        }

        #[test]
        fn damaged_bytes_are_refused_or_make_another_text(folded in "[a-zä]{0,20}", bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let _ = unpack_behind(&folded, &bytes);
            let _ = unpack_behind(&folded, &[&[CAPITALS], &bytes[..]].concat());
        }
    }
}
