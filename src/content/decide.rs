//! Decides changes of resources against the state: existence, versions, merges, relations, unique values.
//!
//! Runs on the committer's thread, so nothing here can race. What does not depend on the state was checked before.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::content::change::Pending;
use crate::content::command::{
    CopyDraft, Effect, Extent, Faults, IfMatch, Item, ItemOutcome, Publication, Write, Written,
};
use crate::content::record::{Copy, Meta, render_attributes};
use crate::content::state::State;
use crate::content::working::Working;
use crate::model::blueprint::{Blueprint, BlueprintKind, Field};
use crate::model::error::{Code, Error, Result};
use crate::model::id::ResourceId;
use crate::model::sent::quote;
use crate::model::value;
use crate::projection;
use crate::sanitize::Sanitizer;
use crate::store::Key;

pub(crate) mod import;
mod relations;
mod successor;
mod unique;

pub(crate) use unique::unique_text;

/// What a write is decided with, beside the state that it changes.
pub(crate) struct Scene<'a> {
    /// The blueprints that relations go to, and the members that `user` fields may name.
    pub(crate) state: &'a State,
    /// For values that a changed blueprint would take as another type.
    pub(crate) sanitizer: &'a Sanitizer,
}

/// Decides the items of a write one after another, each against what the ones before it left.
///
/// Returns the outcome of each, and what the index has to change.
pub(crate) fn decide_write(
    scene: &Scene<'_>,
    working: &mut Working<'_>,
    write: Write,
) -> (Vec<ItemOutcome>, Vec<bindery_index::IndexOp>) {
    let blueprint = &*write.blueprint;
    let mut decider = Decider::new(scene, blueprint, working);
    let outcomes = if write.items.iter().any(import::is_last_try) {
        decider.decide_together(&write.items)
    } else {
        write.items.into_iter().map(|item| decider.decide(item)).collect()
    };
    (outcomes, decider.index)
}

struct Decider<'a, 'b> {
    scene: &'a Scene<'a>,
    blueprint: &'a Blueprint,
    /// The change of the blueprint that is under way.
    pending: Option<&'a Pending>,
    working: &'a mut Working<'b>,
    index: Vec<bindery_index::IndexOp>,
    /// The names of items of this write that wait for a later one.
    waiting: HashSet<String>,
    /// Ids and keys that items of this write bring, with the ids that they will have.
    promised: HashMap<String, import::Promise>,
}

/// A resource's state before and after an item.
struct Edit {
    id: ResourceId,
    before: Option<Meta>,
    after: Meta,
    /// The written copies: variant, attributes, entry.
    copies: Vec<WrittenCopy>,
    removes: Vec<Key>,
    puts: Vec<(Key, Vec<u8>)>,
    /// Whether a relation to what is not there makes the item wait instead of fail.
    may_wait: bool,
    /// Whether `after.updated` was given and is kept, also if it is the date of before.
    keeps_updated: bool,
}

impl Edit {
    fn new(id: ResourceId, before: Option<Meta>, after: Meta) -> Self {
        let (copies, removes, puts) = (Vec::new(), Vec::new(), Vec::new());
        Edit { id, before, after, copies, removes, puts, may_wait: false, keeps_updated: false }
    }
}

struct WrittenCopy {
    variant: u16,
    attributes: String,
    entry: Vec<(bindery_index::ColumnId, bindery_index::Value)>,
}

impl<'a, 'b> Decider<'a, 'b> {
    fn new(scene: &'a Scene<'a>, blueprint: &'a Blueprint, working: &'a mut Working<'b>) -> Self {
        let pending = scene.state.blueprints.get(&blueprint.slug).and_then(|collection| collection.pending.as_deref());
        let (waiting, promised) = (HashSet::new(), HashMap::new());
        Decider { scene, blueprint, pending, working, index: Vec::new(), waiting, promised }
    }

    fn decide(&mut self, item: Item) -> ItemOutcome {
        let result = match item {
            Item::Refused(error) => Err(error),
            Item::Create { copy, published } => self.create(copy, published),
            Item::Update { id, copy, published, may_publish, if_match, refusal, faults } => {
                self.load(id).and_then(|before| {
                    check_match(self.blueprint, &before, if_match.as_ref())?;
                    refusal.map_or(Ok(()), Err)?;
                    self.update(id, before, copy, published, may_publish, faults)
                })
            }
            Item::Delete { id, if_match } => self.delete(id, if_match.as_ref()),
            Item::Import(item) => return self.import(item),
        };
        match result {
            Ok(written) => ItemOutcome::Done(written),
            Err(error) => ItemOutcome::Failed(error),
        }
    }

    fn create(&mut self, copy: CopyDraft, published: Option<i64>) -> Result<Written> {
        let after = self.new_meta(published);
        self.write_new(after, vec![copy], Faults::new())
    }

    fn new_meta(&self, published: Option<i64>) -> Meta {
        let now = self.working.now;
        Meta { version: self.working.number, created: now, updated: now, published, copies: Vec::new(), key: None }
    }

    fn write_new(&mut self, after: Meta, copies: Vec<CopyDraft>, faults: Faults) -> Result<Written> {
        let id = self.working.new_id()?;
        let mut edit = Edit::new(id, None, after);
        self.write_copies(&mut edit, copies, faults, Requires::Values)?;
        Ok(self.commit(edit))
    }

    fn update(
        &mut self,
        id: ResourceId,
        before: Meta,
        copy: Option<CopyDraft>,
        published: Publication,
        may_publish: bool,
        faults: Faults,
    ) -> Result<Written> {
        let mut after = before.clone();
        after.published = published.apply(before.published, self.working.now);
        let changes_state = after.published.is_some() != before.published.is_some();
        let mut edit = Edit::new(id, Some(before), after);
        self.write_copies(&mut edit, copy.into_iter().collect(), faults, Requires::Values)?;
        if changes_state && !may_publish {
            return Err(needs_publish());
        }
        Ok(self.commit(edit))
    }

    fn delete(&mut self, id: ResourceId, if_match: Option<&IfMatch>) -> Result<Written> {
        let meta = self.load(id)?;
        check_match(self.blueprint, &meta, if_match)?;
        if self.blueprint.kind == BlueprintKind::Singular {
            return Err(singular(self.blueprint, "it cannot be deleted"));
        }
        for key in self.unique_keys_of(id, &meta)? {
            self.working.remove(key);
        }
        let blueprint = self.blueprint.number;
        if let Some(key) = &meta.key {
            self.working.remove(Key::ImportKey { blueprint, key: key.as_str().into() });
        }
        for (variant, number) in meta.copies.iter().copied() {
            self.working.supersede(Key::Copy { blueprint, id, variant, number });
        }
        self.working.remove(Key::Resource { blueprint, id });
        self.index.push(bindery_index::IndexOp::Delete { id: id.as_u128() });
        Ok(Written { id, effect: Effect::Deleted, meta })
    }

    fn load(&self, id: ResourceId) -> Result<Meta> {
        self.working.meta(self.blueprint.number, id)?.ok_or_else(|| no_resource(self.blueprint, &id.to_string()))
    }

    /// Merges what is written into the copies, and checks what depends on the state. All faults are told at once.
    fn write_copies(
        &mut self,
        edit: &mut Edit,
        copies: Vec<CopyDraft>,
        mut faults: Faults,
        requires: Requires,
    ) -> Result<Option<Unresolved>> {
        let mut unresolved = None;
        let mut refused = Faults::new();
        for mut draft in copies {
            let variant = draft.variant;
            let current = match &edit.before {
                Some(meta) => self.working.copy(self.blueprint.number, edit.id, meta, variant)?,
                None => None,
            };
            let current = current.map(|copy| copy.values(self.blueprint).map_err(Error::internal)).transpose()?;
            let (mut values, mut entry) = self.merge(current.as_deref(), &draft);
            let mut copy_faults = std::mem::take(&mut draft.faults);
            if requires == Requires::Values {
                self.check_required(&values, &mut copy_faults);
            }
            if let Some(missing) =
                self.check_relations(edit, &draft.values, &mut values, &mut entry, &mut copy_faults)?
            {
                unresolved = Some(missing);
            }
            self.check_unique(edit, variant, current.as_deref(), &values, &mut copy_faults)?;
            faults.extend(copy_faults);
            if unresolved.is_none() {
                refused.extend(self.check_successor(edit, &draft, current.as_deref(), &values, requires)?);
            }
            let is_change = match &current {
                Some(current) => *current != values,
                // A copy that was never written holds nulls.
                None => values.iter().any(|value| !value.is_null()),
            };
            if is_change {
                let attributes = render_attributes(self.blueprint, &values);
                entry.extend(self.columns_of_successor(&values));
                edit.copies.push(WrittenCopy { variant, attributes, entry });
            }
        }
        if !faults.is_empty() {
            return Err(Error::validation(merge_faults(self.blueprint, faults)));
        }
        if !refused.is_empty() {
            return Err(successor::refused(self.blueprint, merge_faults(self.blueprint, refused)));
        }
        Ok(unresolved)
    }

    /// The values of the copy that results, in the blueprint's order, and its index entry.
    fn merge(
        &self,
        current: Option<&[Value]>,
        draft: &CopyDraft,
    ) -> (Vec<Value>, Vec<(bindery_index::ColumnId, bindery_index::Value)>) {
        let kept = current.filter(|_| draft.extent == Extent::Partial);
        let mut values = kept.map_or_else(|| vec![Value::Null; self.blueprint.fields.len()], <[Value]>::to_vec);
        let mut entry = draft.entry.clone();
        if kept.is_some() {
            let is_written = |place: usize| draft.values.iter().any(|(written, _)| *written == place);
            let unwritten = values.iter().enumerate().filter(|(place, _)| !is_written(*place));
            entry.extend(projection::project(self.blueprint, unwritten));
        }
        for (place, value) in &draft.values {
            values[*place] = value.clone();
        }
        (values, entry)
    }

    fn check_required(&self, values: &[Value], faults: &mut Faults) {
        let missing = value::required_errors(self.blueprint, values);
        let is_new = |slug: &str| faults.iter().all(|(other, _)| other != slug);
        let new: Faults = missing.into_iter().filter(|(slug, _)| is_new(slug)).collect();
        faults.extend(new);
    }

    /// Puts an edit into the working state and the index. An edit that changes nothing leaves no trace.
    fn commit(&mut self, edit: Edit) -> Written {
        let Edit { id, before, mut after, copies, removes, puts, may_wait: _, keeps_updated } = edit;
        let number = self.working.number;
        let is_new = before.is_none();
        let is_change = match &before {
            None => true,
            Some(before) => {
                !copies.is_empty()
                    || before.published != after.published
                    || before.key != after.key
                    || before.created != after.created
                    || before.updated != after.updated
            }
        };
        if !is_change {
            return Written { id, effect: Effect::Updated, meta: after };
        }
        let blueprint = self.blueprint.number;
        after.version = number;
        if let Some(before) = &before
            && after.updated == before.updated
            && !keeps_updated
        {
            after.updated = self.working.now.max(before.updated + 1);
        }
        for key in removes {
            self.working.remove(key);
        }
        // Copies of variants that the blueprint no longer has go with the first change after it.
        let known = self.blueprint.variant_numbers();
        for (variant, number) in after.copies.extract_if(.., |(variant, _)| !known.contains(variant)) {
            self.working.supersede(Key::Copy { blueprint, id, variant, number });
        }
        for (key, value) in puts {
            self.working.put(key, value);
        }
        let mut index_copies = Vec::with_capacity(copies.len());
        for WrittenCopy { variant, attributes, entry } in copies {
            if let Some(old) = after.set_copy(variant, number)
                && old != number
            {
                self.working.supersede(Key::Copy { blueprint, id, variant, number: old });
            }
            let record = Copy { revision: self.blueprint.revision, attributes };
            self.working.put(Key::Copy { blueprint, id, variant, number }, record.encode());
            index_copies.push((variant, Some(bindery_index::Copy { number, values: entry })));
        }
        self.working.put(Key::Resource { blueprint, id }, after.encode());
        self.index.push(bindery_index::IndexOp::Put { id: id.as_u128(), stamps: after.stamps(), copies: index_copies });
        Written { id, effect: if is_new { Effect::Created } else { Effect::Updated }, meta: after }
    }
}

/// Whether a write asks for the required fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Requires {
    Values,
    Nothing,
}

/// Some relation of an import goes to what is not there yet.
struct Unresolved;

/// `PRECONDITION_FAILED` unless the resource is at one of the versions.
pub(crate) fn check_match(blueprint: &Blueprint, meta: &Meta, if_match: Option<&IfMatch>) -> Result<()> {
    match if_match {
        Some(tags) if !tags.contains(&(meta.version, blueprint.revision)) => Err(Error::new(
            Code::PreconditionFailed,
            "the resource is no longer at the version that `If-Match` names; read it again and repeat the change",
        )),
        _ => Ok(()),
    }
}

/// `FORBIDDEN` for a change between draft and published.
pub(crate) fn needs_publish() -> Error {
    let text = "publishing or unpublishing needs the ability `publish`, which this token lacks";
    Error::new(Code::Forbidden, text)
}

/// `SINGULAR_RESOURCE` for a create. What a blueprint is never changes, so this is known before the state is.
pub(crate) fn no_second(blueprint: &Blueprint) -> Error {
    singular(blueprint, "a second one cannot be created: change the one that is there")
}

/// `NOT_FOUND` for a resource.
pub(crate) fn no_resource(blueprint: &Blueprint, id: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no resource {} of the blueprint `{}`", quote(id), blueprint.slug))
}

fn singular(blueprint: &Blueprint, what: &str) -> Error {
    let slug = &blueprint.slug;
    Error::new(Code::SingularResource, format!("`{slug}` is a singular blueprint with exactly one resource: {what}"))
}

pub(crate) fn decode_id(bytes: &[u8]) -> Result<ResourceId> {
    let bytes: [u8; 16] = bytes.try_into().map_err(|_| Error::internal("a stored id of the wrong length"))?;
    Ok(ResourceId::from_u128(u128::from_be_bytes(bytes)))
}

/// One entry a field, in the blueprint's order, unknown names last.
fn merge_faults(blueprint: &Blueprint, faults: Faults) -> Faults {
    let mut merged = Faults::new();
    for (field, texts) in faults {
        match merged.iter_mut().find(|(other, _)| *other == field) {
            Some((_, all)) => {
                for text in texts {
                    if !all.contains(&text) {
                        all.push(text);
                    }
                }
            }
            None => merged.push((field, texts)),
        }
    }
    let place = |slug: &str| blueprint.fields.iter().position(|field| field.slug == slug).unwrap_or(usize::MAX);
    merged.sort_by_key(|(field, _)| place(field));
    merged
}

/// Whether a field's values relate to other resources.
pub(crate) fn related_blueprint(field: &Field) -> Option<&str> {
    field.related_blueprint()
}
