//! The target of a name in `filter` and `sort`: a system field or a column of the blueprint. Must not know operators.

use bindery_index::DateColumn;
use bindery_model::blueprint::Blueprint;

use crate::projection::{self, ColumnRef};

/// The target of a name.
#[derive(Debug)]
pub(super) enum Target<'a> {
    Id,
    Published,
    /// Whether the resource has a working copy.
    WorkingCopy,
    Date(DateColumn),
    Column(ColumnRef<'a>),
}

/// Resolves a name.
pub(super) fn resolve<'a>(blueprint: &'a Blueprint, name: &str) -> Option<Target<'a>> {
    match name {
        "id" => Some(Target::Id),
        "published" => Some(Target::Published),
        // A field of that name comes first.
        "working_copy" if blueprint.working_copy && blueprint.field(name).is_none() => Some(Target::WorkingCopy),
        "published_at" => Some(Target::Date(DateColumn::Published)),
        "created_at" => Some(Target::Date(DateColumn::Created)),
        "updated_at" => Some(Target::Date(DateColumn::Updated)),
        _ => projection::column(blueprint, name).map(Target::Column),
    }
}

/// Returns the names of all filterable fields, in the order in which messages list them.
pub(super) fn filterable(blueprint: &Blueprint) -> Vec<String> {
    let mut names = projection::column_names(blueprint);
    names.extend(["published", "published_at", "created_at", "updated_at", "id"].map(String::from));
    if blueprint.working_copy && blueprint.field("working_copy").is_none() {
        names.push("working_copy".to_owned());
    }
    names
}

/// Returns the names of all sortable fields, in the order in which messages list them.
pub(super) fn sortable(blueprint: &Blueprint) -> Vec<String> {
    let mut names = filterable(blueprint);
    names.retain(|name| !matches!(resolve(blueprint, name), Some(Target::Published | Target::WorkingCopy)));
    names
}
