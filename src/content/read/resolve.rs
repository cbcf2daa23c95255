//! Resolves queries that also ask about related resources or fallback values into queries that the index of one
//! blueprint can answer (`API.md` 2.5.6, 4.6.14).
//!
//! A condition on related resources is a search in the index of their blueprint, in the same state. The ids of the
//! matches that the token sees become a condition on the relation's column.

use std::time::{Duration, Instant};

use bindery_access::Access;
use bindery_index::{self as index, IdSet, Interrupt, MatchSet, Predicate};
use bindery_model::error::{Code, Error};
use bindery_query::projection::whole_column;
use bindery_query::{Aggregation, Copies, Filter, Query, Relation};

use crate::data::state::{Collection, State};
use crate::data::visibility::Visibility;
use crate::read::explain::ExplanationBuilder;

/// A condition with more ids than this is evaluated at once, and only its matches are kept: ids take 16 bytes each, and
/// a request may have a hundred conditions. With fewer ids, the index chooses when to evaluate it.
const MAX_KEPT_IDS: usize = 10_000;
/// The estimated nanoseconds per resource of a blueprint for one facet or statistic.
const AGGREGATED: u64 = 4;

/// The reason why there is no result.
pub(super) enum StopReason {
    Interrupted,
    Failed(Error),
}

/// A result, unless the search was stopped.
pub(super) type Result<T> = std::result::Result<T, StopReason>;

/// Resolves queries in one state, as one token sees it.
pub(super) struct Resolver<'a> {
    pub(super) state: &'a State,
    pub(super) access: &'a Access,
    pub(super) interrupt: &'a Interrupt<'a>,
    /// Collects the explanation for `explain=true`.
    pub(super) explanation: Option<&'a ExplanationBuilder>,
}

/// The resources that a filter applies to.
#[derive(Clone, Copy)]
struct FilterTarget<'a> {
    collection: &'a Collection,
    copies: Copies,
}

impl<'a> Resolver<'a> {
    /// Returns the query for the index of `collection`, restricted to what the token may see.
    ///
    /// # Errors
    /// If a search of related resources fails, or is interrupted.
    pub(super) fn query(&self, collection: &Collection, query: &Query) -> Result<index::Query> {
        let Query { copies, filter, sort } = query;
        let filter = self.visible(FilterTarget { collection, copies: *copies }, filter)?;
        Ok(index::Query { variant: copies.variant, filter, sort: sort.clone() })
    }

    /// Finds the resources that match a filter and that the token may see.
    ///
    /// # Errors
    /// The errors of [`Resolver::query`].
    pub(super) fn find_visible(&self, collection: &Collection, copies: Copies, filter: &Filter) -> Result<MatchSet> {
        let target = FilterTarget { collection, copies };
        self.find(target, copies.variant, &self.visible(target, filter)?)
    }

    /// Returns roughly how long resolving the query, searching and aggregating take. `offset` is the start of the page.
    pub(super) fn estimate(
        &self,
        collection: &Collection,
        query: &Query,
        offset: u64,
        aggregation: &Aggregation,
    ) -> Duration {
        let Query { copies, filter, sort } = query;
        let Copies { variant, fallback } = *copies;
        let all = index::Filter::All;
        // Conditions on related resources, or with a fallback, count as if all resources matched.
        let own = if let (Filter::Own(own), None) = (filter, fallback) { own } else { &all };
        let snapshot = &collection.snapshot;
        let order = snapshot.estimate_order(variant, sort, *own != all, offset);
        let visible = Visibility::of(self.access, &collection.blueprint, self.state.released).restrict(own.clone());
        let page = snapshot.estimate_page(variant, sort, &visible, offset);
        let found = self.estimate_filter(FilterTarget { collection, copies: *copies }, filter);
        let aggregates = (aggregation.facets.len() + aggregation.stats.len()) as u64;
        Duration::from_nanos(order + page + found + aggregates * snapshot.total() * AGGREGATED)
    }

    fn estimate_filter(&self, target: FilterTarget<'_>, filter: &Filter) -> u64 {
        let FilterTarget { collection: Collection { snapshot, .. }, copies } = target;
        match filter {
            Filter::Own(filter) => {
                let variants = [Some(copies.variant), copies.fallback];
                variants.into_iter().flatten().map(|variant| snapshot.estimate_find(variant, filter)).sum()
            }
            Filter::And(filters) | Filter::Or(filters) => {
                filters.iter().map(|filter| self.estimate_filter(target, filter)).sum()
            }
            Filter::Not(filter) => self.estimate_filter(target, filter),
            // Reading the ids, and joining posting lists.
            Filter::Related(relation, copies, filter) => self.related(relation, *copies).map_or(0, |(related, _)| {
                self.estimate_filter(related, filter) + related.collection.snapshot.total() * 20 + snapshot.total() * 5
            }),
            Filter::Dangling(relation) => {
                let related = self.state.visible(self.access, &relation.blueprint);
                related.map_or(0, |related| related.snapshot.total() * 50) + snapshot.total() * 20
            }
        }
    }

    /// Resolves a filter and restricts it to the resources that the token sees.
    fn visible(&self, target: FilterTarget<'_>, filter: &Filter) -> Result<index::Filter> {
        let visibility = Visibility::of(self.access, &target.collection.blueprint, self.state.released);
        Ok(visibility.restrict(self.filter(target, filter)?))
    }

    fn filter(&self, target: FilterTarget<'_>, filter: &Filter) -> Result<index::Filter> {
        Ok(match filter {
            Filter::Own(filter) => self.own(target, filter)?,
            Filter::And(filters) => {
                let mut all = Vec::with_capacity(filters.len());
                for filter in filters {
                    // Not nested, so that the index evaluates the cheapest one first.
                    match self.filter(target, filter)? {
                        index::Filter::And(filters) => all.extend(filters),
                        filter => all.push(filter),
                    }
                }
                index::Filter::And(all)
            }
            Filter::Or(filters) => {
                index::Filter::Or(filters.iter().map(|filter| self.filter(target, filter)).collect::<Result<_>>()?)
            }
            Filter::Not(filter) => index::Filter::Not(Box::new(self.filter(target, filter)?)),
            Filter::Related(relation, copies, filter) => match self.related(relation, *copies) {
                None => index::Filter::Nothing,
                Some((related, _)) => {
                    let ids = self.ids(related, &self.visible(related, filter)?)?;
                    self.any_id(target, relation, ids)?
                }
            },
            Filter::Dangling(relation) => {
                // Every resource has the same id in all variants.
                let visible = match self.related(relation, Copies { variant: 0, fallback: None }) {
                    None => IdSet::of([]),
                    Some((related, visibility)) => self.ids(related, &visibility.filter())?,
                };
                self.any_id(target, relation, visible.complement())?
            }
        })
    }

    /// Returns the target blueprint of a relation; `None` if the token does not have it.
    fn related(&self, relation: &Relation, copies: Copies) -> Option<(FilterTarget<'a>, Visibility)> {
        let collection = self.state.visible(self.access, &relation.blueprint).ok()?;
        Some((
            FilterTarget { collection, copies },
            Visibility::of(self.access, &collection.blueprint, self.state.released),
        ))
    }

    /// Returns the filter for resources whose relation holds at least one of these ids.
    fn any_id(&self, target: FilterTarget<'_>, relation: &Relation, ids: IdSet) -> Result<index::Filter> {
        self.own(target, &index::Filter::Column(relation.column, Predicate::AnyId(ids)))
    }

    /// Resolves a filter on a resource's own values: those of the variant or, where an attribute is null, of the
    /// fallback.
    fn own(&self, target: FilterTarget<'_>, filter: &index::Filter) -> Result<index::Filter> {
        let each = |filters: &[index::Filter]| -> Result<Vec<index::Filter>> {
            filters.iter().map(|filter| self.own(target, filter)).collect()
        };
        let Copies { variant, fallback } = target.copies;
        Ok(match (filter, fallback) {
            (index::Filter::And(filters), _) => index::Filter::And(each(filters)?),
            (index::Filter::Or(filters), _) => index::Filter::Or(each(filters)?),
            (index::Filter::Not(filter), _) => index::Filter::Not(Box::new(self.own(target, filter)?)),
            (index::Filter::Column(_, Predicate::AnyId(ids)), None) if ids.listed() > MAX_KEPT_IDS => {
                index::Filter::Found(self.find(target, variant, filter)?)
            }
            (index::Filter::Column(column, _), Some(fallback)) if *column != index::WORKING_UPDATED => {
                let is_null = index::Filter::Column(whole_column(*column), Predicate::Null);
                let here = index::Filter::Found(self.find(target, variant, filter)?);
                let there = index::Filter::Found(self.find(target, fallback, filter)?);
                index::Filter::Or(vec![
                    index::Filter::And(vec![index::Filter::Not(Box::new(is_null.clone())), here]),
                    index::Filter::And(vec![is_null, there]),
                ])
            }
            (filter, _) => filter.clone(),
        })
    }

    fn find(&self, target: FilterTarget<'_>, variant: u16, filter: &index::Filter) -> Result<MatchSet> {
        let found = target.collection.snapshot.find(variant, filter, self.interrupt);
        self.searched(target.collection);
        found.map_err(|error| stopped(target.collection, error))
    }

    /// Adds the steps of a search in this collection's index to the explanation.
    pub(super) fn searched(&self, collection: &Collection) {
        if let Some(explanation) = self.explanation {
            explanation.searched(collection);
        }
    }

    /// Names rules of ranked search, or the fields of boosts, in the explanation.
    pub(super) fn steered_by(&self, step: &str, what: &[String]) {
        if let Some(explanation) = self.explanation {
            what.iter().for_each(|what| explanation.note(step, what, 1, Duration::ZERO));
        }
    }

    /// Runs a step that is not a search in an index, and explains it.
    ///
    /// # Errors
    /// The errors of the step.
    pub(super) fn step<T, E>(
        &self,
        name: &str,
        what: &str,
        step: impl FnOnce() -> std::result::Result<T, E>,
        count: impl FnOnce(&T) -> u64,
    ) -> std::result::Result<T, E> {
        let Some(explanation) = self.explanation else { return step() };
        let started = Instant::now();
        let done = step()?;
        explanation.note(name, what, count(&done), started.elapsed());
        Ok(done)
    }

    fn ids(&self, target: FilterTarget<'_>, filter: &index::Filter) -> Result<IdSet> {
        let found = self.find(target, target.copies.variant, filter)?;
        target.collection.snapshot.ids(&found, self.interrupt).map_err(|error| stopped(target.collection, error))
    }
}

/// Returns why a search in a blueprint's index has no result.
pub(super) fn stopped(collection: &Collection, error: index::Error) -> StopReason {
    match error {
        index::Error::Interrupted => StopReason::Interrupted,
        index::Error::TooMuchText { limit } => {
            let text = format!(
                "the different values to count are texts of more than 1 KiB each and {limit} bytes together; \
                 count by a field with shorter values, or filter first"
            );
            StopReason::Failed(Error::new(Code::InvalidParameter, text))
        }
        error => StopReason::Failed(collection.search_failed(error)),
    }
}

#[cfg(test)]
mod tests;
