//! From query strings to typed queries: raw string → raw parameters → query (`API.md` 2.5 and 4.2 to 4.7).
//!
//! Owns every rule for parameters and every message about them. Must not know HTTP, tokens or stored data. The caller
//! knows the token's visibility: it restricts filters to that, and finds related resources.

mod aggregate;
mod changes;
mod copy;
mod expand;
mod filter;
mod format;
mod instant;
mod message;
mod name;
mod nearest;
mod page;
pub mod projection;
mod raw;
mod rule;
mod select;
mod sort;
pub mod strict;
mod suggest;
mod variant;
mod words;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use bindery_index::{self as index, SortKey, TextQuery};
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error};
use bindery_model::time::Millis;

use self::filter::{Scope, copies_of};
use self::rule::Changes;

pub use aggregate::{Aggregation, Facet, Stats};
pub use changes::ChangeParams;
pub use copy::CopyKind;
pub use expand::{Expansion, ExpansionStep};
pub use filter::{BlueprintLookup, Copies, Fields, Filter, OPERATORS, Operand, Operator, Relation, split_list};
pub use format::Format;
pub use page::Page;
pub use raw::{RawParams, decode_name};
pub use rule::{PinnedBy, Rule, Steering};
pub use select::{ResourceKey, Selection};
pub use suggest::{SuggestParams, before_last_word};
pub use words::{Highlights, WordParams, has_ranked_fields, has_words};

/// A query: which resources match, and their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The copies whose values the filter and the order compare.
    pub copies: Copies,
    /// The condition that resources must meet.
    pub filter: Filter,
    /// The order, most significant key first.
    pub sort: Vec<SortKey>,
}

/// The parameters of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListParams {
    /// The filter and the order.
    pub query: Query,
    /// The variant whose values replace nulls in the response.
    pub fallback: Option<u16>,
    /// The requested excerpts of texts around the matches.
    pub highlights: Option<Arc<Highlights>>,
    /// True if words of `q` are found in other ways than as they stand.
    pub is_expanded: bool,
    /// True if the search is to be counted.
    pub is_tracked: bool,
    /// The ids of the rules of ranked search that hold for it.
    pub rules: Vec<String>,
    /// The resources that these rules give a place.
    pub pinned: Vec<PinnedBy>,
    /// The fields that count into its order.
    pub boosts: Vec<String>,
    /// The requested page.
    pub page: Page,
    /// The start of the page in a walk with cursors: the cursor as it was sent, empty at the beginning.
    pub cursor: Option<String>,
    /// The parts of each resource that are returned.
    pub selection: Selection,
    /// The requested facets and statistics.
    pub aggregation: Aggregation,
    /// The related resources that are returned too.
    pub expansion: Expansion,
    /// The slugs of the blueprints that were looked up for relations, also of those that the token does not have.
    looked_up: BTreeSet<String>,
}

/// The parameters of a read of the neighbors of a resource in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighborsParams {
    /// The list.
    pub query: Query,
    /// The variant whose values replace nulls in the response.
    pub fallback: Option<u16>,
    /// The parts of each resource that are returned.
    pub selection: Selection,
}

/// The parameters of a read of one resource.
#[derive(Debug, Clone, PartialEq)]
pub struct GetParams {
    /// The variant whose attributes are returned.
    pub variant: u16,
    /// The variant whose values replace nulls in the response.
    pub fallback: Option<u16>,
    /// The parts of the resource that are returned.
    pub selection: Selection,
    /// The related resources that are returned too.
    pub expansion: Expansion,
}

/// The parameters of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteParams {
    /// The variant whose copy is written and returned.
    pub variant: u16,
    /// The copy that is written.
    pub copy: CopyKind,
}

/// The parameters of an export.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportParams {
    /// The filter and the order.
    pub query: Query,
    /// The variant whose values replace nulls in the response.
    pub fallback: Option<u16>,
    /// The parts of each resource that are returned.
    pub selection: Selection,
    /// The requested excerpts of texts around the matches.
    pub highlights: Option<Arc<Highlights>>,
    /// The format.
    pub format: Format,
    /// True if each resource is returned with the copies of all variants.
    pub all_variants: bool,
    /// True if CSV cells that a spreadsheet would run as formulas are turned into text.
    pub spreadsheet: bool,
    /// The requested facets and statistics.
    pub aggregation: Aggregation,
    /// The related resources that are returned too.
    pub expansion: Expansion,
}

impl AsRef<Query> for NeighborsParams {
    fn as_ref(&self) -> &Query {
        &self.query
    }
}

impl AsRef<Query> for ExportParams {
    fn as_ref(&self) -> &Query {
        &self.query
    }
}

/// The parameters that select and order resources, on every endpoint of a blueprint that has them.
const CHOOSING: [&str; 14] = [
    strict::FILTERS,
    "search",
    "q",
    "typos",
    "q_mode",
    "q_match",
    "sort",
    "fields",
    "exclude",
    "variant",
    "fallback",
    "fallback_mode",
    "copy",
    "explain",
];

/// The parameters that ask for data in addition to the resources.
const BESIDE: [&str; 6] = ["highlight", "facets", "facet_mode", "stats", "expand", strict::FIELDS_OF];

impl ListParams {
    /// Reads the query string of a list. `filter[published]` compares with the UTC day of `now`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, `INVALID_VARIANT`, `INVALID_FILTER`, `INVALID_SORT`.
    pub fn parse<'a>(
        params: &RawParams,
        blueprint: &'a Blueprint,
        related: &'a BlueprintLookup<'a>,
        now: Millis,
        steering: &Steering,
    ) -> Result<ListParams, Error> {
        let is_strict =
            strict::check(params, &[&["page", "per_page", "cursor", "track"][..], &CHOOSING, &BESIDE].concat())?;
        let page = Page::parse(params)?;
        let cursor = cursor(params)?;
        let selection = Selection::parse(params, blueprint)?;
        let looked_up = RefCell::new(BTreeSet::new());
        let related = |slug: &str| {
            looked_up.borrow_mut().insert(slug.to_owned());
            related(slug)
        };
        let asked = ScopedQuery::parse(params, blueprint, &related, now, steering, is_strict)?;
        let (aggregation, expansion) = (asked.aggregation(params)?, asked.expansion(params)?);
        let highlights = words::highlights(params, blueprint, asked.words.as_deref(), is_strict)?;
        let ScopedQuery { query, fallback, words, changes, .. } = asked;
        let is_tracked = params.flag("track")?;
        if is_tracked && words.is_none() && is_strict {
            return Err(strict::ignored("track", "there is no `q` with words"));
        }
        let is_tracked = is_tracked && words.is_some();
        let is_expanded = words.is_some_and(|words| words.words().is_expanded());
        if cursor.is_some() && query.sort.contains(&words::BY_RELEVANCE) {
            let message = "`cursor` needs an order that does not change: add a `sort` to `q`, or leave out `cursor`";
            return Err(Error::new(Code::InvalidParameter, message));
        }
        let Changes { rules, pinned, .. } = changes;
        let boosts = if query.sort.contains(&words::BY_RELEVANCE) { words::boosted(blueprint) } else { Vec::new() };
        Ok(ListParams {
            page,
            cursor,
            selection,
            fallback,
            highlights,
            is_expanded,
            is_tracked,
            rules,
            pinned,
            boosts,
            query,
            aggregation,
            expansion,
            looked_up: looked_up.take(),
        })
    }

    /// Returns the slugs of the other blueprints on which the list depends, each once, in order: on their resources, or
    /// on their fields and on whether the token has them. A rule of ranked search that cannot be applied without them
    /// changes nothing, so its filters are not in the query.
    pub fn depends_on(&self) -> Vec<String> {
        // A relation that `dangling` asks about is not looked up.
        let mut slugs = self.query.filter.depends_on();
        slugs.extend(self.looked_up.iter().cloned());
        slugs.sort_unstable();
        slugs.dedup();
        slugs
    }

    /// Returns whether the list depends on words in drafts: it is ordered by relevance, or it has words that are found
    /// in other ways than as they stand.
    pub fn is_ranked(&self) -> bool {
        self.query.sort.contains(&words::BY_RELEVANCE) || self.is_expanded
    }
}

impl NeighborsParams {
    /// Reads the query string of a read of neighbors. `filter[published]` compares with the UTC day of `now`.
    ///
    /// # Errors
    /// The errors of [`ListParams::parse`].
    pub fn parse<'a>(
        params: &RawParams,
        blueprint: &'a Blueprint,
        related: &'a BlueprintLookup<'a>,
        now: Millis,
        steering: &Steering,
    ) -> Result<NeighborsParams, Error> {
        let is_strict = strict::check(params, &CHOOSING)?;
        let selection = Selection::parse(params, blueprint)?;
        let asked = ScopedQuery::parse(params, blueprint, related, now, steering, is_strict)?;
        let ScopedQuery { query, fallback, .. } = asked;
        Ok(NeighborsParams { selection, fallback, query })
    }
}

impl GetParams {
    /// Reads the query string of a read of one resource.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, `INVALID_VARIANT`.
    pub fn parse<'a>(
        raw: &str,
        blueprint: &'a Blueprint,
        related: &'a BlueprintLookup<'a>,
    ) -> Result<GetParams, Error> {
        let params = RawParams::parse(raw);
        let known = ["fields", "exclude", "variant", "fallback", "copy", "expand", strict::FIELDS_OF];
        let is_strict = strict::check(&params, &known)?;
        if is_strict {
            variant::check_effect(&params, blueprint)?;
        }
        let selection = Selection::parse(&params, blueprint)?;
        let variant = variant::requested(&params, blueprint)?;
        let fallback = variant::fallback(&params, blueprint)?;
        let slug_of = |number| slug_of(blueprint, number);
        let (shown, instead) = (slug_of(variant), fallback.and_then(slug_of));
        let copy = CopyKind::parse(&params, blueprint)?;
        let (now, path) = (0, String::new());
        let scope = Scope { blueprint, related, variant: shown, fallback: instead, copy, now, is_strict, path };
        Ok(GetParams { selection, variant, fallback, expansion: Expansion::parse(&params, &scope)? })
    }
}

impl WriteParams {
    /// Reads the query string of a write.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, `INVALID_VARIANT`.
    pub fn parse(raw: &str, blueprint: &Blueprint) -> Result<WriteParams, Error> {
        let params = RawParams::parse(raw);
        Ok(WriteParams { variant: variant::requested(&params, blueprint)?, copy: CopyKind::parse(&params, blueprint)? })
    }
}

impl ExportParams {
    /// Reads the query string of an export. `accept` is the `Accept` header, which is used only without `format`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, `INVALID_VARIANT`, `INVALID_FILTER`, `INVALID_SORT`.
    pub fn parse<'a>(
        params: &RawParams,
        accept: Option<&str>,
        blueprint: &'a Blueprint,
        related: &'a BlueprintLookup<'a>,
        now: Millis,
        steering: &Steering,
    ) -> Result<ExportParams, Error> {
        let is_strict =
            strict::check(params, &[&["format", "all_variants", "spreadsheet"][..], &CHOOSING, &BESIDE].concat())?;
        let all_variants = params.flag("all_variants")?;
        let format = Format::parse(params, accept, all_variants)?;
        let spreadsheet = params.flag("spreadsheet")?;
        if spreadsheet && format != Format::Csv {
            let message = "`spreadsheet` changes cells of CSV only; use `format=csv`, or leave it out";
            return Err(Error::new(Code::InvalidParameter, message));
        }
        let selection = Selection::parse(params, blueprint)?;
        if format == Format::Csv && !selection.has_column(blueprint) {
            let message = "`fields` and `exclude` leave no column for CSV; keep `id`, or use `format=ndjson`";
            return Err(Error::new(Code::InvalidParameter, message));
        }
        let asked = ScopedQuery::parse(params, blueprint, related, now, steering, is_strict)?;
        let (aggregation, expansion) = (asked.aggregation(params)?, asked.expansion(params)?);
        let highlights = words::highlights(params, blueprint, asked.words.as_deref(), is_strict)?;
        if format == Format::Csv && highlights.is_some() {
            let message = "`highlight` has no column in CSV; leave it out, or ask for `format=ndjson`";
            return Err(Error::new(Code::InvalidParameter, message));
        }
        for (parameter, is_asked) in [
            ("facets", !aggregation.facets.is_empty()),
            ("stats", !aggregation.stats.is_empty()),
            ("expand", !expansion.is_empty()),
            ("explain", params.flag("explain")?),
        ] {
            if is_asked && format != Format::Json {
                let message = format!("`{parameter}` is answered in JSON only; use `format=json`");
                return Err(Error::new(Code::InvalidParameter, message));
            }
        }
        let ScopedQuery { query, fallback, .. } = asked;
        Ok(ExportParams {
            format,
            all_variants,
            spreadsheet,
            selection,
            fallback,
            highlights,
            query,
            aggregation,
            expansion,
        })
    }
}

/// Returns the cursor; `None` if the pages are numbered.
fn cursor(params: &RawParams) -> Result<Option<String>, Error> {
    let cursor = params.single("cursor")?.map(str::to_owned);
    if cursor.is_some() && params.single("page")?.is_some() {
        let message = "`cursor` and `page` exclude each other; leave out `page`, and follow `links.next`";
        return Err(Error::new(Code::InvalidParameter, message));
    }
    Ok(cursor)
}

/// The query of a request, with its variants.
struct ScopedQuery<'a> {
    query: Query,
    /// The variant whose values replace nulls in the response.
    fallback: Option<u16>,
    /// The text query of `q`.
    words: Option<Arc<TextQuery>>,
    /// Changes of a list by the rules of ranked search.
    changes: Changes,
    scope: Scope<'a>,
}

impl<'a> ScopedQuery<'a> {
    fn parse(
        params: &RawParams,
        blueprint: &'a Blueprint,
        related: &'a BlueprintLookup<'a>,
        now: Millis,
        steering: &Steering,
        is_strict: bool,
    ) -> Result<ScopedQuery<'a>, Error> {
        let fallback = variant::fallback(params, blueprint)?;
        if is_strict {
            variant::check_effect(params, blueprint)?;
        }
        let variant = slug_of(blueprint, variant::requested(params, blueprint)?);
        let counting = match variant::fallback_counts(params, blueprint)? {
            true => fallback.and_then(|fallback| slug_of(blueprint, fallback)),
            false => None,
        };
        let copy = CopyKind::parse(params, blueprint)?;
        let path = String::new();
        let scope = Scope { blueprint, related, variant, fallback: counting, copy, now, is_strict, path };
        let copies = copies_of(blueprint, variant, counting);
        let mut filter = filter::parse(params, &scope)?;
        let words = words::parse(params, blueprint, copies, steering.synonyms.as_ref(), now, is_strict)?;
        let default = if words.is_some() { words::BY_RELEVANCE } else { sort::NEWEST_FIRST };
        let sort = sort::parse(params, blueprint, copies.fallback, default)?;
        let (mut steered, mut changes) = (None, Changes::default());
        if let Some(words) = words {
            changes = steering.changes(&words, params, &scope, sort.contains(&words::BY_RELEVANCE));
            let words = Arc::new(words.with_pins(changes.pins()));
            if !changes.filters.is_empty() {
                filter = Filter::all([vec![filter], changes.filters.clone()].concat());
            }
            filter = Filter::all(vec![filter, Filter::Own(index::Filter::Words(Arc::clone(&words)))]);
            steered = Some(words);
        }
        let query = Query { copies, filter, sort };
        Ok(ScopedQuery { query, fallback, words: steered, changes, scope })
    }

    fn aggregation(&self, params: &RawParams) -> Result<Aggregation, Error> {
        let mut aggregation = Aggregation::parse(params, &self.scope, self.query.copies)?;
        if let Some(words) = &self.words {
            let words = Filter::Own(index::Filter::Words(Arc::clone(words)));
            aggregation.restrict(&Filter::all([self.changes.filters.clone(), vec![words]].concat()));
        }
        Ok(aggregation)
    }

    fn expansion(&self, params: &RawParams) -> Result<Expansion, Error> {
        // Answers use the values of the fallback, even if filters do not (`fallback_mode`).
        let fallback = self.fallback.and_then(|fallback| slug_of(self.scope.blueprint, fallback));
        Expansion::parse(params, &Scope { fallback, ..self.scope.clone() })
    }
}

/// Returns a function that finds the variant in which a request about `blueprint` reads the resources of any blueprint:
/// the one with the slug of the requested variant, or else the default.
///
/// # Errors
/// `INVALID_VARIANT`; `INVALID_PARAMETER` if it is given twice.
pub fn variant_finder(params: &RawParams, blueprint: &Blueprint) -> Result<impl Fn(&Blueprint) -> u16, Error> {
    let slug = slug_of(blueprint, variant::requested(params, blueprint)?);
    Ok(move |read: &Blueprint| copies_of(read, slug, None).variant)
}

/// Returns the slug of a variant; `None` if the blueprint has none.
fn slug_of(blueprint: &Blueprint, number: u16) -> Option<&str> {
    let variant = blueprint.variants.iter().find(|variant| variant.number == number);
    variant.map(|variant| variant.slug.as_str())
}
