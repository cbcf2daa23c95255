//! Formats filters as one short line, with the names of the columns, to keep the tables in tests readable. For example,
//! `author>1[name = "x"]` asks for a related resource whose copy of variant 1 meets a condition.

use std::fmt::Display;

use bindery_index::{Anchor, Bound, DateColumn, Filter, Predicate, Range};
use bindery_model::blueprint::Blueprint;

use super::related;
use crate::projection;

/// Returns the filter of a query in one line.
pub(super) fn filter(filter: &crate::Filter, blueprint: &Blueprint) -> String {
    let all = |filters: &[crate::Filter], between: &str| {
        let shown: Vec<String> = filters.iter().map(|filter| self::filter(filter, blueprint)).collect();
        format!("({})", shown.join(between))
    };
    match filter {
        crate::Filter::Own(filter) => own(filter, blueprint),
        crate::Filter::And(filters) => all(filters, " & "),
        crate::Filter::Or(filters) => all(filters, " | "),
        crate::Filter::Not(inner) => format!("!{}", self::filter(inner, blueprint)),
        crate::Filter::Related(relation, copies, inner) => {
            let inner = self::filter(inner, related(&relation.blueprint).unwrap());
            let fallback = copies.fallback.map_or_else(String::new, |fallback| format!("/{fallback}"));
            format!("{}>{}{fallback}[{inner}]", name(relation.column, blueprint), copies.variant)
        }
        crate::Filter::Dangling(relation) => format!("{} dangles", name(relation.column, blueprint)),
    }
}

fn own(filter: &Filter, blueprint: &Blueprint) -> String {
    let all = |filters: &[Filter], between: &str| {
        let shown: Vec<String> = filters.iter().map(|filter| own(filter, blueprint)).collect();
        format!("({})", shown.join(between))
    };
    match filter {
        Filter::All => "all".into(),
        Filter::Nothing => "nothing".into(),
        Filter::And(filters) => all(filters, " & "),
        Filter::Or(filters) => all(filters, " | "),
        Filter::Not(inner) => format!("!{}", own(inner, blueprint)),
        Filter::Found(_) => unreachable!("nothing was searched for"),
        Filter::Ids(ids) => format!("ids{ids:x?}"),
        Filter::Date(date, range) => format!("{}{}", self::date(*date), self::range(range, "ms")),
        Filter::Draft => "draft".into(),
        Filter::Words(_) => "words".into(),
        Filter::Column(column, predicate) => format!("{}{}", name(*column, blueprint), self::predicate(predicate)),
    }
}

/// Returns the name of a column.
pub(super) fn name(column: u32, blueprint: &Blueprint) -> String {
    let names = projection::column_names(blueprint);
    let found = names.into_iter().find(|name| projection::column(blueprint, name).unwrap().id == column);
    found.unwrap_or_else(|| format!("column {column}"))
}

/// Returns the name of a date.
pub(super) fn date(date: DateColumn) -> &'static str {
    match date {
        DateColumn::Created => "created",
        DateColumn::Updated => "updated",
        DateColumn::Published => "published",
    }
}

fn predicate(predicate: &Predicate) -> String {
    match predicate {
        Predicate::Null => " null".into(),
        Predicate::Equals(value) => format!(" = {value:?}"),
        Predicate::Number(range) => self::range(range, ""),
        Predicate::Text(Range { from, to }) => {
            let quoted = |bound: &Option<Bound<String>>| {
                bound.clone().map(|bound| match bound {
                    Bound::Included(value) => Bound::Included(format!("{value:?}")),
                    Bound::Excluded(value) => Bound::Excluded(format!("{value:?}")),
                })
            };
            self::range(&Range { from: quoted(from), to: quoted(to) }, "")
        }
        Predicate::Instant(range) => self::range(range, "us"),
        Predicate::Substring(Anchor::Anywhere, needle) => format!(" ~ *{needle:?}*"),
        Predicate::Substring(Anchor::Start, needle) => format!(" ~ {needle:?}*"),
        Predicate::Substring(Anchor::End, needle) => format!(" ~ *{needle:?}"),
        Predicate::Has(element) => format!(" has {element:?}"),
        Predicate::AnyId(ids) => format!(" in {ids:?}"),
    }
}

fn range<T: Display>(range: &Range<T>, unit: &str) -> String {
    let mut shown = String::new();
    match &range.from {
        Some(Bound::Included(from)) => shown += &format!(" >= {from}{unit}"),
        Some(Bound::Excluded(from)) => shown += &format!(" > {from}{unit}"),
        None => {}
    }
    match &range.to {
        Some(Bound::Included(to)) => shown += &format!(" <= {to}{unit}"),
        Some(Bound::Excluded(to)) => shown += &format!(" < {to}{unit}"),
        None => {}
    }
    shown
}
