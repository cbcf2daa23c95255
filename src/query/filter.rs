//! `filter[…]` and `search` as a condition on resources (`API.md` 4.6): every operator on every type, groups, and
//! conditions on related resources.
//!
//! Must not know which columns a blueprint has (`name` does), which resources are related, or how a filter is
//! evaluated.

mod column;
mod condition;
mod date;
mod group;
mod operator;
mod scope;
mod tree;
mod value;

use bindery_index::{self as index, Anchor, Predicate};
use bindery_model::error::Error;

use self::condition::invalid;
use self::group::Group;
use super::raw::RawParams;
use super::strict;
use crate::projection;

pub use operator::{Fields, OPERATORS, Operand, Operator};
pub(super) use scope::Scope;
pub(super) use tree::copies_of;
pub use tree::{BlueprintLookup, Copies, Filter, Relation};
pub use value::split_list;

/// The most filters in a request.
const MAX_FILTERS: usize = 100;

/// Reads the conjunction of all filters and the search.
///
/// # Errors
/// `INVALID_FILTER`; `INVALID_PARAMETER` for a `search` that is given twice or is not valid UTF-8.
pub(super) fn parse(params: &RawParams, scope: &Scope<'_>) -> Result<Filter, Error> {
    conjunction(params, scope, &root(params, scope)?)
}

/// Like [`parse`], but without the ungrouped filters on `field`. Returns `None` if there are none.
///
/// # Errors
/// The errors of [`parse`].
pub(super) fn parse_without(params: &RawParams, scope: &Scope<'_>, field: &str) -> Result<Option<Filter>, Error> {
    let mut root = root(params, scope)?;
    let count = root.filters.len();
    root.filters.retain(|sent| sent.field != field);
    if root.filters.len() == count {
        return Ok(None);
    }
    conjunction(params, scope, &root).map(Some)
}

/// Returns the filters in their groups.
fn root<'a>(params: &'a RawParams, scope: &Scope<'_>) -> Result<Group<'a>, Error> {
    let filters = params.filters()?;
    if filters.len() > MAX_FILTERS {
        let message = format!("the request has {} filters; it must have at most {MAX_FILTERS}", filters.len());
        return Err(invalid(message));
    }
    let mut root = Group::default();
    for (parameter, value) in filters {
        root.add(parameter, value, scope.blueprint)?;
    }
    Ok(root)
}

fn conjunction(params: &RawParams, scope: &Scope<'_>, root: &Group<'_>) -> Result<Filter, Error> {
    let mut all = scope.conditions(root)?;
    all.extend(search(params, scope)?.map(Filter::Own));
    Ok(Filter::all(all))
}

/// Parses `search`: the text in any searchable field. An empty text filters nothing.
fn search(params: &RawParams, scope: &Scope<'_>) -> Result<Option<index::Filter>, Error> {
    let Some(text) = params.single("search")? else { return Ok(None) };
    let columns = projection::searchable_columns(scope.blueprint);
    let why = match (text.is_empty(), columns.is_empty()) {
        (true, _) => Some("it is empty".to_owned()),
        (_, true) => Some(format!("`{}` has no field of the type `text` or `rich-text`", scope.blueprint.slug)),
        _ => None,
    };
    match why {
        Some(why) if scope.is_strict => Err(strict::ignored("search", &why)),
        Some(_) => Ok(None),
        None => {
            let holds = |column| index::Filter::Column(column, Predicate::Substring(Anchor::Anywhere, text.to_owned()));
            Ok(Some(index::Filter::Or(columns.into_iter().map(holds).collect())))
        }
    }
}
