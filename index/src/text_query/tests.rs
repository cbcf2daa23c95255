#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::interrupt::Interrupt;

/// Formats a token as `text~typos`, with `*` if the word may continue and `?` for the rest of a pair; a row in
/// brackets.
fn shown(words: &Words) -> Vec<String> {
    let token = |token: &WantedToken| {
        let typos = if token.typos > 0 { format!("~{}", token.typos) } else { String::new() };
        let rest = match token.rest {
            Rest::Nothing => "",
            Rest::Word => "*",
            Rest::OfPair => "?",
        };
        format!("{}{typos}{rest}", token.text)
    };
    let row = |row: &[WantedToken]| format!("[{}]", row.iter().map(token).collect::<Vec<_>>().join(" "));
    let required = words.required.iter().map(|required| match required {
        Requirement::Token(wanted) => token(wanted),
        Requirement::Row(wanted) => row(&wanted.tokens),
    });
    required.chain(words.excluded.iter().map(|excluded| format!("-{}", row(excluded)))).collect()
}

#[test]
fn query_strings_become_words() {
    for (query, words) in [
        ("", &[][..]),
        (" -- \"\" ...", &[]),
        ("Kernel", &["kernel~1*"]),
        ("kernel ", &["kernel~1"]),
        ("page cache\t", &["page", "cache~1"]),
        ("internationalization ok", &["internationalization~2", "ok*"]),
        ("12345678 3.14159 ", &["12345678", "3.14159~1"]),
        ("foo-bar.", &["foo", "bar*"]),
        ("\"Page Cache\"", &["[page cache]"]),
        ("\"page\" cache\"s", &["page", "cache~1", "s"]),
        ("linux -windows", &["linux~1", "-[windows]"]),
        ("-\"page cache\" -foo-bar x", &["x*", "-[page cache]", "-[foo bar]"]),
        ("a - b", &["a", "b*"]),
        ("日本語", &["[日本 本語]"]),
        ("日本", &["日本"]),
        ("バー", &["バー"]),
        ("語", &["語?"]),
        ("日本語go 語", &["[日本 本語]", "go", "語?"]),
        ("\"日本 go\"", &["[日本 本 go]"]),
        ("Zo\u{eb}", &["zoe*"]),
    ] {
        assert_eq!(shown(&Words::parse(query, true)), words, "{query:?}");
    }
    assert_eq!(shown(&Words::parse("kernel internationalization ", false)), ["kernel", "internationalization"]);
}

#[test]
fn fewer_typos_are_closer_and_whole_words_closer_than_beginnings() {
    let closeness = |query: &str, token: &str| {
        let words = Words::parse(query, true);
        let Requirement::Token(wanted) = &words.required[0] else { panic!("one word") };
        wanted.closeness(token)
    };
    for (query, token, expected) in [
        ("kernel", "kernel", Some(0)),
        ("kernel", "kernels", Some(6)),
        ("kernel ", "kernels", Some(1_024)),
        ("kernel", "kenrel", Some(1_024)),
        ("kernel", "kenrels", Some(1_030)),
        ("kernel", "kernl", Some(1_024)),
        ("kernel", "cernel", None),
        ("kernel", "krenle", None),
        ("kern", "kernels", Some(6)),
        ("kern", "kren", None),
        ("internationalization ", "intrnationalizatoin", Some(2_048)),
        ("12345678 ", "12345679", None),
        ("語", "語の", Some(0)),
    ] {
        assert_eq!(closeness(query, token), expected, "{query:?} {token:?}");
    }
}

#[test]
fn a_query_is_cut_into_the_same_words_in_each_normal_form() {
    for query in ["がくせい", "か\u{3099}くせい", "が", "Zoe\u{308} ガイド"] {
        let composed: String = icu_normalizer::ComposingNormalizer::new_nfc().normalize(query).into_owned();
        let decomposed = icu_normalizer::DecomposingNormalizer::new_nfd().normalize(query).into_owned();
        assert_eq!(shown(&Words::parse(&decomposed, true)), shown(&Words::parse(&composed, true)), "{query}");
    }
}

#[test]
fn marks_show_what_was_found() {
    let marked = |query: &str, text: &str| {
        let marks = Words::parse(query, true).marks(text, &Interrupt::never()).unwrap();
        marks.into_iter().map(|mark| (text[mark.range].to_owned(), mark.word)).collect::<Vec<_>>()
    };
    let expected =
        |marks: &[(&str, usize)]| marks.iter().map(|(text, word)| ((*text).to_owned(), *word)).collect::<Vec<_>>();
    assert_eq!(marked("kernel zoe", "The Kernels of Zo\u{eb}"), expected(&[("Kernels", 0), ("Zo\u{eb}", 1)]));
    assert_eq!(marked("\"page cache\"", "page, page cache"), expected(&[("page", 0), ("cache", 0)]));
    assert_eq!(marked("本", "日本語"), expected(&[("本", 0)]));
    assert_eq!(marked("-page", "page"), expected(&[]));
}

#[test]
fn rows_that_overlap_have_few_marks() {
    for (query, text) in [("\"a a a a a a a a\"", "a ".repeat(100)), ("語語語語語語語語", "語".repeat(100))] {
        let marks = Words::parse(query, true).marks(&text, &Interrupt::never()).unwrap();
        assert!((99..=200).contains(&marks.len()), "{query}: {}", marks.len());
        let ends = [marks[0].range.start, marks[marks.len() - 1].range.end];
        assert_eq!(ends, [0, text.trim_end().len()], "{query}");
    }
}

/// Computes the distance by its definition.
fn distance(one: &[char], other: &[char]) -> usize {
    match (one, other) {
        ([], rest) | (rest, []) => rest.len(),
        ([first, one_rest @ ..], [other_first, other_rest @ ..]) => {
            let exchanged = distance(one_rest, other_rest) + usize::from(first != other_first);
            let moved = 1 + distance(one_rest, other).min(distance(one, other_rest));
            match (one, other) {
                ([a, b, one_rest @ ..], [c, d, other_rest @ ..]) if a == d && b == c => {
                    exchanged.min(moved).min(1 + distance(one_rest, other_rest))
                }
                _ => exchanged.min(moved),
            }
        }
    }
}

proptest! {
    #[test]
    fn distances_are_those_of_the_definition(
        wanted in "[ab\u{e4}\u{e5}]{1,6}",
        words in prop::collection::vec("[ab\u{e4}\u{e5}]{0,7}", 1..8),
        limit in 1usize..3,
    ) {
        let mut distance_from_wanted = distance::Distance::new(&wanted, limit);
        for word in words {
        let (of_wanted, of_word): (Vec<char>, Vec<char>) = (wanted.chars().collect(), word.chars().collect());
        let within = |typos: usize| (typos <= limit).then_some(typos);
        let whole = within(distance(&of_wanted, &of_word));
        let begun = (0..=of_word.len()).map(|end| distance(&of_wanted, &of_word[..end])).min().and_then(within);
        let expected = match of_wanted.first() == of_word.first() && (whole.is_some() || begun.is_some()) {
            true => Some(distance::Distances { whole, begun }),
            false => None,
        };
        prop_assert_eq!(distance_from_wanted.to(word.as_bytes()), expected, "{} {}", wanted, word);
        }
    }

    #[test]
    fn no_word_is_skipped_that_is_near_enough(
        wanted in "[ab\u{e4}\u{e5}]{1,6}",
        words in prop::collection::btree_set("[ab\u{e4}\u{e5}c]{0,7}", 1..60),
        limit in 1usize..3,
        is_open in any::<bool>(),
    ) {
        let mut measure = distance::Distance::new(&wanted, limit);
        for word in &words {
            measure.to(word.as_bytes());
            let Some(Skip { shared, next }) = measure.skip(is_open) else { continue };
            let beginning = &word[..shared];
            let bound = next.map(|next| format!("{beginning}{next}"));
            let is_skipped = |other: &&String| match &bound {
                Some(bound) => *other < bound,
                None => other.starts_with(beginning),
            };
            for skipped in words.range(word.clone()..).filter(is_skipped) {
                let near = distance::Distance::new(&wanted, limit).to(skipped.as_bytes());
                let is_near = near.is_some_and(|near| near.whole.is_some() || (is_open && near.begun.is_some()));
                prop_assert!(!is_near, "{} {} {}", wanted, word, skipped);
            }
        }
    }

    #[test]
    fn rows_are_found_wherever_they_are(row in "[ab]( [ab]){0,4}", text in "[ab]( [ab]){0,12}") {
        let tokens: Vec<WantedToken> = Words::parse(&format!("x \"{row}\" x"), false).required.into_iter().flat_map(|required| {
            match required {
                Requirement::Token(token) => vec![token],
                Requirement::Row(row) => row.tokens,
            }
        }).filter(|token| token.text != "x").collect();
        prop_assert_eq!(RowTester::new(&tokens).is_in(&text), format!(" {text} ").contains(&format!(" {row} ")));
    }
}
