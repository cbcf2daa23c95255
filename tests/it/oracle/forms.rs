//! The forms of a value that filters, search and sorting use: text, number, instant. Written from `API.md` only,
//! without the code of the server.

use chrono::NaiveDate;
use serde_json::Value;

/// A value in all its forms. A null has no cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    /// The text form.
    pub(crate) text: String,
    /// The text form folded, for substrings.
    pub(crate) folded: String,
    /// The form that `eq`, `ne`, `in` and `not_in` compare: the text form, but for rich text and pages the stored HTML.
    pub(crate) exact: String,
    pub(crate) number: Option<f64>,
    /// Microseconds since 1970, of a `datetime`.
    pub(crate) instant: Option<i64>,
    /// The elements of an array, each with its folded form.
    pub(crate) elements: Option<Vec<(String, String)>>,
}

impl Cell {
    /// Returns the first 256 code points, which collation compares.
    pub(crate) fn head(&self) -> &str {
        self.text.char_indices().nth(256).map_or(&self.text, |(end, _)| &self.text[..end])
    }
}

/// The column that a name in a filter or a sort refers to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) slug: String,
    pub(crate) part: Option<String>,
    /// The type of its values, which is that of the part if there is one.
    pub(crate) kind: String,
}

/// Returns all columns of a blueprint by name.
pub(crate) fn columns(blueprint: &Value) -> Vec<(String, Column)> {
    let mut columns = Vec::new();
    for field in blueprint["fields"].as_array().unwrap() {
        let slug = field["slug"].as_str().unwrap();
        let kind = field["type"].as_str().unwrap();
        let parts: &[(&str, &str)] = match kind {
            "money" => &[("amount", "number"), ("currency", "text")],
            "address" => &[("street", "text"), ("postal_code", "text"), ("city", "text"), ("country", "text")],
            _ => &[],
        };
        columns.push((slug.to_owned(), Column { slug: slug.to_owned(), part: None, kind: kind.to_owned() }));
        for (part, kind) in parts {
            let column = Column { slug: slug.to_owned(), part: Some((*part).to_owned()), kind: (*kind).to_owned() };
            columns.push((format!("{slug}.{part}"), column));
        }
    }
    columns
}

/// Returns the cell of a column in an `attributes` object.
pub(crate) fn cell(column: &Column, attributes: &Value) -> Option<Cell> {
    let mut value = &attributes[&column.slug];
    if let Some(part) = &column.part {
        value = &value[part];
    }
    if value.is_null() {
        return None;
    }
    let string = || value.as_str().unwrap().to_owned();
    let (text, exact) = match column.kind.as_str() {
        "rich-text" => (html_text(&string()), Some(string())),
        "html-page" => {
            let html = value["html"].as_str().unwrap();
            (html_text(html), Some(html.to_owned()))
        }
        "number" | "duration" | "user" => (number_text(value.as_f64().unwrap()), None),
        "money" => (number_text(value["amount"].as_f64().unwrap()), None),
        "boolean" => (value.as_bool().unwrap().to_string(), None),
        "address" => (address_text(value), None),
        "multi-enum" | "references" => (elements(value).join(","), None),
        _ => (string(), None),
    };
    let number = match column.kind.as_str() {
        "number" | "duration" | "user" => value.as_f64(),
        "money" => value["amount"].as_f64(),
        "text" | "slug" | "email" | "link" | "image" | "file" | "enum" | "color" | "reference" => decimal(&text),
        _ => None,
    };
    let instant = (column.kind == "datetime").then(|| micros(&text).unwrap());
    let elements = value.as_array().map(|_| elements(value).into_iter().map(|one| (fold(&one), one)));
    let elements = elements.map(|all| all.map(|(folded, one)| (one, folded)).collect());
    Some(Cell { folded: fold(&text), exact: exact.unwrap_or_else(|| text.clone()), text, number, instant, elements })
}

/// Folds a text: NFC, full case folding, NFC.
pub(crate) fn fold(text: &str) -> String {
    let nfc = icu_normalizer::ComposingNormalizer::new_nfc();
    let composed = nfc.normalize(text).into_owned();
    let folded = icu_casemap::CaseMapper::new().fold_string(&composed).into_owned();
    nfc.normalize(&folded).into_owned()
}

/// Returns the number form of a text: its value if the whole text is a number by the grammar of JSON.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let is_plain = text.chars().all(|char| matches!(char, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'));
    if !is_plain || text.is_empty() {
        return None;
    }
    // `RawValue` accepts what the grammar accepts, including numbers beyond the range of a double.
    serde_json::from_str::<&serde_json::value::RawValue>(text).ok()?;
    text.parse().ok()
}

/// Returns a number as ECMAScript prints it (Number::toString of ECMA-262).
pub(crate) fn number_text(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap();
    let digits = mantissa.replace('.', "");
    let (k, n) = (digits.len() as i32, exponent.parse::<i32>().unwrap() + 1);
    let text = if k <= n && n <= 21 {
        format!("{digits}{}", "0".repeat((n - k) as usize))
    } else if 0 < n && n <= 21 {
        format!("{}.{}", &digits[..n as usize], &digits[n as usize..])
    } else if -6 < n && n <= 0 {
        format!("0.{}{digits}", "0".repeat(-n as usize))
    } else {
        let sign = if n > 0 { "+" } else { "-" };
        let point = if k == 1 { String::new() } else { format!(".{}", &digits[1..]) };
        format!("{}{point}e{sign}{}", &digits[..1], (n - 1).abs())
    };
    if number < 0.0 { format!("-{text}") } else { text }
}

const BLOCKS: &str = " p div h1 h2 h3 h4 h5 h6 ul ol li table tr td th thead tbody tfoot blockquote pre br hr section \
    article figure figcaption dl dt dd aside header footer details summary caption ";

/// Returns the text content of sanitized HTML.
pub(crate) fn html_text(html: &str) -> String {
    let mut text = String::new();
    let mut chars = html.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '<' => {
                let (mut tag, mut quote) = (String::new(), None);
                for char in chars.by_ref() {
                    match (quote, char) {
                        (None, '>') => break,
                        (None, '"' | '\'') => quote = Some(char),
                        (Some(open), _) if open == char => quote = None,
                        _ => {}
                    }
                    tag.push(char);
                }
                let name: String =
                    tag.trim_start_matches('/').chars().take_while(|char| char.is_ascii_alphanumeric()).collect();
                if BLOCKS.contains(&format!(" {name} ")) {
                    text.push(' ');
                }
            }
            '&' => {
                let mut entity = String::new();
                while let Some(char) = chars.next_if(|char| *char != ';') {
                    entity.push(char);
                }
                chars.next();
                text.push(match entity.as_str() {
                    "amp" => '&',
                    "lt" => '<',
                    "gt" => '>',
                    "quot" => '"',
                    "nbsp" => '\u{a0}',
                    other => panic!("the sanitizer wrote the entity {other:?}"),
                });
            }
            char => text.push(char),
        }
    }
    text.split(char::is_whitespace).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Microseconds since 1970 of a timestamp or a date; digits beyond microseconds are cut.
pub(crate) fn micros(text: &str) -> Option<i64> {
    let is_like = |text: &str, pattern: &str| {
        text.len() == pattern.len()
            && text.bytes().zip(pattern.bytes()).all(|(byte, like)| match like {
                b'd' => byte.is_ascii_digit(),
                like => byte == like,
            })
    };
    let date = text.get(..10).filter(|date| is_like(date, "dddd-dd-dd"))?;
    let day = NaiveDate::parse_from_str(date, "%Y-%m-%d").ok().filter(|_| !date.starts_with("0000"))?;
    let mut rest = &text[10..];
    let days = day.signed_duration_since(NaiveDate::from_ymd_opt(1970, 1, 1)?).num_days();
    if rest.is_empty() {
        return Some(days * 86_400_000_000);
    }
    rest = rest.strip_prefix(['T', 't'])?;
    let two = |text: &str, below: i64| text.parse::<i64>().ok().filter(|number| *number < below);
    let clock = rest.get(..5).filter(|clock| is_like(clock, "dd:dd"))?;
    let mut seconds = two(&clock[..2], 24)? * 3600 + two(&clock[3..], 60)? * 60;
    rest = &rest[5..];
    let mut fraction = String::new();
    if let Some(second) = rest.get(..3).filter(|second| is_like(second, ":dd")) {
        seconds += two(&second[1..], 60)?;
        rest = &rest[3..];
        if let Some(after) = rest.strip_prefix('.') {
            fraction = after.chars().take_while(char::is_ascii_digit).collect();
            rest = &after[fraction.len()..];
            if fraction.is_empty() {
                return None;
            }
        }
    }
    let offset = match rest {
        "" | "Z" | "z" => 0,
        _ => {
            let sign = if rest.starts_with('+') { 1 } else { -1 };
            let digits = rest.strip_prefix(['+', '-'])?;
            let known = ["dd", "dddd", "dd:dd"].iter().any(|pattern| is_like(digits, pattern));
            let digits = known.then(|| digits.replace(':', ""))?;
            let minutes = if digits.len() == 4 { two(&digits[2..], 60)? } else { 0 };
            sign * (two(&digits[..2], 24)? * 3600 + minutes * 60)
        }
    };
    fraction.push_str("000000");
    let micros = fraction[..6].parse::<i64>().ok()?;
    Some((days * 86_400 + seconds - offset) * 1_000_000 + micros)
}

/// Returns the entries of a comma-separated list with its escapes.
pub(crate) fn list(value: &str) -> Vec<String> {
    let mut entries = Vec::new();
    let mut entry = String::new();
    let mut chars = value.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => entry.push(chars.next().unwrap_or('\\')),
            ',' => entries.push(std::mem::take(&mut entry)),
            char => entry.push(char),
        }
    }
    entries.push(entry);
    entries
}

fn address_text(value: &Value) -> String {
    let parts = ["street", "postal_code", "city", "country"].iter().filter_map(|part| value[part].as_str());
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn elements(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

#[test]
fn numbers_are_printed_as_ecmascript_does() {
    for (number, text) in [
        (10.0, "10"),
        (-0.0, "0"),
        (1e-7, "1e-7"),
        (1.5e-7, "1.5e-7"),
        (0.000001, "0.000001"),
        (123456.789, "123456.789"),
        (1e21, "1e+21"),
        (1.25e22, "1.25e+22"),
        (1e20, "100000000000000000000"),
        (-0.5, "-0.5"),
    ] {
        assert_eq!(number_text(number), text);
    }
}
