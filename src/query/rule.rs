//! Rules of ranked search: whether one holds for a request, and what it changes (`API.md` 4.25). Must not know how
//! rules are stored, or when they hold.

use std::collections::HashSet;
use std::sync::Arc;

use bindery_index::{self as index, Pin, Synonyms, TextQuery, row_of_words};
use bindery_model::blueprint::Blueprint;
use bindery_model::error::Error;
use bindery_model::time::Millis;

use super::filter::{self, BlueprintLookup, Filter, Scope};
use super::raw::RawParams;
use crate::copy::CopyKind;

/// A rule as it is applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    id: String,
    /// The words of the question, as words are compared; `None` for any.
    row: Option<Vec<String>>,
    /// True if a question with other words beside them also has the rule.
    is_contained: bool,
    /// The slug of the variant; `None` for all.
    variant: Option<String>,
    /// The filters that the request must have.
    conditions: RawParams,
    /// Filters that are added to those of the request.
    added: RawParams,
    /// The ids of resources, each with its place from 1.
    pins: Vec<(u128, u64)>,
    hidden: Vec<u128>,
}

/// Synonyms and rules for the ranked searches of one blueprint at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Steering {
    /// The synonyms; `None` for none.
    pub synonyms: Option<Arc<Synonyms>>,
    /// The rules, in the order in which they are applied.
    pub rules: Vec<Arc<Rule>>,
}

/// A resource that a rule gives a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedBy {
    /// The id of the resource.
    pub id: u128,
    /// Its place, from 1.
    pub position: u64,
    /// The id of the rule.
    pub rule: String,
}

/// Changes of a list by the rules that hold for a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Changes {
    /// The ids of the rules.
    pub(crate) rules: Vec<String>,
    pub(crate) filters: Vec<Filter>,
    pub(crate) pinned: Vec<PinnedBy>,
}

impl Changes {
    /// Returns the resources that get a place.
    pub(crate) fn pins(&self) -> Vec<Pin> {
        self.pinned.iter().map(|PinnedBy { id, position, .. }| Pin { id: *id, position: *position }).collect()
    }
}

impl Rule {
    /// Creates a rule that changes nothing, for these words, or for any question.
    pub fn new(id: &str, query: Option<&str>, is_contained: bool) -> Rule {
        let none = || RawParams::parse("");
        Rule {
            id: id.to_owned(),
            row: query.map(row_of_words),
            is_contained,
            variant: None,
            conditions: none(),
            added: none(),
            pins: Vec::new(),
            hidden: Vec::new(),
        }
    }

    /// Limits it to a variant, and to requests with these filters, a query string.
    pub fn only(self, variant: Option<String>, filter: Option<&str>) -> Rule {
        Rule { variant, conditions: RawParams::parse(filter.unwrap_or_default()), ..self }
    }

    /// Makes it pin and hide resources, and add filters, a query string.
    pub fn changing(self, pins: Vec<(u128, u64)>, hidden: Vec<u128>, filter: Option<&str>) -> Rule {
        Rule { pins, hidden, added: RawParams::parse(filter.unwrap_or_default()), ..self }
    }

    /// Returns whether a text is a query string of filters and nothing else.
    pub fn is_filter(text: &str) -> bool {
        let params = RawParams::parse(text);
        let count = params.names().count();
        count > 0 && params.filters().is_ok_and(|filters| filters.len() == count)
    }

    /// Checks that filters can be used on a blueprint.
    ///
    /// # Errors
    /// `INVALID_FILTER`.
    pub fn check_filter<'a>(
        text: &str,
        blueprint: &'a Blueprint,
        related: &'a BlueprintLookup<'a>,
        now: Millis,
    ) -> Result<(), Error> {
        let (path, copy) = (String::new(), CopyKind::Live);
        let scope = Scope { blueprint, related, variant: None, fallback: None, copy, now, is_strict: false, path };
        filter::parse(&RawParams::parse(text), &scope).map(|_| ())
    }

    /// Returns whether it holds for a request.
    fn holds(&self, row: &[String], variant: Option<&str>, params: &RawParams) -> bool {
        let has_words = match (&self.row, self.is_contained) {
            (None, _) => true,
            (Some(wanted), true) => row.windows(wanted.len().max(1)).any(|found| found == wanted),
            (Some(wanted), false) => row == wanted,
        };
        let is_of_variant = self.variant.as_deref().is_none_or(|slug| Some(slug) == variant);
        has_words && is_of_variant && has_all(params, &self.conditions)
    }
}

impl Steering {
    /// Returns what the rules that hold for a request change. `is_ranked` is true if it is ordered by relevance: only
    /// then, resources are pinned. A rule whose filters the blueprint no longer has changes nothing.
    pub(crate) fn changes(&self, query: &TextQuery, params: &RawParams, scope: &Scope<'_>, is_ranked: bool) -> Changes {
        let mut changes = Changes::default();
        let mut pinned: HashSet<u128> = HashSet::new();
        let mut hidden: Vec<u128> = Vec::new();
        if self.rules.is_empty() {
            return changes;
        }
        let lenient = Scope { is_strict: false, ..scope.clone() };
        let row = query.words().row();
        for rule in self.rules.iter().filter(|rule| rule.holds(&row, scope.variant, params)) {
            let Ok(filter) = filter::parse(&rule.added, &lenient) else { continue };
            changes.rules.push(rule.id.clone());
            changes.filters.extend(Some(filter).filter(|filter| *filter != Filter::Own(index::Filter::All)));
            hidden.extend(&rule.hidden);
            for &(id, position) in rule.pins.iter().filter(|_| is_ranked) {
                if pinned.insert(id) {
                    changes.pinned.push(PinnedBy { id, position, rule: rule.id.clone() });
                }
            }
        }
        let is_hidden: HashSet<u128> = hidden.iter().copied().collect();
        changes.pinned.retain(|pin| !is_hidden.contains(&pin.id));
        // Of two with the same place, that of the earlier rule comes first.
        changes.pinned.sort_by_key(|pin| pin.position);
        if !hidden.is_empty() {
            changes.filters.push(Filter::Own(index::Filter::Not(Box::new(index::Filter::Ids(hidden)))));
        }
        changes
    }
}

/// Returns whether a request has all these filters, as they are written.
fn has_all(params: &RawParams, wanted: &RawParams) -> bool {
    let (Ok(sent), Ok(wanted)) = (params.filters(), wanted.filters()) else { return false };
    let sent: Vec<(String, &str)> = sent.into_iter().map(|(name, value)| (with_operator(name), value)).collect();
    wanted.into_iter().all(|(name, value)| sent.contains(&(with_operator(name), value)))
}

/// Returns the name of a filter with the main name of its operator: `filter[kind]` is `filter[kind][eq]`.
fn with_operator(name: &str) -> String {
    let parts = name.strip_suffix(']').and_then(|inside| inside.rsplit_once("]["));
    match parts.and_then(|(field, last)| Some((field, filter::Operator::parse(last)?))) {
        Some((field, operator)) => format!("{field}][{}]", operator.name),
        None => format!("{name}[eq]"),
    }
}
