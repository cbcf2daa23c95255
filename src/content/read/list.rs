//! Lists: a page of what matches, with what is answered beside it (`API.md` 4.2). Must not know how resources are searched for.

use std::time::Instant;

use bindery_index::{Found, Hits};
use serde_json::{Map, Value};

use crate::content::data::documents::Documents;
use crate::content::read::aggregate::aggregate;
use crate::content::read::cursor::CursorKey;
use crate::content::read::expand::Included;
use crate::content::read::explain::Explained;
use crate::content::read::resolve::{Result as SearchResult, Stopped};
use crate::content::read::resource::Presentation;
use crate::content::read::view::{Searching, View};
use crate::model::error::Result;
use crate::query::{ListParams, Page, Query};

/// A page of a list.
#[derive(Debug)]
pub struct ListPage {
    /// The resource objects as JSON text: an array.
    pub resources: String,
    /// The related resources that were asked for, likewise.
    pub included: Option<String>,
    /// Which page it is.
    pub place: Place,
    /// The number of resources that match.
    pub total: u64,
    /// The keys `facets` and `stats` of `meta`, if they were asked for.
    pub aggregates: Map<String, Value>,
    /// The explanation of how the page was found and read, if that was asked for.
    pub explained: Option<Explained>,
}

/// Which page of a list it is.
#[derive(Debug)]
pub enum Place {
    /// The page of this number.
    Numbered(Page),
    /// A page of a walk.
    Walk {
        /// The number of resources a page has.
        per_page: u64,
        /// The cursor of the next page; `None` at the end.
        next: Option<String>,
    },
}

/// A page that was found and not read yet.
struct FoundPage {
    hits: Hits,
    /// In a walk that goes on: the cursor of the next page.
    next: Option<String>,
    included: Option<String>,
    aggregates: Map<String, Value>,
}

impl View {
    /// A page of the list, however long it takes.
    ///
    /// # Errors
    /// Those of the parameters, `OVERLOADED` while the index is being rebuilt.
    pub fn list(&self, raw_query: &str) -> Result<ListPage> {
        let params = self.list_params(raw_query)?;
        let (cursors, documents) = (self.cursor_key(&params.query), &self.documents);
        let found = self.search_at_length(&params.query, |searching| find(searching, &params, &cursors, documents))?;
        let objects = self.objects_here(&found.hits.hits, self.presentation(&params))?;
        Ok(list_page(&params, found, objects, None))
    }

    /// A page of the list, searched for within the time that a request may take, and explained if that is asked for.
    ///
    /// # Errors
    /// `OVERLOADED` if it takes too long, too many searches wait, or the index is being rebuilt.
    pub async fn list_in_time(&self, params: &ListParams, is_explained: bool) -> Result<ListPage> {
        let query = params.query.clone();
        let offset = match &params.cursor {
            Some(cursor) if !cursor.is_empty() => self.anywhere(),
            _ => params.page.offset(),
        };
        let (cursors, documents) = (self.cursor_key(&query), self.documents.clone());
        let asked = params.clone();
        let search = move |searching: &Searching<'_>| find(searching, &asked, &cursors, &documents);
        let (found, explained) = self.search(query, offset, &params.aggregation, is_explained, search).await?;
        let started = Instant::now();
        let objects = self.objects(&found.hits.hits, self.presentation(params)).await?;
        let took = started.elapsed();
        let explained = explained.map(|how| how.with_documents(&self.collection, found.hits.hits.len(), took));
        Ok(list_page(params, found, objects, explained))
    }

    /// The parameters of a list.
    ///
    /// # Errors
    /// Those of the parameters.
    pub fn list_params(&self, raw_query: &str) -> Result<ListParams> {
        let related = |slug: &str| self.related(slug);
        let params = ListParams::parse(raw_query, &self.collection.blueprint, &related, self.now)?;
        // Before an entity tag is compared: an invalid cursor must never be answered with 304.
        if let Some(cursor) = params.cursor.as_ref().filter(|cursor| !cursor.is_empty()) {
            self.cursor_key(&params.query).open(cursor)?;
        }
        Ok(params)
    }

    /// Where a page begins that may be anywhere, for the estimate of a search: it needs an order of everything.
    pub(super) fn anywhere(&self) -> u64 {
        self.collection.snapshot.total() / 2
    }

    fn cursor_key(&self, query: &Query) -> CursorKey {
        CursorKey::new(self.state.epoch, &self.collection.blueprint, query, self.sight)
    }

    fn presentation(&self, params: &ListParams) -> Presentation {
        let ListParams { query, fallback, selection, highlights, .. } = params;
        let (variant, selection, highlights) = (query.copies.variant, selection.clone(), highlights.clone());
        Presentation { variant, fallback: *fallback, selection, highlights, names: self.names() }
    }
}

/// The page of these resource objects, which are separated by commas.
fn list_page(params: &ListParams, found: FoundPage, objects: String, explained: Option<Explained>) -> ListPage {
    let FoundPage { hits, next, included, aggregates } = found;
    let place = match params.cursor {
        None => Place::Numbered(params.page),
        Some(_) => Place::Walk { per_page: params.page.per_page, next },
    };
    let mut resources = objects;
    resources.insert(0, '[');
    resources.push(']');
    ListPage { resources, included, place, total: hits.total, aggregates, explained }
}

fn find(
    searching: &Searching<'_>,
    params: &ListParams,
    cursors: &CursorKey,
    documents: &Documents,
) -> SearchResult<FoundPage> {
    let ListParams { query, fallback, page, cursor, aggregation, expansion, .. } = params;
    let (collection, resolver) = (searching.collection, searching.resolver);
    // Without either, the search may end as soon as the page is found.
    let found = (cursor.is_some() || !aggregation.is_empty()).then(|| searching.find()).transpose()?;
    let aggregates = match &found {
        Some(found) if !aggregation.is_empty() => aggregate(resolver, collection, query, aggregation, found)?,
        _ => Map::new(),
    };
    let (hits, next) = match (&found, cursor) {
        (Some(found), Some(cursor)) => walk(searching, found, cursor, cursors, per_page(*page))?,
        (Some(found), None) => (
            searching.of(|snapshot, interrupt| {
                snapshot.page_of(found, searching.query, page.offset(), per_page(*page), interrupt)
            })?,
            None,
        ),
        (None, _) => (
            searching.of(|snapshot, interrupt| {
                snapshot.search_with(searching.query, page.offset(), per_page(*page), interrupt)
            })?,
            None,
        ),
    };
    let copies = query.copies.answered_with(*fallback);
    let include = || {
        let mut included = Included::new(resolver, documents, expansion);
        hits.hits.iter().try_for_each(|hit| included.add(collection, copies, *hit))?;
        Ok(included)
    };
    let included = match expansion.is_empty() {
        true => None,
        false => Some(resolver.step("expand", "expand", include, |included| included.len())?.finish()),
    };
    Ok(FoundPage { hits, next, included, aggregates })
}

/// A page of a walk, and the cursor of the next one.
fn walk(
    searching: &Searching<'_>,
    found: &Found,
    cursor: &str,
    cursors: &CursorKey,
    per_page: usize,
) -> SearchResult<(Hits, Option<String>)> {
    let query = searching.query;
    // One more than the page has tells whether there is a next one.
    let mut hits = if cursor.is_empty() {
        searching.of(|snapshot, interrupt| snapshot.page_of(found, query, 0, per_page + 1, interrupt))?
    } else {
        let position = cursors.open(cursor).map_err(Stopped::Failed)?;
        let behind = || {
            searching.of(|snapshot, interrupt| snapshot.page_behind(found, query, &position, per_page + 1, interrupt))
        };
        searching.resolver.step("order", "cursor", behind, |hits| hits.total)?
    };
    let goes_on = hits.hits.len() > per_page;
    hits.hits.truncate(per_page);
    let last = hits.hits.last().filter(|_| goes_on);
    let next = last.map(|last| cursors.seal(&searching.collection.snapshot.position(query, last.slot)));
    Ok((hits, next))
}

fn per_page(page: Page) -> usize {
    // At most 100.
    usize::try_from(page.per_page).unwrap_or(usize::MAX)
}
