//! The operators, and the operators that each kind of field supports. Must not know what they do.

use bindery_index::Kind;

use super::super::name::Target;

/// The comparison of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
    In,
    NotIn,
    Contains,
    NotContains,
    StartsWith,
    EndsWith,
    Between,
    Null,
    Has,
    HasAny,
    HasAll,
    HasNone,
    Dangling,
}

const ID: &[Operator] = &[Operator::Eq, Operator::Ne, Operator::In, Operator::NotIn];
const PUBLISHED: &[Operator] = &[Operator::Eq, Operator::Ne];
const DATE: &[Operator] = &[
    Operator::Eq,
    Operator::Ne,
    Operator::Gt,
    Operator::Gte,
    Operator::Lt,
    Operator::Lte,
    Operator::Between,
    Operator::Null,
];
/// All operators: first those that every field supports, then those of lists, then those of relations.
const ALL: &[Operator] = &[
    Operator::Eq,
    Operator::Ne,
    Operator::Gt,
    Operator::Gte,
    Operator::Lt,
    Operator::Lte,
    Operator::In,
    Operator::NotIn,
    Operator::Contains,
    Operator::NotContains,
    Operator::StartsWith,
    Operator::EndsWith,
    Operator::Between,
    Operator::Null,
    Operator::Has,
    Operator::HasAny,
    Operator::HasAll,
    Operator::HasNone,
    Operator::Dangling,
];
const OF_LISTS: usize = 4;
const OF_RELATIONS: usize = 1;
const LIST: &[Operator] = ALL.split_at(ALL.len() - OF_RELATIONS).0;
const SINGLE: &[Operator] = ALL.split_at(ALL.len() - OF_RELATIONS - OF_LISTS).0;
const OF_ONE_RELATION: &[Operator] = &{
    let mut operators = [Operator::Dangling; SINGLE.len() + OF_RELATIONS];
    operators.split_at_mut(SINGLE.len()).0.copy_from_slice(SINGLE);
    operators
};

impl Operator {
    /// Reads the operator of this name or alias.
    pub(super) fn parse(name: &str) -> Option<Operator> {
        match name {
            "equals" => Some(Operator::Eq),
            "not_equals" => Some(Operator::Ne),
            _ => ALL.iter().copied().find(|operator| operator.as_str() == name),
        }
    }

    /// Returns the name in query strings.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Operator::Eq => "eq",
            Operator::Ne => "ne",
            Operator::Gt => "gt",
            Operator::Gte => "gte",
            Operator::Lt => "lt",
            Operator::Lte => "lte",
            Operator::In => "in",
            Operator::NotIn => "not_in",
            Operator::Contains => "contains",
            Operator::NotContains => "not_contains",
            Operator::StartsWith => "starts_with",
            Operator::EndsWith => "ends_with",
            Operator::Between => "between",
            Operator::Null => "null",
            Operator::Has => "has",
            Operator::HasAny => "has_any",
            Operator::HasAll => "has_all",
            Operator::HasNone => "has_none",
            Operator::Dangling => "dangling",
        }
    }
}

/// Returns the operators that a field supports.
pub(super) fn allowed(target: &Target) -> &'static [Operator] {
    match target {
        Target::Id => ID,
        Target::Published => PUBLISHED,
        Target::Date(_) => DATE,
        Target::Column(column) => match (column.field.related_blueprint().is_some(), column.kind) {
            (true, Kind::List) => ALL,
            (true, _) => OF_ONE_RELATION,
            (false, Kind::List) => LIST,
            (false, _) => SINGLE,
        },
    }
}
