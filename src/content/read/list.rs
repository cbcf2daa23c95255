//! Lists: a page of the matching resources, and the data answered beside it (`API.md` 4.2). Must not know how resources
//! are searched for.

use std::sync::Arc;
use std::time::Instant;

use bindery_index::{Hits, KeptPage, MatchSet, PageDependence, Position, Reason};
use bindery_model::error::Result;
use bindery_model::id::ResourceId;
use bindery_query::{Copies, ListParams, Page, Query, RawParams};
use serde_json::{Map, Value};

use crate::data::stored_copies::StoredCopies;
use crate::data::version::EntityTag;
use crate::read::aggregate::aggregate;
use crate::read::cursor::CursorKey;
use crate::read::expand::IncludedResources;
use crate::read::explain::Explanation;
use crate::read::kept_list::KeptList;
use crate::read::reasons::ranking;
use crate::read::resolve::{Resolver, Result as SearchResult};
use crate::read::resource::Presentation;
use crate::read::view::{IndexQuery, View, ViewSearch};

/// A page of a list.
#[derive(Debug)]
pub struct ListPage {
    /// The resource objects as JSON text: an array.
    pub resources: String,
    /// The ids of these resources, in order.
    pub ids: Vec<ResourceId>,
    /// The related resources, if they were asked for: also a JSON array.
    pub included: Option<String>,
    /// The position of the page.
    pub position: PagePosition,
    /// The number of resources that match.
    pub total: u64,
    /// The keys of `meta` beside those of the page: `facets` and `stats`, and what is known of the words of `q`.
    pub meta: Map<String, Value>,
    /// The explanation of the search, if it was asked for.
    pub explained: Option<Explanation>,
    /// Decides whether the page is the same after writes; `None` if that cannot be decided.
    pub kept: Option<KeptList>,
}

/// The position of a page in its list.
#[derive(Debug)]
pub enum PagePosition {
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

/// A page whose resources were found but not read yet.
struct FoundPage {
    hits: Hits,
    /// The cursor of the next page, in a walk that continues.
    next: Option<String>,
    included: Option<String>,
    aggregates: Map<String, Value>,
    /// The reasons for the places of the resources, if an explanation was asked for.
    reasons: Vec<Reason>,
    /// The page and the query that found it, unless it is another one after every write.
    kept: Option<(KeptPage, IndexQuery)>,
}

/// A list request with valid parameters and a verified cursor.
pub struct ListRequest {
    /// The parameters.
    pub params: ListParams,
    start: PageStart,
    /// True if the request asks for an explanation.
    pub is_explained: bool,
}

/// The start of a page.
enum PageStart {
    /// Computed from the number of the page.
    Numbered,
    /// After the last resource of the previous page; at the beginning of the walk if there is none.
    Walk { cursors: CursorKey, behind: Option<Position> },
}

impl AsRef<Query> for ListRequest {
    fn as_ref(&self) -> &Query {
        &self.params.query
    }
}

impl ListRequest {
    /// Names what steers the list in the explanation.
    pub(super) fn explain_steering(&self, resolver: &Resolver<'_>) {
        resolver.steered_by("rule", &self.params.rules);
        resolver.steered_by("boost", &self.params.boosts);
    }
}

impl View {
    /// Returns the entity tag of a page of a list of the blueprint. Its links begin with `base_url`; the rest of them
    /// is in the request or follows from the page.
    pub fn page_tag(&self, page: &ListPage, base_url: &str) -> EntityTag {
        let sees = self.collection.seen_version(self.visibility).seen;
        let (numbers, next) = match &page.position {
            PagePosition::Numbered(numbered) => ([page.total, numbered.number, numbered.per_page], ""),
            PagePosition::Walk { per_page, next } => ([page.total, 0, *per_page], next.as_deref().unwrap_or_default()),
        };
        let meta = serde_json::to_string(&page.meta).unwrap_or_default();
        let included = page.included.as_deref().unwrap_or_default();
        let texts = [page.resources.as_str(), included, &meta, next, base_url];
        EntityTag::of_page(self.state.epoch, sees, numbers, &texts)
    }

    /// Returns a page of the list, without a time limit.
    ///
    /// # Errors
    /// The errors of the parameters, `OVERLOADED` while the index is being rebuilt.
    pub fn list(&self, raw_query: &str) -> Result<ListPage> {
        let request = self.list_request(raw_query)?;
        let (query, stored) = (&request.params.query, &self.stored);
        let found = self.search_at_length(query, |searching| find_page(searching, &request, stored))?;
        let objects = self.objects_here(&found.hits.hits, self.list_presentation(&request.params))?;
        Ok(self.list_page(&request.params, found, objects, None))
    }

    /// Returns a page of the list, searched for within the time that a request may take.
    ///
    /// # Errors
    /// `OVERLOADED` if it takes too long, too many searches wait, or the index is being rebuilt.
    pub async fn list_in_time(&self, request: &Arc<ListRequest>) -> Result<ListPage> {
        let ListRequest { params, start, is_explained, .. } = &**request;
        let offset = match start {
            PageStart::Walk { behind: Some(_), .. } => self.anywhere(),
            PageStart::Walk { behind: None, .. } | PageStart::Numbered => params.page.offset(),
        };
        let stored = self.stored.clone();
        let search = move |searching: &ViewSearch<'_>, request: &ListRequest| find_page(searching, request, &stored);
        let (found, explained) = self.search(request, offset, &params.aggregation, *is_explained, search).await?;
        let started = Instant::now();
        let objects = self.objects(&found.hits.hits, self.list_presentation(params)).await?;
        let took = started.elapsed();
        let explained = explained.map(|how| how.with_documents(&self.collection, found.hits.hits.len(), took));
        Ok(self.list_page(params, found, objects, explained))
    }

    /// Reads the query string of a list.
    ///
    /// # Errors
    /// The errors of the parameters.
    pub fn list_request(&self, raw_query: &str) -> Result<ListRequest> {
        let raw = RawParams::parse(raw_query);
        let is_explained = self.explains(&raw)?;
        let (related, steering) = (|slug: &str| self.related(slug), self.steering());
        let params = ListParams::parse(&raw, &self.collection.blueprint, &related, self.now, &steering)?;
        // Must come before the entity tag is compared: an invalid cursor must never be answered with 304.
        let start = match params.cursor.as_deref() {
            None => PageStart::Numbered,
            Some(cursor) => {
                let cursors = CursorKey::new(self.state.epoch, &self.collection, &params.query, self.visibility);
                let behind = if cursor.is_empty() { None } else { Some(cursors.open(cursor)?) };
                PageStart::Walk { cursors, behind }
            }
        };
        Ok(ListRequest { params, start, is_explained })
    }

    /// Returns an offset for the estimate of a search whose result may be anywhere in the list: such a search sorts
    /// everything.
    pub(super) fn anywhere(&self) -> u64 {
        self.collection.snapshot.total() / 2
    }

    pub(super) fn list_presentation(&self, params: &ListParams) -> Presentation {
        let ListParams { query, fallback, selection, highlights, .. } = params;
        let copies = Copies { fallback: *fallback, ..query.copies };
        Presentation { highlights: highlights.clone(), ..self.presentation(copies, selection) }
    }

    /// Returns the page of these resource objects, which are separated by commas.
    fn list_page(
        &self,
        params: &ListParams,
        found: FoundPage,
        objects: String,
        explained: Option<Explanation>,
    ) -> ListPage {
        let FoundPage { hits, next, included, aggregates: mut meta, reasons, kept } = found;
        if !reasons.is_empty() {
            let ranking = ranking(&self.collection.blueprint, &hits.hits, &reasons, &params.pinned);
            meta.insert("ranking".to_owned(), ranking);
        }
        // A walk says nothing about words: only its first page would have them.
        if let Some(words) = hits.words.as_ref().filter(|_| params.cursor.is_none()) {
            meta.insert("matched_all".to_owned(), words.matched_all.into());
            meta.insert("ignored_words".to_owned(), words.ignored.as_slice().into());
            meta.insert("did_you_mean".to_owned(), words.did_you_mean.clone().into());
        }
        let position = match params.cursor {
            None => PagePosition::Numbered(params.page),
            Some(_) => PagePosition::Walk { per_page: params.page.per_page, next },
        };
        let mut resources = objects;
        resources.insert(0, '[');
        resources.push(']');
        let ids = hits.hits.iter().map(|hit| ResourceId::from_u128(hit.id)).collect();
        let kept = kept.and_then(|(page, query)| self.keep_list(page, query));
        ListPage { resources, ids, included, position, total: hits.total, meta, explained, kept }
    }
}

fn find_page(searching: &ViewSearch<'_>, request: &ListRequest, stored: &StoredCopies) -> SearchResult<FoundPage> {
    let ListParams { query, fallback, page, aggregation, expansion, .. } = &request.params;
    let (collection, resolver) = (searching.collection, searching.resolver);
    // The page size is at most 100.
    let per_page = usize::try_from(page.per_page).unwrap_or(usize::MAX);
    request.explain_steering(resolver);
    let is_walk = matches!(request.start, PageStart::Walk { .. });
    // Without a walk and aggregates, the search may end as soon as the page is found.
    let found = (is_walk || !aggregation.is_empty()).then(|| searching.find()).transpose()?;
    let aggregates = match &found {
        Some(found) if !aggregation.is_empty() => aggregate(resolver, collection, query, aggregation, found)?,
        _ => Map::new(),
    };
    let (hits, next) = match (&found, &request.start) {
        (Some(found), PageStart::Walk { cursors, behind }) => {
            walk(searching, found, cursors, behind.as_ref(), per_page)?
        }
        (found, _) => {
            let page = searching.run(|snapshot, interrupt| match found {
                Some(found) => snapshot.page_of(found, searching.query, page.offset(), per_page, interrupt),
                None => snapshot.search_with(searching.query, page.offset(), per_page, interrupt),
            })?;
            (page, None)
        }
    };
    let reasons = match request.is_explained {
        true => searching.run(|snapshot, interrupt| snapshot.reasons(searching.query, &hits.hits, interrupt))?,
        false => Vec::new(),
    };
    let copies = query.copies.answered_with(*fallback);
    let include = || {
        let mut included = IncludedResources::new(resolver, stored, expansion);
        hits.hits.iter().try_for_each(|hit| included.add(collection, copies, *hit))?;
        Ok(included)
    };
    let included = match expansion.is_empty() {
        true => None,
        false => Some(resolver.step("expand", "expand", include, |included| included.len())?.finish()),
    };
    // A facet with a filter of its own counts resources that the list does not have.
    let is_kept = !request.params.is_ranked() && aggregation.facets.iter().all(|facet| facet.filter.is_none());
    let depends_on = match &request.start {
        _ if !aggregation.is_empty() => PageDependence::Matches,
        PageStart::Walk { behind: Some(_), .. } => PageDependence::Beginning,
        PageStart::Walk { behind: None, .. } | PageStart::Numbered => PageDependence::Page,
    };
    let kept = is_kept.then(|| (collection.snapshot.keep_page(&hits.hits, depends_on), searching.query.clone()));
    Ok(FoundPage { hits, next, included, aggregates, reasons, kept })
}

/// Returns a page of a walk, and the cursor of the next one.
fn walk(
    searching: &ViewSearch<'_>,
    found: &MatchSet,
    cursors: &CursorKey,
    behind: Option<&Position>,
    per_page: usize,
) -> SearchResult<(Hits, Option<String>)> {
    let query = searching.query;
    // Asks for one more resource than the page has, to learn whether there is a next page.
    let mut hits = match behind {
        Some(position) => {
            let behind = || {
                searching
                    .run(|snapshot, interrupt| snapshot.page_behind(found, query, position, per_page + 1, interrupt))
            };
            searching.resolver.step("order", "cursor", behind, |hits| hits.total)?
        }
        None => searching.run(|snapshot, interrupt| snapshot.page_of(found, query, 0, per_page + 1, interrupt))?,
    };
    let goes_on = hits.hits.len() > per_page;
    hits.hits.truncate(per_page);
    let last = hits.hits.last().filter(|_| goes_on);
    let next = last.map(|last| cursors.seal(&searching.collection.snapshot.position(query, last.slot)));
    Ok((hits, next))
}
