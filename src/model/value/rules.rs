//! The table of the rules for the field types.

use std::sync::LazyLock;

use bindery_sanitize::{RemovalCounts, Sanitizer};
use serde_json::Value;

use super::relation::{self, Relations};
use super::{address, choice, html, numeric, text, url};
use crate::blueprint::{Field, FieldType, SystemField};
use crate::sent::describe;

/// The context that a check needs in addition to the field.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Sanitizes rich text and pages.
    pub sanitizer: &'a Sanitizer,
    /// The ids that a relation may contain.
    pub relations: Relations,
}

/// Checks the value of one attribute and returns it in the form in which it is stored. A stored value is returned
/// unchanged. Every field accepts `null`.
///
/// # Errors
///
/// All problems of the value, each a clause with `must`.
pub fn check(field: &Field, value: Value, options: Options<'_>) -> Result<Value, Vec<String>> {
    check_noting(field, value, options, &mut RemovalCounts::default())
}

/// Checks a value like [`check`]. Also adds the removed parts to `removed`.
pub(super) fn check_noting(
    field: &Field,
    value: Value,
    options: Options<'_>,
    removed: &mut RemovalCounts,
) -> Result<Value, Vec<String>> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let checked = match &field.field_type {
        FieldType::Text => text::text(value),
        FieldType::RichText => html::rich_text(value, options.sanitizer, removed),
        FieldType::HtmlPage { .. } => return html::page(value, options.sanitizer, removed),
        FieldType::Slug => text::slug(value),
        FieldType::Email => text::email(value),
        FieldType::Link => url::link(value),
        FieldType::Image | FieldType::File => url::file(value),
        FieldType::Enum { values } => choice::one(value, values.as_ref()),
        FieldType::MultiEnum { values } => return choice::many(value, values.as_ref()),
        FieldType::Boolean if value.is_boolean() => Ok(value),
        FieldType::Boolean => Err(format!("must be true or false, not {}", describe(&value))),
        FieldType::Color => text::color(value),
        FieldType::Number if field.is_system && SystemField::is_focal(&field.slug) => {
            numeric::duration(&value, Some(0.0), Some(1.0))
        }
        FieldType::Number => numeric::number(&value),
        FieldType::Money { currencies, .. } => return numeric::money(value, currencies),
        FieldType::Date => text::date(value),
        FieldType::DateTime => text::datetime(value),
        FieldType::Duration { min, max, .. } => numeric::duration(&value, *min, *max),
        FieldType::Reference { .. } => relation::one(value, options.relations),
        FieldType::References { .. } => return relation::many(value, options.relations),
        FieldType::User { .. } => numeric::member_id(&value),
        FieldType::Address => return address::address(value),
    };
    checked.map_err(|error| vec![error])
}

/// Returns whether a stored value has the form of the field's type, also if the settings of the field do not permit it
/// any more.
pub fn has_form(field: &Field, value: &Value, options: Options<'_>) -> bool {
    let field_type = match field.field_type.clone() {
        FieldType::Enum { .. } => FieldType::Enum { values: None },
        FieldType::MultiEnum { .. } => FieldType::MultiEnum { values: None },
        FieldType::Duration { unit, display, .. } => FieldType::Duration { unit, display, min: None, max: None },
        FieldType::Money { default_currency, .. } => {
            let named = value.get("currency").and_then(Value::as_str).map(str::to_owned);
            FieldType::Money { default_currency, currencies: named.into_iter().collect() }
        }
        other => other,
    };
    check(&Field { field_type, ..field.clone() }, value.clone(), options).is_ok()
}

/// Returns whether a field of this type, which is not HTML, accepts a value.
pub fn accepts(field_type: FieldType, value: &Value) -> bool {
    static SANITIZER: LazyLock<Sanitizer> = LazyLock::new(Sanitizer::default);
    let (name, slug, description) = (String::new(), String::new(), None);
    let (required, claims, is_system) = (false, None, false);
    let field = Field { number: 1, since: 1, name, slug, description, required, claims, field_type, is_system };
    check(&field, value.clone(), Options { sanitizer: &SANITIZER, relations: Relations::Ids }).is_ok()
}

/// Returns the reasons why a stored value does not fit a field that was changed (`API.md` 4.9.5). Empty if it fits
/// unchanged.
pub fn stored_value_errors(field: &Field, stored: &Value, sanitizer: &Sanitizer) -> Vec<String> {
    let options = Options { sanitizer, relations: Relations::Ids };
    match check(field, stored.clone(), options) {
        Ok(value) if value == *stored => Vec::new(),
        Ok(_) => vec!["must be sanitized already: sanitizing the stored value would change it".to_owned()],
        Err(errors) => errors,
    }
}
