//! Decides commands on blueprints: new ones, the steps of a change, their end.

use std::sync::Arc;

use super::{Settled, StateEffect, next_counter};
use crate::content::change::{Carried, Pending};
use crate::content::command::Outcome;
use crate::content::decide::{decode_id, related_blueprint};
use crate::content::evolve;
use crate::content::record::Meta;
use crate::content::state::{Collection, State};
use crate::content::sweep::Lost;
use crate::content::working::Working;
use crate::model::blueprint::{Blueprint, BlueprintKind, Definition, Difference, render};
use crate::model::error::{Code, Conflict, Error, Result};
use crate::model::time::Millis;
use crate::sanitize::Sanitizer;
use crate::store::{Counter, Key};

pub(super) fn create_blueprint(state: &State, working: &mut Working<'_>, draft: Definition) -> Result<Settled> {
    if state.blueprints.contains_key(&draft.slug) {
        let text = format!("`{}` is taken by another blueprint", draft.slug);
        return Err(Error::validation(vec![("slug".to_owned(), vec![text])]));
    }
    check_related(state, &draft, None)?;
    let number = next_counter(working, Counter::Blueprint)?;
    let number = u32::try_from(number).map_err(Error::internal)?;
    let blueprint = Arc::new(Blueprint::create(draft, number, working.now));
    working.put(Key::Blueprint(number), render::encode(&blueprint));
    let mut changes = Vec::new();
    if blueprint.kind == BlueprintKind::Singular {
        changes.push(create_singular(working, number)?);
    }
    let outcome = Outcome::Blueprint(Arc::clone(&blueprint));
    Ok(Settled { outcome, effect: StateEffect::NewBlueprint(blueprint, changes) })
}

/// The one resource of a singular blueprint, made with it, published (`API.md` 2.3).
fn create_singular(working: &mut Working<'_>, blueprint: u32) -> Result<bindery_index::IndexOp> {
    let id = working.new_id()?;
    let now = working.now;
    let meta = Meta {
        version: working.number,
        created: now,
        updated: now,
        published: Some(now),
        copies: Vec::new(),
        key: None,
    };
    working.put(Key::Resource { blueprint, id }, meta.encode());
    working.put(Key::Singular(blueprint), id.as_u128().to_be_bytes().to_vec());
    Ok(bindery_index::IndexOp::Put { id: id.as_u128(), stamps: meta.stamps(), copies: Vec::new() })
}

/// Begins the change of a blueprint, or makes it at once where it need not look at what is stored.
pub(super) fn replace_blueprint(
    state: &State,
    sanitizer: &Sanitizer,
    working: &mut Working<'_>,
    slug: &str,
    draft: Definition,
    force: bool,
) -> Result<Settled> {
    let collection = state.collection(slug)?;
    check_settled(collection)?;
    let current = &collection.blueprint;
    let (next, changes) = revise(state, current, draft, working.now)?;
    if changes.is_empty() {
        let outcome = Outcome::Blueprint(Arc::clone(current));
        return Ok(Settled { outcome, effect: StateEffect::Nothing });
    }
    let next = Arc::new(next);
    // Numbers that the change gives out are used up, also if it does not come into force.
    let mut bumped = Blueprint::clone(current);
    (bumped.next_field, bumped.next_variant) = (next.next_field, next.next_variant);
    let pending = Pending { current: Arc::new(bumped), next, force };
    if !pending.takes_time(sanitizer) {
        return Ok(bring_into_force(working, &pending));
    }
    working.put(Key::Blueprint(current.number), render::encode(&pending.current));
    working.put(Key::Change(current.number), pending.encode());
    Ok(Settled { outcome: Outcome::Done, effect: StateEffect::BegunChange(Arc::new(pending)) })
}

/// What a blueprint becomes by a draft, and the differences.
///
/// # Errors
/// `VALIDATION_FAILED` for a relation to a blueprint that is not there, `CONFLICT` for another kind.
pub(crate) fn revise(
    state: &State,
    current: &Blueprint,
    draft: Definition,
    now: Millis,
) -> Result<(Blueprint, Vec<Difference>)> {
    check_kind(current, draft.kind)?;
    check_related(state, &draft, Some(current))?;
    Ok(current.revise(draft, now))
}

/// `CONFLICT` while a change of the blueprint is under way.
pub(crate) fn check_settled(collection: &Collection) -> Result<()> {
    if collection.pending.is_none() {
        return Ok(());
    }
    let slug = &collection.blueprint.slug;
    let text = format!("a change of the blueprint `{slug}` is under way; try again when it is in force");
    Err(Error::new(Code::Conflict, text))
}

fn pending_of(state: &State, number: u32) -> Result<Arc<Pending>> {
    let pending = state.numbered(number).and_then(|collection| collection.pending.clone());
    pending.ok_or_else(|| Error::internal("a step of a change that was not begun"))
}

/// Claims values that become unique, and takes in what the index needs.
pub(super) fn carry_change(
    state: &State,
    working: &mut Working<'_>,
    number: u32,
    carried: Vec<Carried>,
) -> Result<Settled> {
    let pending = pending_of(state, number)?;
    let mut changes = Vec::new();
    for Carried { id, version, claims, entry } in carried {
        let Some(meta) = working.meta(number, id)? else { continue };
        let (claims, entry) = if meta.version == version {
            (claims, entry)
        } else {
            // It was written since it was looked at.
            let carried = pending.carry(working.store(), id, &meta)?;
            (carried.claims, carried.entry)
        };
        let owner = id.as_u128().to_be_bytes().to_vec();
        for key in claims {
            match working.get(&key)? {
                None => working.put(key, owner.clone()),
                Some(other) if other != owner => {
                    let ids = vec![decode_id(&other)?.to_string(), id.to_string()];
                    return Err(evolve::conflict(Conflict { count: 2, ids }));
                }
                Some(_) => {}
            }
        }
        changes.extend(entry);
    }
    Ok(Settled { outcome: Outcome::Done, effect: StateEffect::CarriedChange(number, changes) })
}

pub(super) fn finish_change(state: &State, working: &mut Working<'_>, number: u32) -> Result<Settled> {
    let pending = pending_of(state, number)?;
    working.remove(Key::Change(number));
    Ok(bring_into_force(working, &pending))
}

fn bring_into_force(working: &mut Working<'_>, pending: &Pending) -> Settled {
    let mut next = Blueprint::clone(&pending.next);
    next.updated_at = working.now.max(pending.current.updated_at + 1);
    if pending.retypes() {
        next.filled = working.number;
    }
    let next = Arc::new(next);
    working.put(Key::Blueprint(next.number), render::encode(&next));
    let effect = StateEffect::ChangedBlueprint { before: Arc::clone(&pending.current), blueprint: Arc::clone(&next) };
    Settled { outcome: Outcome::Blueprint(next), effect }
}

pub(super) fn drop_change(state: &State, working: &mut Working<'_>, number: u32) -> Result<Settled> {
    let pending = pending_of(state, number)?;
    working.remove(Key::Change(number));
    Ok(Settled { outcome: Outcome::Done, effect: StateEffect::DroppedChange(pending) })
}

/// The claims of a blueprint that another one does not have.
pub(super) fn lost_claims(blueprint: &Blueprint, other: &Blueprint) -> Vec<Lost> {
    let is_kept = |claims: u32| other.fields.iter().any(|field| field.claims == Some(claims));
    let claims = blueprint.fields.iter().filter_map(|field| field.claims).filter(|claims| !is_kept(*claims));
    claims.map(|claims| Lost::Claims { blueprint: blueprint.number, claims }).collect()
}

/// What a blueprint is cannot become something else.
pub(crate) fn check_kind(current: &Blueprint, kind: Option<BlueprintKind>) -> Result<()> {
    match kind.filter(|kind| *kind != current.kind) {
        None => Ok(()),
        Some(kind) => {
            let text = format!("the kind cannot be changed from `{}` to `{}`", current.kind.as_str(), kind.as_str());
            Err(Error::new(Code::Conflict, text))
        }
    }
}

/// The blueprint that a relation field names must exist, be this one, or be what this field names already.
fn check_related(state: &State, draft: &Definition, current: Option<&Blueprint>) -> Result<()> {
    let names_already = |field: &str, slug: &str| {
        let field = current.and_then(|current| current.field(field));
        field.and_then(related_blueprint) == Some(slug)
    };
    let is_there = |slug: &str| state.blueprints.contains_key(slug) || slug == draft.slug;
    let faults: Vec<(String, Vec<String>)> = draft
        .relations()
        .filter(|relation| !is_there(relation.blueprint) && !names_already(relation.field, relation.blueprint))
        .map(|relation| {
            let text = format!("relates to the blueprint `{}`, which does not exist", relation.blueprint);
            (format!("fields.{}.settings", relation.position), vec![text])
        })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(Error::validation(faults)) }
}

pub(super) fn delete_blueprint(state: &State, working: &mut Working<'_>, slug: &str, force: bool) -> Result<Settled> {
    let collection = state.collection(slug)?;
    check_settled(collection)?;
    let blueprint = &collection.blueprint;
    if !force {
        check_deletable(state, slug)?;
    }
    // What belongs to the number is swept from the store afterwards: the number is never used again.
    working.remove(Key::Blueprint(blueprint.number));
    working.remove(Key::Singular(blueprint.number));
    let effect = StateEffect::NoBlueprint { slug: slug.to_owned(), number: blueprint.number };
    Ok(Settled { outcome: Outcome::Done, effect })
}

fn check_deletable(state: &State, slug: &str) -> Result<()> {
    let collection = state.collection(slug)?;
    let count = collection.snapshot.total();
    if count > 0 && collection.blueprint.kind != BlueprintKind::Singular {
        let text = format!("`{slug}` still has resources ({count}); delete them first, or add `?force=true`");
        let conflict = Conflict { count, ids: evolve::first_ids(&collection.snapshot)? };
        return Err(Error { conflict: Some(conflict), ..Error::new(Code::Conflict, text) });
    }
    let relating: Vec<String> = state
        .blueprints
        .values()
        .filter(|other| other.blueprint.slug != slug)
        .flat_map(|other| {
            let to_come = other.pending.iter().flat_map(|pending| &pending.next.fields);
            let fields =
                other.blueprint.fields.iter().chain(to_come).filter(|field| related_blueprint(field) == Some(slug));
            fields.map(|field| format!("`{}.{}`", other.blueprint.slug, field.slug)).collect::<Vec<_>>()
        })
        .collect();
    if relating.is_empty() {
        return Ok(());
    }
    let text = format!("fields relate to `{slug}`: {}; remove them first, or add `?force=true`", relating.join(", "));
    Err(Error::new(Code::Conflict, text))
}
