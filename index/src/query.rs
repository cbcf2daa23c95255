//! The algebra of queries. Few primitives: `ne`, `in`, `between` and the like are built from them by the caller.

use crate::schema::{ColumnId, VariantNumber};

/// What is asked: which resources, in which order, which page.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The variant whose values filters and sort look at.
    pub variant: VariantNumber,
    /// Which resources.
    pub filter: Filter,
    /// The order, most significant key first. The id is always the last key, in the direction of the key before it;
    /// with no keys, ascending.
    pub sort: Vec<SortKey>,
}

/// A predicate on a resource in one variant. Only [`Predicate::Null`] and [`Filter::Not`] can hold for a null.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Every resource.
    All,
    /// No resource.
    Nothing,
    /// All of them hold; true if empty.
    And(Vec<Filter>),
    /// One of them holds; false if empty.
    Or(Vec<Filter>),
    /// It does not hold.
    Not(Box<Filter>),
    /// The resource has one of these ids.
    Ids(Vec<u128>),
    /// The date lies in the range of milliseconds.
    Date(DateColumn, Range<i64>),
    /// The resource is a draft.
    Draft,
    /// A primitive on a column of the copy.
    Column(ColumnId, Predicate),
}

/// A primitive on one column's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// The value is null.
    Null,
    /// The exact form is this string. On `Markup` by hash of it. Never holds on `Instant` (see [`Predicate::Instant`]).
    Equals(String),
    /// The number form exists and lies in the range.
    Number(Range<f64>),
    /// The text form lies in the range, compared by code point.
    Text(Range<String>),
    /// The instant lies in the range of microseconds. Only on `Instant`.
    Instant(Range<i64>),
    /// The folded text form (of any one element, on `List`) holds the folded needle. An empty needle holds for every
    /// value that is not null, on `List` for every list that is not empty.
    Substring(Anchor, String),
    /// The list has exactly this element. Only on `List`.
    Has(String),
}

/// Where in the text a needle must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Anchor {
    Anywhere,
    Start,
    End,
}

/// A range; a bound that is `None` is open.
#[derive(Debug, Clone, PartialEq)]
pub struct Range<T> {
    /// The lower bound.
    pub from: Option<Bound<T>>,
    /// The upper bound.
    pub to: Option<Bound<T>>,
}

/// One end of a range.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Bound<T> {
    Included(T),
    Excluded(T),
}

/// The dates of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum DateColumn {
    Created,
    Updated,
    Published,
}

/// One key of an order. Nulls come last in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SortKey {
    /// What is compared.
    pub by: SortBy,
    /// The direction.
    pub descending: bool,
}

/// What a key compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SortBy {
    /// The id. Keys after it decide nothing.
    Id,
    /// A date of the resource.
    Date(DateColumn),
    /// A column of the copy: numbers and instants by value, false before true, text by collation.
    Column(ColumnId),
}

/// One resource of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Its place in the index; means something only together with the snapshot it came from.
    pub slot: u32,
    /// Its id.
    pub id: u128,
    /// Its version and dates.
    pub stamps: crate::schema::Stamps,
}

/// One page of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hits {
    /// How many resources match, exactly.
    pub total: u64,
    /// The page.
    pub hits: Vec<Hit>,
}
