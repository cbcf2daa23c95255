//! Relations and users: a value may name only existing resources and members, except names that the same field of this
//! resource already holds.
//!
//! Resources that the writer must not know about do not exist for it: the error is the same, word for word.

use std::borrow::Cow;

use bindery_model::blueprint::{Blueprint, BlueprintKind, Field, FieldType};
use bindery_model::error::{FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::sent::quote;
use bindery_model::value;
use bindery_query::projection;
use bindery_store::Key;
use serde_json::Value;

use super::decider::{Decider, Edit, HeldNames, Relations};
use crate::command::{CopyDraft, MissingTargets};
use crate::data::index_mapping::Columns;
use crate::data::lookup::Lookup;
use crate::data::state::Collection;
use crate::data::visibility::may_relate_to;

/// The resource that a target of a relation names.
enum Target {
    /// The resource of this id. An import may name it by its key.
    Id(ResourceId),
    /// No existing resource.
    Missing,
}

/// The result of looking up a relation's value.
struct ResolvedRelation {
    /// The value with ids in the place of keys, if it had keys.
    resolved: Option<Value>,
    /// The targets that do not exist.
    missing: Vec<String>,
}

impl Decider<'_, '_> {
    /// Checks the relations among the written values, and replaces keys that an import used by ids.
    pub(super) fn resolve_relations(
        &self,
        edit: &mut Edit,
        draft: &CopyDraft,
        values: &mut [Cow<'_, Value>],
        columns: &mut Columns,
        errors: &mut FieldErrors,
    ) -> Result<Relations> {
        let mut relations = Relations::Resolved;
        for written in &draft.values {
            let (position, value) = (written.position, &written.value);
            let field = &self.blueprint.fields[position];
            if errors.has(&field.slug) || value.is_null() {
                continue;
            }
            if let FieldType::User { role } = &field.field_type {
                if let Some(error) = self.user_error(edit, position, value, role.as_deref())? {
                    errors.push((field.slug.clone(), vec![error]));
                }
                continue;
            }
            let Some(slug) = field.related_blueprint() else { continue };
            let ResolvedRelation { resolved, missing } = self.look_up(slug, value, edit.relations)?;
            if let Some(resolved) = resolved {
                // Checked again: a key and an id may name the same resource, which then is named twice.
                let options =
                    value::Options { sanitizer: self.context.sanitizer, relations: value::Relations::IdsOrKeys };
                if let Err(found) = value::check(field, resolved.clone(), options) {
                    errors.push((field.slug.clone(), found));
                    continue;
                }
                let resolved_columns = projection::project(self.blueprint, [(position, &resolved)]);
                columns.retain(|(id, _)| resolved_columns.iter().all(|(column, _)| column != id));
                columns.extend(resolved_columns);
                values[position] = Cow::Owned(resolved);
            }
            let missing = self.not_held(edit, position, missing)?;
            if missing.is_empty() {
                continue;
            }
            relations = Relations::Unresolved;
            if matches!(self.missing_targets, MissingTargets::Refuse) {
                errors.push((field.slug.clone(), vec![missing_text(field, slug, &missing)]));
            }
        }
        Ok(relations)
    }

    fn look_up(&self, slug: &str, value: &Value, named_by: value::Relations) -> Result<ResolvedRelation> {
        let targets = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let mut found = Vec::with_capacity(targets.len());
        let mut missing = Vec::new();
        let mut has_keys = false;
        for target in targets {
            let text = target.as_str().unwrap_or_default();
            found.push(match self.find_target(slug, text, named_by)? {
                Target::Id(id) => {
                    has_keys |= ResourceId::parse(text) != Some(id);
                    Some(id)
                }
                Target::Missing => {
                    missing.push(text.to_owned());
                    None
                }
            });
        }
        let resolved = has_keys.then(|| {
            let resolve = |(target, id): (&Value, Option<ResourceId>)| {
                id.map_or_else(|| target.clone(), |id| Value::String(id.to_string()))
            };
            let mut resolved = targets.iter().zip(found).map(resolve);
            if value.is_array() { Value::Array(resolved.collect()) } else { resolved.next().unwrap_or_default() }
        });
        Ok(ResolvedRelation { resolved, missing })
    }

    fn find_target(&self, slug: &str, text: &str, named_by: value::Relations) -> Result<Target> {
        let Some(collection) = self.context.state.blueprints.get(slug) else { return Ok(Target::Missing) };
        let blueprint = collection.blueprint.number;
        let promise = self.promised.get(text).filter(|_| blueprint == self.blueprint.number).map(|promise| promise.id);
        // A name of the form of an id is one if it exists, and a key otherwise: other systems have keys of that form.
        if let Some(id) = ResourceId::parse(text).filter(|&id| promise != Some(id))
            && let Some(target) = self.stored_target(collection, id)?
        {
            return Ok(target);
        }
        if let Some(id) = promise {
            return Ok(Target::Id(id));
        }
        let known = match named_by {
            value::Relations::Ids => None,
            value::Relations::IdsOrKeys => self.imported_target(&collection.blueprint, text)?,
        };
        let Some(id) = known else { return Ok(Target::Missing) };
        Ok(self.stored_target(collection, id)?.unwrap_or(Target::Missing))
    }

    /// Returns the resource that a relation of an import names by its key. The resource of a singular blueprint has
    /// another id on each server, so an id that does not exist here, such as that of an export, means this one.
    fn imported_target(&self, related: &Blueprint, text: &str) -> Result<Option<ResourceId>> {
        let known = self.overlay.known_under(related.number, text)?;
        if known.is_none() && related.kind == BlueprintKind::Singular && ResourceId::parse(text).is_some() {
            return self.overlay.singular(related.number);
        }
        Ok(known)
    }

    /// Returns the target of an id as the writer may know it; `None` if no resource has it.
    fn stored_target(&self, collection: &Collection, id: ResourceId) -> Result<Option<Target>> {
        let related = &*collection.blueprint;
        let blueprint = related.number;
        // The snapshot is the one before the group. It is in memory, unlike the store, which matters because a body
        // may name very many resources.
        let published = match self.overlay.writes_of(&Key::Resource { blueprint, id }) {
            Some(_) => self.overlay.meta(blueprint, id)?.map(|target| target.published),
            None => collection.snapshot.get(id.as_u128()).map(|hit| hit.stamps.published),
        };
        let Some(published) = published else { return Ok(None) };
        let is_open = may_relate_to(self.access, related, published, self.overlay.now);
        Ok(Some(if is_open { Target::Id(id) } else { Target::Missing }))
    }

    /// Returns the targets that this field of this resource does not hold already, in any variant.
    fn not_held(&self, edit: &mut Edit, position: usize, mut missing: Vec<String>) -> Result<Vec<String>> {
        if !missing.is_empty()
            && let Some(held) = self.held(edit)?.get(&position)
        {
            missing.retain(|target| !held.contains(target));
        }
        Ok(missing)
    }

    /// Returns the names in the relation and user fields, over all copies of the resource. Read once for an edit.
    fn held<'e>(&self, edit: &'e mut Edit) -> Result<&'e HeldNames> {
        if edit.held.is_none() {
            edit.held = Some(self.read_held(edit)?);
        }
        Ok(edit.held.get_or_insert_default())
    }

    fn read_held(&self, edit: &Edit) -> Result<HeldNames> {
        let mut held = HeldNames::new();
        let Some(meta) = &edit.before else { return Ok(held) };
        for version in meta.known_copies(self.blueprint) {
            let values = self.overlay.values(self.blueprint, edit.id, version)?;
            for (position, (field, value)) in self.blueprint.fields.iter().zip(values).enumerate() {
                let names = field.related_blueprint().is_some() || matches!(field.field_type, FieldType::User { .. });
                if !names || value.is_null() {
                    continue;
                }
                let held = held.entry(position).or_default();
                match value {
                    Value::Array(targets) => held.extend(targets.into_iter().filter_map(text_of)),
                    value => held.extend(text_of(value)),
                }
            }
        }
        Ok(held)
    }

    fn user_error(
        &self,
        edit: &mut Edit,
        position: usize,
        value: &Value,
        role: Option<&str>,
    ) -> Result<Option<String>> {
        let member = value.as_u64().and_then(|id| self.context.state.members.get(&id));
        if member.is_some_and(|member| member.fits(role)) {
            return Ok(None);
        }
        let held = self.held(edit)?.get(&position);
        if held.is_some_and(|held| held.contains(&value.to_string())) {
            return Ok(None);
        }
        // The text is the same for a member with another role and for a missing one: a writer of resources need not
        // know the members.
        Ok(Some(match role {
            Some(role) => format!("there is no member with the id {value} and the role `{role}`"),
            None => format!("there is no member with the id {value}"),
        }))
    }
}

/// Returns a target, or the id of a member, as a text.
fn text_of(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

fn missing_text(field: &Field, slug: &str, missing: &[String]) -> String {
    let shown: Vec<String> = missing.iter().take(5).map(|id| quote(id)).collect();
    let and_more = if missing.len() > shown.len() { " and more" } else { "" };
    let what = match field.field_type {
        FieldType::References { .. } => "resources of the blueprint `{slug}` that exist",
        _ => "a resource of the blueprint `{slug}` that exists",
    };
    format!("must name {}: {}{and_more} not found", what.replace("{slug}", slug), shown.join(", "))
}
