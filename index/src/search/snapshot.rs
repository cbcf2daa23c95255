//! Reads one version: pages, streams, single resources. It knows no writes.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::completions::Completions;
use super::context::SearchContext;
use super::evaluate::Evaluator;
use super::matches::Matches;
use super::order::Sorter;
use super::page::{OrderedSlots, PageSearch};
use super::reasons::Reason;
use super::relevance::{Rank, Ranked};
use super::text_search::TextSearch;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::ids::{self, IdSet};
use crate::interrupt::Interrupt;
use crate::query::{Filter, Hit, Hits, MatchSet, Query, WordsFound};
use crate::run::Document;
use crate::schema::{ColumnId, Value, VariantNumber};
use crate::text_query::{TextField, TextQuery, Words};
use crate::trace::StepKind;
use crate::value::ValueRef;
use crate::version::Version;

/// One version of an index. It does not change while it is held. Cheap to clone.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) context: Arc<SearchContext>,
    pub(crate) version: Arc<Version>,
    /// The version with the live copies, if this snapshot reads working copies.
    pub(crate) live: Option<Arc<Version>>,
}

/// All matching resources in order, a few at a time. Its memory does not grow as it is read.
#[derive(Debug, Clone)]
pub struct Stream {
    snapshot: Snapshot,
    total: usize,
    slots: OrderedSlots,
    /// The position of the next slot to read.
    position: usize,
}

/// The matches of a query, and its text search, if it has one.
pub(super) struct Selected<'a> {
    pub(super) matches: Matches,
    pub(super) search: Option<TextSearch<'a>>,
    /// False if the filter may hold for others, too.
    pub(super) is_exact: bool,
}

/// The matches of a text query, to be put into one order with those of other indexes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RankedHits {
    /// The number of all matches.
    pub total: u64,
    /// The words that the matches have and lack, without a question that finds more: [`Snapshot::meant`] returns that.
    pub words: WordsFound,
    /// The slots of the first ones that are not pinned, in order.
    pub first: Vec<(u32, Rank)>,
    /// The slots of those that are pinned, each with its place from 1, by place.
    pub pinned: Vec<(u32, u64)>,
}

impl Snapshot {
    /// Returns the number of resources.
    pub fn total(&self) -> u64 {
        self.version.total as u64
    }

    /// Returns the same resources with working copies in the place of live ones, in all variants. Their `updated` is
    /// that of the working copy of `variant`, where there is one.
    ///
    /// The first time, it takes time in proportion to the number of working copies, later to what has changed since.
    pub fn working(&self, variant: VariantNumber) -> Snapshot {
        let live = self.live();
        let version = live.working.of(live, variant, &self.context.working_base);
        Snapshot { context: self.context.working(variant), version, live: Some(Arc::clone(live)) }
    }

    /// Returns whether it reads working copies.
    pub fn is_working(&self) -> bool {
        self.live.is_some()
    }

    fn live(&self) -> &Arc<Version> {
        self.live.as_ref().unwrap_or(&self.version)
    }

    /// Returns the number of working copies, of all variants.
    pub fn working_copies(&self) -> u64 {
        self.live().working_copies()
    }

    /// Returns the number of versions of its index that are in use, including this one.
    pub fn versions_held(&self) -> u64 {
        self.version.pin.pins().count() as u64
    }

    /// Returns the page of at most `limit` resources that begins at `offset`, and the number of all matches.
    ///
    /// Columns and variants that the schema does not name are null everywhere. Fails only if the index's files cannot
    /// be read or are damaged.
    pub fn search(&self, query: &Query, offset: u64, limit: usize) -> Result<Hits, Error> {
        self.search_with(query, offset, limit, &Interrupt::never())
    }

    /// Like [`Snapshot::search`]. Also fails with [`Error::Interrupted`], soon after the interrupt ends it.
    pub fn search_with(
        &self,
        query: &Query,
        offset: u64,
        limit: usize,
        interrupt: &Interrupt<'_>,
    ) -> Result<Hits, Error> {
        let in_range = self.page_in_range(query, offset, limit, interrupt).transpose();
        let selected = || self.page_of_selected(self.select(query, interrupt)?, query, offset, limit, interrupt);
        self.sound(in_range.unwrap_or_else(selected))
    }

    /// Like [`Snapshot::search_with`], for results that were found before in this snapshot. They replace the filter's
    /// matches; `query.filter` must hold for all of them, which may save work.
    ///
    /// # Errors
    /// The errors of [`Snapshot::search_with`].
    pub fn page_of(
        &self,
        found: &MatchSet,
        query: &Query,
        offset: u64,
        limit: usize,
        interrupt: &Interrupt<'_>,
    ) -> Result<Hits, Error> {
        self.sound(self.text_search(query, interrupt).and_then(|search| {
            let selected = Selected { matches: self.matches_of(found), search, is_exact: false };
            self.page_of_selected(selected, query, offset, limit, interrupt)
        }))
    }

    /// Returns the first `count` matches of a query that is ordered by relevance, with what orders them against the
    /// matches of other indexes. Of a query with another order, there are none.
    ///
    /// # Errors
    /// The errors of [`Snapshot::search_with`].
    pub fn ranked(&self, query: &Query, count: usize, interrupt: &Interrupt<'_>) -> Result<RankedHits, Error> {
        self.sound(self.select(query, interrupt).and_then(|Selected { matches, search, .. }| {
            let Some(search) = search.filter(|_| query.ranks_by().is_some()) else { return Ok(RankedHits::default()) };
            let slots = matches.to_bitmap(&self.version);
            let first = || search.ranked(&slots, count);
            let step = |_: &Ranked| Some((StepKind::Ordered, "relevance", slots.count() as u64));
            let Ranked { first, pinned } = interrupt.traced(first, step)?;
            Ok(RankedHits { total: slots.count() as u64, words: search.words_had(&slots)?, first, pinned })
        }))
    }

    /// Returns the reasons for the places of resources in a list by relevance, in their order. Of a query with another
    /// order, there are none.
    ///
    /// # Errors
    /// The errors of [`Snapshot::search_with`].
    pub fn reasons(&self, query: &Query, hits: &[Hit], interrupt: &Interrupt<'_>) -> Result<Vec<Reason>, Error> {
        let slots: Vec<u32> = hits.iter().map(|hit| hit.slot).collect();
        let search =
            query.ranks_by().map(|text| self.evaluator(query.variant, interrupt).text_search(text)).transpose();
        self.sound(search.and_then(|search| search.map_or(Ok(Vec::new()), |search| search.reasons(&slots))))
    }

    /// Returns a question with similar words that finds more, if it has one; with the number of resources that have all
    /// of them. `matched_all` of the resources have all words of this question.
    ///
    /// # Errors
    /// The errors of [`Snapshot::search_with`].
    pub fn meant(
        &self,
        query: &Query,
        matched_all: u64,
        interrupt: &Interrupt<'_>,
    ) -> Result<Option<(String, u64)>, Error> {
        let search = self.text_search(query, interrupt);
        let search = search.map(|search| search.filter(|search| search.query.words().is_expanded()));
        self.sound(search.and_then(|search| {
            let Some(search) = search else { return Ok(None) };
            let meant = search.meant(matched_all as usize, &*self.allowed(query, interrupt)?)?;
            Ok(meant.map(|(question, found)| (question, found as u64)))
        }))
    }

    /// Returns words that begin so in these fields, of the resources that meet a filter, each with the number of these
    /// resources: at most `limit`, the most frequent first.
    ///
    /// # Errors
    /// The errors of [`Snapshot::search_with`].
    pub fn completions(
        &self,
        query: &Query,
        fields: &[TextField],
        beginning: &str,
        limit: usize,
        interrupt: &Interrupt<'_>,
    ) -> Result<Completions, Error> {
        let complete = |search: &TextSearch<'_>, within: &Bitmap| search.completions(beginning, within, limit);
        self.words_within(query, fields, interrupt, complete)
    }

    /// Returns for each of these words, as words are compared, how many of the resources that meet a filter have it in
    /// these fields.
    ///
    /// # Errors
    /// The errors of [`Snapshot::search_with`].
    pub fn count_words(
        &self,
        query: &Query,
        fields: &[TextField],
        words: &[String],
        interrupt: &Interrupt<'_>,
    ) -> Result<Vec<u64>, Error> {
        let count = |search: &TextSearch<'_>, within: &Bitmap| search.count_each(words, within);
        self.words_within(query, fields, interrupt, count)
    }

    /// Looks for words in these fields of the resources that meet a filter.
    fn words_within<T>(
        &self,
        query: &Query,
        fields: &[TextField],
        interrupt: &Interrupt<'_>,
        find: impl FnOnce(&TextSearch<'_>, &Bitmap) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let text = TextQuery::new(Words::default(), fields.to_vec());
        let evaluator = self.evaluator(query.variant, interrupt);
        self.sound(evaluator.select(&query.filter).and_then(|within| {
            let search = self.evaluator(query.variant, interrupt).text_search(&text)?;
            find(&search, &within.to_bitmap(&self.version))
        }))
    }

    /// Returns the beginning of a text in a resource's copy, at most 256 code points; `None` if it has no text.
    pub fn head(&self, slot: u32, variant: VariantNumber, column: ColumnId) -> Option<Cow<'_, str>> {
        Some(self.version.copy_set(variant)?.value_without_folded(slot, column).text()?.head())
    }

    fn page_of_selected(
        &self,
        selected: Selected<'_>,
        query: &Query,
        offset: u64,
        limit: usize,
        interrupt: &Interrupt<'_>,
    ) -> Result<Hits, Error> {
        let total = selected.matches.count(&self.version);
        let search = selected.search.as_ref().filter(|search| search.query.words().is_expanded());
        let words = search.map(|search| {
            let all = || self.allowed(query, interrupt);
            search.words_found(&selected.matches.to_bitmap(&self.version), all)
        });
        let words = words.transpose()?;
        let hits = match usize::try_from(offset) {
            Ok(offset) if offset < total && limit > 0 => {
                let page = offset..offset.saturating_add(limit).min(total);
                let ordered = self.ordered(query, selected, total, &page, interrupt)?;
                let steps = self.context.options.thresholds.walked_steps;
                ordered.page(total, page, steps).into_iter().map(|slot| self.version.hit(slot)).collect()
            }
            _ => Vec::new(),
        };
        Ok(Hits { total: total as u64, hits, words })
    }

    /// Returns the resources that a query would find without its text query.
    fn allowed(&self, query: &Query, interrupt: &Interrupt<'_>) -> Result<Arc<Bitmap>, Error> {
        let filter = match query.filter.text_query() {
            Some(text) => query.filter.with_found(text, &MatchSet(Arc::new(self.version.live_slots.to_bitmap()))),
            None => query.filter.clone(),
        };
        Ok(self.evaluator(query.variant, interrupt).select(&filter)?.to_bitmap(&self.version))
    }

    /// Returns the text search of a query, if it has one, with its tokens looked up.
    fn text_search<'a>(
        &'a self,
        query: &'a Query,
        interrupt: &'a Interrupt<'a>,
    ) -> Result<Option<TextSearch<'a>>, Error> {
        let text = query.filter.text_query().filter(|text| query.ranks_by().is_some() || text.words().is_expanded());
        text.map(|text| self.evaluator(query.variant, interrupt).text_search(text)).transpose()
    }

    /// Returns the matches of a query, and its text search, if it has one.
    fn select<'a>(&'a self, query: &'a Query, interrupt: &'a Interrupt<'a>) -> Result<Selected<'a>, Error> {
        let evaluator = self.evaluator(query.variant, interrupt);
        let Some(text) = query.filter.text_query() else {
            return Ok(Selected { matches: evaluator.select(&query.filter)?, search: None, is_exact: true });
        };
        let (search, having) = evaluator.text_matches(text)?;
        let matches = evaluator.select(&query.filter.with_found(text, &MatchSet(having)))?;
        Ok(Selected { matches, search: Some(search), is_exact: true })
    }

    /// Returns the `total` matches in the query's order, at least up to the end of the page. Their text search ranks
    /// them, if it exists already.
    pub(super) fn ordered(
        &self,
        query: &Query,
        selected: Selected<'_>,
        total: usize,
        page: &Range<usize>,
        interrupt: &Interrupt<'_>,
    ) -> Result<OrderedSlots, Error> {
        let Selected { matches, search, is_exact } = selected;
        let Some(text) = query.ranks_by() else {
            let sorter = &self.sorter(query, interrupt);
            return PageSearch { sorter, query, is_exact, matches, total, page }.run();
        };
        let search = match search {
            Some(search) => search,
            None => self.evaluator(query.variant, interrupt).text_search(text)?,
        };
        let first = || search.first(&matches.to_bitmap(&self.version), page.end);
        let step = |_: &Vec<u32>| Some((StepKind::Ordered, "relevance", total as u64));
        interrupt.traced(first, step).map(OrderedSlots::all)
    }

    /// Returns found resources as matches. If they are all resources, `Matches::All` avoids reading them one by one.
    pub(super) fn matches_of(&self, found: &MatchSet) -> Matches {
        match found.0.count() == self.version.total {
            true => Matches::All,
            false => Matches::Some(Arc::clone(&found.0)),
        }
    }

    /// Returns all matching resources, in order. Fails only if the index's files cannot be read or are damaged.
    pub fn stream(&self, query: &Query) -> Result<Stream, Error> {
        self.stream_with(query, &Interrupt::never())
    }

    /// Like [`Snapshot::stream`]. Also fails with [`Error::Interrupted`], soon after the interrupt ends it. Reading the
    /// stream cannot be interrupted, and takes very little time.
    pub fn stream_with(&self, query: &Query, interrupt: &Interrupt<'_>) -> Result<Stream, Error> {
        let stream = |found: Selected<'_>| self.stream_of_matches(found.matches, query, found.search, interrupt);
        self.sound(self.select(query, interrupt).and_then(stream))
    }

    /// Like [`Snapshot::stream_with`], for results that were found before; see [`Snapshot::page_of`].
    ///
    /// # Errors
    /// The errors of [`Snapshot::search_with`].
    pub fn stream_of(&self, found: &MatchSet, query: &Query, interrupt: &Interrupt<'_>) -> Result<Stream, Error> {
        self.sound(self.stream_of_matches(self.matches_of(found), query, None, interrupt))
    }

    fn stream_of_matches(
        &self,
        matches: Matches,
        query: &Query,
        search: Option<TextSearch<'_>>,
        interrupt: &Interrupt<'_>,
    ) -> Result<Stream, Error> {
        let total = matches.count(&self.version);
        let selected = Selected { matches, search, is_exact: false };
        let slots = self.ordered(query, selected, total, &(0..total), interrupt)?;
        Ok(Stream { snapshot: self.clone(), total, slots, position: 0 })
    }

    /// Returns all resources that the filter holds for, unordered. Fails as [`Snapshot::search_with`] does.
    pub fn find(&self, variant: VariantNumber, filter: &Filter, interrupt: &Interrupt<'_>) -> Result<MatchSet, Error> {
        let found = self.sound(self.evaluator(variant, interrupt).select(filter))?;
        Ok(MatchSet(found.to_bitmap(&self.version)))
    }

    /// Returns the ids of resources that were found in this snapshot.
    pub fn ids(&self, found: &MatchSet, interrupt: &Interrupt<'_>) -> Result<IdSet, Error> {
        let mut ids = Vec::with_capacity(found.0.count());
        for slot in found.0.iter() {
            interrupt.step()?;
            ids.push(self.version.rows.get(slot).id);
        }
        Ok(IdSet::of(ids))
    }

    /// Returns the resource of a slot that was found in this snapshot.
    pub fn hit(&self, slot: u32) -> Hit {
        self.version.hit(slot)
    }

    /// Returns the resource with this id.
    pub fn get(&self, id: u128) -> Option<Hit> {
        self.context.slots.find(&self.version, id).map(|slot| self.version.hit(slot))
    }

    /// Returns the number of a resource's live copy, as in [`Copy::number`](crate::Copy::number). `None` if it has no
    /// copy in that variant. For [`working_variant`](crate::working_variant) of a variant it is the number of its
    /// working copy.
    pub fn copy(&self, slot: u32, variant: VariantNumber) -> Option<u64> {
        let location = self.live().copy_set(variant)?.locations.get(slot);
        location.is_copy().then_some(location.number)
    }

    /// Returns the ids in a column of a resource's copy, a text or a list, in their order. Leaves out texts that are
    /// not ids.
    pub fn related_ids(&self, slot: u32, variant: VariantNumber, column: ColumnId) -> Vec<u128> {
        let value = self.version.copy_set(variant).map(|copies| copies.value_without_folded(slot, column));
        match value {
            Some(ValueRef::Text(text)) => ids::parse(text.whole().as_bytes()).into_iter().collect(),
            Some(ValueRef::List(list)) => list.elements().filter_map(|id| ids::parse(id.as_bytes())).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns whether a column is null in a resource's copy.
    pub fn is_null(&self, slot: u32, variant: VariantNumber, column: ColumnId) -> bool {
        let copies = self.version.copy_set(variant);
        copies.is_none_or(|copies| copies.value_without_folded(slot, column).is_null())
    }

    /// Returns the id of any resource that matches the filter and for which `accept` returns true.
    ///
    /// For filters used only once: if the filter is a single primitive, its bitmap is not cached.
    pub fn find_once(
        &self,
        variant: VariantNumber,
        filter: &Filter,
        mut accept: impl FnMut(u128) -> bool,
    ) -> Result<Option<u128>, Error> {
        let interrupt = Interrupt::never();
        let found = self.sound(self.evaluator(variant, &interrupt).select_once(filter))?;
        let found = found.to_bitmap(&self.version);
        let id = found.iter().map(|slot| self.version.rows.get(slot).id).find(|id| accept(*id));
        Ok(id)
    }

    /// Returns the columns in which a copy's value differs from the expected `values`; columns not listed are expected
    /// to be null.
    ///
    /// For verification: compares the values in the runs, including folded text.
    pub fn differing(&self, slot: u32, variant: VariantNumber, values: Vec<(ColumnId, Value)>) -> Vec<ColumnId> {
        let Some(copies) = self.version.copy_set(variant) else { return Vec::new() };
        let expected = Document::new(slot, values);
        let columns = self.version.schema.columns.iter().map(|column| column.id);
        columns.filter(|id| !copies.value(slot, *id).is_same(&expected.value(*id))).collect()
    }

    pub(super) fn evaluator<'a>(&'a self, variant: VariantNumber, interrupt: &'a Interrupt<'a>) -> Evaluator<'a> {
        Evaluator::new(&self.context, &self.version, variant, interrupt)
    }

    /// Returns a result, unless damage was found meanwhile: then it may be wrong.
    pub(super) fn sound<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        let damage = &self.context.cache.damage;
        if let Err(Error::Corrupt { path, what }) = &result {
            damage.report(path, what.as_str());
        }
        damage.check()?;
        result
    }

    pub(super) fn sorter<'a>(&'a self, query: &Query, interrupt: &'a Interrupt<'a>) -> Sorter<'a> {
        Sorter::new(&self.context, &self.version, query.variant, &query.sort, interrupt)
    }
}

impl Stream {
    /// Returns the number of all resources.
    pub fn total(&self) -> u64 {
        self.total as u64
    }

    /// Returns the snapshot that is read.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Returns the next resources, at most `count`. Empty at the end.
    pub fn next(&mut self, count: usize) -> Vec<Hit> {
        let slots = self.slots.next(&mut self.position, count);
        slots.into_iter().map(|slot| self.snapshot.version.hit(slot)).collect()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Snapshot").field("version", &self.version.number).field("total", &self.total()).finish()
    }
}
