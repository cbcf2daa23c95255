//! `GET /v2/search` (`API.md` 4.17): one search over all blueprints, as a list of each would answer it. Must not know what
//! matches.

use std::time::Duration;

use axum::http::StatusCode;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::error::Answer;
use super::head::Call;
use super::respond;
use crate::model::ability::Ability;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Code, Error, Result};
use crate::query::{RawParams, strict};

/// The most resources that are shown of each blueprint.
const MOST: usize = 20;

/// How many are shown unless it is said.
const DEFAULT: usize = 5;

pub(super) async fn search(call: Call) -> Answer {
    call.access.require(&[Ability::View])?;
    let params = RawParams::parse(&call.query);
    strict::check(&params, &["search", "limit"])?;
    let text = params.single("search")?.filter(|text| !text.is_empty()).map(str::to_owned);
    let text = text.ok_or_else(|| Error::new(Code::InvalidParameter, "`search` is required: the text to look for"))?;
    let limit = limit(params.single("limit")?)?;
    let most = call.app.config.query_timeout;
    match tokio::time::timeout(most, search_all(&call, &text, limit)).await {
        Ok(found) => Ok(respond::json(StatusCode::OK, found?)),
        Err(_) => Err(too_slow(most).into()),
    }
}

fn limit(sent: Option<&str>) -> Result<usize> {
    let limit = sent.map_or(Some(DEFAULT), |sent| sent.parse().ok().filter(|limit| (1..=MOST).contains(limit)));
    limit.ok_or_else(|| Error::new(Code::InvalidParameter, format!("`limit` must be a number from 1 to {MOST}")))
}

/// Blueprints are searched one after another, so that one request is never more than one search at a time.
async fn search_all(call: &Call, text: &str, limit: usize) -> Result<String> {
    let (mut found, mut total) = (Vec::new(), 0);
    for blueprint in call.app.content.list_blueprints(&call.access)? {
        let view = match call.app.content.view(&call.access, &blueprint.slug) {
            Ok(view) => view,
            // Deleted since the list was made.
            Err(error) if error.code == Code::NotFound => continue,
            Err(error) => return Err(error),
        };
        let page = view.list_in_time(&view.list_params(&query(&blueprint, text, limit))?).await?;
        if page.total > 0 {
            total += page.total;
            found.push(of_blueprint(&blueprint, page.total, &page.resources)?);
        }
    }
    let found = serde_json::to_string(&found).map_err(Error::internal)?;
    Ok(format!("{{\"data\":{found},\"meta\":{{\"total\":{total}}}}}"))
}

/// The list that is asked for: of each resource what labels it.
fn query(blueprint: &Blueprint, text: &str, limit: usize) -> String {
    let text = utf8_percent_encode(text, NON_ALPHANUMERIC);
    let is_field = |slug: &&String| blueprint.fields.iter().any(|field| field.slug == **slug);
    let title = blueprint.record_title.as_ref().filter(is_field);
    let title = title.map_or_else(String::new, |slug| format!(",attributes.{slug}"));
    format!("search={text}&per_page={limit}&fields=id,type,published_at,updated_at,relationships{title}")
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
