//! The operators, and which of them each kind of field supports. Must not know what they do.

use bindery_index::Kind;

use super::super::name::Target;

/// How a filter compares.
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
const LIST: &[Operator] = &[
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
];
/// Every operator except `has`, which is the last one of [`LIST`].
const SINGLE: &[Operator] = LIST.split_at(LIST.len() - 1).0;

impl Operator {
    /// The operator of this name or alias.
    pub(super) fn parse(name: &str) -> Option<Operator> {
        match name {
            "equals" => Some(Operator::Eq),
            "not_equals" => Some(Operator::Ne),
            _ => LIST.iter().copied().find(|operator| operator.as_str() == name),
        }
    }

    /// The name in query strings.
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
        }
    }
}

/// The operators that a field supports.
pub(super) fn allowed(target: &Target) -> &'static [Operator] {
    match target {
        Target::Id => ID,
        Target::Published => PUBLISHED,
        Target::Date(_) => DATE,
        Target::Column(column) if column.kind == Kind::List => LIST,
        Target::Column(_) => SINGLE,
    }
}
