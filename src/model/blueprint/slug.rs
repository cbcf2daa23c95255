//! Slugs of blueprints, fields and variants.

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};

use crate::sent::quote;

const MAX_LENGTH: usize = 63;
const MAX_VARIANT_LENGTH: usize = 35;

/// Returns whether the text is a slug of a blueprint or field: `[a-z][a-z0-9_-]{0,62}`.
pub(super) fn is_slug(text: &str) -> bool {
    let follows = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-';
    text.len() <= MAX_LENGTH && text.starts_with(|first: char| first.is_ascii_lowercase()) && text.bytes().all(follows)
}

/// Returns whether the text is a slug of a variant: a letter, then up to 34 letters, digits or `-`.
pub(super) fn is_variant_slug(text: &str) -> bool {
    let follows = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    text.len() <= MAX_VARIANT_LENGTH
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(follows)
}

/// Derives a slug from a name: NFKD without marks, in lowercase, each run of characters other than ASCII letters and
/// digits as one `_`, none at either end, cut at the maximum length of a slug.
///
/// Returns `None` if the result is not a slug, because nothing is left or it begins with a digit.
pub fn slug_from_name(name: &str) -> Option<String> {
    let decomposed = DecomposingNormalizerBorrowed::new_nfkd().normalize(name);
    let categories = CodePointMapData::<GeneralCategory>::new();
    let without_marks: String = decomposed
        .chars()
        .filter(|character| !GeneralCategoryGroup::Mark.contains(categories.get(*character)))
        .collect();
    let mut slug = String::new();
    for character in without_marks.to_lowercase().chars() {
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

/// Returns the error message for a text that is not a slug of a blueprint or field.
pub(super) fn not_a_slug(text: &str) -> String {
    let more = MAX_LENGTH - 1;
    format!(
        "must be a lowercase letter followed by up to {more} lowercase letters, digits, `_` or `-`, not {}",
        quote(text)
    )
}

/// Returns the error message for a text that is not a slug of a variant.
pub(super) fn not_a_variant_slug(text: &str) -> String {
    let more = MAX_VARIANT_LENGTH - 1;
    format!("must be a letter followed by up to {more} letters, digits or `-`, such as `zh-CN`, not {}", quote(text))
}
