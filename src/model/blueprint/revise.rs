//! Making a blueprint from a draft, and the next revision of one in force (`API.md` 4.9.3).
//!
//! Owns the numbers: a field keeps its number as long as it keeps slug and type, a variant as long as it keeps its slug.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::super::time::Millis;
use super::draft::{Draft, DraftField, DraftVariant};
use super::{Blueprint, Field, Kind, Variant};

/// One difference between a blueprint and its next revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlueprintChange {
    /// What is done.
    pub op: ChangeOp,
    /// A field's slug, or for [`ChangeOp::Set`] the body's key; `fields` for [`ChangeOp::Reorder`].
    pub field: String,
}

/// What a change does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOp {
    /// The field is new.
    Add,
    /// The field goes, and its values with it.
    Remove,
    /// The field has another type.
    Retype,
    /// The field has the same type and is otherwise different.
    Change,
    /// The fields that stay are in another order.
    Reorder,
    /// Another part of the blueprint than its fields is different.
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
    /// The first revision of a blueprint, made from the draft.
    pub fn create(draft: Draft, number: u32, now: Millis) -> Blueprint {
        let empty = Blueprint {
            number,
            revision: 0,
            shape: 0,
            next_field: 1,
            next_variant: 1,
            plain_variant: 0,
            filled: 0,
            slug: draft.slug.clone(),
            name: String::new(),
            kind: Kind::Resource,
            icon: None,
            record_title: None,
            variants: Vec::new(),
            seo: None,
            fields: Vec::new(),
            created_at: now,
            updated_at: now,
        };
        let mut blueprint = empty.next(draft, now);
        blueprint.updated_at = now;
        blueprint
    }

    /// The next revision, made from the draft, and what is different; nothing is if there are no changes, but the
    /// revision and `updated_at`.
    pub fn revise(&self, draft: Draft, now: Millis) -> (Blueprint, Vec<BlueprintChange>) {
        let next = self.next(draft, now);
        let changes = changes(self, &next);
        (next, changes)
    }

    fn next(&self, draft: Draft, now: Millis) -> Blueprint {
        let mut next = self.clone();
        next.revision += 1;
        next.updated_at = now.max(self.updated_at + 1);
        next.slug = draft.slug;
        next.name = draft.name;
        next.kind = draft.kind.unwrap_or(self.kind);
        next.icon = draft.icon;
        next.record_title = draft.record_title;
        next.seo = draft.seo;
        next.fields = draft.fields.into_iter().map(|field| self.number_field(field, &mut next.next_field)).collect();
        // A field that is new counts from the revision it comes with. One that is re-typed keeps its values.
        for field in &mut next.fields {
            if self.field(&field.slug).is_none() {
                field.since = next.revision;
            }
        }
        let numbers = |fields: &[Field]| fields.iter().map(|field| field.number).collect::<Vec<_>>();
        if numbers(&next.fields) != numbers(&self.fields) {
            next.shape = next.revision;
        }
        self.number_variants(draft.variants, &mut next);
        next
    }

    fn number_field(&self, field: DraftField, next_field: &mut u32) -> Field {
        let mut next_number = || {
            *next_field += 1;
            *next_field - 1
        };
        let named = self.field(&field.slug);
        let known = named.filter(|known| known.kind.name() == field.kind.name());
        let numbers = FieldNumbers {
            number: known.map_or_else(&mut next_number, |known| known.number),
            since: named.map_or(0, |named| named.since),
            claims: field.unique.then(|| known.and_then(|known| known.claims).unwrap_or_else(next_number)),
        };
        field.numbered(numbers)
    }

    /// The first variants: what is there becomes the default's copy. The last ones going: the default's copy stays.
    fn number_variants(&self, variants: Vec<DraftVariant>, next: &mut Blueprint) {
        if variants.is_empty() {
            next.plain_variant = self.default_variant();
        }
        let were_there = !self.variants.is_empty();
        next.variants.clear();
        for variant in variants {
            let number = match self.variants.iter().find(|known| known.slug == variant.slug) {
                Some(known) => known.number,
                None if variant.default && !were_there => self.plain_variant,
                None => {
                    next.next_variant += 1;
                    next.next_variant - 1
                }
            };
            next.variants.push(variant.numbered(number));
        }
    }
}

/// What a field has that no draft says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FieldNumbers {
    pub(super) number: u32,
    pub(super) since: u64,
    pub(super) claims: Option<u32>,
}

impl FieldNumbers {
    /// Those of a field.
    pub(super) fn of(field: &Field) -> FieldNumbers {
        FieldNumbers { number: field.number, since: field.since, claims: field.claims }
    }
}

impl DraftField {
    /// The field with its numbers.
    pub(super) fn numbered(self, numbers: FieldNumbers) -> Field {
        let FieldNumbers { number, since, claims } = numbers;
        Field {
            number,
            since,
            name: self.name,
            slug: self.slug,
            description: self.description,
            required: self.required,
            claims,
            kind: self.kind,
        }
    }
}

impl DraftVariant {
    /// The variant with its number.
    pub(super) fn numbered(self, number: u16) -> Variant {
        Variant { number, name: self.name, slug: self.slug, default: self.default }
    }
}

/// Removals, then additions and changes in the order of the new fields, then the order, then the rest.
fn changes(old: &Blueprint, new: &Blueprint) -> Vec<BlueprintChange> {
    let mut changes = Vec::new();
    let mut tell = |op: ChangeOp, field: &str| changes.push(BlueprintChange { op, field: field.to_owned() });
    for field in old.fields.iter().filter(|field| new.field(&field.slug).is_none()) {
        tell(ChangeOp::Remove, &field.slug);
    }
    for field in &new.fields {
        match old.field(&field.slug) {
            None => tell(ChangeOp::Add, &field.slug),
            Some(known) if known.number != field.number => tell(ChangeOp::Retype, &field.slug),
            Some(known) if known != field => tell(ChangeOp::Change, &field.slug),
            Some(_) => {}
        }
    }
    if common_slugs(old, new) != common_slugs(new, old) {
        tell(ChangeOp::Reorder, "fields");
    }
    let parts = [
        ("name", old.name != new.name),
        ("kind", old.kind != new.kind),
        ("icon", old.icon != new.icon),
        ("record_title", old.record_title != new.record_title),
        ("variants", old.variants != new.variants),
        ("seo", old.seo != new.seo),
    ];
    for (key, _) in parts.iter().filter(|(_, differs)| *differs) {
        tell(ChangeOp::Set, key);
    }
    changes
}

/// The slugs of the fields that both have, in the order of the first.
fn common_slugs<'a>(one: &'a Blueprint, other: &Blueprint) -> Vec<&'a str> {
    let others: HashSet<&str> = other.fields.iter().map(|field| field.slug.as_str()).collect();
    one.fields.iter().map(|field| field.slug.as_str()).filter(|slug| others.contains(slug)).collect()
}

#[cfg(test)]
mod tests;
