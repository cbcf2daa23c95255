//! `filter[…]` and `search` as a filter of the index (`API.md` 4.6): every operator on every type.
//!
//! Must not know which columns a blueprint has (`name` does) or how a filter is evaluated (the index does).

mod column;
mod condition;
mod date;
mod operator;
mod value;

use bindery_index::{Anchor, Filter, Predicate};

use self::condition::{Condition, invalid, not};
use self::operator::Operator;
use super::message::quoted_list;
use super::name::{self, Target};
use super::raw::RawParams;
use crate::model::blueprint::Blueprint;
use crate::model::error::Error;
use crate::model::id::ResourceId;
use crate::model::sent::quote;
use crate::model::time::Millis;
use crate::projection;

/// More filters in a request are refused.
const MAX_FILTERS: usize = 100;

/// The conjunction of all filters and the search.
///
/// # Errors
/// `INVALID_FILTER`; `INVALID_PARAMETER` for a `search` that is given twice or is not valid UTF-8.
pub(super) fn parse(params: &RawParams, blueprint: &Blueprint, now: Millis) -> Result<Filter, Error> {
    let filters = params.filters()?;
    if filters.len() > MAX_FILTERS {
        let message = format!("the request has {} filters; it must have at most {MAX_FILTERS}", filters.len());
        return Err(invalid(message));
    }
    let mut all = Vec::new();
    for (name, value) in filters {
        all.push(one(name, value, blueprint, now)?);
    }
    all.extend(search(params, blueprint)?);
    all.retain(|filter| *filter != Filter::All);
    Ok(match all.len() {
        0 => Filter::All,
        1 => all.remove(0),
        _ => Filter::And(all),
    })
}

fn one(parameter: &str, value: &str, blueprint: &Blueprint, now: Millis) -> Result<Filter, Error> {
    let Some((name, operator)) = split(parameter) else {
        let message = format!(
            "{} is not a valid filter; write `filter[<field>]=…` or `filter[<field>][<operator>]=…`",
            quote(parameter)
        );
        return Err(unknown(message, blueprint));
    };
    let Some(target) = name::resolve(blueprint, name) else {
        return Err(unknown(format!("there is no filterable field {}", quote(name)), blueprint));
    };
    let allowed = operator::allowed(&target);
    let Some(operator) = Operator::parse(operator).filter(|operator| allowed.contains(operator)) else {
        let message = format!(
            "`{name}` does not support the operator {}; it supports {}",
            quote(operator),
            quoted_list(allowed.iter().map(|operator| operator.as_str()))
        );
        return Err(unknown(message, blueprint));
    };
    let condition = Condition { name, operator, value };
    match target {
        Target::Id => id(&condition),
        Target::Published => Ok(date::published(&condition, now)),
        Target::Date(date) => date::date(&condition, date),
        Target::Column(column) => column::column(&condition, &column),
    }
}

/// The field and the operator of `filter[field]` or `filter[field][operator]`.
fn split(parameter: &str) -> Option<(&str, &str)> {
    let inside = parameter.strip_prefix("filter[")?.strip_suffix(']')?;
    let (field, operator) = inside.split_once("][").unwrap_or((inside, "eq"));
    let plain = |part: &str| !part.contains(['[', ']']);
    (plain(field) && plain(operator)).then_some((field, operator))
}

/// A filter on `id`. A value that is not an id matches nothing.
fn id(condition: &Condition) -> Result<Filter, Error> {
    let ids = |values: &[String]| {
        let ids: Vec<u128> = values.iter().filter_map(|id| ResourceId::parse(id)).map(ResourceId::as_u128).collect();
        if ids.is_empty() { Filter::Nothing } else { Filter::Ids(ids) }
    };
    let one = || ids(&[condition.value.to_owned()]);
    let listed = || Ok::<_, Error>(ids(&condition.list()?));
    Ok(match condition.operator {
        Operator::Ne => not(one()),
        Operator::In => listed()?,
        Operator::NotIn => not(listed()?),
        _ => one(),
    })
}

/// `search`: the text in any searchable field. An empty one filters nothing.
fn search(params: &RawParams, blueprint: &Blueprint) -> Result<Option<Filter>, Error> {
    let Some(text) = params.single("search")?.filter(|text| !text.is_empty()) else { return Ok(None) };
    let columns = projection::searchable_columns(blueprint);
    let holds = |column| Filter::Column(column, Predicate::Substring(Anchor::Anywhere, text.to_owned()));
    Ok((!columns.is_empty()).then(|| Filter::Or(columns.into_iter().map(holds).collect())))
}

/// An `INVALID_FILTER` that lists the fields.
fn unknown(message: String, blueprint: &Blueprint) -> Error {
    invalid(format!("{message}. Filterable fields: {}", quoted_list(name::filterable(blueprint))))
}
