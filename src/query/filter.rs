//! `filter[…]` and `search` as a predicate of the index (`API.md` 4.6): every operator on every type.
//!
//! Knows what an operator means; not which columns a blueprint has (`name`), nor how they are evaluated (the index).

mod column;
mod date;
mod operator;
mod value;

use bindery_index::{Anchor, Filter, Predicate};

use self::operator::Operator;
use super::list;
use super::name::{self, Target};
use super::raw::RawParams;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Code, Error};
use crate::model::id::ResourceId;
use crate::model::sent::quote;
use crate::model::time::Millis;
use crate::projection;

/// All filters and the search, all of which must hold.
///
/// Errors: `INVALID_FILTER`; `INVALID_PARAMETER` for what is not valid UTF-8 and for a second `search`.
pub(super) fn parse(params: &RawParams, blueprint: &Blueprint, now: Millis) -> Result<Filter, Error> {
    let mut all = Vec::new();
    for (name, value) in params.filters()? {
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

/// A filter on a field, its names taken apart and known.
struct Condition<'a> {
    /// The field's name as it was sent.
    name: &'a str,
    operator: Operator,
    value: &'a str,
}

fn one(parameter: &str, value: &str, blueprint: &Blueprint, now: Millis) -> Result<Filter, Error> {
    let Some((name, operator)) = split(parameter) else {
        let message = format!(
            "{} is not a filter; a filter is written `filter[<field>]=…` or `filter[<field>][<operator>]=…`",
            quote(parameter)
        );
        return Err(unknown(message, blueprint));
    };
    let Some(target) = name::resolve(blueprint, name) else {
        return Err(unknown(format!("there is no field {} to filter by", quote(name)), blueprint));
    };
    let allowed = operator::allowed(&target);
    let Some(operator) = Operator::parse(operator).filter(|operator| allowed.contains(operator)) else {
        let message = format!(
            "{} is not an operator of `{name}`, which takes {}",
            quote(operator),
            list(allowed.iter().map(|operator| operator.as_str()))
        );
        return Err(unknown(message, blueprint));
    };
    let condition = Condition { name, operator, value };
    match target {
        Target::Id => Ok(id(&condition)),
        Target::Published => Ok(date::published(&condition, now)),
        Target::Date(date) => date::date(&condition, date),
        Target::Column(column) => column::column(&condition, &column),
    }
}

/// The field and the operator of `filter[field]` and `filter[field][operator]`.
fn split(parameter: &str) -> Option<(&str, &str)> {
    let inside = parameter.strip_prefix("filter[")?.strip_suffix(']')?;
    let (field, operator) = inside.split_once("][").unwrap_or((inside, "eq"));
    let plain = |part: &str| !part.contains(['[', ']']);
    (plain(field) && plain(operator)).then_some((field, operator))
}

fn id(condition: &Condition) -> Filter {
    let ids = |values: &[String]| {
        let ids: Vec<u128> = values.iter().filter_map(|id| ResourceId::parse(id)).map(ResourceId::as_u128).collect();
        if ids.is_empty() { Filter::Nothing } else { Filter::Ids(ids) }
    };
    let one = || ids(&[condition.value.to_owned()]);
    let listed = || ids(&value::list(condition.value));
    match condition.operator {
        Operator::Ne => not(one()),
        Operator::In => listed(),
        Operator::NotIn => not(listed()),
        _ => one(),
    }
}

fn search(params: &RawParams, blueprint: &Blueprint) -> Result<Option<Filter>, Error> {
    let Some(text) = params.single("search")?.filter(|text| !text.is_empty()) else { return Ok(None) };
    let columns = projection::searchable_columns(blueprint);
    let holds = |column| Filter::Column(column, Predicate::Substring(Anchor::Anywhere, text.to_owned()));
    Ok((!columns.is_empty()).then(|| Filter::Or(columns.into_iter().map(holds).collect())))
}

fn not(filter: Filter) -> Filter {
    match filter {
        Filter::All => Filter::Nothing,
        Filter::Nothing => Filter::All,
        filter => Filter::Not(Box::new(filter)),
    }
}

/// What `null` says: whether it asks for nulls.
fn asks_for_null(condition: &Condition) -> Result<bool, Error> {
    super::raw::switch(condition.value).ok_or_else(|| {
        let Condition { name, value, .. } = condition;
        invalid(format!("`filter[{name}][null]` is {}; it takes `true`, `1`, `false` or `0`", quote(value)))
    })
}

fn not_a_time(condition: &Condition, value: &str) -> Error {
    let Condition { name, operator, .. } = condition;
    invalid(format!(
        "`filter[{name}][{}]` holds {}, which is no date or timestamp; \
         right are `2026-11-20` and `2026-11-20T20:42:31+00:00`",
        operator.as_str(),
        quote(value)
    ))
}

fn invalid(message: String) -> Error {
    Error::new(Code::InvalidFilter, message)
}

fn unknown(message: String, blueprint: &Blueprint) -> Error {
    invalid(format!("{message}. Fields that can be filtered: {}", list(name::filterable(blueprint))))
}
