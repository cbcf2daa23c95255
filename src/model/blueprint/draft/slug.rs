//! Slugs of blueprints, fields and variants.

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};

use crate::model::sent::shorten;

const MAX_LENGTH: usize = 63;

/// Whether the text is a slug of a blueprint or field: `[a-z][a-z0-9_-]{0,62}`.
pub fn is_slug(text: &str) -> bool {
    let follows = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-';
    text.len() <= MAX_LENGTH && text.starts_with(|first: char| first.is_ascii_lowercase()) && text.bytes().all(follows)
}

/// Whether the text is a slug of a variant: a letter, then up to 34 letters, digits or `-`.
pub fn is_variant_slug(text: &str) -> bool {
    let follows = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    text.len() <= 35 && text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(follows)
}

/// The slug that a name makes: NFKD without marks, lower case, `_` for each run of what is no ASCII letter or digit, none
/// at either end, cut at the longest that a slug may be. `None` if that is no slug: nothing is left, or a digit is first.
pub fn field_slug_from_name(name: &str) -> Option<String> {
    let decomposed = DecomposingNormalizerBorrowed::new_nfkd().normalize(name);
    let categories = CodePointMapData::<GeneralCategory>::new();
    let unmarked: String = decomposed
        .chars()
        .filter(|character| !GeneralCategoryGroup::Mark.contains(categories.get(*character)))
        .collect();
    let mut slug = String::new();
    for character in unmarked.to_lowercase().chars() {
        if character.is_ascii_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('_') {
            slug.push('_');
        }
    }
    slug.truncate(MAX_LENGTH);
    let slug = slug.trim_end_matches('_');
    is_slug(slug).then(|| slug.to_owned())
}

/// Why the text is no slug.
pub(super) fn fault(text: &str) -> String {
    format!(
        "must be a small letter, then up to {} small letters, digits, `_` or `-`; `{}` is not",
        MAX_LENGTH - 1,
        shorten(text)
    )
}
