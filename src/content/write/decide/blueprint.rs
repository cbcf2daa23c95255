//! Decides commands on blueprints: creating one, the steps of a change, deleting one.

use std::sync::Arc;

use bindery_model::blueprint::{Blueprint, BlueprintKind, Definition, Field, render};
use bindery_model::error::{Code, Conflict, Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::time_of_change;
use bindery_store::{Counter, Key};

use super::decider::Context;
use super::{steering, view};
use crate::command::Outcome;
use crate::compatibility::demands::Demands;
use crate::compatibility::revise;
use crate::data::blueprint_change::{Backfill, BlueprintChange, ChangeId};
use crate::data::changes::ChangeOp;
use crate::data::lookup::Lookup;
use crate::data::records::{Authors, Meta, decode_id, encode_id};
use crate::data::refusals::{
    CONFLICT_IDS, change_conflict, conflict_of, still_has_resources, still_has_trash, still_has_working_copies,
};
use crate::data::state::{Collection, State};
use crate::data::trash::trash_total;
use crate::data::visibility::is_public;
use crate::write::overlay::Overlay;

/// The most deletions that the deletion of a blueprint records one by one.
const MAX_NOTED_DELETIONS: u64 = 10_000;

/// The most resources whose working copies the change of a blueprint reads. It limits the time that other commands
/// wait.
const MAX_EMPTIED: usize = 10_000;

pub(super) fn create(state: &State, overlay: &mut Overlay<'_>, definition: &Definition) -> Result<Outcome> {
    if state.blueprints.contains_key(&definition.slug) {
        let text = format!("`{}` is taken by another blueprint", definition.slug);
        return Err(Error::of_field("slug", text));
    }
    revise::check_related(state, definition, None)?;
    let number = overlay.next_of(Counter::Blueprint)?;
    let number = u32::try_from(number).map_err(Error::internal)?;
    let blueprint = Arc::new(Blueprint::create(definition.clone(), number, overlay.now));
    overlay.put(Key::Blueprint(number), render::encode(&blueprint));
    overlay.change_lists(number, true);
    if blueprint.kind == BlueprintKind::Singular {
        create_singular(overlay, &blueprint)?;
    }
    Ok(Outcome::Blueprint(blueprint))
}

/// Creates the only resource of a singular blueprint with the blueprint. It is published (`API.md` 2.3).
fn create_singular(overlay: &mut Overlay<'_>, blueprint: &Blueprint) -> Result<()> {
    let (of, blueprint) = (blueprint, blueprint.number);
    let id = overlay.new_id()?;
    let mut meta = Meta::new(overlay.number, overlay.now, Some(overlay.now));
    meta.authors = Authors { created_by: overlay.actor.clone(), updated_by: overlay.actor.clone() };
    overlay.put(Key::Resource { blueprint, id }, meta.encode());
    overlay.put(Key::Singular(blueprint), encode_id(id));
    overlay.note_change(of, id, ChangeOp::Created, false, true);
    Ok(())
}

/// Begins the change of a blueprint, or brings it into force at once if it does not depend on what is stored.
pub(super) fn replace(
    context: &Context<'_>,
    overlay: &mut Overlay<'_>,
    slug: &str,
    definition: &Definition,
    force: bool,
) -> Result<Outcome> {
    let collection = context.state.collection(slug)?;
    collection.check_unchanging()?;
    let current = &collection.blueprint;
    let revision = revise::revise(context.state, current, definition.clone(), overlay.now)?;
    if revision.differences.is_empty() {
        return Ok(Outcome::Blueprint(Arc::clone(current)));
    }
    let next = Arc::new(revision.next);
    // Numbers that the change gives out are used up, even if it does not come into force.
    let mut bumped = Blueprint::clone(current);
    (bumped.next_field, bumped.next_variant) = (next.next_field, next.next_variant);
    check_working_copies(collection, &next)?;
    let change = BlueprintChange { current: Arc::new(bumped), next, force, number: overlay.number };
    if !Demands::new(context.sanitizer, &change).concern_copies() {
        remove_emptied_working_copies(collection, overlay, &change.next)?;
        return Ok(bring_into_force(overlay, &change));
    }
    overlay.put(Key::Blueprint(current.number), render::encode(&change.current));
    overlay.put(Key::BlueprintChange(current.number), change.encode());
    Ok(Outcome::ChangeBegun(Arc::new(change)))
}

/// # Errors
/// `CONFLICT` if working copies are switched off while there are some.
fn check_working_copies(collection: &Collection, next: &Blueprint) -> Result<()> {
    match collection.forbidding_working_copies(next) {
        Conflict { count: 0, .. } => Ok(()),
        conflict => Err(still_has_working_copies(&collection.blueprint.slug, conflict)),
    }
}

/// Removes the working copies in which only fields were changed that `next` no longer has, or has with another type:
/// they show nothing, and would still count. One that is planned to be published stays until then. If there are more
/// than [`MAX_EMPTIED`] edited resources, some may stay until the next write of their working copy.
fn remove_emptied_working_copies(collection: &Collection, overlay: &mut Overlay<'_>, next: &Blueprint) -> Result<()> {
    let is_kept = |field: &Field| next.fields.iter().any(|after| after.number == field.number);
    if !next.working_copy || collection.blueprint.fields.iter().all(is_kept) {
        return Ok(());
    }
    // The command is the only one of its group, so the index has all resources.
    let edited = collection.first_edited(MAX_EMPTIED).map_err(|error| collection.search_failed(error))?;
    for id in edited {
        let Some(before) = overlay.meta(next.number, id)? else { continue };
        let mut after = before.clone();
        for variant in before.working_variants(next) {
            let Some(version) = before.working_copy(variant) else { continue };
            if !overlay.working(next, id, version)?.is_kept() {
                after.copies.retain(|copy| *copy != version);
                overlay.retire(next.number, id, version);
            }
        }
        if after != before {
            overlay.put(Key::Resource { blueprint: next.number, id }, after.encode());
            overlay.note_change(next, id, ChangeOp::Edited, false, false);
        }
    }
    Ok(())
}

/// # Errors
/// `CONFLICT` if that change is over, and perhaps another one under way: somebody else carried it through or gave it
/// up.
fn change_of(state: &State, id: ChangeId) -> Result<Arc<BlueprintChange>> {
    let change = state.numbered(id.blueprint).and_then(|collection| collection.change.clone());
    let change = change.filter(|change| change.id() == id);
    change.ok_or_else(|| Error::new(Code::Conflict, "this change of the blueprint is over; read the blueprint again"))
}

/// Claims values that become unique, and has the index fill its new columns.
pub(super) fn backfill(
    state: &State,
    overlay: &mut Overlay<'_>,
    id: ChangeId,
    resources: &[Backfill],
) -> Result<Outcome> {
    let (change, number) = (change_of(state, id)?, id.blueprint);
    for resource in resources {
        let id = resource.id;
        let Some(meta) = overlay.meta(number, id)? else { continue };
        let newer;
        let resource = if meta.version == resource.version && meta.copies == resource.copies {
            resource
        } else {
            // The resource was written after it was read.
            newer = change.backfill(&*overlay, id, &meta)?;
            &newer
        };
        for claim in &resource.claims {
            match overlay.get(claim)? {
                None => overlay.put(claim.clone(), encode_id(id)),
                Some(holder) => {
                    let holder = decode_id(&holder)?;
                    if holder != id {
                        return Err(change_conflict(conflict_of(2, [holder, id].into_iter())));
                    }
                }
            }
        }
        if let Some(index_op) = &resource.index_op {
            overlay.reindex(number, id, index_op.clone());
        }
    }
    Ok(Outcome::Done)
}

pub(super) fn finish_change(state: &State, overlay: &mut Overlay<'_>, id: ChangeId) -> Result<Outcome> {
    let change = change_of(state, id)?;
    if let Some(collection) = state.numbered(id.blueprint) {
        check_working_copies(collection, &change.next)?;
        remove_emptied_working_copies(collection, overlay, &change.next)?;
    }
    overlay.remove(Key::BlueprintChange(id.blueprint));
    Ok(bring_into_force(overlay, &change))
}

fn bring_into_force(overlay: &mut Overlay<'_>, change: &BlueprintChange) -> Outcome {
    let mut next = Blueprint::clone(&change.next);
    next.updated_at = time_of_change(overlay.now, change.current.updated_at);
    if change.retypes() {
        next.filled = overlay.number;
    }
    let next = Arc::new(next);
    overlay.put(Key::Blueprint(next.number), render::encode(&next));
    overlay.change_lists(next.number, true);
    Outcome::Blueprint(next)
}

pub(super) fn drop_change(state: &State, overlay: &mut Overlay<'_>, id: ChangeId) -> Result<Outcome> {
    change_of(state, id)?;
    overlay.remove(Key::BlueprintChange(id.blueprint));
    Ok(Outcome::Done)
}

pub(super) fn delete(state: &State, overlay: &mut Overlay<'_>, slug: &str, force: bool) -> Result<Outcome> {
    let collection = state.collection(slug)?;
    collection.check_unchanging()?;
    let blueprint = &collection.blueprint;
    if !force {
        check_deletable(state, overlay, slug)?;
    }
    // Stored data under the number is swept later: the number is never used again.
    overlay.remove(Key::Blueprint(blueprint.number));
    overlay.remove(Key::Singular(blueprint.number));
    for is_public in [false, true] {
        overlay.remove(Key::ListVersion { blueprint: blueprint.number, is_public });
    }
    overlay.remove(Key::WorkingVersion(blueprint.number));
    // A blueprint that gets this slug later is a different one.
    view::forget(state, overlay, |view| view.blueprint == slug);
    steering::forget(state, overlay, slug);
    note_deleted(overlay, collection);
    Ok(Outcome::Done)
}

/// Records the deletion of a blueprint's resources. If they are very many, the change feed begins anew instead.
fn note_deleted(overlay: &mut Overlay<'_>, collection: &Collection) {
    let all = bindery_index::Query { variant: 0, filter: bindery_index::Filter::All, sort: Vec::new() };
    let hits = match collection.snapshot.total() {
        0 => return,
        1..=MAX_NOTED_DELETIONS => collection.snapshot.search(&all, 0, MAX_NOTED_DELETIONS as usize).ok(),
        _ => None,
    };
    let Some(found) = hits else { return overlay.begin_changes_anew() };
    let blueprint = &collection.blueprint;
    for hit in &found.hits {
        let was_public = is_public(blueprint, hit.stamps.published, overlay.now);
        overlay.note_change(blueprint, ResourceId::from_u128(hit.id), ChangeOp::Deleted, was_public, false);
    }
}

fn check_deletable(state: &State, overlay: &Overlay<'_>, slug: &str) -> Result<()> {
    let collection = state.collection(slug)?;
    if collection.snapshot.total() > 0 && collection.blueprint.kind != BlueprintKind::Singular {
        let refusal = still_has_resources(slug, &collection.snapshot);
        return Err(refusal.unwrap_or_else(|error| collection.search_failed(error)));
    }
    let number = collection.blueprint.number;
    match trash_total(overlay, number)? {
        0 => {}
        waiting => return Err(still_has_trash(slug, waiting, overlay.first_trashed(number, CONFLICT_IDS)?)),
    }
    let others = state.blueprints.values().filter(|other| other.blueprint.slug != slug);
    let mut relating = Vec::new();
    for other in others {
        let to_come = other.change.iter().flat_map(|change| &change.next.fields);
        let fields = other.blueprint.fields.iter().chain(to_come);
        let fields = fields.filter(|field| field.related_blueprint() == Some(slug));
        relating.extend(fields.map(|field| format!("`{}.{}`", other.blueprint.slug, field.slug)));
    }
    if relating.is_empty() {
        return Ok(());
    }
    let text = format!("fields relate to `{slug}`: {}; remove them first, or add `?force=true`", relating.join(", "));
    Err(Error::new(Code::Conflict, text))
}
