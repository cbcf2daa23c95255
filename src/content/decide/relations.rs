//! Relations and users: what a value names must exist, unless this field of this resource named it already.

use serde_json::Value;

use super::{Decider, Edit, Unresolved, decode_id, related_blueprint};
use crate::content::command::Faults;
use crate::model::blueprint::{Field, FieldType};
use crate::model::error::{Error, Result};
use crate::model::id::ResourceId;
use crate::model::sent::quote;
use crate::model::value;
use crate::projection;
use crate::store::Key;

/// What one target of a relation turned out to be.
enum Target {
    /// A resource of this id; an import may have named it by its key.
    Id(ResourceId),
    Missing,
}

impl Decider<'_, '_> {
    /// Checks the relations among the written values, and puts ids in the place of keys that an import used.
    pub(super) fn check_relations(
        &self,
        edit: &Edit,
        written: &[(usize, Value)],
        values: &mut [Value],
        entry: &mut Vec<(bindery_index::ColumnId, bindery_index::Value)>,
        faults: &mut Faults,
    ) -> Result<Option<Unresolved>> {
        let mut unresolved = None;
        for (place, value) in written {
            let field = &self.blueprint.fields[*place];
            let has_fault = faults.iter().any(|(slug, _)| *slug == field.slug);
            if has_fault || value.is_null() {
                continue;
            }
            if let FieldType::User { role } = &field.field_type {
                if let Some(fault) = self.user_fault(edit, *place, value, role.as_deref())? {
                    faults.push((field.slug.clone(), vec![fault]));
                }
                continue;
            }
            let Some(slug) = related_blueprint(field) else { continue };
            let (resolved, missing) = self.resolve(slug, value)?;
            if resolved != *value {
                // A key and an id may name the same resource.
                let options =
                    value::Options { sanitizer: self.scene.sanitizer, relations: value::Relations::IdsOrKeys };
                if let Err(found) = value::check(field, resolved.clone(), options) {
                    faults.push((field.slug.clone(), found));
                    continue;
                }
                values[*place] = resolved;
                let columns = projection::project(self.blueprint, [(*place, &values[*place])]);
                entry.retain(|(id, _)| columns.iter().all(|(column, _)| column != id));
                entry.extend(columns);
            }
            let missing = self.not_held(edit, *place, missing)?;
            if missing.is_empty() {
                continue;
            }
            unresolved = Some(Unresolved);
            if !edit.may_wait {
                faults.push((field.slug.clone(), vec![missing_text(field, slug, &missing)]));
            }
        }
        Ok(unresolved)
    }

    /// The value with ids for keys, and the targets that are not there.
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
        let Some(related) = self.scene.state.blueprints.get(slug) else { return Ok(Target::Missing) };
        let blueprint = related.blueprint.number;
        let is_own = blueprint == self.blueprint.number;
        if let Some(promise) = self.promised.get(text).filter(|_| is_own) {
            return Ok(Target::Id(promise.id));
        }
        if let Some(id) = ResourceId::parse(text) {
            let exists = self.working.get(&Key::Resource { blueprint, id })?.is_some();
            return Ok(if exists { Target::Id(id) } else { Target::Missing });
        }
        match self.working.get(&Key::ImportKey { blueprint, key: text.into() })? {
            Some(bytes) => Ok(Target::Id(decode_id(&bytes)?)),
            None => Ok(Target::Missing),
        }
    }

    /// Those of the targets that this field of this resource does not hold already, in any variant.
    fn not_held(&self, edit: &Edit, place: usize, mut missing: Vec<String>) -> Result<Vec<String>> {
        if missing.is_empty() {
            return Ok(missing);
        }
        for held in self.held(edit, place)? {
            missing.retain(|target| match &held {
                Value::Array(targets) => !targets.iter().any(|held| held == target.as_str()),
                held => held != target.as_str(),
            });
        }
        Ok(missing)
    }

    /// The values of a field in all copies that the resource has.
    fn held(&self, edit: &Edit, place: usize) -> Result<Vec<Value>> {
        let Some(meta) = &edit.before else { return Ok(Vec::new()) };
        let mut held = Vec::new();
        let known = self.blueprint.variant_numbers();
        for (variant, _) in meta.copies.iter().filter(|(variant, _)| known.contains(variant)) {
            if let Some(copy) = self.working.copy(self.blueprint.number, edit.id, meta, *variant)? {
                held.push(copy.values(self.blueprint).map_err(Error::internal)?.swap_remove(place));
            }
        }
        Ok(held)
    }

    fn user_fault(&self, edit: &Edit, place: usize, value: &Value, role: Option<&str>) -> Result<Option<String>> {
        let member = value.as_u64().and_then(|id| self.scene.state.members.get(&id));
        let fits = member.is_some_and(|member| member.fits(role));
        if fits || self.held(edit, place)?.contains(value) {
            return Ok(None);
        }
        Ok(Some(match (member, role) {
            (Some(_), Some(role)) => format!("the member {value} does not have the role `{role}`"),
            _ => format!("there is no member with the id {value}"),
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
