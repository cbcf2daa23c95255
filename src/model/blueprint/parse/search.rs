//! The setting `search` of a blueprint: fields, language and stop words of ranked search (`API.md` 4.6.16).

use serde_json::{Map, Value};

use super::body::BodyReader;
use crate::blueprint::definition::FieldDefinition;
use crate::blueprint::field::FieldType;
use crate::blueprint::types::{SearchLanguage, SearchSettings};
use crate::sent::{describe, quote};

/// The settings, in the order of answers.
const KEYS: [&str; 3] = ["fields", "language", "stop_words"];
/// The most stop words. Each word of a `q` is compared with all of them.
const MAX_STOP_WORDS: usize = 1_000;
/// The most characters of a stop word.
const MAX_STOP_WORD: usize = 100;

/// The maximum weight of a field. With a greater weight, a field would hide all others.
const MAX_WEIGHT: f64 = 1_000.0;

/// Reads `{"fields": {"title": 4, "body": 1}, "language": "de", "stop_words": ["der"]}`.
pub(super) fn read(value: Option<Value>, reader: &mut BodyReader) -> Option<SearchSettings> {
    let value = value.filter(|value| !value.is_null())?;
    let mut object = reader.object(value, "search")?;
    let needs_no_fields = ["language", "stop_words"].iter().any(|key| object.contains_key(*key));
    let language = language(object.shift_remove("language"), reader);
    let stop_words = stop_words(object.shift_remove("stop_words"), reader);
    let fields = object.shift_remove("fields");
    reader.unknown_keys("search", &object, &KEYS);
    if fields.is_none() && needs_no_fields {
        let settings = SearchSettings { fields: Vec::new(), language, stop_words };
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
    Some(SearchSettings { fields: weights, language, stop_words })
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
