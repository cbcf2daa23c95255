use super::*;
use crate::run::Document;
use crate::schema::Value;

/// Tests one value against one predicate.
fn holds(kind: Kind, value: Value, predicate: Predicate) -> bool {
    let document = Document::new(0, vec![(1, value)]);
    PreparedPredicate::new(&predicate).matches(kind, document.value(1))
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn list(elements: &[&str]) -> Value {
    Value::List(elements.iter().map(|&element| element.into()).collect())
}

fn substring(anchor: Anchor, needle: &str) -> Predicate {
    Predicate::Substring(anchor, needle.into())
}

fn from<T>(bound: T) -> Range<T> {
    Range { from: Some(Bound::Included(bound)), to: None }
}

#[test]
fn substrings_ignore_case_and_respect_their_anchor() {
    for (value, anchor, needle, expected) in [
        ("Hello", Anchor::Anywhere, "ELL", true),
        ("Hello", Anchor::Start, "hE", true),
        ("Hello", Anchor::Start, "e", false),
        ("Hello", Anchor::End, "LO", true),
        ("Hello", Anchor::End, "l", false),
        ("100%", Anchor::Anywhere, "0%", true),
        ("1000", Anchor::Anywhere, "0%", false),
        ("axb", Anchor::Anywhere, "a_b", false),
        ("Straße", Anchor::Anywhere, "SS", true),
        ("é", Anchor::Anywhere, "e", false),
        ("é", Anchor::Anywhere, "E\u{301}", true),
        ("", Anchor::Anywhere, "", true),
        ("x", Anchor::End, "", true),
        ("", Anchor::Anywhere, "x", false),
    ] {
        assert_eq!(holds(Kind::Text, text(value), substring(anchor, needle)), expected, "{value:?} {needle:?}");
    }
}

#[test]
fn a_substring_matches_within_one_element_of_a_list() {
    for (elements, anchor, needle, expected) in [
        (&["Red", "Blue"][..], Anchor::Anywhere, "dB", false),
        (&["Red", "Blue"], Anchor::Start, "b", true),
        (&["Red", "Blue"], Anchor::Start, "e", false),
        (&["Red", "Blue"], Anchor::End, "D", true),
        (&["Red", "Blue"], Anchor::Anywhere, ",", false),
        (&["Red", "Blue"], Anchor::Anywhere, "", true),
        (&[""], Anchor::Start, "", true),
        (&[], Anchor::Anywhere, "", false),
        (&[], Anchor::Anywhere, "x", false),
    ] {
        assert_eq!(holds(Kind::List, list(elements), substring(anchor, needle)), expected, "{elements:?} {needle:?}");
    }
}

#[test]
fn equality_compares_the_exact_form() {
    let equals = |kind, value, other: &str| holds(kind, value, Predicate::Equals(other.into()));
    assert!(equals(Kind::Text, text("A"), "A"));
    assert!(!equals(Kind::Text, text("A"), "a"));
    assert!(!equals(Kind::Text, text("é"), "e\u{301}"));
    assert!(equals(Kind::Number, Value::Number(10.0), "10"));
    assert!(!equals(Kind::Number, Value::Number(10.0), "10.0"));
    assert!(equals(Kind::Number, Value::Number(-0.0), "0"));
    assert!(equals(Kind::Bool, Value::Bool(true), "true"));
    assert!(equals(Kind::List, list(&["a", "b"]), "a,b"));
    assert!(equals(Kind::List, list(&[]), ""));
    let markup = || Value::Markup { exact: exact_hash("<p>a</p>"), text: "a".into() };
    assert!(equals(Kind::Markup, markup(), "<p>a</p>"));
    assert!(!equals(Kind::Markup, markup(), "a"));
    let instant = Value::Instant { micros: 5, text: "2026-01-01".into() };
    assert!(!equals(Kind::Instant, instant, "2026-01-01"));
    let long = "x".repeat(300);
    assert!(equals(Kind::Text, text(&long), &long));
    assert!(!equals(Kind::Text, text(&long), &long[..256]));
}

#[test]
fn number_ranges_match_only_values_with_a_number_form() {
    let at_least = |kind, value| holds(kind, value, Predicate::Number(from(2.0)));
    assert!(at_least(Kind::Number, Value::Number(2.0)));
    assert!(at_least(Kind::Text, text("10")));
    assert!(!at_least(Kind::Text, text("1e-3")));
    assert!(!at_least(Kind::Text, text(" 10")));
    assert!(!at_least(Kind::Plain, text("10")));
    assert!(!at_least(Kind::List, list(&["10"])));
    assert!(!at_least(Kind::Bool, Value::Bool(true)));
}

#[test]
fn text_ranges_compare_by_code_point() {
    let at_least = |kind, value, bound: &str| holds(kind, value, Predicate::Text(from(bound.to_owned())));
    assert!(at_least(Kind::Text, text("b"), "a"));
    assert!(at_least(Kind::Text, text("a"), "Z"));
    assert!(at_least(Kind::Text, text("\u{10000}"), "\u{FFFF}"));
    assert!(at_least(Kind::Number, Value::Number(9.0), "10"));
    assert!(at_least(Kind::List, list(&["b", "a"]), "b,a"));
    assert!(at_least(Kind::Bool, Value::Bool(true), "false"));
    let long = "x".repeat(300);
    assert!(at_least(Kind::Text, text(&long), &long[..299]));
    assert!(!at_least(Kind::Text, text(&long[..299]), &long));
}

#[test]
fn has_matches_only_whole_elements() {
    for (elements, element, expected) in [
        (&["a", "bc"][..], "bc", true),
        (&["a", "bc"], "b", false),
        (&[], "", false),
        (&["", "a"], "", true),
        (&["A"], "a", false),
    ] {
        assert_eq!(holds(Kind::List, list(elements), Predicate::Has(element.into())), expected, "{elements:?}");
    }
    assert!(!holds(Kind::Text, text("a"), Predicate::Has("a".into())));
}
