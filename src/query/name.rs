//! What a name in `filter` and `sort` stands for: a system field or a column of the blueprint.

use bindery_index::DateColumn;

use crate::model::blueprint::Blueprint;
use crate::projection::{self, ColumnRef};

/// What a name stands for.
#[derive(Debug)]
pub(super) enum Target<'a> {
    Id,
    Published,
    Date(DateColumn),
    Column(ColumnRef<'a>),
}

/// The target of that name.
pub(super) fn resolve<'a>(blueprint: &'a Blueprint, name: &str) -> Option<Target<'a>> {
    match name {
        "id" => Some(Target::Id),
        "published" => Some(Target::Published),
        "published_at" => Some(Target::Date(DateColumn::Published)),
        "created_at" => Some(Target::Date(DateColumn::Created)),
        "updated_at" => Some(Target::Date(DateColumn::Updated)),
        _ => projection::column(blueprint, name).map(Target::Column),
    }
}

/// Everything that can be filtered, as messages list it.
pub(super) fn filterable(blueprint: &Blueprint) -> Vec<String> {
    let mut names = projection::column_names(blueprint);
    names.extend(["published", "published_at", "created_at", "updated_at", "id"].map(String::from));
    names
}

/// Everything that can be sorted by, as messages list it.
pub(super) fn sortable(blueprint: &Blueprint) -> Vec<String> {
    let mut names = filterable(blueprint);
    names.retain(|name| name != "published");
    names
}
