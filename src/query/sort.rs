//! `sort` (`API.md` 4.7). Must not know how values are compared.

use bindery_index::{DateColumn, SortBy, SortKey};

use super::message::quoted_list;
use super::name::{self, Target};
use super::raw::RawParams;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Code, Error};
use crate::model::sent::quote;

const DEFAULT: SortKey = SortKey { by: SortBy::Date(DateColumn::Created), descending: true };

/// The requested order; newest first by default.
///
/// # Errors
/// `INVALID_SORT`; `INVALID_PARAMETER` if `sort` is given twice.
pub(super) fn parse(params: &RawParams, blueprint: &Blueprint) -> Result<Vec<SortKey>, Error> {
    match params.single("sort")? {
        None => Ok(vec![DEFAULT]),
        Some(sort) => sort.split(',').map(|entry| key(entry, sort, blueprint)).collect(),
    }
}

fn key(entry: &str, sort: &str, blueprint: &Blueprint) -> Result<SortKey, Error> {
    let (name, descending) = entry.strip_prefix('-').map_or((entry, false), |name| (name, true));
    let by = match name::resolve(blueprint, name) {
        Some(Target::Id) => SortBy::Id,
        Some(Target::Date(date)) => SortBy::Date(date),
        Some(Target::Column(column)) => SortBy::Column(column.id),
        Some(Target::Published) | None => return Err(unknown(name, sort, blueprint)),
    };
    Ok(SortKey { by, descending })
}

fn unknown(name: &str, sort: &str, blueprint: &Blueprint) -> Error {
    let problem = match name {
        "" => format!("`sort` is {}, which has an empty entry", quote(sort)),
        _ => format!("there is no sortable field {}", quote(name)),
    };
    let names = quoted_list(name::sortable(blueprint));
    let message = format!("{problem}. Sortable fields, with `-` in front for descending order: {names}");
    Error::new(Code::InvalidSort, message)
}
