//! Reads the bodies with which members sign in (`API.md` 5.8).

use bindery_access::{PASSWORD_MAX, PASSWORD_MIN};
use bindery_model::error::{Error, FieldErrors, Result};
use bindery_model::json;
use serde_json::{Map, Value};

use crate::prepare::access::{email, required_text};
use crate::prepare::body::{into_object, unknown_keys};

/// The email and password of somebody who wants to sign in.
pub(crate) struct SignIn {
    pub(crate) email: String,
    pub(crate) password: String,
}

/// The body of a request for another password.
pub(crate) struct PasswordChange {
    pub(crate) present: String,
    pub(crate) password: String,
}

/// The body of a request with an invitation.
pub(crate) struct Acceptance {
    /// The secret of the invitation.
    pub(crate) token: String,
    rest: Map<String, Value>,
}

/// The settings that a member makes with an invitation.
pub(crate) struct Profile {
    pub(crate) name: Option<String>,
    pub(crate) email: Option<String>,
    pub(crate) password: String,
}

/// Reads the body of a sign-in.
///
/// # Errors
/// `MALFORMED_JSON`, `VALIDATION_FAILED`.
pub(crate) fn sign_in(body: &[u8]) -> Result<SignIn> {
    let object = &into_object(json::parse(body)?)?;
    let mut errors = unknown_keys(object, &["email", "password"], &[]);
    let email = required_text(object, "email", &mut errors);
    let password = password(object, "password", 1, &mut errors);
    match (email, password) {
        (Some(email), Some(password)) if errors.is_empty() => Ok(SignIn { email, password }),
        _ => Err(Error::validation(errors)),
    }
}

/// Reads the body of a member who wants another password.
///
/// # Errors
/// `MALFORMED_JSON`, `VALIDATION_FAILED`.
pub(crate) fn password_change(body: &[u8]) -> Result<PasswordChange> {
    let object = &into_object(json::parse(body)?)?;
    let mut errors = unknown_keys(object, &["current_password", "password"], &[]);
    let present = password(object, "current_password", 1, &mut errors);
    let password = password(object, "password", PASSWORD_MIN, &mut errors);
    match (present, password) {
        (Some(present), Some(password)) if errors.is_empty() => Ok(PasswordChange { present, password }),
        _ => Err(Error::validation(errors)),
    }
}

/// Reads the body of somebody who has an invitation, as far as it names the invitation.
///
/// # Errors
/// `MALFORMED_JSON`, `VALIDATION_FAILED`.
pub(crate) fn acceptance(body: &[u8]) -> Result<Acceptance> {
    let mut rest = into_object(json::parse(body)?)?;
    match rest.shift_remove("token") {
        Some(Value::String(token)) => Ok(Acceptance { token, rest }),
        _ => Err(Error::of_field("token", "is required: the secret that the link ends with")),
    }
}

impl Acceptance {
    /// Returns the rest of the body. The first owner's link makes a member, and so needs a name and an email.
    ///
    /// # Errors
    /// `VALIDATION_FAILED`.
    pub(crate) fn profile(&self, is_first_owner: bool) -> Result<Profile> {
        let object = &self.rest;
        let known: &[&str] =
            if is_first_owner { &["token", "name", "email", "password"] } else { &["token", "name", "password"] };
        let mut errors = unknown_keys(object, known, &[]);
        let is_sent = |key: &str| is_first_owner || object.get(key).is_some_and(|value| !value.is_null());
        let name = if is_sent("name") { required_text(object, "name", &mut errors) } else { None };
        let email = if is_first_owner { email(object, &mut errors) } else { None };
        match password(object, "password", PASSWORD_MIN, &mut errors) {
            Some(password) if errors.is_empty() => Ok(Profile { name, email, password }),
            _ => Err(Error::validation(errors)),
        }
    }
}

fn password(object: &Map<String, Value>, key: &str, least: usize, errors: &mut FieldErrors) -> Option<String> {
    let is_valid = |text: &&str| (least..=PASSWORD_MAX).contains(&text.chars().count());
    let password = object.get(key).and_then(Value::as_str).filter(is_valid);
    if password.is_none() {
        let text = format!("is required: a string of {least} to {PASSWORD_MAX} characters");
        errors.push((key.to_owned(), vec![text]));
    }
    password.map(str::to_owned)
}
