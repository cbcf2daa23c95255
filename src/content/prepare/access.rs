//! Reads the bodies of tokens and members (`API.md` 5.5 and 4.10).

use bindery_access::{MemberPatch, NewMember, NewToken, Patch};
use bindery_model::ability::Ability;
use bindery_model::error::{Error, FieldErrors, Result};
use bindery_model::json;
use bindery_model::sent::quote;
use bindery_model::value::is_email;
use serde_json::{Map, Value};

use crate::prepare::body::{date, into_object, quoted, unknown_keys};

/// The maximum number of abilities in a body, repeated ones included.
const MAX_ABILITIES: usize = 100;

/// The maximum number of blueprints that a token or a member may be limited to.
const MAX_BLUEPRINTS: usize = 1_000;

/// The maximum length of an email address. Valid addresses are ASCII.
const MAX_EMAIL_BYTES: usize = 254;

/// Reads the body of a new token.
///
/// # Errors
/// `MALFORMED_JSON`, `VALIDATION_FAILED`.
pub(crate) fn token(body: &[u8]) -> Result<NewToken> {
    let object = &into_object(json::parse(body)?)?;
    let known = ["name", "abilities", "blueprints", "expires_at"];
    let mut errors = unknown_keys(object, &known, &["id", "type", "created_at", "last_used_at", "secret"]);
    let name = required_text(object, "name", &mut errors);
    let abilities = read_abilities(object.get("abilities"), &mut errors);
    let blueprints = read_blueprints(object.get("blueprints"), &mut errors);
    if abilities.contains(&Ability::Manage) && blueprints.is_some() {
        let text = "must be null for a token with the ability `manage`, which cannot be limited to blueprints";
        errors.push(("blueprints".to_owned(), vec![text.to_owned()]));
    }
    let expires_at = match object.get("expires_at") {
        None | Some(Value::Null) => None,
        Some(value) => date(value).map_err(|error| errors.push(("expires_at".to_owned(), vec![error]))).ok(),
    };
    match name {
        Some(name) if errors.is_empty() => Ok(NewToken { name, abilities, blueprints, expires_at }),
        _ => Err(Error::validation(errors)),
    }
}

fn read_abilities(value: Option<&Value>, errors: &mut FieldErrors) -> Vec<Ability> {
    let names: Vec<&str> = Ability::ALL.iter().map(|ability| ability.as_str()).collect();
    let mut error = |text: String| errors.push(("abilities".to_owned(), vec![text]));
    let is_some = |items: &&Vec<Value>| (1..=MAX_ABILITIES).contains(&items.len());
    let Some(items) = value.and_then(Value::as_array).filter(is_some) else {
        error(format!("is required: an array of one or more of {}", quoted(&names)));
        return Vec::new();
    };
    let mut abilities = Vec::new();
    for item in items {
        match item.as_str().and_then(Ability::parse) {
            Some(ability) => abilities.push(ability),
            None => {
                let sent = item.as_str().map_or_else(|| quote(&item.to_string()), quote);
                error(format!("holds {sent}, which is not an ability; abilities are {}", quoted(&names)));
            }
        }
    }
    Ability::ALL.into_iter().filter(|ability| abilities.contains(ability)).collect()
}

pub(super) fn read_blueprints(value: Option<&Value>, errors: &mut FieldErrors) -> Option<Vec<String>> {
    let slugs = match value {
        None | Some(Value::Null) => return None,
        Some(Value::Array(items)) if items.len() > MAX_BLUEPRINTS => {
            let text = format!("must have at most {MAX_BLUEPRINTS} elements, not {}", items.len());
            errors.push(("blueprints".to_owned(), vec![text]));
            return None;
        }
        Some(Value::Array(items)) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    };
    if slugs.is_none() {
        let text = "must be null (all blueprints) or an array of blueprint slugs";
        errors.push(("blueprints".to_owned(), vec![text.to_owned()]));
    }
    slugs
}

/// Reads the body of a new member.
///
/// # Errors
/// `MALFORMED_JSON`, `VALIDATION_FAILED`.
pub(crate) fn member(body: &[u8]) -> Result<NewMember> {
    let patch = read_member(body, &["name", "email"])?;
    let (Some(name), Some(email)) = (patch.name, patch.email) else {
        return Err(Error::internal("a member without the required keys"));
    };
    Ok(NewMember { name, email, role: patch.role.apply(None), blueprints: patch.blueprints.apply(None) })
}

/// Reads the body of a change of a member.
///
/// # Errors
/// `MALFORMED_JSON`, `VALIDATION_FAILED`.
pub(crate) fn member_patch(body: &[u8]) -> Result<MemberPatch> {
    read_member(body, &[])
}

fn read_member(body: &[u8], required: &[&str]) -> Result<MemberPatch> {
    let object = &into_object(json::parse(body)?)?;
    let mut errors = unknown_keys(
        object,
        &["name", "email", "role", "blueprints"],
        &["id", "type", "last_seen_at", "invited_until"],
    );
    let is_read = |key: &str| required.contains(&key) || object.contains_key(key);
    let name = if is_read("name") { required_text(object, "name", &mut errors) } else { None };
    let email = if is_read("email") { email(object, &mut errors) } else { None };
    let role = match object.get("role") {
        None => Patch::Keep,
        Some(Value::Null) => Patch::Clear,
        Some(Value::String(role)) if is_word(role) => Patch::Set(role.clone()),
        Some(_) => {
            errors.push(("role".to_owned(), vec!["must be a word, or null".to_owned()]));
            Patch::Keep
        }
    };
    let blueprints = match object.get("blueprints") {
        None => Patch::Keep,
        value => read_blueprints(value, &mut errors).map_or(Patch::Clear, Patch::Set),
    };
    if errors.is_empty() { Ok(MemberPatch { name, email, role, blueprints }) } else { Err(Error::validation(errors)) }
}

/// Reads the email address that a body must have.
pub(crate) fn email(object: &Map<String, Value>, errors: &mut FieldErrors) -> Option<String> {
    let email = required_text(object, "email", errors);
    if email.as_ref().is_some_and(|email| email.len() > MAX_EMAIL_BYTES || !is_email(email)) {
        errors.push(("email".to_owned(), vec!["must be one email address such as `ada@example.org`".to_owned()]));
    }
    email
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= 255 && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// Reads a text that a body must have.
pub(crate) fn required_text(object: &Map<String, Value>, key: &str, errors: &mut FieldErrors) -> Option<String> {
    let text =
        object.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty() && text.chars().count() <= 255);
    if text.is_none() {
        errors.push((key.to_owned(), vec!["is required: a string of 1 to 255 characters".to_owned()]));
    }
    text.map(str::to_owned)
}
