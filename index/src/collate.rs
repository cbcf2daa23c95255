//! Collation: the order of texts in a language. It knows no values and no columns.

use std::cmp::Ordering;
use std::sync::Arc;

use icu_collator::options::{AlternateHandling, CollatorOptions, Strength};
use icu_collator::{CollationKeySink, Collator, CollatorBorrowed, CollatorPreferences};
use icu_locale_core::LanguageIdentifier;

/// A collation. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Collation {
    collator: Arc<CollatorBorrowed<'static>>,
    /// The language tag that it was made for.
    name: Arc<str>,
}

impl Collation {
    /// Returns the collation of a language tag, or of its longest prefix that is a valid tag, or else the root
    /// collation. ICU falls back in the same way for a valid tag without data: to shorter tags, then to the root.
    pub(crate) fn of(locale: Option<&str>) -> Collation {
        let mut tag = locale.unwrap_or("und");
        let language = loop {
            match (LanguageIdentifier::try_from_str(tag), tag.rfind('-')) {
                (Ok(language), _) => break language,
                (Err(_), Some(end)) => tag = &tag[..end],
                (Err(_), None) => break LanguageIdentifier::UNKNOWN,
            }
        };
        let mut options = CollatorOptions::default();
        options.strength = Some(Strength::Tertiary);
        options.alternate_handling = Some(AlternateHandling::NonIgnorable);
        let collator = Collator::try_new(CollatorPreferences::from(&language), options)
            .or_else(|_| Collator::try_new(CollatorPreferences::default(), options))
            .expect("invariant: the root collation is compiled in");
        Collation { collator: Arc::new(collator), name: Arc::from(tag) }
    }

    /// Returns the name, which is also used in files. Collations of the same name are the same. Collations of different
    /// names may be the same too.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn compare(&self, left: &str, right: &str) -> Ordering {
        // Checked first because texts with equal prefixes are often equal.
        if left == right { Ordering::Equal } else { self.collator.compare(left, right) }
    }

    /// Returns the first 16 bytes of the collation key. If the prefixes of two texts differ, the texts compare as the
    /// prefixes do. If they are equal, [`Collation::compare`] has to decide, unless both are whole keys (see
    /// [`is_whole`]).
    pub(crate) fn prefix(&self, text: &str) -> u128 {
        let mut prefix = Prefix::default();
        // The error only means that there is no room left. It stops the reading of a long text early.
        let _ = self.collator.write_sort_key_to(text, &mut prefix);
        u128::from_be_bytes(prefix.bytes)
    }
}

/// Returns whether a prefix is the whole key of its text. Keys have no zero bytes, so a short key is recognized by its
/// zeros at the end.
pub(crate) fn is_whole(prefix: u128) -> bool {
    prefix & 0xFF == 0
}

/// A buffer for the first 16 bytes of a collation key.
#[derive(Default)]
struct Prefix {
    bytes: [u8; 16],
    length: usize,
}

/// The error when a prefix is complete.
struct FullPrefix;

impl CollationKeySink for Prefix {
    type Error = FullPrefix;
    type State = ();
    type Output = ();

    fn write(&mut self, (): &mut (), bytes: &[u8]) -> Result<(), FullPrefix> {
        let room = &mut self.bytes[self.length..];
        let count = bytes.len().min(room.len());
        room[..count].copy_from_slice(&bytes[..count]);
        self.length += count;
        if self.length < self.bytes.len() { Ok(()) } else { Err(FullPrefix) }
    }

    fn finish(&mut self, (): ()) -> Result<(), FullPrefix> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_uses_its_collation_or_that_of_its_longest_known_prefix() {
        for (locale, low, high) in [
            (None, "a", "B"),
            (None, "a", "A"),
            (None, "ä", "z"),
            (None, "a b", "ab"),
            (Some("sv"), "z", "ä"),
            (Some("sv-FI"), "z", "ä"),
            (Some("de-AT"), "ä", "z"),
            (Some("zh-CN"), "阿", "爸"),
            (Some("x"), "ä", "z"),
            (Some("english-us"), "ä", "z"),
            (Some("sv-x"), "z", "ä"),
            (Some("th"), "a b", "ab"),
        ] {
            assert_eq!(Collation::of(locale).compare(low, high), Ordering::Less, "{locale:?} {low:?} {high:?}");
        }
    }

    #[test]
    fn texts_that_collate_equally_are_ties() {
        let root = Collation::of(None);
        assert_eq!(root.compare("é", "e\u{301}"), Ordering::Equal);
        assert_eq!(root.compare("a\u{0}", "a"), Ordering::Equal);
    }

    #[test]
    fn prefixes_sort_as_their_texts_compare() {
        let fragments = [
            "",
            "a",
            "A",
            "b",
            "ss",
            "ß",
            "İ",
            "Σ",
            "ς",
            "ﬃ",
            "é",
            "\u{301}",
            "\u{327}",
            "\u{200d}",
            "漢",
            "한",
            "ᄀ",
            "ᅡ",
            "%",
            "_",
            " ",
            "\0",
            "0",
            "10",
            "\u{10FFFF}",
            "\u{FFFE}",
            "Ǆ",
            "ก",
            "เ",
        ];
        let texts: Vec<String> =
            fragments.iter().flat_map(|one| fragments.map(|other| format!("{one}{other}"))).collect();
        for locale in [None, Some("sv"), Some("zh"), Some("th")] {
            let collation = Collation::of(locale);
            let prefixes: Vec<u128> = texts.iter().map(|text| collation.prefix(text)).collect();
            for (one, left) in texts.iter().zip(&prefixes) {
                for (other, right) in texts.iter().zip(&prefixes) {
                    if left != right || is_whole(*left) {
                        assert_eq!(left.cmp(right), collation.compare(one, other), "{locale:?} {one:?} {other:?}");
                    }
                }
            }
        }
    }
}
