//! `GET /v2/search` (`API.md` 4.17): searches all blueprints at once, by text or by words, with the results of each as
//! its list would have them. Must not know the rules of matching.

use std::time::Duration;

use axum::http::StatusCode;
use bindery_content::Explanation;
use bindery_model::ability::Ability;
use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error, Result};
use bindery_query::{CopyKind, RawParams, WordParams, has_ranked_fields, has_words, strict};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use crate::answer::respond;
use crate::answer::server_timing::explained;
use crate::error::Answer;
use crate::request::head::Call;

/// The most resources that are answered for each blueprint.
const MOST: usize = 20;

/// The default number of them.
const DEFAULT: usize = 5;

pub(crate) async fn search(call: Call) -> Answer {
    call.access.require(&[Ability::View])?;
    let params = RawParams::parse(&call.query);
    strict::check(&params, &[&["search", "q", "limit", "copy", "explain"][..], &WordParams::NAMES].concat())?;
    let is_explained = params.flag("explain")?;
    if is_explained {
        call.access.require(&[Ability::Manage])?;
    }
    let copies = CopyKind::parse_for_all(&params)?;
    if copies == CopyKind::Working {
        call.access.require(&[Ability::Preview])?;
    }
    let asked = SearchParams::of(&params)?;
    let limit = limit(params.single("limit")?)?;
    let most = call.app.config.query_timeout;
    let search = Search { asked, copies, limit, is_explained };
    match tokio::time::timeout(most, search.all(&call)).await {
        Ok(found) => found,
        Err(_) => Err(too_slow(most).into()),
    }
}

fn limit(sent: Option<&str>) -> Result<usize> {
    let limit = sent.map_or(Some(DEFAULT), |sent| sent.parse().ok().filter(|limit| (1..=MOST).contains(limit)));
    limit.ok_or_else(|| Error::new(Code::InvalidParameter, format!("`limit` must be a number from 1 to {MOST}")))
}

/// The parsed request.
struct Search {
    asked: SearchParams,
    /// The copies that are searched in blueprints with working copies.
    copies: CopyKind,
    limit: usize,
    is_explained: bool,
}

/// The search parameters, which are passed to each list.
struct SearchParams(String);

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
        Ok(SearchParams(parameters.join("&")))
    }
}

impl Search {
    /// Searches the blueprints one after another, so that a request never runs more than one search at a time.
    async fn all(&self, call: &Call) -> Answer {
        let (mut found, mut total) = (Vec::new(), 0);
        let mut how: Option<Explanation> = None;
        for blueprint in call.app.content.list_blueprints(&call.access)? {
            // Skipped: a list without searchable fields would ignore the words and return everything.
            if !has_ranked_fields(&blueprint) {
                continue;
            }
            let query = self.query(&blueprint);
            let view = match call.app.content.view_of(&call.access, &blueprint.slug, &query) {
                Ok(view) => view,
                // The blueprint was deleted after the list of blueprints was read.
                Err(error) if error.code == Code::NotFound => continue,
                Err(error) => return Err(error.into()),
            };
            let page = view.list_in_time(&view.list_request(&query)?).await?;
            how = match (how, page.explained) {
                (Some(how), Some(next)) => Some(how.and(next)),
                (how, next) => how.or(next),
            };
            if page.total > 0 {
                total += page.total;
                found.push(of_blueprint(&blueprint, page.total, &page.resources)?);
            }
        }
        let found = serde_json::to_string(&found).map_err(Error::internal)?;
        let mut meta = json!({ "total": total });
        if let Some(Explanation { steps, .. }) = &how {
            meta["explain"] = Value::Array(steps.clone());
        }
        let response = respond::json(StatusCode::OK, format!("{{\"data\":{found},\"meta\":{meta}}}"));
        Ok(match how {
            Some(how) => explained(response, &how),
            None => response,
        })
    }

    /// Returns the query of a blueprint's list. Only the fields that label a resource are selected.
    fn query(&self, blueprint: &Blueprint) -> String {
        let Search { asked, copies, limit, is_explained } = self;
        let is_field = |slug: &&String| blueprint.fields.iter().any(|field| field.slug == **slug);
        let title = blueprint.record_title.as_ref().filter(is_field);
        let title = title.map_or_else(String::new, |slug| format!(",attributes.{slug}"));
        let fields = format!("id,type,published_at,updated_at,relationships{title}");
        let copy = if *copies == CopyKind::Working && blueprint.working_copy { "&copy=working" } else { "" };
        format!("{}&per_page={limit}&explain={is_explained}&fields={fields}{copy}", asked.0)
    }
}

fn of_blueprint(blueprint: &Blueprint, total: u64, resources: &str) -> Result<Map<String, Value>> {
    let mut object = Map::new();
    object.insert("blueprint".to_owned(), blueprint.slug.as_str().into());
    object.insert("total".to_owned(), total.into());
    object.insert("resources".to_owned(), serde_json::from_str(resources).map_err(Error::internal)?);
    Ok(object)
}

fn too_slow(most: Duration) -> Error {
    let text = format!("this search took longer than {} seconds; search in one blueprint", most.as_secs());
    Error::new(Code::Overloaded, text)
}
