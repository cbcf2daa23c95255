//! Random blueprints and random values for them, as difficult as each type allows.

use serde_json::{Map, Value, json};

use super::corpus::{ATOMS, COLORS, DATES, EMAILS, LINKS, NUMBERS, SLUG_ATOMS, TAGS, TIMES};
use super::random::Random;
use crate::support::TYPES;

/// The resources and members that values may relate to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Related {
    pub(crate) targets: Vec<String>,
    /// The resources to which targets relate.
    pub(crate) owners: Vec<String>,
    pub(crate) members: Vec<u64>,
}

impl Related {
    /// Returns the ids of the resources of a blueprint.
    pub(crate) fn of(&mut self, slug: &str) -> &mut Vec<String> {
        if slug == "owners" { &mut self.owners } else { &mut self.targets }
    }
}

/// Returns the blueprints to which relations lead: targets, in two languages, and their owners.
pub(crate) fn related_blueprints() -> [Value; 2] {
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    let owner = json!({ "name": "owner", "slug": "owner", "type": "reference", "settings": { "blueprint": "owners" } });
    let variants = [("en", true), ("de", false), ("zh-CN", false)];
    let variants = variants.map(|(slug, default)| json!({ "name": slug, "slug": slug, "default": default }));
    let targets = [
        field("title", "text"),
        field("count", "number"),
        field("tags", "multi-enum"),
        field("place", "address"),
        owner,
    ];
    [
        json!({ "name": "owners", "slug": "owners", "fields": [field("name", "text"), field("since", "datetime")] }),
        json!({ "name": "targets", "slug": "targets", "fields": targets, "variants": variants, "scheduled": true }),
    ]
}

/// Returns attributes for a resource of one of the related blueprints.
pub(crate) fn related_attributes(random: &mut Random, slug: &str, related: &Related) -> Map<String, Value> {
    let blueprints = related_blueprints();
    let blueprint = blueprints.iter().find(|blueprint| blueprint["slug"] == slug).unwrap();
    let mut attributes = Map::new();
    for field in blueprint["fields"].as_array().unwrap() {
        let name = field["slug"].as_str().unwrap();
        // There are few different values, so that several resources share each.
        let value = match name {
            _ if random.chance(25) => Value::Null,
            "owner" => related.owners.get(random.below(related.owners.len().max(1))).cloned().into(),
            "title" | "name" => random.text(&["a", "b", "ab", "A", "É"]).into(),
            "since" => random.text(&["2026-11-20T20:42:31Z", "2000-01-01", "2026-11-21T00:30:00+01:00"]).into(),
            "count" => random.below(3).into(),
            "tags" => distinct((0..random.below(3)).map(|_| random.text(&["a", "b", "c"])).collect()).into(),
            _ => value(random, field["type"].as_str().unwrap(), related),
        };
        attributes.insert(name.to_owned(), value);
    }
    attributes
}

/// Returns a blueprint with this slug: every type once, or random types, some of them several times; with or without
/// variants.
pub(crate) fn blueprint(random: &mut Random, slug: &str) -> Value {
    let types: Vec<&str> = match random.below(3) {
        0 => TYPES.to_vec(),
        1 => (0..random.within(1, 6)).map(|_| *random.pick::<&str>(&TYPES)).collect(),
        _ => (0..random.within(8, 16)).map(|_| *random.pick::<&str>(&TYPES)).collect(),
    };
    let fields: Vec<Value> = types.iter().enumerate().map(|(index, kind)| field(index, kind)).collect();
    let mut variants = Vec::new();
    if random.chance(60) {
        for slug in ["en", "sv", "zh-CN", "de", "tr", "cs", "x"] {
            if variants.len() < 3 && random.chance(50) {
                variants.push(json!({ "name": slug, "slug": slug, "default": variants.is_empty() }));
            }
        }
    }
    let scheduled = random.chance(25);
    json!({ "name": slug, "slug": slug, "fields": fields, "variants": variants, "scheduled": scheduled })
}

/// Returns a field of this type.
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
        other => panic!("no values for the type {other}"),
    }
}

/// Returns a text: usually one or a few atoms; sometimes empty, a number, or very long.
pub(crate) fn text(random: &mut Random) -> String {
    match random.below(40) {
        0 => String::new(),
        1 | 2 => {
            // The text is longer than the 256 code points that collation compares, with differences on either side of
            // that limit.
            let (head, count) =
                random.pick(&[("x", 255), ("x", 254), ("漢", 255), ("é", 256), ("e\u{301}", 127), ("x", 300)]);
            let tail: String = (0..random.within(1, 3)).map(|_| *random.pick(ATOMS)).collect();
            head.repeat(*count) + &tail
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
        html.push_str(&match random.below(17) {
            0 => format!("<p>{inside}</p>"),
            1 => format!("<p>{inside}<b>{}</b>{}</p>", escaped(random), escaped(random)),
            2 => format!("<h2>{inside}</h2>"),
            3 => format!("<ul><li>{inside}<li>{}</ul>", escaped(random)),
            4 => format!("{inside}<br>{}", escaped(random)),
            5 => format!("<table><tr><td>{inside}</td><td>{}</td></tr></table>", escaped(random)),
            15 => format!(
                "<table>{}<caption>{inside}</caption><thead><tr><th>{}</th></tr></thead><tfoot><tr><td>x</table>",
                escaped(random),
                escaped(random),
            ),
            6 => format!("<em>{inside}</em>"),
            7 => format!("<a href=\"/a\" title=\"a>b\">{inside}</a>"),
            8 => format!("<pre>\n{inside}\n  x</pre>"),
            9 => format!("<script>{inside}</script>"),
            10 => format!("<img src=\"/a.png\" alt=\"<p>\">{inside}"),
            11 => format!("<!-- {inside} --><div>{}", escaped(random)),
            12 => format!("<b>a</b><i>b</i>{inside}<span>c</span>"),
            13 | 14 => {
                let tag = random.pick(TAGS);
                format!("{}<{tag}>{inside}</{tag}>{}", escaped(random), escaped(random))
            }
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

/// Returns a choice of 1 to 255 characters.
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
    // An integer may be sent with or without a fraction.
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
