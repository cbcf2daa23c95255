//! Queries: filters, orders and results. There are few primitives, from which the caller builds `ne`, `in`, `between`
//! and the like. It knows nothing of how they are evaluated.

use std::sync::Arc;

use crate::bitmap::Bitmap;
use crate::ids::IdSet;
use crate::schema::{ColumnId, Stamps, VariantNumber};
use crate::text_query::TextQuery;

/// A query: a filter, an order, and the variant that they read.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The variant whose values the filter and the order use.
    pub variant: VariantNumber,
    /// The condition that resources must meet.
    pub filter: Filter,
    /// The order, most significant key first. The id is always the last key, in the direction of the key before it, or
    /// ascending if there are no keys.
    pub sort: Vec<SortKey>,
}

/// A condition on a resource in one variant. Only [`Predicate::Null`] and [`Filter::Not`] can hold for a null.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Every resource.
    All,
    /// No resource.
    Nothing,
    /// The conjunction: all of the filters hold. It also holds if there are none.
    And(Vec<Filter>),
    /// The disjunction: at least one of the filters holds. It does not hold if there are none.
    Or(Vec<Filter>),
    /// The complement: the filter does not hold.
    Not(Box<Filter>),
    /// The resource has one of these ids.
    Ids(Vec<u128>),
    /// The resource is one of those that another search of the same snapshot found.
    Found(MatchSet),
    /// The date is in the range, in milliseconds.
    Date(DateColumn, Range<i64>),
    /// The resource is a draft.
    Draft,
    /// A predicate on a column of the copy.
    Column(ColumnId, Predicate),
    /// The copy has the words of a text query.
    Words(Arc<TextQuery>),
}

/// The resources for which a filter holds. Only meaningful in the snapshot that it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchSet(pub(crate) Arc<Bitmap>);

impl Query {
    /// Returns the text query that the results are ranked by, if they are.
    pub(crate) fn ranks_by(&self) -> Option<&Arc<TextQuery>> {
        let is_ranked = self.sort.first().is_some_and(|key| key.by == SortBy::Relevance);
        if is_ranked { self.filter.text_query() } else { None }
    }
}

impl Filter {
    /// Returns the first text query that every match must meet.
    pub(crate) fn text_query(&self) -> Option<&Arc<TextQuery>> {
        match self {
            Filter::Words(query) => Some(query),
            Filter::And(filters) => filters.iter().find_map(Filter::text_query),
            _ => None,
        }
    }

    /// Returns roughly how many bytes it takes. What other searches found is shared, and not counted.
    pub fn bytes(&self) -> usize {
        let inner = match self {
            Filter::And(filters) | Filter::Or(filters) => filters.iter().map(Filter::bytes).sum(),
            Filter::Not(filter) => filter.bytes(),
            Filter::Ids(ids) => size_of_val(&ids[..]),
            Filter::Column(_, predicate) => match predicate {
                Predicate::Equals(text) | Predicate::Substring(_, text) | Predicate::Has(text) => text.len(),
                Predicate::AnyId(ids) => ids.listed() * size_of::<u128>(),
                Predicate::Null | Predicate::Number(_) | Predicate::Text(_) | Predicate::Instant(_) => 0,
            },
            Filter::All | Filter::Nothing | Filter::Found(_) | Filter::Date(..) | Filter::Draft | Filter::Words(_) => 0,
        };
        size_of::<Filter>() + inner
    }

    /// Replaces the text query in the filter by `found`, its matches.
    pub(crate) fn with_found(&self, query: &Arc<TextQuery>, found: &MatchSet) -> Filter {
        match self {
            Filter::Words(other) if Arc::ptr_eq(other, query) => Filter::Found(found.clone()),
            Filter::And(filters) => Filter::And(filters.iter().map(|filter| filter.with_found(query, found)).collect()),
            filter => filter.clone(),
        }
    }
}

impl MatchSet {
    /// Returns their number.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        self.0.count() as u64
    }
}

/// A condition on the value of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// The value is null.
    Null,
    /// The exact form is this string; markup compares by its hash. Never holds for an instant: see
    /// [`Predicate::Instant`].
    Equals(String),
    /// The number form exists and is in the range.
    Number(Range<f64>),
    /// The text form is in the range, compared by code point.
    Text(Range<String>),
    /// The instant is in the range, in microseconds. Holds only for instants.
    Instant(Range<i64>),
    /// The folded text form contains the folded needle; for a list, that of at least one element does. An empty needle
    /// holds for every value that is not null, except the empty list.
    Substring(Anchor, String),
    /// The list has exactly this element. Holds only for lists.
    Has(String),
    /// The text is an id of the set, or at least one element of the list is. Holds only for texts and lists.
    AnyId(IdSet),
}

/// The place in the text where a needle must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Anchor {
    Anywhere,
    Start,
    End,
}

/// A range. A bound that is `None` is open.
#[derive(Debug, Clone, PartialEq)]
pub struct Range<T> {
    /// The lower bound.
    pub from: Option<Bound<T>>,
    /// The upper bound.
    pub to: Option<Bound<T>>,
}

/// A bound of a range.
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

/// The values that a facet counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FacetBy {
    /// The values of a column; of a list, its elements.
    Column(ColumnId),
    /// The periods that the instants or days of a column are in.
    Period(ColumnId, Period),
    /// The periods that a date of the resource is in.
    Date(DateColumn, Period),
}

/// A part of the calendar, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Period {
    Day,
    Month,
    Year,
}

/// A value that a facet counted.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum FacetValue {
    Text(String),
    Number(f64),
    Bool(bool),
}

/// The values of a column, with the number of times that each occurs.
#[derive(Debug, Clone, PartialEq)]
pub struct Facet {
    /// The most frequent values; equally frequent ones by their text form, by code point. Periods are all listed,
    /// ascending.
    pub values: Vec<(FacetValue, u64)>,
    /// The number of different values.
    pub distinct: u64,
    /// The number of resources that have no value, or an empty list.
    pub null: u64,
}

/// Statistics of the numbers of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stats {
    /// The number of numbers; at least one.
    pub count: u64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// The sum, rounded once.
    pub sum: f64,
}

/// The position of a resource in an order: the values after which a page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// One value for each sort key.
    pub keys: Vec<PositionKey>,
    /// The id of the resource.
    pub id: u128,
}

/// The value of one sort key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PositionKey {
    /// Null.
    Null,
    /// A date, number, boolean or instant, as an integer that sorts in the same way.
    Rank(u64),
    /// The part of a text that is compared.
    Text(String),
}

/// The neighbors of a resource in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbors {
    /// The resource before it.
    pub previous: Option<Hit>,
    /// The resource after it.
    pub next: Option<Hit>,
    /// The position of the resource, from 1.
    pub position: u64,
    /// The number of resources the list has.
    pub total: u64,
}

/// A key to sort by. Nulls sort last in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SortKey {
    /// The values to compare.
    pub by: SortBy,
    /// True if larger values come first.
    pub descending: bool,
}

/// The values that a key compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SortBy {
    /// The id. Keys after it have no effect.
    Id,
    /// A date of the resource.
    Date(DateColumn),
    /// A column of the copy. Numbers and instants compare by value, booleans with false first, text by collation.
    Column(ColumnId),
    /// A column of the copy, with values of another variant where another column is null.
    ColumnOr(FallbackColumn),
    /// The relevance to the filter's text query, the best first, then the newest. Every match must meet that text
    /// query. Only allowed as the first key; keys after it have no effect.
    Relevance,
}

/// A column whose values come from one of two copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FallbackColumn {
    /// The column.
    pub column: ColumnId,
    /// The column that decides which copy is read: if it is null in the copy of the query's variant, the other copy is
    /// read.
    pub unless_null: ColumnId,
    /// The variant of the other copy.
    pub variant: VariantNumber,
}

/// A resource in a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// The slot of the resource. It has a meaning only in the snapshot from which it came.
    pub slot: u32,
    /// The id of the resource.
    pub id: u128,
    /// The version and dates of the resource.
    pub stamps: Stamps,
}

/// One page of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hits {
    /// The exact number of matches.
    pub total: u64,
    /// The resources of the page.
    pub hits: Vec<Hit>,
    /// The words of the text query that the matches have, if the query has one and a page of numbers was asked for.
    pub words: Option<WordsFound>,
}

/// The words of a text query that the resources of a list have and lack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WordsFound {
    /// The number of resources of the list that have all words.
    pub matched_all: u64,
    /// The words, as they were asked for, that some resources of the list lack.
    pub ignored: Vec<String>,
    /// A question that finds more, if few have all words of this one.
    pub did_you_mean: Option<String>,
}
