//! `GET /v2/search` (`API.md` 4.17): searches all blueprints at once. Words have one ranked list; a text, or
//! `group=true`, has the results of each blueprint as its list would have them. Must not know the rules of matching.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use bindery_content::{
    BlueprintMatches, Explanation, ListRequest, View, did_you_mean, ignored_words, in_common_order, require_for_copy,
    require_for_explain,
};
use bindery_model::ability::Ability;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error, Result};
use bindery_model::sent::{quote, quote_all};
use bindery_query::{CopyKind, Page, RawParams, WordParams, has_ranked_fields, has_words, strict};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::tracking::{AnsweredSearch, Visitor, not_kept};
use crate::answer::links::Links;
use crate::answer::respond;
use crate::answer::server_timing::explained;
use crate::error::Answer;
use crate::request::head::{BaseUrl, Call};

/// The most resources that are answered for each blueprint.
const MOST: usize = 20;

/// The default number of them.
const DEFAULT: usize = 5;

/// The number of matches that are put into their common order on a thread that serves connections.
const FEW_PLACES: usize = 1_000;

/// The greatest weight of a blueprint.
const MAX_WEIGHT: f32 = 1_000.0;

/// The parameters, beside those that say how words are found.
const NAMES: [&str; 12] = [
    "search",
    "q",
    "group",
    "blueprints",
    "variant",
    "weights",
    "page",
    "per_page",
    "limit",
    "copy",
    "explain",
    "track",
];

pub(crate) async fn search(call: Call, BaseUrl(base): BaseUrl, visitor: Visitor) -> Answer {
    call.access.require(&[Ability::View])?;
    let params = RawParams::parse(&call.query);
    require_for_copy(&call.access, &params)?;
    require_for_explain(&call.access, &params)?;
    let is_strict = strict::check(&params, &[&NAMES[..], &WordParams::NAMES].concat())?;
    let is_explained = params.flag("explain")?;
    let copies = CopyKind::parse_for_all(&params)?;
    let asked = SearchParams::of(&params)?;
    let sent_limit = params.single("limit")?;
    let limit = limit(sent_limit)?;
    let blueprints = blueprints(&call, &params)?;
    check_variant(&params, &blueprints)?;
    let variant = params.single("variant")?.map(str::to_owned);
    let weights = weights(&params, &blueprints)?;
    let is_grouped = params.flag("group")? || !asked.has_words;
    let is_tracked = params.flag("track")?;
    if is_strict {
        check_effects(&params, is_grouped)?;
    }
    let tracked = is_tracked.then_some((&visitor, &params));
    let mut page = Page::parse(&params)?;
    if sent_limit.is_some() && params.single("per_page")?.is_none() {
        page.per_page = limit as u64;
    }
    let most = call.app.config.query_timeout;
    let search = Search { asked, blueprints, variant, copies, limit, is_explained };
    let found = async {
        match is_grouped {
            true => search.all(&call).await,
            false => search.ranked(&call, &weights, page, &format!("{base}/v2/search"), tracked).await,
        }
    };
    match tokio::time::timeout(most, found).await {
        Ok(found) => found,
        Err(_) => Err(too_slow(most).into()),
    }
}

/// Checks, for a strict request, that each of the parameters has an effect.
fn check_effects(params: &RawParams, is_grouped: bool) -> Result<()> {
    const ONE_LIST: &str = "only the one list of all blueprints has it, which has `q` and no `group`";
    let is_empty = |name| Ok::<_, Error>(params.single(name)? == Some(""));
    let is_given = |name| Ok::<_, Error>(params.single(name)?.is_some());
    for (name, is_ignored, why) in [
        ("search", is_empty("search")?, "it is empty"),
        ("q", is_empty("q")?, "it has no words"),
        ("weights", is_grouped && is_given("weights")?, ONE_LIST),
        ("page", is_grouped && is_given("page")?, ONE_LIST),
        ("per_page", is_grouped && is_given("per_page")?, ONE_LIST),
        ("track", is_grouped && params.flag("track")?, ONE_LIST),
        ("limit", !is_grouped && is_given("limit")? && is_given("per_page")?, "`per_page` counts"),
    ] {
        if is_ignored {
            return Err(strict::ignored(name, why));
        }
    }
    WordParams::parse(params)?.check_effect(params.single("q")?)
}

/// Returns the blueprints that are searched: those that `blueprints` names, or all that the token sees. Those without
/// searchable fields are left out: their lists would ignore the words and return everything.
pub(super) fn blueprints(call: &Call, params: &RawParams) -> Result<Vec<Arc<Blueprint>>> {
    let mut all = call.app.content.list_blueprints(&call.access)?;
    if let Some(sent) = params.single("blueprints")? {
        let names: Vec<&str> = sent.split(',').collect();
        if let Some(unknown) = names.iter().find(|name| all.iter().all(|blueprint| blueprint.slug != **name)) {
            return Err(no_such("blueprints", unknown, &all));
        }
        all.retain(|blueprint| names.contains(&blueprint.slug.as_str()));
    }
    all.retain(|blueprint| has_ranked_fields(blueprint));
    Ok(all)
}

/// Checks that some of the blueprints have the variant.
pub(super) fn check_variant(params: &RawParams, blueprints: &[Arc<Blueprint>]) -> Result<()> {
    let Some(slug) = params.single("variant")? else { return Ok(()) };
    if blueprints.iter().any(|blueprint| blueprint.variant(slug).is_some()) {
        return Ok(());
    }
    let mut known: Vec<&str> =
        blueprints.iter().flat_map(|blueprint| &blueprint.variants).map(|variant| variant.slug.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let known = match known.is_empty() {
        true => "none of these blueprints has variants".to_owned(),
        false => format!("the variants of these blueprints are {}", quote_all(known)),
    };
    let text = format!("`variant` is {}; {known}", quote(slug));
    Err(Error::new(Code::InvalidVariant, text))
}

/// Reads `weights=articles:2,pages:0.5`: the weight of each blueprint that is searched, 1 for those that it does not
/// name.
fn weights(params: &RawParams, blueprints: &[Arc<Blueprint>]) -> Result<Vec<f32>> {
    let mut weights = vec![1.0; blueprints.len()];
    for entry in params.single("weights")?.into_iter().flat_map(|sent| sent.split(',')) {
        let (slug, sent) = entry.split_once(':').unwrap_or((entry, ""));
        let at = blueprints.iter().position(|blueprint| blueprint.slug == slug);
        let at = at.ok_or_else(|| no_such("weights", slug, blueprints))?;
        let weight = sent.parse().ok().filter(|weight: &f32| *weight > 0.0 && *weight <= MAX_WEIGHT);
        weights[at] = weight.ok_or_else(|| {
            let text = format!(
                "`weights` has {}; each entry is a blueprint, a colon and a number above 0 and at most {MAX_WEIGHT}, such as \
                 `articles:2`",
                quote(entry)
            );
            Error::new(Code::InvalidParameter, text)
        })?;
    }
    Ok(weights)
}

fn no_such(parameter: &str, slug: &str, blueprints: &[Arc<Blueprint>]) -> Error {
    let known = quote_all(blueprints.iter().map(|blueprint| &blueprint.slug));
    let text =
        format!("`{parameter}` names {}, which is none of the blueprints that are searched: {known}", quote(slug));
    Error::new(Code::InvalidParameter, text)
}

fn limit(sent: Option<&str>) -> Result<usize> {
    let limit = sent.map_or(Some(DEFAULT), |sent| sent.parse().ok().filter(|limit| (1..=MOST).contains(limit)));
    limit.ok_or_else(|| Error::new(Code::InvalidParameter, format!("`limit` must be a number from 1 to {MOST}")))
}

/// The parsed request.
struct Search {
    asked: SearchParams,
    blueprints: Vec<Arc<Blueprint>>,
    /// The variant in which the blueprints that have it are searched.
    variant: Option<String>,
    /// The copies that are searched in blueprints with working copies.
    copies: CopyKind,
    limit: usize,
    is_explained: bool,
}

/// The search parameters, which are passed to each list.
struct SearchParams {
    query: String,
    /// True if there are words, which can be ranked.
    has_words: bool,
    /// True if words are found only as they stand.
    is_exact: bool,
}

impl SearchParams {
    fn of(params: &RawParams) -> Result<SearchParams> {
        let given = |name| Ok::<_, Error>(params.single(name)?.filter(|text| !text.is_empty()));
        let (search, q) = (given("search")?, given("q")?);
        WordParams::parse(params)?;
        let invalid = |text: &str| Error::new(Code::InvalidParameter, text);
        if search.is_none() && q.is_none() {
            return Err(invalid("`search` or `q` is required: the text, or the words, to look for"));
        }
        if q.is_some_and(|q| !has_words(q)) {
            return Err(invalid("`q` has no words; `search` finds any text"));
        }
        let parameter = |(name, text): (&str, &str)| format!("{name}={}", utf8_percent_encode(text, NON_ALPHANUMERIC));
        let mut given = vec![("search", search), ("q", q)];
        if q.is_some() {
            for name in WordParams::NAMES {
                given.push((name, params.single(name)?));
            }
        }
        let parameters: Vec<String> =
            given.into_iter().filter_map(|(name, text)| Some(parameter((name, text?)))).collect();
        let is_exact = params.single("q_mode")? == Some("exact");
        Ok(SearchParams { query: parameters.join("&"), has_words: q.is_some(), is_exact })
    }
}

impl Search {
    /// Searches the blueprints one after another, so that a request never runs more than one search at a time.
    async fn all(&self, call: &Call) -> Answer {
        let (mut found, mut total) = (Vec::new(), 0);
        let mut how: Option<Explanation> = None;
        for blueprint in &self.blueprints {
            let Some((view, request)) = self.view(call, blueprint)? else { continue };
            let page = view.list_in_time(&request).await?;
            how = joined(how, page.explained);
            if page.total > 0 {
                total += page.total;
                found.push(of_blueprint(blueprint, page.total, &page.resources)?);
            }
        }
        let found = serde_json::to_string(&found).map_err(Error::internal)?;
        let mut meta = json!({ "total": total });
        if let Some(Explanation { steps, .. }) = &how {
            meta["explain"] = Value::Array(steps.clone());
        }
        let response = respond::json(StatusCode::OK, format!("{{\"data\":{found},\"meta\":{meta}}}"));
        Ok(explained(response, how.as_ref()))
    }

    /// Searches the blueprints one after another, and answers a page of their common order. If the search is `tracked`,
    /// it is counted for its visitor.
    async fn ranked(
        &self,
        call: &Call,
        weights: &[f32],
        page: Page,
        url: &str,
        tracked: Option<(&Visitor, &RawParams)>,
    ) -> Answer {
        let [start, end] = [page.offset(), page.offset().saturating_add(page.per_page)]
            .map(|place| usize::try_from(place).unwrap_or(usize::MAX));
        let (mut lists, mut parts): (Vec<(View, Arc<ListRequest>)>, Vec<BlueprintMatches>) = (Vec::new(), Vec::new());
        let mut how: Option<Explanation> = None;
        let mut slugs = Vec::new();
        for (blueprint, weight) in self.blueprints.iter().zip(weights) {
            let Some((view, request)) = self.view(call, blueprint)? else { continue };
            let mut part = view.ranked_in_time(&request, end, *weight).await?;
            how = joined(how, part.explained.take());
            slugs.push((blueprint.slug.as_str(), part.total()));
            lists.push((view, request));
            parts.push(part);
        }
        let total: u64 = parts.iter().map(BlueprintMatches::total).sum();
        let places = start..end.min(usize::try_from(total).unwrap_or(usize::MAX));
        // All matches before the page are passed, so a late one takes long.
        let (shown, parts) = match places.is_empty() {
            true => (Vec::new(), parts),
            false if places.end <= FEW_PLACES => (in_common_order(&parts, places), parts),
            false => {
                let merging = tokio::task::spawn_blocking(move || (in_common_order(&parts, places), parts));
                merging.await.map_err(Error::internal)?
            }
        };
        let mut resources = vec![Value::Null; shown.len()];
        for (number, (view, request)) in lists.iter().enumerate() {
            let own: Vec<_> = shown.iter().enumerate().filter(|(_, found)| found.blueprint == number).collect();
            if own.is_empty() {
                continue;
            }
            let matches: Vec<_> = own.iter().map(|(_, found)| **found).collect();
            for ((place, _), object) in own.iter().zip(view.show_matches(request, &matches).await?) {
                resources[*place] = object;
            }
        }
        let Links { first, last, prev, next } = Links::new(url, &call.query, page, total);
        let mut meta = json!({
            "current_page": page.number,
            "last_page": page.last(total),
            "per_page": page.per_page,
            "total": total,
            "matched_all": parts.iter().map(BlueprintMatches::matched_all).sum::<u64>(),
            "facets": { "blueprint": facet(slugs.clone()) },
        });
        if !self.asked.is_exact {
            meta["ignored_words"] = ignored_words(&parts).into();
            meta["did_you_mean"] = did_you_mean(&lists, &parts).await?.into();
        }
        if let Some((visitor, params)) = tracked {
            // The views of singular blueprints show every reader the drafts.
            let sees_drafts = call.access.may(Ability::Preview);
            let is_only = slugs.len() == 1;
            let found = slugs.iter().filter(|(_, total)| *total > 0 || is_only).map(|(slug, _)| (*slug).to_owned());
            let answered = AnsweredSearch { total, blueprints: found.collect(), sees_drafts };
            meta["search_id"] = visitor.search_id(params, answered);
        }
        if let Some(Explanation { steps, .. }) = &how {
            meta["explain"] = Value::Array(steps.clone());
        }
        let links = json!({ "first": first, "last": last, "prev": prev, "next": next });
        let body = json!({ "data": resources, "links": links, "meta": meta });
        let response = respond::json(StatusCode::OK, body.to_string());
        let response = if tracked.is_some() { not_kept(response) } else { response };
        Ok(explained(response, how.as_ref()))
    }

    /// Returns the list of a blueprint; `None` if the blueprint was deleted after the list of blueprints was read.
    fn view(&self, call: &Call, blueprint: &Blueprint) -> Result<Option<(View, Arc<ListRequest>)>> {
        let query = self.query(blueprint);
        let view = match call.app.content.view_of(&call.access, &blueprint.slug, &query) {
            Ok(view) => view,
            Err(error) if error.code == Code::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let request = Arc::new(view.list_request(&query)?);
        Ok(Some((view, request)))
    }

    /// Returns the query of a blueprint's list. Only the fields that label a resource are selected.
    fn query(&self, blueprint: &Blueprint) -> String {
        let Search { asked, variant, copies, limit, is_explained, .. } = self;
        let is_field = |slug: &&String| blueprint.fields.iter().any(|field| field.slug == **slug);
        let title = blueprint.record_title.as_ref().filter(is_field);
        let title = title.map_or_else(String::new, |slug| format!(",attributes.{slug}"));
        let fields = format!("id,type,published_at,updated_at,relationships{title}");
        let copy = if *copies == CopyKind::Working && blueprint.working_copy { "&copy=working" } else { "" };
        let variant = variant.as_ref().filter(|slug| blueprint.variant(slug).is_some());
        let variant = variant.map_or_else(String::new, |slug| format!("&variant={slug}"));
        format!("{}&per_page={limit}&explain={is_explained}&fields={fields}{copy}{variant}", asked.query)
    }
}

/// Joins the explanations of the searches before and of the next one.
fn joined(how: Option<Explanation>, next: Option<Explanation>) -> Option<Explanation> {
    match (how, next) {
        (Some(how), Some(next)) => Some(how.and(next)),
        (how, next) => how.or(next),
    }
}

/// Returns how many matches each blueprint has, in the form of a facet.
fn facet(mut counts: Vec<(&str, u64)>) -> Value {
    counts.retain(|(_, count)| *count > 0);
    counts.sort_by(|(left, few), (right, many)| many.cmp(few).then_with(|| left.cmp(right)));
    let values: Vec<Value> = counts.iter().map(|(slug, count)| json!({ "value": slug, "count": count })).collect();
    json!({ "values": values, "distinct": values.len(), "null": 0 })
}

fn of_blueprint(blueprint: &Blueprint, total: u64, resources: &str) -> Result<Map<String, Value>> {
    let mut object = Map::new();
    object.insert("blueprint".to_owned(), blueprint.slug.as_str().into());
    object.insert("total".to_owned(), total.into());
    object.insert("resources".to_owned(), serde_json::from_str(resources).map_err(Error::internal)?);
    Ok(object)
}

pub(super) fn too_slow(most: Duration) -> Error {
    let text = format!("this search took longer than {} seconds; search in one blueprint", most.as_secs());
    Error::new(Code::Overloaded, text)
}
