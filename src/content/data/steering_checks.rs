//! Checks that what synonyms and rules of ranked search name exists. Must not know how they were written.

use bindery_model::error::{Error, FieldErrors, Result};
use bindery_model::sent::quote;
use bindery_model::time::Millis;
use bindery_query::Rule;

use crate::data::refusals::no_blueprint;
use crate::data::search_rule::SearchRule;
use crate::data::state::State;

/// Checks that what a rule names exists.
///
/// # Errors
/// `VALIDATION_FAILED`.
pub(crate) fn check_rule(state: &State, rule: &SearchRule, now: Millis) -> Result<()> {
    if let Some(slug) = rule.blueprint.as_deref().filter(|slug| !state.blueprints.contains_key(*slug)) {
        return Err(Error::of_field("blueprint", no_blueprint(slug).message));
    }
    check_variant(state, rule.blueprint.as_deref(), rule.variant.as_deref())?;
    let mut errors = FieldErrors::default();
    let Some(collection) = rule.blueprint.as_ref().and_then(|slug| state.blueprints.get(slug)) else { return Ok(()) };
    let related = |slug: &str| state.blueprints.get(slug).map(|collection| &*collection.blueprint);
    for (key, filter) in [("filter", &rule.filter), ("filter_add", &rule.filter_add)] {
        let Some(filter) = filter else { continue };
        if let Err(error) = Rule::check_filter(filter, &collection.blueprint, &related, now) {
            errors.push((key.to_owned(), vec![error.message]));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Error::validation(errors)) }
}

/// Checks that a blueprint, or any of them, has a variant.
///
/// # Errors
/// `VALIDATION_FAILED`.
pub(crate) fn check_variant(state: &State, blueprint: Option<&str>, variant: Option<&str>) -> Result<()> {
    let Some(variant) = variant else { return Ok(()) };
    let mut blueprints = state.blueprints.values().map(|collection| &collection.blueprint);
    let is_of = |slug: &str| blueprint.is_none_or(|only| only == slug);
    match blueprints.any(|blueprint| is_of(&blueprint.slug) && blueprint.variant(variant).is_some()) {
        true => Ok(()),
        false => {
            let whose = blueprint.map_or_else(|| "no blueprint".to_owned(), |slug| format!("`{slug}` does not"));
            let text = match blueprint {
                Some(_) => format!("there is no variant {}; the blueprint {whose} have it", quote(variant)),
                None => format!("there is no variant {}; {whose} has it", quote(variant)),
            };
            Err(Error::of_field("variant", text))
        }
    }
}
