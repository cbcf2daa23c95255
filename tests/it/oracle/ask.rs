//! Random queries, most of them built from stored values, so that they match something.

use bindery_query::{Fields, OPERATORS, Operand, Operator};
use icu_normalizer::{ComposingNormalizer, DecomposingNormalizer};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::answer::Table;
use super::condition::text_test;
use super::corpus::{ATOMS, TIMES};
use super::forms::{Cell, fold};
use super::random::Random;
use super::values::text;

/// Decoded parameters.
pub(crate) type Pairs = Vec<(String, String)>;

/// Timestamps for filters, in addition to those in attributes.
const MOMENTS: &[&str] = &[
    "2026-11-19",
    "2026-11-20",
    "2026-11-21",
    "2026-11-22",
    "2026-11-21T00:00:00Z",
    "2026-11-20T23:59:59.999Z",
    "2026-11-21T00:30:00+01:00",
    "2026-11-21T00:30:00 01:00",
    "2026-11-20T23:00:00-02:00",
    "1999-12-31T23:59:59.999Z",
    "2000-01-01",
    "1969-12-31",
    "2030-01-01",
    "2024-02-29",
    "2026-01-01T00:00:00.0000019Z",
    "2026-01-01T00:00:00.123456789Z",
];

/// Returns the parameters of a random query, without a page. Encoded, they fit into the 64 KiB that the target of a
/// request may have.
pub(crate) fn pairs(random: &mut Random, table: &Table) -> Pairs {
    loop {
        let pairs = any_pairs(random, table);
        if encode(&pairs).len() < 60_000 {
            return pairs;
        }
    }
}

fn any_pairs(random: &mut Random, table: &Table) -> Pairs {
    let mut pairs = Pairs::new();
    let variants = table.variants();
    let variant = random.below(variants.len());
    if random.chance(70) && !variants[variant].is_empty() {
        pairs.push(("variant".to_owned(), variants[variant].clone()));
    } else if variants[0].is_empty() && random.chance(5) {
        pairs.push(("variant".to_owned(), "ignored".to_owned()));
    }
    let requested = table.variant(&pairs).unwrap();
    let requested = variants.iter().position(|slug| *slug == requested).unwrap();
    let groups = random.chance(30);
    for _ in 0..*random.pick(&[0, 1, 1, 1, 1, 2, 2, 3]) + if groups { random.below(3) } else { 0 } {
        let (name, value) = filter(random, table, requested);
        let group = if groups { group(random) } else { String::new() };
        pairs.push((format!("filter{group}{}", name.strip_prefix("filter").unwrap()), value));
    }
    if !variants[0].is_empty() && random.chance(15) {
        pairs.push(("fallback".to_owned(), random.pick(&variants).clone()));
        pairs.push(("fallback_mode".to_owned(), "all".to_owned()));
    }
    if random.chance(20) {
        let cell = some_cell(random, table, requested, None);
        let needle = match cell {
            Some(cell) => needle(random, &cell.text),
            None => text(random),
        };
        pairs.push(("search".to_owned(), needle));
    }
    let has_words = random.chance(15);
    if has_words {
        pairs.push(("q".to_owned(), words(random, table, requested)));
        // Everything else that is found is compared with a naive reading in the tests of the index.
        pairs.push(("q_mode".to_owned(), "exact".to_owned()));
        if random.chance(20) {
            pairs.push(("typos".to_owned(), random.text(&["true", "false"])));
        }
    }
    // The oracle does not know the order of ranked search.
    if has_words || random.chance(60) {
        pairs.push(("sort".to_owned(), sort(random, table)));
    }
    if random.chance(2) {
        pairs.push(invalid(random, table));
    }
    pairs
}

/// Returns a `q` of words that values have, some with typos, cut off, quoted or excluded.
fn words(random: &mut Random, table: &Table, variant: usize) -> String {
    let mut parts = Vec::new();
    for _ in 0..*random.pick(&[1, 1, 1, 2, 2, 3]) {
        let cell = some_cell(random, table, variant, None);
        let source = match cell {
            Some(cell) => needle(random, &cell.text),
            None => text(random),
        };
        let words: Vec<&str> = source.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        let first = random.below(words.len());
        let part = match random.below(8) {
            0 => format!("-{}", words[first]),
            1 => format!("\"{}\"", words[first..words.len().min(first + 3)].join(" ")),
            2 => format!("-\"{}\"", words[first..words.len().min(first + 2)].join(" ")),
            3 | 4 => with_typo(random, words[first]),
            5 => source.clone(),
            _ => words[first].to_owned(),
        };
        // More than a hundred words are refused, and in some scripts each character is a word.
        parts.push(part.chars().take(30).collect::<String>());
    }
    parts.join(" ") + *random.pick(&["", "", " "])
}

/// Makes a word with a character left out, doubled, or exchanged with its neighbour.
fn with_typo(random: &mut Random, word: &str) -> String {
    let mut chars: Vec<char> = word.chars().collect();
    let at = random.below(chars.len());
    match random.below(3) {
        0 => {
            chars.remove(at);
        }
        1 => chars.insert(at, chars[at]),
        _ if at + 1 < chars.len() => chars.swap(at, at + 1),
        _ => {}
    }
    chars.into_iter().collect()
}

/// Returns the keys of a group. They may be none or several. There are few different ones, so that filters meet in a
/// group.
fn group(random: &mut Random) -> String {
    let levels = *random.pick(&[0, 1, 1, 1, 2, 2, 3, 4]);
    let key =
        |random: &mut Random| random.text(&["[$or][0]", "[$or][1]", "[$or][7]", "[$and][0]", "[$and][1]", "[$not]"]);
    (0..levels).map(|_| key(random)).collect()
}

/// Returns a filter on a related resource, if the table has a relation.
fn relation(random: &mut Random, table: &Table) -> Option<(String, String)> {
    let relations = table.columns.iter().filter(|(_, column)| column.kind.starts_with("reference"));
    let relations: Vec<&str> = relations.map(|(name, _)| name.as_str()).collect();
    if relations.is_empty() {
        return None;
    }
    let relation = *random.pick(&relations);
    let related = table.related.get(table.related_blueprint(relation)?)?;
    if random.chance(15) {
        return Some((format!("filter[{relation}][dangling]"), random.text(&["true", "1", "false", "0"])));
    }
    let variant = random.below(related.variants().len());
    let (name, value) = filter(random, related, variant);
    let inside = name.strip_prefix("filter[").unwrap();
    let is_plain = !inside.contains("$some");
    let form = if is_plain && random.chance(60) { format!("{relation}.") } else { format!("{relation}][$some][") };
    Some((format!("filter[{form}{inside}"), value))
}

fn filter(random: &mut Random, table: &Table, variant: usize) -> (String, String) {
    if random.chance(25)
        && let Some(filter) = relation(random, table)
    {
        return filter;
    }
    let named = |random: &mut Random, field: &str, operator: &Operator| match operator.alias {
        Some(alias) if random.chance(30) => format!("filter[{field}][{alias}]"),
        _ if operator.name == "eq" => format!("filter[{field}]"),
        _ => format!("filter[{field}][{}]", operator.name),
    };
    match random.below(20) {
        0 => {
            let operator = operator(random, Fields::Published);
            (named(random, "published", operator), random.text(&["true", "1", "false", "0", "yes", ""]))
        }
        1 | 2 => {
            let operator = operator(random, Fields::Dates);
            let field = random.text(&["published_at", "created_at", "updated_at", "published_at"]);
            let value = match operator.operand {
                Operand::Boolean => random.text(&["true", "1", "false", "0"]),
                Operand::Pair => format!("{},{}", time(random), time(random)),
                _ => time(random),
            };
            (named(random, &field, operator), value)
        }
        3 => {
            let operator = operator(random, Fields::Id);
            let mut ids = Vec::new();
            for _ in 0..random.within(1, 3) {
                let row = (!table.rows.is_empty()).then(|| random.pick(&table.rows).id.clone());
                ids.push(row.filter(|_| random.chance(90)).unwrap_or_else(|| "nothing".to_owned()));
            }
            (named(random, "id", operator), ids.join(","))
        }
        _ => {
            let index = random.below(table.columns.len());
            let (name, column) = &table.columns[index];
            let is_array = column.kind == "multi-enum" || column.kind == "references";
            let operator = match is_array && random.chance(40) {
                true => operator(random, Fields::Lists),
                false => operator(random, Fields::Columns),
            };
            let value = value(random, table, variant, index, operator);
            (named(random, name, operator), value)
        }
    }
}

/// Returns one of the operators that these fields support.
fn operator(random: &mut Random, fields: Fields) -> &'static Operator {
    let all: Vec<&Operator> = OPERATORS.iter().filter(|operator| operator.fields.contains(&fields)).collect();
    all[random.below(all.len())]
}

fn value(random: &mut Random, table: &Table, variant: usize, column: usize, operator: &Operator) -> String {
    let kind = table.columns[column].1.kind.clone();
    let one = |random: &mut Random| {
        let cell = some_cell(random, table, variant, Some(column));
        match kind.as_str() {
            "datetime" if operator.operand != Operand::Text => time(random),
            "number" | "money" | "duration" | "user" if random.chance(15) => number_like(random),
            "boolean" if random.chance(80) => random.text(&["true", "false", "1", "0"]),
            _ if random.chance(8) => random.text(ATOMS),
            _ if random.chance(8) => number_like(random),
            _ => match cell {
                None => text(random),
                Some(cell) if operator.fields.contains(&Fields::Lists) => match &cell.elements {
                    Some(elements) if !elements.is_empty() => random.pick(elements).0.clone(),
                    _ => random.text(ATOMS),
                },
                Some(cell) if operator.operand == Operand::Text => {
                    let from = match &cell.elements {
                        Some(elements) if !elements.is_empty() => &random.pick(elements).0,
                        _ => &cell.text,
                    };
                    needle_for(random, from, operator)
                }
                Some(cell) if random.chance(80) => cell.exact.clone(),
                Some(cell) => needle(random, &cell.text),
            },
        }
    };
    let escape = |text: String| text.replace('\\', "\\\\").replace(',', "\\,");
    match operator.operand {
        Operand::Boolean => random.text(&["true", "1", "false", "0"]),
        Operand::List => {
            let entries: Vec<String> = (0..random.within(1, 4)).map(|_| escape(one(random))).collect();
            entries.join(",")
        }
        Operand::Pair => {
            let mut ends = [one(random), one(random)];
            if random.chance(80) {
                ends.sort();
            }
            ends.map(escape).join(",")
        }
        Operand::Value | Operand::Text => one(random),
    }
}

/// Returns a timestamp. In some, one character is changed, which may make them invalid.
fn time(random: &mut Random) -> String {
    let mut time = if random.chance(50) { random.text(TIMES) } else { random.text(MOMENTS) };
    if random.chance(6) {
        let index = random.below(time.len());
        let other = random.text(&["0", "1", "2", "3", "5", "6", "9", "-", "+", ":", ".", "T", " ", "Z", "", "é"]);
        time.replace_range(index..index + 1, &other);
    }
    time
}

/// Returns a number, or text that looks like one.
fn number_like(random: &mut Random) -> String {
    let mut number = random.text(&["-", "", "", "", "+", " "]);
    number += &random.text(&["0", "1", "10", "01", "9", "123456", "9007199254740991", "0", "1", "1_0", "１"]);
    number += &random.text(&["", "", "", ".", ".0", ".5", ".789"]);
    number + &random.text(&["", "", "", "e1", "E+2", "e-7", "e", "e400", "e-400", " ", "x", "\n"])
}

fn some_cell(random: &mut Random, table: &Table, variant: usize, column: Option<usize>) -> Option<Cell> {
    if table.rows.is_empty() {
        return None;
    }
    for _ in 0..4 {
        let column = column.unwrap_or_else(|| random.below(table.columns.len()));
        if let Some(cell) = random.pick(&table.rows).cell(variant, column) {
            return Some(cell.clone());
        }
    }
    None
}

/// Returns a substring of the text of any length, possibly in another case or normalization form.
fn needle(random: &mut Random, text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let length = match random.below(5) {
        0 => 1,
        1 => 2,
        2 => 3,
        3 => chars.len(),
        _ => random.below(chars.len() + 1),
    }
    .min(chars.len())
    // The length of a query string is limited.
    .min(1_000);
    let start = match random.below(3) {
        0 => 0,
        1 => chars.len() - length,
        _ => random.below(chars.len() - length + 1),
    };
    let needle: String = chars[start..start + length].iter().collect();
    match random.below(10) {
        0 => needle.to_uppercase(),
        1 => needle.to_lowercase(),
        2 => DecomposingNormalizer::new_nfd().normalize(&needle).into_owned(),
        3 => ComposingNormalizer::new_nfc().normalize(&needle).into_owned(),
        4 if random.chance(30) => needle + &random.text(ATOMS),
        _ => needle,
    }
}

/// Returns a substring of the text which the operator mostly finds.
fn needle_for(random: &mut Random, text: &str, operator: &Operator) -> String {
    let is_found = |needle: &str| text_test(operator.name).is_none_or(|holds| holds(&fold(text), &fold(needle)));
    for _ in 0..4 {
        let needle = needle(random, text);
        if is_found(&needle) {
            return needle;
        }
    }
    needle(random, text)
}

fn sort(random: &mut Random, table: &Table) -> String {
    let mut names: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
    names.extend(["id", "created_at", "updated_at", "published_at"]);
    let mut keys = Vec::new();
    for _ in 0..*random.pick(&[1, 1, 1, 2, 3]) {
        keys.push(format!("{}{}", random.pick(&["", "-"]), random.pick(&names)));
    }
    keys.join(",")
}

/// Returns a parameter that is rejected.
fn invalid(random: &mut Random, table: &Table) -> (String, String) {
    let (name, column) = random.pick(&table.columns);
    match random.below(13) {
        8 => (format!("filter[$or][{name}]"), "x".to_owned()),
        9 => (format!("filter[$not][$not][$not][$not][$not][{name}]"), "x".to_owned()),
        10 => (format!("filter[{name}.nothing]"), "x".to_owned()),
        11 => (format!("filter[{name}][$some][nothing]"), "x".to_owned()),
        12 if !column.kind.starts_with("reference") => (format!("filter[{name}][dangling]"), "true".to_owned()),
        0 => ("filter[nothing]".to_owned(), "x".to_owned()),
        1 => (format!("filter[{name}][like]"), "x".to_owned()),
        2 => (format!("filter[{name}][null]"), "yes".to_owned()),
        3 => (format!("filter[{name}][between]"), "1".to_owned()),
        4 => ("filter[created_at][contains]".to_owned(), "2026".to_owned()),
        5 => ("filter[updated_at][gt]".to_owned(), "2026-02-30".to_owned()),
        6 if column.kind != "multi-enum" && column.kind != "references" => {
            (format!("filter[{name}][has]"), "x".to_owned())
        }
        _ => ("filter[published][in]".to_owned(), "true".to_owned()),
    }
}

const LITERAL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'[').remove(b']').remove(b'_').remove(b'.').remove(b'-');

/// Returns the query string. The brackets of every other name are encoded.
pub(crate) fn encode(pairs: &[(String, String)]) -> String {
    let parts = pairs.iter().enumerate().map(|(index, (name, value))| {
        let set = if index % 2 == 0 { LITERAL } else { NON_ALPHANUMERIC };
        // RFC 3986 does not allow brackets in a query, but servers accept them. Both forms must work.
        let name = utf8_percent_encode(name, set).to_string();
        format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))
    });
    parts.collect::<Vec<_>>().join("&")
}
