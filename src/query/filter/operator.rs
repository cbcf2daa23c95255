//! The table of operators: one row says an operator's name, its value, the fields that support it, and its test. The
//! messages, the TypeScript client and the tests read it. Must not know how a test is evaluated.

use bindery_index::{Anchor, Kind};

use super::super::name::Target;

/// An operator of filters. It is a row of [`OPERATORS`].
#[derive(Debug, Clone, Copy)]
pub struct Operator {
    /// The name in query strings.
    pub name: &'static str,
    /// A second name, which messages do not mention.
    pub alias: Option<&'static str>,
    /// What it is given.
    pub operand: Operand,
    /// The fields that support it.
    pub fields: &'static [Fields],
    pub(super) test: Test,
    /// True if it matches what the test does not match, including null.
    pub(super) is_complement: bool,
}

/// The form of an operator's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A value of the field.
    Value,
    /// A text to look for in the text form, ignoring case.
    Text,
    /// Values of the field, separated by commas.
    List,
    /// Two values of the field, separated by a comma.
    Pair,
    /// A boolean.
    Boolean,
}

/// What an operator tests. Several operators may share a test and differ in the anchor, or be its complement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    Equals,
    Gt,
    Gte,
    Lt,
    Lte,
    OneOf,
    Substring(Anchor),
    Between,
    Null,
    Has,
    HasAny,
    HasAll,
    Dangling,
}

/// A group of fields that an operator works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fields {
    /// `id`.
    Id,
    /// `published`, and `working_copy`.
    Published,
    /// The three dates of the system.
    Dates,
    /// All fields of a blueprint.
    Columns,
    /// The fields of a blueprint that are lists.
    Lists,
    /// The fields of a blueprint that name resources.
    Relations,
}

const DATES: &[Fields] = &[Fields::Dates, Fields::Columns];
const IDS: &[Fields] = &[Fields::Id, Fields::Columns];
const ALL: &[Fields] = &[Fields::Id, Fields::Published, Fields::Dates, Fields::Columns];
const COLUMNS: &[Fields] = &[Fields::Columns];
const LISTS: &[Fields] = &[Fields::Lists];
const RELATIONS: &[Fields] = &[Fields::Relations];

/// All operators, in the order in which messages list them.
pub static OPERATORS: &[Operator] = &[
    row("eq", Operand::Value, ALL, Test::Equals).or("equals"),
    row("ne", Operand::Value, ALL, Test::Equals).complement().or("not_equals"),
    row("gt", Operand::Value, DATES, Test::Gt),
    row("gte", Operand::Value, DATES, Test::Gte),
    row("lt", Operand::Value, DATES, Test::Lt),
    row("lte", Operand::Value, DATES, Test::Lte),
    row("in", Operand::List, IDS, Test::OneOf),
    row("not_in", Operand::List, IDS, Test::OneOf).complement(),
    row("contains", Operand::Text, COLUMNS, Test::Substring(Anchor::Anywhere)),
    row("not_contains", Operand::Text, COLUMNS, Test::Substring(Anchor::Anywhere)).complement(),
    row("starts_with", Operand::Text, COLUMNS, Test::Substring(Anchor::Start)),
    row("ends_with", Operand::Text, COLUMNS, Test::Substring(Anchor::End)),
    row("between", Operand::Pair, DATES, Test::Between),
    row("null", Operand::Boolean, DATES, Test::Null),
    row("has", Operand::Value, LISTS, Test::Has),
    row("has_any", Operand::List, LISTS, Test::HasAny),
    row("has_all", Operand::List, LISTS, Test::HasAll),
    row("has_none", Operand::List, LISTS, Test::HasAny).complement(),
    row("dangling", Operand::Boolean, RELATIONS, Test::Dangling),
];

const fn row(name: &'static str, operand: Operand, fields: &'static [Fields], test: Test) -> Operator {
    Operator { name, alias: None, operand, fields, test, is_complement: false }
}

impl Operator {
    const fn or(self, alias: &'static str) -> Operator {
        Operator { alias: Some(alias), ..self }
    }

    const fn complement(self) -> Operator {
        Operator { is_complement: true, ..self }
    }

    /// Returns the operator with this name or alias.
    pub(crate) fn parse(name: &str) -> Option<&'static Operator> {
        OPERATORS.iter().find(|operator| operator.names().any(|known| known == name))
    }

    /// Returns its name, and its alias if it has one.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        [self.name].into_iter().chain(self.alias)
    }

    /// Returns whether a field supports the operator.
    pub(super) fn works_on(&self, target: &Target) -> bool {
        self.fields.iter().any(|fields| match (fields, target) {
            (Fields::Id, Target::Id)
            | (Fields::Published, Target::Published | Target::WorkingCopy)
            | (Fields::Dates, Target::Date(_))
            | (Fields::Columns, Target::Column(_)) => true,
            (Fields::Lists, Target::Column(column)) => column.kind == Kind::List,
            (Fields::Relations, Target::Column(column)) => column.field.related_blueprint().is_some(),
            _ => false,
        })
    }
}
