//! The differences between a blueprint and its next revision, as `?dry_run=true` lists it (`API.md` 4.9.5).

use std::collections::HashSet;

use super::types::Blueprint;

/// One difference between a blueprint and its next revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The kind of difference.
    pub op: DifferenceOp,
    /// A field's slug; for [`DifferenceOp::Set`] the body's key, and for [`DifferenceOp::Reorder`] `fields`.
    pub field: String,
}

/// The kind of difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceOp {
    /// The field is new.
    Add,
    /// The field is removed, with its values.
    Remove,
    /// The field has another type.
    Retype,
    /// The field has the same type and differs otherwise.
    Change,
    /// The fields that both revisions have are in another order.
    Reorder,
    /// Another part of the blueprint than its fields differs.
    Set,
}

impl DifferenceOp {
    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            DifferenceOp::Add => "add",
            DifferenceOp::Remove => "remove",
            DifferenceOp::Retype => "retype",
            DifferenceOp::Change => "change",
            DifferenceOp::Reorder => "reorder",
            DifferenceOp::Set => "set",
        }
    }
}

/// Returns the differences: removed fields, then added and changed fields in the order of the new fields, then the
/// order, then the other parts.
pub(super) fn differences(old: &Blueprint, new: &Blueprint) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut add = |op: DifferenceOp, field: &str| differences.push(Difference { op, field: field.to_owned() });
    let (known, kept) = (old.fields_by_slug(), new.fields_by_slug());
    for field in old.fields.iter().filter(|field| !kept.contains_key(field.slug.as_str())) {
        add(DifferenceOp::Remove, &field.slug);
    }
    for field in &new.fields {
        match known.get(field.slug.as_str()).copied() {
            None => add(DifferenceOp::Add, &field.slug),
            Some(known) if known.number != field.number => add(DifferenceOp::Retype, &field.slug),
            Some(known) if known != field => add(DifferenceOp::Change, &field.slug),
            Some(_) => {}
        }
    }
    if common_slugs(old, new) != common_slugs(new, old) {
        add(DifferenceOp::Reorder, "fields");
    }
    let parts = [
        ("name", old.name != new.name),
        ("kind", old.kind != new.kind),
        ("scheduled", old.scheduled != new.scheduled),
        ("icon", old.icon != new.icon),
        ("record_title", old.record_title != new.record_title),
        ("variants", old.variants != new.variants),
        ("seo", old.seo != new.seo),
        ("search", old.search != new.search),
        ("working_copy", old.working_copy != new.working_copy),
        ("trash", old.trash != new.trash),
        ("history", old.history != new.history),
    ];
    for (key, _) in parts.iter().filter(|(_, differs)| *differs) {
        add(DifferenceOp::Set, key);
    }
    differences
}

/// Returns the slugs of the fields that both blueprints have, in the order of `one`.
fn common_slugs<'a>(one: &'a Blueprint, other: &Blueprint) -> Vec<&'a str> {
    let others: HashSet<&str> = other.fields.iter().map(|field| field.slug.as_str()).collect();
    one.fields.iter().map(|field| field.slug.as_str()).filter(|slug| others.contains(slug)).collect()
}
