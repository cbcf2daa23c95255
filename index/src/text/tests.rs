#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

#[test]
fn folding_removes_only_differences_of_case_and_normal_form() {
    for (text, folded) in [
        ("", ""),
        ("Straße", "strasse"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("σίσυφος", "σίσυφοσ"),
        ("İ", "i\u{307}"),
        ("ﬃ", "ffi"),
        ("e\u{301}", "é"),
        ("É", "é"),
        ("e", "e"),
        ("\u{345}", "ι"),
        ("漢字 %_", "漢字 %_"),
        ("K", "k"),
    ] {
        assert_eq!(fold(text), folded, "{text:?}");
    }
}

#[test]
fn folding_twice_gives_the_same_as_folding_once() {
    for code in 0..=0x10_FFFFu32 {
        let Some(character) = char::from_u32(code) else { continue };
        let text = character.to_string();
        let folded = fold(&text).into_owned();
        assert_eq!(fold(&folded), folded, "{code:x}");
        assert!(!folded.is_empty());
    }
}

#[test]
fn a_decimal_is_a_number_in_the_grammar_of_json() {
    for (text, value) in [
        ("0", Some(0.0)),
        ("-0", Some(0.0)),
        ("10.50", Some(10.5)),
        ("1e3", Some(1000.0)),
        ("1E+3", Some(1000.0)),
        ("-1.5e-2", Some(-0.015)),
        ("1e999", Some(f64::INFINITY)),
        ("", None),
        ("-", None),
        ("01", None),
        ("+1", None),
        (".5", None),
        ("5.", None),
        ("1e", None),
        ("1e+", None),
        (" 1", None),
        ("1 ", None),
        ("0x10", None),
        ("NaN", None),
        ("inf", None),
        ("1_000", None),
        ("١", None),
    ] {
        assert_eq!(decimal(text), value, "{text:?}");
    }
}

#[test]
fn numbers_print_as_ecmascript_prints_them() {
    for (number, text) in [
        (10.0, "10"),
        (1e-7, "1e-7"),
        (1e21, "1e+21"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (123456789012345680000.0, "123456789012345680000"),
    ] {
        assert_eq!(number_text(number), text);
    }
}

#[test]
fn the_head_is_cut_between_code_points() {
    let long = "é".repeat(300);
    assert_eq!(head(&long).chars().count(), 256);
    let exact = "é".repeat(256);
    assert_eq!(head(&exact), exact);
    assert_eq!(head("short"), "short");
}

proptest! {
    #[test]
    fn case_is_folded_in_parts_as_in_the_whole(
        text in "(\\PC|[a-zA-Z \u{130}\u{131}\u{df}\u{3a3}\u{1e9e}\u{345}\u{149}]){0,12}"
    ) {
        prop_assert_eq!(fold_case(&text), CASES.fold_string(&text));
    }
}
