//! `sort` (`API.md` 4.7). Must not know how values are compared.

use bindery_index::{DateColumn, FallbackColumn, SortBy, SortKey};
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;

use super::message::quoted_list;
use super::name::{self, Target};
use super::nearest::with_nearest;
use super::raw::RawParams;
use crate::projection::{self, ColumnRef};

/// The most sort keys. Each costs time and memory for every resource.
const MAX_KEYS: usize = 8;

/// The default order of a list.
pub(super) const NEWEST_FIRST: SortKey = SortKey { by: SortBy::Date(DateColumn::Created), descending: true };

/// Returns the requested order, or `default`. `fallback` is the variant whose values are compared where the requested
/// variant is null.
///
/// # Errors
/// `INVALID_SORT`; `INVALID_PARAMETER` if `sort` is given twice.
pub(super) fn parse(
    params: &RawParams,
    blueprint: &Blueprint,
    fallback: Option<u16>,
    default: SortKey,
) -> Result<Vec<SortKey>, Error> {
    let Some(sort) = params.single("sort")? else { return Ok(vec![default]) };
    let count = sort.split(',').count();
    if count > MAX_KEYS {
        return Err(Error::new(Code::InvalidSort, format!("`sort` has {count} keys; it must have at most {MAX_KEYS}")));
    }
    let mut names = Vec::with_capacity(count);
    let mut keys = Vec::with_capacity(count);
    for entry in sort.split(',') {
        let (name, descending) = entry.strip_prefix('-').map_or((entry, false), |name| (name, true));
        let by = by(blueprint, name, fallback).ok_or_else(|| unknown(name, sort, blueprint))?;
        if names.contains(&name) {
            let message = format!("`sort` names {} more than once; name each field once", quote(name));
            return Err(Error::new(Code::InvalidSort, message));
        }
        names.push(name);
        keys.push(SortKey { by, descending });
    }
    Ok(keys)
}

/// Returns the values that a sortable name stands for; `None` if it is not sortable.
pub(super) fn by(blueprint: &Blueprint, name: &str, fallback: Option<u16>) -> Option<SortBy> {
    match name::resolve(blueprint, name)? {
        Target::Id => Some(SortBy::Id),
        Target::Date(date) => Some(SortBy::Date(date)),
        Target::Column(ColumnRef { field, id: column, .. }) => Some(match fallback {
            None => SortBy::Column(column),
            // A part belongs to an object that falls back as a whole, so the whole field decides.
            Some(variant) => {
                SortBy::ColumnOr(FallbackColumn { column, unless_null: projection::column_of(field), variant })
            }
        }),
        Target::Published | Target::WorkingCopy => None,
    }
}

fn unknown(name: &str, sort: &str, blueprint: &Blueprint) -> Error {
    let problem = match name {
        "" => format!("`sort` is {}, which has an empty entry.", quote(sort)),
        _ => with_nearest(&format!("there is no sortable field {}", quote(name)), name, name::sortable(blueprint)),
    };
    let names = quoted_list(name::sortable(blueprint));
    let message = format!("{problem} Sortable fields, with `-` in front for descending order: {names}");
    Error::new(Code::InvalidSort, message)
}
