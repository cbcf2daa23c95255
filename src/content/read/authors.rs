//! Who wrote a resource, and which of its translations are outdated, as it is answered to members (`API.md` 5.8.6). Answers to
//! tokens do not have it.

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
    /// The names, if the answer is for a member.
    pub(crate) fn shown_to(access: &Access, state: &Arc<State>) -> Option<AuthorNames> {
        access.is_session().then(|| AuthorNames(Arc::clone(state)))
    }

    /// The `meta` of a resource; of one that is not known, as if nobody had written it.
    pub(crate) fn to_json(&self, blueprint: &Blueprint, meta: Option<&Meta>) -> Value {
        let Authors { created_by, updated_by } = meta.map(|meta| meta.authors.clone()).unwrap_or_default();
        json!({
            "created_by": self.of(created_by.as_ref()),
            "updated_by": self.of(updated_by.as_ref()),
            "outdated_variants": meta.map_or_else(Vec::new, |meta| outdated_variants(blueprint, meta)),
        })
    }

    /// Names are null of members and tokens that are gone.
    fn of(&self, actor: Option<&Actor>) -> Value {
        match actor {
            None => Value::Null,
            Some(Actor::Member(id)) => {
                let name = self.0.members.get(id).map(|member| &member.name);
                json!({ "member": { "id": id, "name": name } })
            }
            Some(Actor::Token(id)) => {
                // Tokens that are not stored have names in the place of ids.
                let is_stored = id.len() == uuid::fmt::Hyphenated::LENGTH;
                let name =
                    self.0.tokens.get(id).map(|token| token.name.as_str()).or((!is_stored).then_some(id.as_str()));
                json!({ "token": { "id": id, "name": name } })
            }
        }
    }
}

/// The slugs of the variants that were last written before the default variant was: they translate what it said earlier.
fn outdated_variants<'a>(blueprint: &'a Blueprint, meta: &Meta) -> Vec<&'a str> {
    let Some(source) = meta.copy(blueprint.default_variant()) else { return Vec::new() };
    let is_outdated = |number| meta.copy(number).is_some_and(|translation| translation.number < source.number);
    let outdated = blueprint.variants.iter().filter(|variant| is_outdated(variant.number));
    outdated.map(|variant| variant.slug.as_str()).collect()
}
