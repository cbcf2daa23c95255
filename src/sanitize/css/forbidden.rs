//! Functions, properties and texts that a style sheet may not contain, because they load or run something.

/// The functions that load the target of their argument, or run it.
const FUNCTIONS: [&str; 9] = [
    "url",
    "src",
    "image",
    "image-set",
    "-webkit-image-set",
    "cross-fade",
    "-webkit-cross-fade",
    "url-prefix",
    "expression",
];

const PROPERTIES: [&str; 3] = ["behavior", "-ms-behavior", "-moz-binding"];

/// The texts that the result never contains, not even in a string or a comment. This also protects readers that search
/// for them instead of parsing.
const TEXTS: [&str; 3] = ["url(", "expression(", "@import"];

pub(super) fn is_function(name: &str) -> bool {
    is_among(name, &FUNCTIONS)
}

pub(super) fn is_property(name: &str) -> bool {
    is_among(name, &PROPERTIES)
}

/// Returns whether this identifier is forbidden in a value, because it could become part of a forbidden declaration or
/// call, for example a call with a comment before its parenthesis.
pub(super) fn is_value_identifier(name: &str) -> bool {
    is_property(name) || name.eq_ignore_ascii_case("expression")
}

/// Returns whether a browser that does not support nested rules would read the selector as a forbidden declaration.
pub(super) fn reads_as_declaration(selector: &str) -> bool {
    selector.split_once(':').is_some_and(|(name, _)| is_property(name.trim()))
}

pub(super) fn contains_text(css: &str) -> bool {
    let lower = css.to_ascii_lowercase();
    TEXTS.iter().any(|text| lower.contains(text))
}

fn is_among(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other))
}
