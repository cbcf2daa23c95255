use super::*;
use crate::memory::Document;
use crate::schema::Value;

/// Asks one value one predicate.
fn holds(kind: Kind, value: Value, predicate: Predicate) -> bool {
    let document = Document::new(0, vec![(1, value)]);
    Prepared::new(&predicate).matches(kind, document.value(1))
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn list(elements: &[&str]) -> Value {
    Value::List(elements.iter().map(|&element| element.into()).collect())
}

fn substring(place: Anchor, needle: &str) -> Predicate {
    Predicate::Substring(place, needle.into())
}

fn from<T>(bound: T) -> Range<T> {
    Range { from: Some(Bound::Included(bound)), to: None }
}

#[test]
fn substrings_ignore_case_and_look_where_they_are_told() {
    for (value, place, needle, expected) in [
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
        assert_eq!(holds(Kind::Text, text(value), substring(place, needle)), expected, "{value:?} {needle:?}");
    }
}

#[test]
fn substrings_of_lists_stay_inside_one_element() {
    for (elements, place, needle, expected) in [
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
        assert_eq!(holds(Kind::List, list(elements), substring(place, needle)), expected, "{elements:?} {needle:?}");
    }
}

#[test]
fn equality_goes_by_the_exact_form() {
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
fn number_ranges_ask_for_a_number_form() {
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
fn text_ranges_go_by_code_point() {
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
fn packed_texts_compare_as_plain_ones_do() {
    let long = "päckt ".repeat(400);
    let packed = zstd::encode_all(long.as_bytes(), 3).expect("memory");
    let text = TextRef { head: head(&long), full: Full::Packed(&packed), folded: &long };
    assert_eq!(text.whole(), long);
    for other in [long.clone(), format!("{long}x"), long[..long.len() - 1].to_owned(), "q".into(), "pä".into()] {
        assert_eq!(text.compare(&other), long.as_str().cmp(&other), "{other:?}");
    }
}

#[test]
fn has_wants_a_whole_element() {
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

#[test]
fn ranks_order_as_their_numbers_do() {
    let numbers = [f64::NEG_INFINITY, -1e300, -2.0, -1.0, -1e-300, 0.0, 1e-300, 1.0, 2.0, f64::INFINITY];
    assert!(numbers.map(rank_of_number).is_sorted());
    assert_eq!(rank_of_number(-0.0), rank_of_number(0.0));
    assert!([i64::MIN, -1, 0, 1, i64::MAX].map(rank_of_integer).is_sorted());
}

#[test]
fn framed_elements_come_back() {
    for elements in [&[][..], &[""], &["", ""], &["a", "", "b,c"]] {
        assert_eq!(unframed(&framed(elements)).collect::<Vec<_>>(), elements);
    }
}
