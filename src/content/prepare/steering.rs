//! Reads the bodies of synonyms and rules of ranked search (`API.md` 4.25).

use bindery_index::row_of_words;
use bindery_model::error::{Error, FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::json;
use bindery_model::sent::{describe, quote};
use bindery_model::time::Millis;
use bindery_query::Rule;
use serde_json::{Map, Value};

use crate::command::SteeringKind;
use crate::data::search_rule::{Pin, RuleMatch, SearchRule};
use crate::data::synonym::Synonym;
use crate::prepare::body::{date, into_object, unknown_keys};

/// The most words and phrases of an entry.
const MAX_WORDS: usize = 20;
/// The most characters of a word or phrase.
const MAX_WORD: usize = 100;
/// The most characters of a rule's question.
const MAX_QUERY: usize = 200;
/// The most bytes of a rule's filters.
const MAX_FILTER_BYTES: usize = 4_096;
/// The most resources that a rule pins.
const MAX_PINS: usize = 50;
/// The last place at which a resource may be pinned.
const MAX_POSITION: u64 = 1_000;
/// The most resources that a rule hides.
const MAX_HIDDEN: usize = 100;

/// Keys that the server answers, and ignores in a body.
const ANSWERED: [&str; 4] = ["id", "type", "created_at", "updated_at"];

/// Reads a body as an object. Its keys are read by [`synonym`] and [`rule`].
///
/// # Errors
/// `MALFORMED_JSON`, `VALIDATION_FAILED`.
pub(crate) fn body(body: &[u8]) -> Result<Map<String, Value>> {
    into_object(json::parse(body)?)
}

/// Checks the body of a new entry or rule, as far as it does not depend on the state.
///
/// # Errors
/// `VALIDATION_FAILED`.
pub(crate) fn check(kind: SteeringKind, body: &Map<String, Value>) -> Result<()> {
    match kind {
        SteeringKind::Synonym => synonym(body, String::new(), 0).map(|_| ()),
        SteeringKind::Rule => rule(body, String::new(), 0).map(|_| ()),
    }
}

/// Reads synonyms. Keys that are missing have their defaults.
///
/// # Errors
/// `VALIDATION_FAILED`.
pub(crate) fn synonym(body: &Map<String, Value>, id: String, now: Millis) -> Result<Synonym> {
    let mut errors = unknown_keys(body, &["variant", "words", "one_way"], &ANSWERED);
    let variant = slug(body, "variant", &mut errors);
    let one_way = match body.get("one_way") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(one_way)) => *one_way,
        Some(_) => {
            errors.push(("one_way".to_owned(), vec!["must be `true` or `false`".to_owned()]));
            false
        }
    };
    let words = words(body.get("words"), &mut errors);
    match errors.is_empty() {
        true => Ok(Synonym { id, variant, words, one_way, created_at: now, updated_at: now }),
        false => Err(Error::validation(errors)),
    }
}

fn words(sent: Option<&Value>, errors: &mut FieldErrors) -> Vec<String> {
    let Some(sent) = sent.and_then(Value::as_array).filter(|words| (2..=MAX_WORDS).contains(&words.len())) else {
        let count = sent.and_then(Value::as_array).map(|words| format!(", not {}", words.len())).unwrap_or_default();
        let text = format!("is required: an array of 2 to {MAX_WORDS} words or phrases{count}");
        errors.push(("words".to_owned(), vec![text]));
        return Vec::new();
    };
    let mut words: Vec<String> = Vec::with_capacity(sent.len());
    let mut rows: Vec<Vec<String>> = Vec::with_capacity(sent.len());
    for (index, word) in sent.iter().enumerate() {
        let text = word.as_str().map(str::trim).filter(|text| (1..=MAX_WORD).contains(&text.chars().count()));
        let row = text.map(row_of_words).filter(|row| !row.is_empty());
        let problem = match (text, row) {
            (Some(text), Some(row)) if !rows.contains(&row) => {
                words.push(text.to_owned());
                rows.push(row);
                continue;
            }
            (Some(text), Some(_)) => {
                format!(
                    "must not be given twice; {} is the same as one before it, without case and accents",
                    quote(text)
                )
            }
            _ => format!(
                "must be a word or phrase of 1 to {MAX_WORD} characters, with a letter or digit, not {}",
                describe(word)
            ),
        };
        errors.push((format!("words.{index}"), vec![problem]));
    }
    words
}

/// Reads a rule. Keys that are missing have their defaults.
///
/// # Errors
/// `VALIDATION_FAILED`.
pub(crate) fn rule(body: &Map<String, Value>, id: String, now: Millis) -> Result<SearchRule> {
    let keys = ["query", "match", "blueprint", "variant", "filter", "from", "until", "pin", "hide", "filter_add"];
    let mut errors = unknown_keys(body, &keys, &ANSWERED);
    let rule = SearchRule {
        id,
        query: query(body.get("query"), &mut errors),
        matching: matching(body.get("match"), &mut errors),
        blueprint: slug(body, "blueprint", &mut errors),
        variant: slug(body, "variant", &mut errors),
        filter: filter(body, "filter", &mut errors),
        from: moment(body, "from", &mut errors),
        until: moment(body, "until", &mut errors),
        pin: pins(body.get("pin"), &mut errors),
        hide: hidden(body.get("hide"), &mut errors),
        filter_add: filter(body, "filter_add", &mut errors),
        created_at: now,
        updated_at: now,
    };
    if let (Some(from), Some(until)) = (rule.from, rule.until)
        && from >= until
    {
        errors.push(("until".to_owned(), vec!["must be after `from`".to_owned()]));
    }
    if let Some(both) = rule.pin.iter().find(|pin| rule.hide.contains(&pin.id)) {
        errors.push(("hide".to_owned(), vec![format!("must not name {}, which `pin` names", quote(&both.id))]));
    }
    for (key, filter) in [("filter", &rule.filter), ("filter_add", &rule.filter_add)] {
        if filter.is_some() && rule.blueprint.is_none() {
            let text = "needs a `blueprint`, since the fields of other blueprints are not the same".to_owned();
            errors.push((key.to_owned(), vec![text]));
        }
    }
    if errors.is_empty() { Ok(rule) } else { Err(Error::validation(errors)) }
}

fn query(sent: Option<&Value>, errors: &mut FieldErrors) -> Option<String> {
    let sent = sent.filter(|sent| !sent.is_null())?;
    let text = sent.as_str().map(str::trim).filter(|text| text.chars().count() <= MAX_QUERY);
    let text = text.filter(|text| !row_of_words(text).is_empty());
    if text.is_none() {
        let text = format!(
            "must be null or a question of at most {MAX_QUERY} characters, with a letter or digit, not {}",
            describe(sent)
        );
        errors.push(("query".to_owned(), vec![text]));
    }
    text.map(str::to_owned)
}

fn matching(sent: Option<&Value>, errors: &mut FieldErrors) -> RuleMatch {
    match sent {
        None | Some(Value::Null) => RuleMatch::Is,
        Some(Value::String(text)) if text == "is" => RuleMatch::Is,
        Some(Value::String(text)) if text == "contains" => RuleMatch::Contains,
        Some(other) => {
            errors.push(("match".to_owned(), vec![format!("must be `is` or `contains`, not {}", describe(other))]));
            RuleMatch::Is
        }
    }
}

/// A list that is asked for with a rule that is not stored.
pub(crate) struct AskedPreview {
    /// The slug of the blueprint.
    pub(crate) blueprint: String,
    /// The query string of the list.
    pub(crate) list: String,
    /// The rule, which holds at any time.
    pub(crate) rule: SearchRule,
    /// True if it stands in the place of a stored rule.
    pub(crate) is_stored: bool,
}

/// The id of a rule that is not stored. It comes after all ids of stored rules, so the rule is the last one.
const UNSAVED: &str = "unsaved";

/// Reads the body of a preview of a rule.
///
/// # Errors
/// `VALIDATION_FAILED`.
pub(crate) fn preview(body: &Map<String, Value>) -> Result<AskedPreview> {
    let mut errors = unknown_keys(body, &["blueprint", "list", "rule", "id"], &[]);
    let mut text = |key: &str, example: &str| {
        let text = body.get(key).and_then(Value::as_str);
        if text.is_none() {
            errors.push((key.to_owned(), vec![format!("is required: {example}")]));
        }
        text.unwrap_or_default().to_owned()
    };
    let blueprint = text("blueprint", "the slug of a blueprint");
    let list = text("list", "the query string of a list, such as `q=red+shoes&per_page=20`");
    let sent_id = body.get("id").filter(|sent| !sent.is_null());
    let id = sent_id.map(|sent| sent.as_str().filter(|id| ResourceId::parse(id).is_some()));
    if id == Some(None) {
        errors.push(("id".to_owned(), vec!["must be null or the id of a rule".to_owned()]));
    }
    let sent_rule = body.get("rule").and_then(Value::as_object);
    let Some(sent_rule) = sent_rule.filter(|_| errors.is_empty()) else {
        if sent_rule.is_none() {
            errors.push(("rule".to_owned(), vec!["is required: a rule, as it would be created".to_owned()]));
        }
        return Err(Error::validation(errors));
    };
    let id = id.flatten();
    let rule = rule(sent_rule, id.unwrap_or(UNSAVED).to_owned(), 0)?;
    Ok(AskedPreview { blueprint, list, rule: SearchRule { from: None, until: None, ..rule }, is_stored: id.is_some() })
}

/// Reads the slug of a blueprint or variant, or null. Whether there is one is decided later.
fn slug(body: &Map<String, Value>, key: &str, errors: &mut FieldErrors) -> Option<String> {
    let sent = body.get(key).filter(|sent| !sent.is_null())?;
    let slug = sent.as_str().filter(|slug| (1..=255).contains(&slug.chars().count()));
    if slug.is_none() {
        errors.push((key.to_owned(), vec![format!("must be null or the slug of a {key}, not {}", describe(sent))]));
    }
    slug.map(str::to_owned)
}

fn filter(body: &Map<String, Value>, key: &str, errors: &mut FieldErrors) -> Option<String> {
    let sent = body.get(key).filter(|sent| !sent.is_null())?;
    let text = sent.as_str().filter(|text| text.len() <= MAX_FILTER_BYTES && Rule::is_filter(text));
    if text.is_none() {
        let text = format!(
            "must be null or filters as in the address of a list, such as `filter[kind]=faq&filter[price][lt]=10`, of at most \
             {MAX_FILTER_BYTES} bytes, not {}",
            describe(sent)
        );
        errors.push((key.to_owned(), vec![text]));
    }
    text.map(str::to_owned)
}

fn moment(body: &Map<String, Value>, key: &str, errors: &mut FieldErrors) -> Option<Millis> {
    let sent = body.get(key).filter(|sent| !sent.is_null())?;
    date(sent).map_err(|text| errors.push((key.to_owned(), vec![text]))).ok()
}

fn pins(sent: Option<&Value>, errors: &mut FieldErrors) -> Vec<Pin> {
    let mut pins: Vec<Pin> = Vec::new();
    for (index, pin) in list(sent, "pin", MAX_PINS, errors).iter().enumerate() {
        let id = pin.get("id").and_then(id_of);
        let position = pin.get("position").and_then(Value::as_u64).filter(|at| (1..=MAX_POSITION).contains(at));
        let has_others = pin.as_object().is_some_and(|pin| pin.len() > 2);
        match (id, position) {
            (Some(id), Some(position)) if !has_others && pins.iter().all(|pin| pin.id != id) => {
                pins.push(Pin { id, position });
            }
            _ => {
                let text = format!(
                    "must be `{{\"id\", \"position\"}}`: the id of a resource that is not pinned before, and a number from 1 to \
                     {MAX_POSITION}, not {}",
                    describe(pin)
                );
                errors.push((format!("pin.{index}"), vec![text]));
            }
        }
    }
    pins
}

fn hidden(sent: Option<&Value>, errors: &mut FieldErrors) -> Vec<String> {
    let mut hidden = Vec::new();
    for (index, sent) in list(sent, "hide", MAX_HIDDEN, errors).iter().enumerate() {
        match id_of(sent) {
            Some(id) if hidden.contains(&id) => {}
            Some(id) => hidden.push(id),
            None => {
                let text = format!("must be the id of a resource, not {}", describe(sent));
                errors.push((format!("hide.{index}"), vec![text]));
            }
        }
    }
    hidden
}

/// Returns the id of a resource as the server writes it.
fn id_of(sent: &Value) -> Option<String> {
    sent.as_str().and_then(ResourceId::parse).map(|id| id.to_string())
}

fn list<'a>(sent: Option<&'a Value>, key: &str, most: usize, errors: &mut FieldErrors) -> &'a [Value] {
    match sent {
        None | Some(Value::Null) => &[],
        Some(Value::Array(items)) if items.len() <= most => items,
        Some(other) => {
            let count = other.as_array().map_or_else(|| describe(other), |items| items.len().to_string());
            errors.push((key.to_owned(), vec![format!("must be an array of at most {most} entries, not {count}")]));
            &[]
        }
    }
}
