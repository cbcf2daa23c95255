//! The setting `search` of a blueprint: fields, language, stop words, synonyms and boosts of ranked search (`API.md`
//! 4.6.16).

use serde_json::{Map, Value};

use super::body::BodyReader;
use crate::blueprint::definition::FieldDefinition;
use crate::blueprint::field::FieldType;
use crate::blueprint::types::{BoostSetting, SearchLanguage, SearchSettings};
use crate::sent::{describe, quote};

/// The settings, in the order of answers.
const KEYS: [&str; 5] = ["fields", "language", "stop_words", "synonyms", "boost"];
/// The most stop words. Each word of a `q` is compared with all of them.
const MAX_STOP_WORDS: usize = 1_000;
/// The most characters of a stop word.
const MAX_STOP_WORD: usize = 100;

/// The most dates and numbers that count into the order. Each is read for every resource that is ordered.
const MAX_BOOSTS: usize = 5;
/// The maximum weight of one of them.
const MAX_BOOST: f64 = 100.0;
/// The longest half-life.
const MAX_DAYS: f64 = 100_000.0;
/// The dates that every resource has.
const DATES: [&str; 3] = ["published_at", "created_at", "updated_at"];
/// The maximum weight of a field. With a greater weight, a field would hide all others.
const MAX_WEIGHT: f64 = 1_000.0;

/// Reads `{"fields": {"title": 4, "body": 1}, "language": "de", "stop_words": ["der"]}`.
pub(super) fn read(value: Option<Value>, reader: &mut BodyReader) -> Option<SearchSettings> {
    let value = value.filter(|value| !value.is_null())?;
    let mut object = reader.object(value, "search")?;
    let needs_no_fields = KEYS[1..].iter().any(|key| object.contains_key(*key));
    let language = language(object.shift_remove("language"), reader);
    let stop_words = stop_words(object.shift_remove("stop_words"), reader);
    let synonyms = flag(object.shift_remove("synonyms"), "search.synonyms", reader);
    let boost = boosts(object.shift_remove("boost"), reader);
    let fields = object.shift_remove("fields");
    reader.unknown_keys("search", &object, &KEYS);
    if fields.is_none() && needs_no_fields {
        let settings = SearchSettings { fields: Vec::new(), language, stop_words, synonyms, boost };
        return (settings != SearchSettings::default()).then_some(settings);
    }
    let fields: Map<String, Value> = reader.object(fields.unwrap_or(Value::Null), "search.fields")?;
    if fields.is_empty() {
        reader.error("search.fields", "must name at least one field; leave `search` out for the defaults".to_owned());
    }
    let mut weights = Vec::with_capacity(fields.len());
    for (slug, weight) in fields {
        match weight.as_f64().filter(|weight| *weight > 0.0 && *weight <= MAX_WEIGHT) {
            Some(number) => weights.push((slug, number)),
            None => {
                let text = format!("must be a number above 0 and at most {MAX_WEIGHT}, not {}", describe(&weight));
                reader.error(&format!("search.fields.{slug}"), text);
            }
        }
    }
    Some(SearchSettings { fields: weights, language, stop_words, synonyms, boost })
}

/// Reads an array of boosts, such as `{"field": "published_at", "half_life_days": 90, "weight": 0.5}` and
/// `{"field": "price", "weight": 1, "from": 0, "to": 9}`.
fn boosts(value: Option<Value>, reader: &mut BodyReader) -> Vec<BoostSetting> {
    let sent = reader.array(value.filter(|value| !value.is_null()), "search.boost");
    if sent.len() > MAX_BOOSTS {
        reader.error("search.boost", format!("must have at most {MAX_BOOSTS} entries, not {}", sent.len()));
        return Vec::new();
    }
    let mut boosts: Vec<BoostSetting> = Vec::new();
    for (index, entry) in sent.into_iter().enumerate() {
        let path = format!("search.boost.{index}");
        let Some(mut entry) = reader.object(entry, &path) else { continue };
        let field = match entry.shift_remove("field") {
            Some(Value::String(slug)) if boosts.iter().all(|other| other.field != slug) => Some(slug),
            other => {
                let sent = describe(&other.unwrap_or_default());
                reader.error(&format!("{path}.field"), format!("must be a field that no entry before has, not {sent}"));
                None
            }
        };
        let positive = |most: f64| move |number: f64| number > 0.0 && number <= most;
        let of = "above 0 and at most";
        let has_weight = entry.get("weight").is_some_and(|weight| !weight.is_null());
        let weight = bounded(&mut entry, "weight", &path, &format!("{of} {MAX_BOOST}"), positive(MAX_BOOST), reader);
        let days = format!("of days {of} {MAX_DAYS}");
        let half_life_days = bounded(&mut entry, "half_life_days", &path, &days, positive(MAX_DAYS), reader);
        let from = bounded(&mut entry, "from", &path, "of at most 15 digits", is_plain, reader);
        let to = bounded(&mut entry, "to", &path, "of at most 15 digits", is_plain, reader);
        reader.unknown_keys(&path, &entry, &["field", "weight", "half_life_days", "from", "to"]);
        if !has_weight {
            reader.error(&format!("{path}.weight"), format!("is required: a number {of} {MAX_BOOST}"));
        }
        if from.is_some() && to.is_none() || to.is_some_and(|to| from.unwrap_or(0.0) >= to) {
            reader.error(
                &format!("{path}.to"),
                "must be a number greater than `from`, which is 0 without a value".to_owned(),
            );
        }
        if half_life_days.is_some() && (from.is_some() || to.is_some()) {
            reader.error(
                &path,
                "must have either `half_life_days`, for a date, or `from` and `to`, for a number".to_owned(),
            );
        }
        if let (Some(field), Some(weight)) = (field, weight) {
            boosts.push(BoostSetting { field, weight, half_life_days, from, to });
        }
    }
    boosts
}

fn is_plain(number: f64) -> bool {
    number.abs() < 1e15
}

/// Reads a number, if there is one, that satisfies `is_valid`. `what` describes these.
fn bounded(
    entry: &mut Map<String, Value>,
    key: &str,
    path: &str,
    what: &str,
    is_valid: impl Fn(f64) -> bool,
    reader: &mut BodyReader,
) -> Option<f64> {
    let sent = entry.shift_remove(key).filter(|sent| !sent.is_null())?;
    let number = sent.as_f64().filter(|number| is_valid(*number));
    if number.is_none() {
        reader.error(&format!("{path}.{key}"), format!("must be a number {what}, not {}", describe(&sent)));
    }
    number
}

/// Reads a boolean, which is true without a value.
fn flag(value: Option<Value>, key: &str, reader: &mut BodyReader) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Bool(is_on)) => is_on,
        Some(other) => {
            reader.error(key, format!("must be `true` or `false`, not {}", describe(&other)));
            true
        }
    }
}

fn language(value: Option<Value>, reader: &mut BodyReader) -> SearchLanguage {
    match value {
        None => SearchLanguage::OfVariant,
        Some(Value::Null) => SearchLanguage::None,
        Some(Value::String(code)) if SearchLanguage::CODES.contains(&code.as_str()) => SearchLanguage::Code(code),
        Some(other) => {
            let known = SearchLanguage::CODES.join("`, `");
            reader.error("search.language", format!("must be null or one of `{known}`, not {}", describe(&other)));
            SearchLanguage::OfVariant
        }
    }
}

fn stop_words(value: Option<Value>, reader: &mut BodyReader) -> Vec<String> {
    let mut words = Vec::new();
    let sent = reader.array(value.filter(|value| !value.is_null()), "search.stop_words");
    if sent.len() > MAX_STOP_WORDS {
        let text = format!("must have at most {MAX_STOP_WORDS} words, not {}", sent.len());
        reader.error("search.stop_words", text);
        return words;
    }
    for (index, word) in sent.into_iter().enumerate() {
        let is_valid = |word: &String| {
            !word.is_empty() && word.chars().count() <= MAX_STOP_WORD && !word.contains(char::is_whitespace)
        };
        match word {
            Value::String(word) if is_valid(&word) => {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
            other => {
                let text = format!(
                    "must be a word of 1 to {MAX_STOP_WORD} characters without white space, not {}",
                    describe(&other)
                );
                reader.error(&format!("search.stop_words.{index}"), text);
            }
        }
    }
    words
}

/// Checks that `search` names fields that contain text. Reports nothing if `fields` could not be read.
pub(super) fn check(search: Option<&SearchSettings>, fields: Option<&[FieldDefinition]>, reader: &mut BodyReader) {
    let (Some(search), Some(fields)) = (search, fields) else { return };
    for (index, boost) in search.boost.iter().enumerate() {
        let field = fields.iter().find(|field| field.slug == boost.field).map(|field| &field.field_type);
        let is_date =
            DATES.contains(&boost.field.as_str()) || matches!(field, Some(FieldType::Date | FieldType::DateTime));
        let is_number = matches!(field, Some(FieldType::Number | FieldType::Duration { .. } | FieldType::Money { .. }));
        let problem = match (is_date, is_number, boost.half_life_days) {
            (true, _, Some(_)) | (_, true, None) => continue,
            (true, _, None) => {
                ("half_life_days", "is required for a date: the number of days after which it counts half")
            }
            (_, true, Some(_)) => ("half_life_days", "is for dates; a number has `from` and `to`, or neither"),
            _ => (
                "field",
                "must be `published_at`, `created_at`, `updated_at`, or the slug of a field of the type `date`, `datetime`, \
                 `number`, `duration` or `money`",
            ),
        };
        reader.error(&format!("search.boost.{index}.{}", problem.0), problem.1.to_owned());
    }
    for (slug, _) in &search.fields {
        let problem = match fields.iter().find(|field| field.slug == *slug).map(|field| &field.field_type) {
            Some(FieldType::Text | FieldType::RichText) => continue,
            Some(other) => format!("{} is of the type `{}`", quote(slug), other.name()),
            None => format!("there is no field {}", quote(slug)),
        };
        let text = format!("must be the slug of a field of the type `text` or `rich-text`; {problem}");
        reader.error(&format!("search.fields.{slug}"), text);
    }
}
