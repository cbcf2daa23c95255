//! The effect of deleting a resource on resources that refer to it (`API.md` 2.4.9): `restrict` refuses the deletion,
//! `nullify` removes the references.
//!
//! Referring resources are found in the index, which lacks the writes of the current group. So such a deletion begins a
//! new group (see [`asks_the_index`]). Only items of its own command come before it, and their writes are in the
//! overlay.

use bindery_index::{Filter, ResultSet};
use bindery_model::blueprint::{Blueprint, BlueprintKind, Field, OnDelete};
use bindery_model::error::Result;
use bindery_model::id::ResourceId;
use serde_json::Value;

use super::decider::{Decider, Edit, WrittenCopy};
use super::media::AddressUsers;
use super::rewriting::MAX_REWRITTEN_BYTES;
use crate::command::{Command, Item};
use crate::data::changes::ChangeOp;
use crate::data::index_mapping::IndexMapping;
use crate::data::lookup::Lookup;
use crate::data::records::{Meta, render_attributes};
use crate::data::referrers::{Referrer, referring_to};
use crate::data::refusals::{
    CONFLICT_IDS, media_in_use, only_drafts, relation_under_way, still_referred_to, too_many_in_request,
    too_many_to_nullify,
};
use crate::data::state::{Collection, State};
use crate::data::visibility::Visibility;
use crate::data::working::WorkingCopy;

/// The maximum number of resources that one command changes because of deletions. A resource counts each time it is
/// changed. It limits the time that other commands wait.
const MAX_NULLIFIED: usize = 10_000;

/// Returns whether the command deletes a resource that `restrict` or `nullify` relations may refer to, or puts one into
/// the trash that any relation may refer to.
pub(crate) fn asks_the_index(state: &State, command: &Command) -> bool {
    let Command::Write(write) = command else { return false };
    let is_deletion = |item: &Item| matches!(item, Item::Delete { .. });
    let is_noted = write.blueprint.trash.is_some();
    if write.blueprint.kind == BlueprintKind::Media {
        return write.items.iter().any(is_deletion);
    }
    let is_kept = |referring: Referrer<'_>| {
        !is_noted && referring.with(OnDelete::Restrict).is_none() && referring.with(OnDelete::Nullify).is_none()
    };
    write.items.iter().any(is_deletion) && !referring_to(state, &write.blueprint.slug).all(is_kept)
}

/// The removal of a deleted resource from another one that refers to it.
pub(super) struct Release {
    id: ResourceId,
    /// The change of its live copies.
    edit: Option<Edit>,
    /// The working copies that change, by variant.
    working: Vec<(u16, WorkingCopy)>,
}

/// The releases of a deletion, by the blueprint of the resources that change.
type Releases<'a> = Vec<(&'a Collection, Vec<Release>)>;

impl<'a> Decider<'a, '_> {
    /// Finds the changes of the resources that refer to `id`, for its deletion. Writes nothing.
    ///
    /// # Errors
    /// `CONFLICT` if a relation forbids the deletion, or too many values would be removed.
    pub(super) fn release_referrers(&mut self, id: ResourceId) -> Result<Releases<'a>> {
        self.check_coming_relations()?;
        self.check_restricted(id)?;
        let mut found = Vec::new();
        let mut count = 0;
        for referring in referring_to(self.context.state, &self.blueprint.slug) {
            let Some(referring) = referring.with(OnDelete::Nullify) else { continue };
            let referrers = referring.find(id, &Filter::All, true)?;
            count += referrers.total();
            found.push((referring, referrers));
        }
        // Checked before any of them is read.
        self.check_count(count, || self.named_of(id, &found))?;
        let mut releases = Vec::new();
        let mut bytes = 0;
        for (referring, referrers) in &found {
            let mut of_blueprint = Vec::new();
            for hit in referrers.first(MAX_NULLIFIED) {
                let Some(release) = self.nullify(referring, ResourceId::from_u128(hit.id), id)? else { continue };
                self.check_may_change(referring, &release)?;
                bytes += release.bytes(&referring.collection.blueprint)?;
                if self.released.bytes + bytes > MAX_REWRITTEN_BYTES {
                    // The work for this deletion is already done. The count makes later deletions fail early, because
                    // each would cost as much.
                    let earlier = std::mem::replace(&mut self.released.count, MAX_NULLIFIED as u64);
                    let named = self.named_of(id, &found)?;
                    return Err(match earlier {
                        0 => too_many_to_nullify(count, of_blueprint.len(), named),
                        _ => too_many_in_request(count, MAX_NULLIFIED, named),
                    });
                }
                of_blueprint.push(release);
            }
            releases.push((&**referring.collection, of_blueprint));
        }
        self.released.count += count;
        self.released.bytes += bytes;
        Ok(releases)
    }

    /// # Errors
    /// `CONFLICT` if `count` more resources are too many for this command. `named` finds those that it names.
    fn check_count(&self, count: u64, named: impl FnOnce() -> Result<Vec<ResourceId>>) -> Result<()> {
        let most = MAX_NULLIFIED as u64;
        match count {
            0 => Ok(()),
            _ if count > most => Err(too_many_to_nullify(count, MAX_NULLIFIED, named()?)),
            _ if self.released.count + count > most => Err(too_many_in_request(count, MAX_NULLIFIED, named()?)),
            _ => Ok(()),
        }
    }

    /// Returns the resources that a conflict names of those that refer to `id` by these relations.
    fn named_of(&self, id: ResourceId, found: &[(Referrer<'_>, ResultSet)]) -> Result<Vec<ResourceId>> {
        let mut named = Vec::new();
        for (referring, _) in found {
            named.extend(self.visible_referrers(referring, id, CONFLICT_IDS)?);
        }
        Ok(named)
    }

    /// Returns the first resources that refer to `id` by these relations, of those that the writer may see.
    fn visible_referrers(&self, referring: &Referrer<'_>, id: ResourceId, most: usize) -> Result<Vec<ResourceId>> {
        let visibility = Visibility::of_writer(self.access, &referring.collection.blueprint, self.overlay.now);
        let visible = referring.find(id, &visibility.filter(), false)?.first(most);
        Ok(visible.into_iter().map(|hit| ResourceId::from_u128(hit.id)).collect())
    }

    /// Writes the changes.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(super) fn apply_releases(&mut self, releases: Releases<'a>) -> Result<()> {
        for (collection, releases) in releases {
            let mut of_blueprint = self.of_blueprint(collection);
            for Release { id, edit, working } in releases {
                let is_live = edit.is_some();
                if let Some(edit) = edit {
                    of_blueprint.apply_edit(edit)?;
                }
                let mut is_working = false;
                for (variant, working) in working {
                    is_working |= of_blueprint.replace_working_copy(id, variant, working)?;
                }
                // A resource is in the feed once.
                if is_working && !is_live {
                    of_blueprint.note_working_change(id, ChangeOp::Edited);
                }
            }
        }
        Ok(())
    }

    /// # Errors
    /// `FORBIDDEN` if the writer may write drafts only, and the live copies that would change are of a published
    /// resource.
    fn check_may_change(&self, referring: &Referrer<'_>, release: &Release) -> Result<()> {
        let Some(edit) = &release.edit else { return Ok(()) };
        let is_public =
            referring.collection.blueprint.kind == BlueprintKind::Singular || edit.after.published.is_some();
        match is_public && self.access.writes_only_drafts() {
            true => Err(only_drafts("a published resource refers to this one")),
            false => Ok(()),
        }
    }

    /// # Errors
    /// `CONFLICT` while a blueprint is being changed so that present values will relate to resources of this one, with
    /// an effect on deletions. The index does not know those relations yet.
    fn check_coming_relations(&self) -> Result<()> {
        let effect_of = |field: &Field| {
            let relation = field.field_type.relation().filter(|relation| relation.blueprint == self.blueprint.slug)?;
            let is_kept = relation.on_delete == OnDelete::Keep && self.blueprint.kind != BlueprintKind::Media;
            (!is_kept).then_some(relation.on_delete)
        };
        for collection in self.context.state.blueprints.values() {
            let Some(change) = &collection.change else { continue };
            let next = change.next.fields_by_slug();
            let is_coming = |field: &Field| {
                let effect = next.get(field.slug.as_str()).copied().and_then(effect_of);
                effect.is_some() && effect != effect_of(field)
            };
            if collection.blueprint.fields.iter().any(is_coming) {
                return Err(relation_under_way(self.access, &collection.blueprint.slug));
            }
        }
        Ok(())
    }

    fn check_restricted(&mut self, id: ResourceId) -> Result<()> {
        let is_media = self.blueprint.kind == BlueprintKind::Media;
        let (mut count, mut named) = (0, Vec::new());
        // Media that are used by address. A resource that also relates to them counts once.
        let mut users = if is_media { self.address_users(id)? } else { AddressUsers::default() };
        for referring in referring_to(self.context.state, &self.blueprint.slug) {
            // Nobody wants a page without its picture, so media are kept by relations that say nothing else.
            let restricts = |effect| effect == OnDelete::Restrict || is_media && effect == OnDelete::Keep;
            let Some(referring) = referring.whose(restricts) else { continue };
            let blueprint = &referring.collection.blueprint;
            let found = referring.find(id, &Filter::All, is_media)?;
            let gone = self.no_longer(&referring, &found, id)?;
            users.users.retain(|(number, user)| *number != blueprint.number || !found.contains(user.as_u128()));
            count += found.total() - gone.len() as u64;
            let visible = self.visible_referrers(&referring, id, CONFLICT_IDS + gone.len())?;
            named.extend(visible.into_iter().filter(|id| !gone.contains(id)));
        }
        count += users.users.len() as u64;
        for (blueprint, user) in users.users.into_iter().take(CONFLICT_IDS) {
            if self.may_name(blueprint, user)? {
                named.push(user);
            }
        }
        match count {
            0 => {
                users.obsolete.into_iter().for_each(|key| self.overlay.remove(key));
                Ok(())
            }
            _ if is_media => Err(media_in_use(count, named)),
            _ => Err(still_referred_to(count, named)),
        }
    }

    /// Returns whether an error may name a resource to the writer.
    fn may_name(&self, blueprint: u32, id: ResourceId) -> Result<bool> {
        let Some(collection) = self.context.state.numbered(blueprint) else { return Ok(false) };
        let visibility = Visibility::of_writer(self.access, &collection.blueprint, self.overlay.now);
        let meta = self.overlay.meta(blueprint, id)?;
        Ok(meta.is_some_and(|meta| visibility.shows(meta.published)))
    }

    /// Returns the found resources that no longer refer to `id` once the items before this one are applied, and `id`
    /// itself if it was found.
    fn no_longer(&mut self, referring: &Referrer<'_>, found: &ResultSet, id: ResourceId) -> Result<Vec<ResourceId>> {
        let blueprint = &referring.collection.blueprint;
        let written = self.overlay.resources_of(blueprint.number);
        let written: Vec<ResourceId> = written.filter(|written| found.contains(written.as_u128())).collect();
        self.check_count(written.len() as u64, || self.visible_referrers(referring, id, CONFLICT_IDS))?;
        self.released.count += written.len() as u64;
        let is_media = self.blueprint.kind == BlueprintKind::Media;
        let mut gone = Vec::new();
        for written in written {
            let is_kept = |release: &Release| release.edit.is_some() || is_media && !release.working.is_empty();
            if !self.nullify(referring, written, id)?.as_ref().is_some_and(is_kept) {
                gone.push(written);
            }
        }
        if blueprint.number == self.blueprint.number && found.contains(id.as_u128()) && !gone.contains(&id) {
            gone.push(id);
        }
        Ok(gone)
    }

    /// Returns the change that removes `target` from these fields of a resource, in all variants and in working copies;
    /// `None` if they do not hold it, or the resource is `target` itself.
    fn nullify(&self, referring: &Referrer<'_>, id: ResourceId, target: ResourceId) -> Result<Option<Release>> {
        let Collection { blueprint, change, .. } = &**referring.collection;
        if blueprint.number == self.blueprint.number && id == target {
            return Ok(None);
        }
        let Some(before) = self.overlay.meta(blueprint.number, id)? else { return Ok(None) };
        let mapping = IndexMapping { blueprint, next: change.as_ref().map(|change| &*change.next) };
        let mut edit = Edit::new(id, Some(before.clone()), before.clone());
        for version in before.known_copies(blueprint) {
            let mut values = self.overlay.values(blueprint, id, version)?;
            let fields = blueprint.fields.iter().zip(&mut values);
            let relations = fields.filter(|(field, _)| referring.fields.iter().any(|one| one.number == field.number));
            let removed = relations.map(|(_, value)| remove(value, target)).filter(|removed| *removed).count();
            if removed > 0 {
                let (attributes, columns) = (render_attributes(blueprint, &values), mapping.columns(&values));
                let (variant, number) = (version.variant, self.overlay.number);
                edit.copies.push(WrittenCopy { variant, number, attributes, columns });
            }
        }
        let mut working = Vec::new();
        for variant in before.working_variants(blueprint) {
            working.extend(self.released_copy(referring, id, &before, variant, target)?.map(|copy| (variant, copy)));
        }
        let edit = Some(edit).filter(|edit| !edit.copies.is_empty());
        Ok((edit.is_some() || !working.is_empty()).then_some(Release { id, edit, working }))
    }

    /// Returns the working copy of a variant without `target` in these fields; `None` if it stays as it is.
    fn released_copy(
        &self,
        referring: &Referrer<'_>,
        id: ResourceId,
        meta: &Meta,
        variant: u16,
        target: ResourceId,
    ) -> Result<Option<WorkingCopy>> {
        let blueprint = &referring.collection.blueprint;
        let Some(version) = meta.working_copy(variant) else { return Ok(None) };
        let before = self.overlay.working(blueprint, id, version)?;
        let live = self.overlay.values_of(blueprint, id, meta, variant)?;
        let live = live.unwrap_or_else(|| vec![Value::Null; blueprint.fields.len()]);
        let mut after = before.clone();
        for (field, live) in blueprint.fields.iter().zip(&live) {
            if referring.fields.iter().any(|one| one.number == field.number) {
                let mut live_after = live.clone();
                remove(&mut live_after, target);
                let remove_target = |value: &mut Value| {
                    remove(value, target);
                };
                after.follow(field, remove_target, live, &live_after);
            }
        }
        Ok((after != before).then_some(after))
    }
}

impl Release {
    /// Returns the number of bytes that are written for it.
    fn bytes(&self, blueprint: &Blueprint) -> Result<usize> {
        let live = self.edit.iter().flat_map(|edit| &edit.copies).map(|copy| copy.attributes.len());
        let mut bytes: usize = live.sum();
        for (_, working) in &self.working {
            bytes += working.encode(blueprint)?.attributes.len();
        }
        Ok(bytes)
    }
}

/// Takes a target out of the value of a relation. Returns whether it was there.
fn remove(value: &mut Value, target: ResourceId) -> bool {
    let is_target = |value: &Value| value.as_str().and_then(ResourceId::parse) == Some(target);
    match value {
        Value::Array(targets) => {
            let before = targets.len();
            targets.retain(|value| !is_target(value));
            targets.len() < before
        }
        value if is_target(value) => {
            *value = Value::Null;
            true
        }
        _ => false,
    }
}
