//! Random blueprints and random values for them, as nasty as each type takes them.

use serde_json::{Map, Value, json};

use super::random::Random;

/// The 21 field types.
pub(crate) const TYPES: [&str; 21] = [
    "text",
    "rich-text",
    "html-page",
    "slug",
    "email",
    "link",
    "image",
    "file",
    "enum",
    "multi-enum",
    "boolean",
    "color",
    "number",
    "money",
    "date",
    "datetime",
    "duration",
    "reference",
    "references",
    "user",
    "address",
];

/// Pieces of text that folding, collation, lists, patterns and storage stumble over.
pub(crate) const ATOMS: &[&str] = &[
    "a",
    "A",
    "b",
    "B",
    "ab",
    "AB",
    "aB",
    "zebra",
    "Zebra",
    "ß",
    "SS",
    "ss",
    "ẞ",
    "İ",
    "i",
    "I",
    "ı",
    "i\u{307}",
    "ﬁ",
    "fi",
    "FI",
    "ﬃ",
    "ffi",
    "Σ",
    "σ",
    "ς",
    "ΟΔΟΣ",
    "οδος",
    "é",
    "e\u{301}",
    "E\u{301}",
    "É",
    "e",
    "ü",
    "u\u{308}",
    "\u{301}",
    "a\u{327}\u{301}",
    "a\u{301}\u{327}",
    "å",
    "Å",
    "A\u{30a}",
    "\u{212b}",
    "ö",
    "ø",
    "漢",
    "字",
    "漢字",
    "日本語",
    "阿",
    "爸",
    "한",
    "한글",
    "ᄒ\u{1161}\u{11ab}",
    "ｱ",
    "ア",
    "が",
    "か\u{3099}",
    "👩‍👩‍👧‍👦",
    "👩",
    "\u{200d}",
    "👍🏽",
    "🇩🇪",
    "\"",
    "'",
    "\"\"",
    ",",
    ",,",
    "\\",
    "\\,",
    "\\\\",
    "%",
    "%%",
    "%25",
    "_",
    "*",
    "?",
    "[",
    "]",
    "&",
    "=",
    "+",
    "#",
    ";",
    "<",
    ">",
    "&amp;",
    "&lt;",
    "\n",
    "\r\n",
    "\t",
    " ",
    "  ",
    "\u{a0}",
    "\u{2028}",
    "\u{3000}",
    "\u{200b}",
    "\u{feff}",
    "\u{0}",
    "\u{7f}",
    "\u{85}",
    "\u{fffd}",
    "\u{10ffff}",
    "\u{e000}",
    "ǅ",
    "ǆ",
    "Ǆ",
    "ŉ",
    "ΐ",
    "ᾳ",
    "Ω",
    "\u{2126}",
    "ﬅ",
    "st",
    "א",
    "ש\u{5c1}",
    "ا",
    "لا",
    "ﻻ",
    "ก",
    "เก",
    "ไทย",
    "Ꭰ",
    "ꭰ",
    "Ⅷ",
    "ⅷ",
    "Ⓐ",
    "１",
    "٣",
    "½",
    "0",
    "1",
    "10",
    "10.0",
    "1e1",
    "1E1",
    "-1",
    "-0",
    "1e-7",
    "01",
    "+1",
    ".5",
    "1.",
    "9007199254740991",
    "1e400",
    "1e-400",
    "null",
    "true",
    "NaN",
    "Infinity",
    "-",
    "é́",
    "the quick brown fox",
    "Der Straßenbahn-Bügel",
    "x'; DROP TABLE",
];

const SLUG_ATOMS: &[&str] = &[
    "a",
    "A",
    "straße",
    "STRASSE",
    "İ",
    "e\u{301}",
    "é",
    "漢字",
    "10",
    "1e5",
    "-1",
    "0.5",
    "x/y",
    "~",
    "_",
    "ς",
    "Σ",
    "ก",
    "٣",
    "9007199254740991",
    "-",
    ".",
    "ss",
    "z",
];

const EMAILS: &[&str] = &[
    "a@b.co",
    "A@B.CO",
    "a.b@example.com",
    "x%y@example.com",
    "o'neil@ex.org",
    "a_b@b.co",
    "z@z.z",
    "1@2.3",
    "a+b@b.co",
];

const LINKS: &[&str] = &[
    "https://example.com/",
    "https://example.com/A",
    "http://EXAMPLE.com/a?b=c,d&e=%20",
    "/a",
    "/A/straße",
    "/STRASSE",
    "https://example.com/漢字",
    "https://example.com/%E6%BC%A2",
    "/a_b",
    "/a,b",
    "/10",
];

const COLORS: &[&str] = &["#fff", "#FFF", "#ffffff", "#FfFf", "#00ff00aa", "#123", "#abc", "#ABC"];

const NUMBERS: &[f64] = &[
    0.0,
    1.0,
    -1.0,
    2.0,
    3.0,
    9.0,
    10.0,
    11.0,
    100.0,
    -10.0,
    0.5,
    0.1,
    0.3,
    1e-6,
    1e-7,
    1.5e-7,
    -1e-7,
    5e-324,
    123456.789,
    1e15,
    9007199254740991.0,
    -9007199254740991.0,
    0.1 + 0.2,
    1e9,
    4503599627370497.5,
    99999.99,
    7.0,
    8.0,
];

const DATES: &[&str] = &[
    "0001-01-01",
    "9999-12-31",
    "1969-12-31",
    "1970-01-01",
    "1999-12-31",
    "2000-01-01",
    "2000-02-29",
    "2024-02-29",
    "2025-12-31",
    "2026-01-01",
    "2026-11-20",
    "2026-11-21",
    "2026-11-22",
];

/// Timestamps as attributes take them.
pub(crate) const TIMES: &[&str] = &[
    "2025-12-31T23:59:59.999999Z",
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00.000001Z",
    "2026-01-01",
    "2026-01-01T01:00:00+01:00",
    "2025-12-31T23:00:00-01:00",
    "2026-01-01t00:00z",
    "2026-01-01T00:00",
    "2026-01-01T02+02",
    "2026-01-01T14:00:00+1400",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999999-12:00",
    "1970-01-01",
    "1969-12-31T23:59:59.5Z",
    "2024-02-29T12:00:00.123456+05:30",
    "2026-11-20T20:42:31.123+00:00",
    "2000-01-01T00:00:00.1Z",
    "2000-01-01T00:00:00.100000Z",
    "2000-01-01T00:00:00.10Z",
];

/// What values may relate to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Related {
    pub(crate) targets: Vec<String>,
    pub(crate) members: Vec<u64>,
}

/// A blueprint of that slug: every type once, or some types several times; with or without variants.
pub(crate) fn blueprint(random: &mut Random, slug: &str) -> Value {
    let types: Vec<&str> = match random.below(3) {
        0 => TYPES.to_vec(),
        1 => (0..random.within(1, 6)).map(|_| *random.pick::<&str>(&TYPES)).collect(),
        _ => (0..random.within(8, 16)).map(|_| *random.pick::<&str>(&TYPES)).collect(),
    };
    let fields: Vec<Value> = types.iter().enumerate().map(|(place, kind)| field(place, kind)).collect();
    let mut variants = Vec::new();
    if random.chance(60) {
        for slug in ["en", "sv", "zh-CN", "de", "tr", "cs", "x"] {
            if variants.len() < 3 && random.chance(50) {
                variants.push(json!({ "name": slug, "slug": slug, "default": variants.is_empty() }));
            }
        }
    }
    json!({ "name": slug, "slug": slug, "fields": fields, "variants": variants })
}

/// A field of that type.
pub(crate) fn field(number: usize, kind: &str) -> Value {
    let settings = match kind {
        "reference" | "references" => json!({ "blueprint": "targets" }),
        _ => json!({}),
    };
    let slug = format!("{}_{number}", kind.replace('-', "_"));
    json!({ "name": slug, "slug": slug, "type": kind, "settings": settings })
}

/// Attributes for some of the fields.
pub(crate) fn attributes(random: &mut Random, blueprint: &Value, related: &Related) -> Map<String, Value> {
    let mut attributes = Map::new();
    for field in blueprint["fields"].as_array().unwrap() {
        if random.chance(80) {
            let slug = field["slug"].as_str().unwrap().to_owned();
            attributes.insert(slug, value(random, field["type"].as_str().unwrap(), related));
        }
    }
    attributes
}

fn value(random: &mut Random, kind: &str, related: &Related) -> Value {
    if random.chance(12) {
        return Value::Null;
    }
    match kind {
        "text" => text(random).into(),
        "rich-text" => html(random).into(),
        "html-page" => json!({ "html": html(random), "css": "p { color: red }", "blocks": [{ "a": 1.5 }] }),
        "slug" => (0..random.within(1, 3)).map(|_| *random.pick(SLUG_ATOMS)).collect::<String>().into(),
        "email" => random.text(EMAILS).into(),
        "link" if random.chance(10) => "mailto:a@b.co".into(),
        "link" | "image" | "file" => random.text(LINKS).into(),
        "enum" => choice(random).into(),
        "multi-enum" => distinct((0..random.below(5)).map(|_| choice(random)).collect()).into(),
        "boolean" => random.chance(50).into(),
        "color" => random.text(COLORS).into(),
        "number" | "duration" => number(random),
        "money" => json!({ "amount": number(random), "currency": random.text(&["EUR", "USD", "JPY"]) }),
        "date" => random.text(DATES).into(),
        "datetime" => random.text(TIMES).into(),
        "reference" => random.pick(&related.targets).clone().into(),
        "references" => distinct((0..random.below(4)).map(|_| random.pick(&related.targets).clone()).collect()).into(),
        "user" => (*random.pick(&related.members)).into(),
        "address" => address(random),
        other => panic!("the type {other}"),
    }
}

/// One or a few atoms; seldom nothing, a number, or something long.
pub(crate) fn text(random: &mut Random) -> String {
    match random.below(40) {
        0 => String::new(),
        1 | 2 => {
            // Beyond the 256 code points that collation looks at, with what differs on either side of the border.
            let (head, tail) = (random.text(&["x", "é", "漢", "e\u{301}"]), random.text(ATOMS));
            head.repeat(random.within(125, 300)) + &tail
        }
        3 => (0..300).map(|_| *random.pick(ATOMS)).collect(),
        4..=6 => random.pick(NUMBERS).to_string() + &random.text(&["", "", "", ".0", "e1", " "]),
        7 if random.chance(10) => "lorem ipsum dolor, ".repeat(3_000) + &random.text(ATOMS),
        _ => (0..random.within(1, 4)).map(|_| *random.pick(ATOMS)).collect(),
    }
}

fn html(random: &mut Random) -> String {
    if random.below(300) == 0 {
        return format!("<p>{}{}</p>", "<b>lorem</b> ipsum ".repeat(50_000), escaped(random));
    }
    let mut html = String::new();
    for _ in 0..random.below(4) {
        let inside = escaped(random);
        html.push_str(&match random.below(14) {
            0 => format!("<p>{inside}</p>"),
            1 => format!("<p>{inside}<b>{}</b>{}</p>", escaped(random), escaped(random)),
            2 => format!("<h2>{inside}</h2>"),
            3 => format!("<ul><li>{inside}<li>{}</ul>", escaped(random)),
            4 => format!("{inside}<br>{}", escaped(random)),
            5 => format!("<table><tr><td>{inside}</td><td>{}</td></tr></table>", escaped(random)),
            6 => format!("<em>{inside}</em>"),
            7 => format!("<a href=\"/a\" title=\"a>b\">{inside}</a>"),
            8 => format!("<pre>\n{inside}\n  x</pre>"),
            9 => format!("<script>{inside}</script>"),
            10 => format!("<img src=\"/a.png\" alt=\"<p>\">{inside}"),
            11 => format!("<!-- {inside} --><div>{}", escaped(random)),
            12 => format!("<b>a</b><i>b</i>{inside}<span>c</span>"),
            _ => inside,
        });
    }
    html
}

fn escaped(random: &mut Random) -> String {
    let text: String = (0..random.below(3)).map(|_| *random.pick(ATOMS)).collect();
    if random.chance(15) {
        return text;
    }
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// 1 to 255 characters.
fn choice(random: &mut Random) -> String {
    (0..random.within(1, 2)).map(|_| *random.pick(ATOMS)).collect()
}

fn distinct(mut values: Vec<String>) -> Vec<String> {
    values.sort();
    values.dedup();
    values
}

fn number(random: &mut Random) -> Value {
    let number = *random.pick(NUMBERS);
    // An integer may be sent as either.
    if random.chance(50) && number.fract() == 0.0 { json!(number as i64) } else { json!(number) }
}

fn address(random: &mut Random) -> Value {
    let mut address = Map::new();
    for part in ["street", "postal_code", "city", "country"] {
        match random.below(5) {
            0 => {}
            1 => drop(address.insert(part.to_owned(), Value::Null)),
            2 => drop(address.insert(part.to_owned(), "".into())),
            _ => drop(address.insert(part.to_owned(), random.text(ATOMS).into())),
        }
    }
    address.into()
}
