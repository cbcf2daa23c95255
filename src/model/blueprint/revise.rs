//! Making and changing blueprints: which numbers fields and variants get, and what changed.

use super::draft::{Draft, FieldDraft, VariantDraft};
use super::{Blueprint, Field, Kind, Variant};
use crate::model::error::{Code, Error, Result};
use crate::model::time::Millis;

/// One change that a replacement makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlueprintChange {
    /// What happens.
    pub op: ChangeOp,
    /// The slug of a field, or the key of the body.
    pub field: String,
}

/// What happens to a field or a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // As in API.md 6.
pub enum ChangeOp {
    Add,
    Remove,
    Retype,
    Change,
    Reorder,
    Set,
}

impl ChangeOp {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeOp::Add => "add",
            ChangeOp::Remove => "remove",
            ChangeOp::Retype => "retype",
            ChangeOp::Change => "change",
            ChangeOp::Reorder => "reorder",
            ChangeOp::Set => "set",
        }
    }
}

impl Blueprint {
    /// A new blueprint.
    pub fn create(draft: &Draft, number: u32, now: Millis) -> Blueprint {
        let mut blueprint = Blueprint {
            number,
            revision: 1,
            shape: 1,
            next_field: 1,
            next_variant: 1,
            plain_variant: 0,
            slug: draft.slug.clone(),
            name: draft.name.clone(),
            kind: draft.kind.unwrap_or(Kind::Resource),
            icon: draft.icon.clone(),
            record_title: draft.record_title.clone(),
            variants: Vec::new(),
            seo: draft.seo.clone(),
            fields: Vec::new(),
            created_at: now,
            updated_at: now,
        };
        blueprint.variants = blueprint.number_variants(&draft.variants);
        for field in &draft.fields {
            let field = blueprint.number_field(field);
            blueprint.fields.push(field);
        }
        blueprint
    }

    /// The blueprint as a draft would have it, and what changes. Nothing changes, not even the revision, if the draft
    /// says what is there.
    ///
    /// # Errors
    /// `CONFLICT` for another kind: what one is cannot become the other.
    pub fn revise(&self, draft: &Draft, now: Millis) -> Result<(Blueprint, Vec<BlueprintChange>)> {
        if let Some(kind) = draft.kind.filter(|kind| *kind != self.kind) {
            let text = format!("the kind cannot be changed from `{}` to `{}`", self.kind.as_str(), kind.as_str());
            return Err(Error::new(Code::Conflict, text));
        }
        let mut next = Blueprint { revision: self.revision + 1, ..self.clone() };
        let mut changes = next.revise_fields(self, draft);
        next.name.clone_from(&draft.name);
        next.icon.clone_from(&draft.icon);
        next.record_title.clone_from(&draft.record_title);
        next.seo.clone_from(&draft.seo);
        next.variants = next.number_variants(&draft.variants);
        if self.variants.is_empty() != next.variants.is_empty() && next.variants.is_empty() {
            next.plain_variant = self.default_variant();
        }
        for (key, is_changed) in [
            ("name", next.name != self.name),
            ("icon", next.icon != self.icon),
            ("record_title", next.record_title != self.record_title),
            ("variants", next.variants != self.variants),
            ("seo", next.seo != self.seo),
        ] {
            if is_changed {
                changes.push(BlueprintChange { op: ChangeOp::Set, field: key.to_owned() });
            }
        }
        if changes.is_empty() {
            return Ok((self.clone(), changes));
        }
        next.updated_at = now.max(self.updated_at + 1);
        Ok((next, changes))
    }

    fn revise_fields(&mut self, current: &Blueprint, draft: &Draft) -> Vec<BlueprintChange> {
        let mut changes = Vec::new();
        let mut fields = Vec::with_capacity(draft.fields.len());
        let mut note = |op, slug: &str| changes.push(BlueprintChange { op, field: slug.to_owned() });
        for field in current.fields.iter().filter(|field| draft.fields.iter().all(|other| other.slug != field.slug)) {
            note(ChangeOp::Remove, &field.slug);
        }
        for field in &draft.fields {
            match current.field(&field.slug) {
                None => {
                    note(ChangeOp::Add, &field.slug);
                    fields.push(self.number_field(field));
                }
                Some(old) if old.kind.name() != field.kind.name() => {
                    note(ChangeOp::Retype, &field.slug);
                    fields.push(self.number_field(field));
                }
                Some(old) => {
                    let new = Field { number: old.number, since: old.since, ..self.field_of(field) };
                    if new != *old {
                        note(ChangeOp::Change, &field.slug);
                    }
                    fields.push(new);
                }
            }
        }
        let order = |fields: &[Field], others: &[Field]| -> Vec<u32> {
            let is_kept = |field: &&Field| others.iter().any(|other| other.number == field.number);
            fields.iter().filter(is_kept).map(|field| field.number).collect()
        };
        let before = order(&current.fields, &fields);
        let after = order(&fields, &current.fields);
        for (number, _) in after.iter().zip(&before).filter(|(after, before)| after != before) {
            if let Some(field) = fields.iter().find(|field| field.number == *number) {
                note(ChangeOp::Reorder, &field.slug);
            }
        }
        let numbers = |fields: &[Field]| fields.iter().map(|field| field.number).collect::<Vec<_>>();
        if numbers(&fields) != numbers(&current.fields) {
            self.shape = self.revision;
        }
        self.fields = fields;
        changes
    }

    fn number_field(&mut self, draft: &FieldDraft) -> Field {
        let number = self.next_field;
        self.next_field += 1;
        Field { number, ..self.field_of(draft) }
    }

    fn field_of(&self, draft: &FieldDraft) -> Field {
        let FieldDraft { name, slug, description, required, unique, kind } = draft.clone();
        Field { number: 0, since: self.revision, name, slug, description, required, unique, kind }
    }

    /// Variants of the draft with their numbers: a slug that is there keeps its own, and of a blueprint's first
    /// variants the default takes over the copy that is there.
    fn number_variants(&mut self, drafts: &[VariantDraft]) -> Vec<Variant> {
        let current = std::mem::take(&mut self.variants);
        let mut variants = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let kept = current.iter().find(|variant| variant.slug == draft.slug).map(|variant| variant.number);
            let number = match kept {
                Some(number) => number,
                None if current.is_empty() && draft.default => self.plain_variant,
                None => {
                    self.next_variant += 1;
                    self.next_variant - 1
                }
            };
            let VariantDraft { name, slug, default } = draft.clone();
            variants.push(Variant { number, name, slug, default });
        }
        variants
    }
}
