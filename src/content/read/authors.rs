//! The authors of a resource and its outdated translations, as answered to members (`API.md` 5.8.6). Answers to tokens
//! omit them.

use std::sync::Arc;

use bindery_access::{Access, Actor};
use bindery_model::blueprint::Blueprint;
use serde_json::{Value, json};

use crate::data::records::{Authors, Meta};
use crate::data::state::State;

/// The names of members and tokens.
#[derive(Clone)]
pub(crate) struct AuthorNames(Arc<State>);

impl AuthorNames {
    /// Returns the names if the answer is for a member.
    pub(crate) fn shown_to(access: &Access, state: &Arc<State>) -> Option<AuthorNames> {
        access.is_session().then(|| AuthorNames(Arc::clone(state)))
    }

    /// Returns the `meta` of a resource. Without `meta` its authors are null.
    pub(crate) fn to_json(&self, blueprint: &Blueprint, meta: Option<&Meta>) -> Value {
        let Authors { created_by, updated_by } = meta.map(|meta| meta.authors.clone()).unwrap_or_default();
        json!({
            "created_by": self.of(created_by.as_ref()),
            "updated_by": self.of(updated_by.as_ref()),
            "outdated_variants": meta.map_or_else(Vec::new, |meta| outdated_variants(blueprint, meta)),
        })
    }

    /// Returns an author as JSON. The name is null if the member or token no longer exists.
    fn of(&self, actor: Option<&Actor>) -> Value {
        match actor {
            None => Value::Null,
            Some(actor @ Actor::Member(id)) => json!({ "member": { "id": id, "name": name_of(&self.0, actor) } }),
            Some(actor @ Actor::Token(id)) => json!({ "token": { "id": id, "name": name_of(&self.0, actor) } }),
        }
    }
}

/// Returns an actor as JSON, with its type as a value: `{"type": "member", "id", "name"}`. The name is null if the
/// member or token no longer exists.
pub(crate) fn actor_to_json(state: &State, actor: Option<&Actor>) -> Value {
    match actor {
        None => Value::Null,
        Some(actor @ Actor::Member(id)) => json!({ "type": "member", "id": id, "name": name_of(state, actor) }),
        Some(actor @ Actor::Token(id)) => json!({ "type": "token", "id": id, "name": name_of(state, actor) }),
    }
}

fn name_of<'a>(state: &'a State, actor: &'a Actor) -> Option<&'a str> {
    match actor {
        Actor::Member(id) => state.members.get(id).map(|member| member.name.as_str()),
        Actor::Token(id) => {
            // A token that is not stored, like the admin token, has its name as its id.
            let is_stored = id.len() == uuid::fmt::Hyphenated::LENGTH;
            state.tokens.get(id).map(|token| token.name.as_str()).or((!is_stored).then_some(id.as_str()))
        }
    }
}

/// Returns the slugs of the variants whose last write is older than that of the default variant: they translate an
/// older text.
fn outdated_variants<'a>(blueprint: &'a Blueprint, meta: &Meta) -> Vec<&'a str> {
    let Some(source) = meta.copy(blueprint.default_variant()) else { return Vec::new() };
    let is_outdated = |number| meta.copy(number).is_some_and(|translation| translation.number < source.number);
    let outdated = blueprint.variants.iter().filter(|variant| is_outdated(variant.number));
    outdated.map(|variant| variant.slug.as_str()).collect()
}
