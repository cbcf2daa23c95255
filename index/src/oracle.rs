//! The oracle: evaluates queries in the slow and obvious way over plain values, to check the engine's results. It
//! shares folding, number formatting and the choice of a collation with the engine, and nothing else.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::collate::Collation;
use crate::query::{Anchor, Bound, DateColumn, FallbackColumn, Filter, Predicate, Query, Range, SortBy};
use crate::schema::{ColumnId, Copy, IndexOp, Kind, Schema, Stamps, Value, VariantNumber, exact_hash};
use crate::text::{fold, number_text};
use crate::text_query::{TextField, TextQuery};

mod words;

/// Resources and the schema they are read with.
#[derive(Debug, Clone, Default)]
pub struct Oracle {
    schema: Schema,
    resources: BTreeMap<u128, Resource>,
}

#[derive(Debug, Clone)]
struct Resource {
    stamps: Stamps,
    copies: BTreeMap<VariantNumber, Copy>,
}

impl Oracle {
    /// Creates an oracle without resources.
    pub fn new(schema: Schema) -> Oracle {
        Oracle { schema, resources: BTreeMap::new() }
    }

    /// Does the same as [`crate::Index::set_schema`].
    pub fn set_schema(&mut self, schema: Schema) {
        for resource in self.resources.values_mut() {
            resource.copies.retain(|number, _| schema.variants.iter().any(|variant| variant.number == *number));
        }
        self.schema = schema;
    }

    /// Does the same as [`crate::Index::apply`].
    pub fn apply(&mut self, ops: &[IndexOp]) {
        for op in ops {
            match op {
                IndexOp::Delete { id } => {
                    self.resources.remove(id);
                }
                IndexOp::Put { id, stamps, copies } => {
                    let new = Resource { stamps: *stamps, copies: BTreeMap::new() };
                    let resource = self.resources.entry(*id).or_insert(new);
                    resource.stamps = *stamps;
                    for (number, copy) in copies {
                        match copy {
                            Some(copy) if self.schema.variants.iter().any(|variant| variant.number == *number) => {
                                resource.copies.insert(*number, copy.clone());
                            }
                            _ => {
                                resource.copies.remove(number);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns the ids of all matching resources, in order.
    pub fn search(&self, query: &Query) -> Vec<u128> {
        let filter = self.with_words_found(query.variant, &query.filter);
        let mut ids: Vec<u128> = self.resources.keys().copied().filter(|id| self.holds(*id, query, &filter)).collect();
        let variant = self.schema.variants.iter().find(|variant| variant.number == query.variant);
        let collation = Collation::of(variant.and_then(|variant| variant.locale.as_deref()));
        ids.sort_by(|left, right| self.compare(&collation, query, *left, *right));
        ids
    }

    /// Returns all ids with their stamps.
    pub fn resources(&self) -> Vec<(u128, Stamps)> {
        self.resources.iter().map(|(id, resource)| (*id, resource.stamps)).collect()
    }

    /// Returns the number of a copy.
    pub fn copy(&self, id: u128, variant: VariantNumber) -> Option<u64> {
        Some(self.resources.get(&id)?.copies.get(&variant)?.number)
    }

    fn holds(&self, id: u128, query: &Query, filter: &Filter) -> bool {
        match filter {
            Filter::All => true,
            Filter::Nothing => false,
            Filter::And(filters) => filters.iter().all(|filter| self.holds(id, query, filter)),
            Filter::Or(filters) => filters.iter().any(|filter| self.holds(id, query, filter)),
            Filter::Not(filter) => !self.holds(id, query, filter),
            Filter::Ids(ids) => ids.contains(&id),
            Filter::Found(_) => unreachable!("what was found is known to the engine only"),
            Filter::Date(column, range) => {
                self.date(id, *column).is_some_and(|date| in_range(range, |to| date.cmp(to)))
            }
            Filter::Draft => self.resources[&id].stamps.published.is_none(),
            Filter::Words(_) => unreachable!("text queries were replaced by what they find"),
            Filter::Column(column, predicate) => match self.value(id, query.variant, *column) {
                None => *predicate == Predicate::Null,
                Some((kind, value)) => matches(kind, value, predicate),
            },
        }
    }

    /// Returns the resources that a text query finds, each with its distance from it; the least is best.
    pub fn distances_from(&self, variant: VariantNumber, text: &TextQuery) -> BTreeMap<u128, u64> {
        let texts =
            |id: &u128| text.fields.iter().filter_map(|field| self.searched_text(*id, variant, field)).collect();
        let resources = self.resources.keys().map(|id| (*id, texts(id))).collect();
        // A word of the index is one of a copy that is searched, also where the fallback is not read.
        let variants = |field: &TextField| [Some(variant), field.fallback].into_iter().flatten().collect::<Vec<_>>();
        let copies =
            text.fields.iter().flat_map(|field| variants(field).into_iter().map(|variant| (variant, field.column)));
        let words = copies
            .flat_map(|(variant, column)| self.resources.keys().filter_map(move |id| self.value(*id, variant, column)));
        let words = words.filter(|(kind, _)| kind.is_ranked()).map(|(_, value)| text_form(value));
        let words: Vec<String> = words.collect();
        words::distances(text, &resources, &words)
    }

    /// Replaces text queries by the ids of what they find.
    fn with_words_found(&self, variant: VariantNumber, filter: &Filter) -> Filter {
        let all = |filters: &[Filter]| filters.iter().map(|filter| self.with_words_found(variant, filter)).collect();
        match filter {
            Filter::Words(text) => {
                let pinned = text.pins.iter().map(|pin| pin.id);
                Filter::Ids(self.distances_from(variant, text).into_keys().chain(pinned).collect())
            }
            Filter::And(filters) => Filter::And(all(filters)),
            Filter::Or(filters) => Filter::Or(all(filters)),
            Filter::Not(filter) => Filter::Not(Box::new(self.with_words_found(variant, filter))),
            other => other.clone(),
        }
    }

    /// Returns the text of a field as ranked search reads it.
    fn searched_text(&self, id: u128, variant: VariantNumber, field: &TextField) -> Option<String> {
        let TextField { column, fallback, .. } = *field;
        let value = self.value(id, variant, column).or_else(|| self.value(id, fallback?, column));
        value.filter(|(kind, _)| kind.is_ranked()).map(|(_, value)| text_form(value))
    }

    fn compare(&self, collation: &Collation, query: &Query, left: u128, right: u128) -> Ordering {
        let mut descending = false;
        for key in &query.sort {
            descending = key.descending;
            let directed = |order: Ordering| if descending { order.reverse() } else { order };
            let order = match key.by {
                SortBy::Id => break,
                SortBy::Relevance => unreachable!("the scores are known to the engine only"),
                SortBy::Date(date) => {
                    nulls_last(self.date(left, date), self.date(right, date), |left, right| directed(left.cmp(&right)))
                }
                SortBy::Column(column) => nulls_last(
                    self.value(left, query.variant, column),
                    self.value(right, query.variant, column),
                    |(_, left), (_, right)| directed(compare_values(collation, left, right)),
                ),
                SortBy::ColumnOr(fallback) => nulls_last(
                    self.value_or(left, query.variant, fallback),
                    self.value_or(right, query.variant, fallback),
                    |(_, left), (_, right)| directed(compare_values(collation, left, right)),
                ),
            };
            if order.is_ne() {
                return order;
            }
        }
        if descending { right.cmp(&left) } else { left.cmp(&right) }
    }

    fn date(&self, id: u128, column: DateColumn) -> Option<i64> {
        let stamps = &self.resources[&id].stamps;
        match column {
            DateColumn::Created => Some(stamps.created),
            DateColumn::Updated => Some(stamps.updated),
            DateColumn::Published => stamps.published,
        }
    }

    fn value_or(&self, id: u128, variant: VariantNumber, column: FallbackColumn) -> Option<(Kind, &Value)> {
        let FallbackColumn { column, unless_null, variant: other } = column;
        self.schema.variants.iter().find(|known| known.number == variant)?;
        let variant = if self.value(id, variant, unless_null).is_none() { other } else { variant };
        self.value(id, variant, column)
    }

    fn value(&self, id: u128, variant: VariantNumber, column: ColumnId) -> Option<(Kind, &Value)> {
        let kind = self.schema.columns.iter().find(|known| known.id == column)?.kind;
        let copy = self.resources[&id].copies.get(&variant)?;
        let (_, value) = copy.values.iter().find(|(known, _)| *known == column)?;
        Some((kind, value))
    }
}

fn matches(kind: Kind, value: &Value, predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Null => false,
        Predicate::Equals(text) => match value {
            Value::Markup { exact, .. } => *exact == exact_hash(text),
            Value::Instant { .. } => false,
            _ => text_form(value) == *text,
        },
        Predicate::Number(range) => number_form(kind, value)
            .is_some_and(|number| in_range(range, |to| number.partial_cmp(to).expect("invariant: no NaN"))),
        Predicate::Text(range) => in_range(range, |to| text_form(value).chars().cmp(to.chars())),
        Predicate::Instant(range) => {
            matches!(value, Value::Instant { micros, .. } if in_range(range, |to| micros.cmp(to)))
        }
        Predicate::Substring(anchor, needle) => match value {
            Value::List(elements) => elements.iter().any(|element| contains(*anchor, element, needle)),
            _ => contains(*anchor, &text_form(value), needle),
        },
        Predicate::AnyId(ids) => {
            // Written out here, so that the oracle does not share the set's own look-up.
            let has = |text: &str| {
                let is_listed = ids.ids().iter().any(|id| {
                    let digits = format!("{id:032x}");
                    let groups = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
                    text == groups.join("-")
                });
                is_listed != ids.is_complement()
            };
            match value {
                Value::Text(text) => has(text),
                Value::List(elements) => elements.iter().any(|element| has(element)),
                _ => false,
            }
        }
        Predicate::Has(element) => {
            matches!(value, Value::List(elements) if elements.iter().any(|it| **it == **element))
        }
    }
}

fn contains(anchor: Anchor, text: &str, needle: &str) -> bool {
    let (text, needle) = (fold(text), fold(needle));
    match anchor {
        Anchor::Anywhere => text.contains(&*needle),
        Anchor::Start => text.starts_with(&*needle),
        Anchor::End => text.ends_with(&*needle),
    }
}

fn text_form(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Markup { text, .. } | Value::Instant { text, .. } => text.to_string(),
        Value::Number(number) => number_text(*number),
        Value::Bool(value) => value.to_string(),
        Value::List(elements) => elements.iter().map(|element| &**element).collect::<Vec<_>>().join(","),
    }
}

fn number_form(kind: Kind, value: &Value) -> Option<f64> {
    match (kind, value) {
        (_, Value::Number(number)) => Some(*number),
        (Kind::Text | Kind::Prose, Value::Text(text))
            if !text.contains(|character: char| character.is_ascii_whitespace()) =>
        {
            match serde_json::from_str::<serde_json::Value>(text) {
                Ok(serde_json::Value::Number(_)) => text.parse().ok(),
                Err(error) if error.to_string().starts_with("number out of range") => text.parse().ok(),
                _ => None,
            }
        }
        _ => None,
    }
}

fn compare_values(collation: &Collation, left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.partial_cmp(right).expect("invariant: no NaN"),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Instant { micros: left, .. }, Value::Instant { micros: right, .. }) => left.cmp(right),
        (left, right) => {
            let head = |value| text_form(value).chars().take(256).collect::<String>();
            collation.compare(&head(left), &head(right))
        }
    }
}

fn nulls_last<T>(left: Option<T>, right: Option<T>, compare: impl FnOnce(T, T) -> Ordering) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => compare(left, right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

fn in_range<T>(range: &Range<T>, compare: impl Fn(&T) -> Ordering) -> bool {
    let above = match &range.from {
        None => true,
        Some(Bound::Included(from)) => compare(from) != Ordering::Less,
        Some(Bound::Excluded(from)) => compare(from) == Ordering::Greater,
    };
    let below = match &range.to {
        None => true,
        Some(Bound::Included(to)) => compare(to) != Ordering::Greater,
        Some(Bound::Excluded(to)) => compare(to) == Ordering::Less,
    };
    above && below
}

#[cfg(test)]
mod tests;
