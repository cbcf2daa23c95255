//! The order of texts in a language. It knows no values and no columns.

use std::cmp::Ordering;
use std::sync::Arc;

use icu_collator::options::{AlternateHandling, CollatorOptions, Strength};
use icu_collator::{Collator, CollatorBorrowed, CollatorPreferences};
use icu_locale_core::LanguageIdentifier;

/// A collation. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Collation {
    collator: Arc<CollatorBorrowed<'static>>,
}

impl Collation {
    /// The collation of a language tag, or of the longest beginning of it that is a tag; else the root's. For a tag
    /// without data of its own the data's own fallback goes from the tag to its beginnings to the root.
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
            .expect("the root collation is compiled in");
        Collation { collator: Arc::new(collator) }
    }

    pub(crate) fn compare(&self, left: &str, right: &str) -> Ordering {
        self.collator.compare(left, right)
    }

    /// The first 16 bytes of the sort key: where two differ, the texts compare as they do; where they are equal, only
    /// [`Collation::compare`] tells. The buffer is for reuse.
    pub(crate) fn prefix(&self, text: &str, buffer: &mut Vec<u8>) -> u128 {
        buffer.clear();
        let Ok(()) = self.collator.write_sort_key_to(text, buffer);
        let mut prefix = [0; 16];
        let length = buffer.len().min(16);
        prefix[..length].copy_from_slice(&buffer[..length]);
        u128::from_be_bytes(prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_finds_its_collation_or_that_of_its_beginning() {
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
    fn what_collates_equal_is_a_tie() {
        let root = Collation::of(None);
        assert_eq!(root.compare("é", "e\u{301}"), Ordering::Equal);
        assert_eq!(root.compare("a\u{0}", "a"), Ordering::Equal);
    }

    #[test]
    fn prefixes_order_as_their_texts_compare() {
        let parts = [
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
        let texts: Vec<String> = parts.iter().flat_map(|one| parts.map(|other| format!("{one}{other}"))).collect();
        for locale in [None, Some("sv"), Some("zh"), Some("th")] {
            let collation = Collation::of(locale);
            let prefixes: Vec<u128> = texts.iter().map(|text| collation.prefix(text, &mut Vec::new())).collect();
            for (one, left) in texts.iter().zip(&prefixes) {
                for (other, right) in texts.iter().zip(&prefixes) {
                    if left != right {
                        assert_eq!(left.cmp(right), collation.compare(one, other), "{locale:?} {one:?} {other:?}");
                    }
                }
            }
        }
    }
}
