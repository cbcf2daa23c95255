//! The blueprint that results from a definition, where it depends on other blueprints.

use bindery_model::blueprint::{Blueprint, Definition, Difference};
use bindery_model::error::{Code, Error, FieldErrors, Result};
use bindery_model::time::Millis;

use crate::data::refusals::check_kind;
use crate::data::state::State;

/// The next revision of a blueprint, with its differences.
pub(crate) struct Revision {
    /// The next blueprint.
    pub(crate) next: Blueprint,
    /// The differences, in order; empty if there is none.
    pub(crate) differences: Vec<Difference>,
}

/// Returns the blueprint that follows from a definition.
///
/// # Errors
/// `VALIDATION_FAILED` for a relation to a blueprint that does not exist, `CONFLICT` for another kind, or if the
/// blueprint has used up its numbers.
pub(crate) fn revise(state: &State, current: &Blueprint, definition: Definition, now: Millis) -> Result<Revision> {
    check_kind(current, definition.kind)?;
    check_related(state, &definition, Some(current))?;
    if !current.has_numbers_for(&definition) {
        let text = "this blueprint was changed so often that it has no numbers left for new variants or fields; create another one and import the content into it";
        return Err(Error::new(Code::Conflict, text));
    }
    let (next, differences) = current.revise(definition, now);
    Ok(Revision { next, differences })
}

/// # Errors
/// `VALIDATION_FAILED` unless the blueprint that each relation names exists, is this one, or is what the field names
/// already.
pub(crate) fn check_related(state: &State, definition: &Definition, current: Option<&Blueprint>) -> Result<()> {
    let known = current.map(Blueprint::fields_by_slug).unwrap_or_default();
    let names_already = |field: &str, slug: &str| {
        let field = known.get(field);
        field.and_then(|field| field.related_blueprint()) == Some(slug)
    };
    let exists = |slug: &str| state.blueprints.contains_key(slug) || slug == definition.slug;
    let errors: FieldErrors = definition
        .relations()
        .filter(|relation| !exists(relation.blueprint) && !names_already(relation.field, relation.blueprint))
        .map(|relation| {
            let text = format!("relates to the blueprint `{}`, which does not exist", relation.blueprint);
            (format!("fields.{}.settings", relation.position), vec![text])
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(Error::validation(errors)) }
}
