//! Relations and users: what a value names must exist, unless this field of this resource names it already.
//!
//! What the writer must not know of does not exist for it: the answer is the same, word for word.

use serde_json::Value;

use super::decider::{Decider, Edit, Relations};
use crate::content::command::{CopyDraft, MissingTargets};
use crate::content::data::index_mapping::Columns;
use crate::content::data::lookup::Lookup;
use crate::content::data::records::decode_id;
use crate::content::data::sight::may_relate_to;
use crate::model::blueprint::{Field, FieldType};
use crate::model::error::{FieldErrors, Result};
use crate::model::id::ResourceId;
use crate::model::sent::quote;
use crate::model::value;
use crate::projection;
use crate::store::Key;

/// What a target of a relation names.
enum Target {
    /// The resource of this id. An import may name it by its key.
    Id(ResourceId),
    /// Nothing that exists.
    Missing,
}

impl Decider<'_, '_> {
    /// Checks the relations among the written values, and replaces keys that an import used by ids.
    pub(super) fn resolve_relations(
        &self,
        edit: &Edit,
        draft: &CopyDraft,
        values: &mut [Value],
        columns: &mut Columns,
        errors: &mut FieldErrors,
    ) -> Result<Relations> {
        let mut relations = Relations::Resolved;
        for written in &draft.values {
            let (position, value) = (written.position, &written.value);
            let field = &self.blueprint.fields[position];
            let has_error = errors.iter().any(|(slug, _)| *slug == field.slug);
            if has_error || value.is_null() {
                continue;
            }
            if let FieldType::User { role } = &field.field_type {
                if let Some(error) = self.user_error(edit, position, value, role.as_deref())? {
                    errors.push((field.slug.clone(), vec![error]));
                }
                continue;
            }
            let Some(slug) = field.related_blueprint() else { continue };
            let (resolved, missing) = self.resolve(slug, value)?;
            if resolved != *value {
                // Checked again: a key and an id may name the same resource, which then is named twice.
                let options =
                    value::Options { sanitizer: self.context.sanitizer, relations: value::Relations::IdsOrKeys };
                if let Err(found) = value::check(field, resolved.clone(), options) {
                    errors.push((field.slug.clone(), found));
                    continue;
                }
                values[position] = resolved;
                let resolved_columns = projection::project(self.blueprint, [(position, &values[position])]);
                columns.retain(|(id, _)| resolved_columns.iter().all(|(column, _)| column != id));
                columns.extend(resolved_columns);
            }
            let missing = self.not_held(edit, position, missing)?;
            if missing.is_empty() {
                continue;
            }
            relations = Relations::Unresolved;
            if edit.missing_targets == MissingTargets::Refuse {
                errors.push((field.slug.clone(), vec![missing_text(field, slug, &missing)]));
            }
        }
        Ok(relations)
    }

    /// The value with ids in the place of keys, and the targets that do not exist.
    fn resolve(&self, slug: &str, value: &Value) -> Result<(Value, Vec<String>)> {
        let mut missing = Vec::new();
        let mut one = |target: &Value| -> Result<Value> {
            let text = target.as_str().unwrap_or_default();
            match self.find_target(slug, text)? {
                Target::Id(id) => Ok(Value::String(id.to_string())),
                Target::Missing => {
                    missing.push(text.to_owned());
                    Ok(target.clone())
                }
            }
        };
        let resolved = match value {
            Value::Array(targets) => Value::Array(targets.iter().map(&mut one).collect::<Result<_>>()?),
            target => one(target)?,
        };
        Ok((resolved, missing))
    }

    fn find_target(&self, slug: &str, text: &str) -> Result<Target> {
        let Some(related) = self.context.state.blueprints.get(slug) else { return Ok(Target::Missing) };
        let related = &*related.blueprint;
        let blueprint = related.number;
        let is_own = blueprint == self.blueprint.number;
        if let Some(promise) = self.promised.get(text).filter(|_| is_own) {
            return Ok(Target::Id(promise.id));
        }
        if let Some(id) = ResourceId::parse(text) {
            let target = self.overlay.meta(blueprint, id)?;
            let is_known = target.is_some_and(|target| may_relate_to(self.access, related, target.published));
            return Ok(if is_known { Target::Id(id) } else { Target::Missing });
        }
        match self.overlay.get(&Key::ImportKey { blueprint, key: text.into() })? {
            Some(bytes) => Ok(Target::Id(decode_id(&bytes)?)),
            None => Ok(Target::Missing),
        }
    }

    /// Those of the targets that this field of this resource does not hold already, in any variant.
    fn not_held(&self, edit: &Edit, position: usize, mut missing: Vec<String>) -> Result<Vec<String>> {
        if missing.is_empty() {
            return Ok(missing);
        }
        for held in self.held(edit, position)? {
            missing.retain(|target| match &held {
                Value::Array(targets) => !targets.iter().any(|held| held == target.as_str()),
                held => held != target.as_str(),
            });
        }
        Ok(missing)
    }

    /// The values of a field in all copies of the resource.
    fn held(&self, edit: &Edit, position: usize) -> Result<Vec<Value>> {
        let Some(meta) = &edit.before else { return Ok(Vec::new()) };
        let mut held = Vec::new();
        for version in meta.known_copies(self.blueprint) {
            held.push(self.overlay.values(self.blueprint, edit.id, version)?.swap_remove(position));
        }
        Ok(held)
    }

    fn user_error(&self, edit: &Edit, position: usize, value: &Value, role: Option<&str>) -> Result<Option<String>> {
        let member = value.as_u64().and_then(|id| self.context.state.members.get(&id));
        let fits = member.is_some_and(|member| member.fits(role));
        if fits || self.held(edit, position)?.contains(value) {
            return Ok(None);
        }
        // One text for a member with another role and for none: who may write a resource need not know the members.
        Ok(Some(match role {
            Some(role) => format!("there is no member with the id {value} and the role `{role}`"),
            None => format!("there is no member with the id {value}"),
        }))
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
