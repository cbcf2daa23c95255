//! Resources: get, list, create, update, delete, export (`API.md` 4.2 to 4.5). Must not know what a resource holds.

use std::io;
use std::iter;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bindery_content::{
    CreatedResource, EntityTag, Explanation, Export, FieldReferrers, IfMatch, ListPage, LocatedResource,
    NeighborsAnswer, PagePosition, ResourceAnswer, ResourceWriter, View, require_for_explain,
};
use bindery_model::ability::Ability;
use bindery_model::error::Error;
use bindery_model::id::ResourceId;
use bindery_query::{GetParams, RawParams};
use serde_json::{Map, Value, json};

use super::tracking::{AnsweredSearch, Visitor, not_kept, with_search_id};
use crate::answer::answer_cache::{CachedAnswer, RequestKey};
use crate::answer::cache_tags::CacheTags;
use crate::answer::links::Links;
use crate::answer::respond::{
    VARY_BY_TOKEN, VARY_BY_TOKEN_AND_FORMAT, cacheable, data_value, is_unmodified, json as json_response, no_content,
    not_modified, with_data,
};
use crate::answer::server_timing::explained;
use crate::error::Answer;
use crate::request::head::{BaseUrl, Call};
use crate::request::idempotency::{Post, RenderedResponse};
use crate::transport::body::JsonBody;
use crate::transport::connection::Connection;
use crate::transport::stream;

/// The path's segments: the blueprint's slug and the resource's id.
type Resource = (String, String);

/// Returns the view of a read. Reuses the view with which a kept answer was looked up, if there is one.
fn view_of<P>(call: &Call<P>, asked: &RequestKey, blueprint: &str) -> Result<Arc<View>, Error> {
    match &asked.view {
        Some(view) => Ok(Arc::clone(view)),
        None => call.app.content.view_of(&call.access, blueprint, &call.query).map(Arc::new),
    }
}

/// Checks the ability that `explain` demands, before the blueprint and the other parameters are checked.
fn check_explain<P>(call: &Call<P>) -> Result<(), Error> {
    // Most requests do not name it.
    match RawParams::has(&call.query, "explain") {
        true => require_for_explain(&call.access, &RawParams::parse(&call.query)),
        false => Ok(()),
    }
}

pub(crate) async fn list(
    call: Call<String>,
    asked: RequestKey,
    BaseUrl(base): BaseUrl,
    headers: HeaderMap,
    visitor: Visitor,
) -> Answer {
    check_explain(&call)?;
    let view = view_of(&call, &asked, &call.path)?;
    // Parsed before the tag is compared: an invalid parameter must never be answered with 304.
    let request = Arc::new(view.list_request(&call.query)?);
    let url = format!("{base}/v2/resources/{}", call.path);
    if call.access.is_session() || request.is_explained {
        // An answer with authors or times is neither cached nor compared with a cached one.
        let mut list = view.list_in_time(&request).await?;
        let (how, total) = (list.explained.take(), list.total);
        let body = list_body(list, how.as_ref(), &url, &call.query);
        let response = match request.params.is_tracked {
            true => tracked(&call, &visitor, body.as_bytes(), total),
            false => json_response(StatusCode::OK, body),
        };
        return Ok(explained(response, how.as_ref()));
    }
    let follows_host = call.app.config.public_url.is_none();
    let vary = if follows_host { "Authorization, Host" } else { VARY_BY_TOKEN };
    if view.is_working() {
        // Few ask for working copies, so these answers are not kept either.
        let list = view.list_in_time(&request).await?;
        let (etag, total) = (etag(view.page_tag(&list, &base)), list.total);
        let body = Bytes::from(list_body(list, None, &url, &call.query));
        if request.params.is_tracked {
            return Ok(tracked(&call, &visitor, &body, total));
        }
        return Ok(match is_unmodified(&headers, &etag) {
            true => not_modified(etag, vary),
            false => cacheable(etag, vary, body),
        });
    }
    let depends_on: Arc<[String]> = request.params.depends_on().into();
    let is_ranked = request.params.is_ranked();
    let version = view.list_version(&depends_on, is_ranked);
    let make = async || {
        let mut list = view.list_in_time(&request).await?;
        let kept = list.kept.take().map(Arc::new);
        let tags = call.app.config.cache_tags.then(|| list_tags(&view, &call.path, &depends_on, &list.ids)).flatten();
        // The tag stays while the page does, also through writes that make the version another one.
        let (etag, total) = (etag(view.page_tag(&list, &base)), list.total);
        let body = Bytes::from(list_body(list, None, &url, &call.query));
        Ok(CachedAnswer { version, kept, depends_on, is_ranked, etag, total, vary, tags, body })
    };
    if request.params.is_tracked {
        let key = asked.inner_list(follows_host, view.sees_drafts());
        let answer = call.app.answers.get_or_make(&key, version, make).await?;
        return Ok(tracked(&call, &visitor, &answer.body, answer.total));
    }
    let key = asked.list(follows_host, view.sees_drafts());
    let answer = call.app.answers.get_or_make(&key, version, make).await?;
    let is_known = is_unmodified(&headers, &answer.etag);
    Ok(answer.respond(is_known))
}

/// Returns the answer to a tracked search around the body of its list. It has no entity tag, because each answer has
/// its own id.
fn tracked(call: &Call<String>, visitor: &Visitor, body: &[u8], total: u64) -> Response {
    // The view of a singular blueprint shows every reader the drafts.
    let sees_drafts = call.access.may(Ability::Preview);
    let answered = AnsweredSearch { total, blueprints: vec![call.path.clone()], sees_drafts };
    let id = visitor.search_id(&RawParams::parse(&call.query), answered);
    not_kept(json_response(StatusCode::OK, with_search_id(body, &id)))
}

/// Returns the tags of a list: its blueprint, the other blueprints that it depends on, and the resources of the page.
fn list_tags(view: &View, slug: &str, depends_on: &[String], page: &[ResourceId]) -> Option<CacheTags> {
    let related = depends_on.iter().map(String::as_str).filter(|related| *related != slug && view.knows(related));
    let slugs = iter::once(slug).chain(related).map(str::to_owned);
    CacheTags::new(slugs.chain(page.iter().map(ResourceId::to_string)))
}

/// Returns the body of a list: `data`, `included`, `links` and `meta` (`API.md` 4.2.1).
pub(super) fn list_body(list: ListPage, explained: Option<&Explanation>, url: &str, query: &str) -> String {
    let ListPage { resources, included, position, total, meta: more, .. } = list;
    let (links, mut meta) = match &position {
        PagePosition::Numbered(page) => {
            let (current, last) = (page.number, page.last(total));
            let meta = json!({ "current_page": current, "last_page": last, "per_page": page.per_page, "total": total });
            (Links::new(url, query, *page, total), meta)
        }
        PagePosition::Walk { per_page, next } => {
            (Links::of_walk(url, query, next.as_deref()), json!({ "per_page": per_page, "total": total }))
        }
    };
    let Links { first, last, prev, next } = links;
    let links = json!({ "first": first, "last": last, "prev": prev, "next": next });
    for (key, value) in more {
        meta[key] = value;
    }
    if let Some(Explanation { steps, .. }) = explained {
        meta["explain"] = Value::Array(steps.clone());
    }
    let included = included.map_or_else(String::new, |included| format!(",\"included\":{included}"));
    let end = format!(",\"links\":{links},\"meta\":{meta}}}");
    // Reserves the whole length: otherwise `format!` would copy the resources whenever its buffer grows.
    let mut body = String::with_capacity(8 + resources.len() + included.len() + end.len());
    body.push_str("{\"data\":");
    body.push_str(&resources);
    body.push_str(&included);
    body.push_str(&end);
    body
}

pub(crate) async fn find(call: Call<Resource>, asked: RequestKey, headers: HeaderMap) -> Answer {
    let (blueprint, id) = &call.path;
    let view = view_of(&call, &asked, blueprint)?;
    let params = view.get_params(&call.query)?;
    let resource = view.locate(id)?;
    let depends_on: Arc<[String]> = params.expansion.depends_on().into();
    let version = view.resource_version(&resource, &depends_on);
    let etag = etag(view.resource_tag(&resource, &depends_on));
    if call.access.is_session() {
        // The tag is only for `If-Match`. It is not compared with `If-None-Match`, because the name of an author may
        // have changed.
        let body = resource_body(&view, &resource, &params).await?;
        return Ok(([(header::ETAG, etag)], json_response(StatusCode::OK, body)).into_response());
    }
    if is_unmodified(&headers, &etag) {
        return Ok(not_modified(etag, VARY_BY_TOKEN));
    }
    let key = asked.resource();
    if let Some(answer) = call.app.answers.get(&key, |kept| kept.has_version(version)).filter(|_| !view.is_working()) {
        return Ok(answer.respond(false));
    }
    let body = Bytes::from(resource_body(&view, &resource, &params).await?);
    let tags = || CacheTags::new(iter::once(id).chain(depends_on.iter().filter(|slug| view.knows(slug))));
    let tags = (call.app.config.cache_tags && !view.is_working()).then(tags).flatten();
    let (kept, is_ranked, total) = (None, false, 1);
    let answer = CachedAnswer { version, kept, depends_on, is_ranked, etag, total, vary: VARY_BY_TOKEN, tags, body };
    if !view.is_working() {
        call.app.answers.keep(&key, &answer);
    }
    Ok(answer.respond(false))
}

/// Returns the body of a read of one resource: `data`, and `included` if relations are expanded.
async fn resource_body(view: &View, resource: &LocatedResource, params: &GetParams) -> Result<String, Error> {
    let data = view.read(resource, params).await?;
    if params.expansion.is_empty() {
        return Ok(with_data(&data));
    }
    let included = view.read_included(resource, params).await?;
    Ok(format!("{{\"data\":{data},\"included\":{included}}}"))
}

pub(crate) async fn neighbors(call: Call<Resource>) -> Answer {
    let (blueprint, id) = &call.path;
    check_explain(&call)?;
    let view = call.app.content.view_of(&call.access, blueprint, &call.query)?;
    let raw = RawParams::parse(&call.query);
    let is_explained = view.explains(&raw)?;
    let params = view.neighbors_params(&raw)?;
    let resource = view.locate(id)?;
    let found = view.neighbors(&resource, &params, is_explained).await?;
    let NeighborsAnswer { previous, next, position, total, explained: how } = found;
    let shown = |resource: Option<String>| resource.unwrap_or_else(|| "null".to_owned());
    let (previous, next, mut meta) = (shown(previous), shown(next), json!({ "position": position, "total": total }));
    if let Some(Explanation { steps, .. }) = &how {
        meta["explain"] = Value::Array(steps.clone());
    }
    let body = format!("{{\"data\":{{\"previous\":{previous},\"next\":{next}}},\"meta\":{meta}}}");
    let response = ([(header::VARY, VARY_BY_TOKEN)], json_response(StatusCode::OK, body)).into_response();
    Ok(explained(response, how.as_ref()))
}

pub(crate) async fn referrers(call: Call<Resource>) -> Answer {
    let (blueprint, id) = &call.path;
    let found = call.app.content.referrers(&call.access, blueprint, id, &RawParams::parse(&call.query)).await?;
    let shown = found.into_iter().map(|FieldReferrers { blueprint, field, total, ids }| {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        json!({ "blueprint": blueprint, "field": field, "total": total, "ids": ids })
    });
    let answer = data_value(StatusCode::OK, Value::Array(shown.collect()));
    Ok(([(header::VARY, VARY_BY_TOKEN)], answer).into_response())
}

pub(crate) async fn create(call: Call<String>, BaseUrl(base): BaseUrl, request: Post) -> Answer {
    let blueprint = call.path.clone();
    let render = move |CreatedResource { id, answer }: &CreatedResource| {
        RenderedResponse::new(StatusCode::CREATED, written_body(answer))
            .with(header::ETAG, &quoted(answer.tag))
            .with(header::LOCATION, &format!("{base}/v2/resources/{blueprint}/{id}"))
    };
    let create = async |body: JsonBody, idempotent| {
        let content = &call.app.content;
        let begin = || {
            let writing = content.write(&call.access, Ability::Create, &call.path, &call.query)?;
            writing.require_live("create a resource")?;
            Ok(writing)
        };
        let writing = content.checked(begin).await?;
        let body = body.read(call.max_body_bytes()).await?;
        Ok(writing.create(&body, idempotent).await?)
    };
    request.answer(&call, Ability::Create, render, create).await
}

/// Returns a write to the resource that the path names.
async fn target(call: &Call<Resource>, ability: Ability) -> Result<(ResourceWriter, ResourceId), Error> {
    let (blueprint, id) = &call.path;
    let begin = || {
        let writing = call.app.content.write(&call.access, ability, blueprint, &call.query)?;
        let id = writing.target(id)?;
        Ok((writing, id))
    };
    call.app.content.checked(begin).await
}

/// Handles `PUT`, which replaces a copy, and `PATCH`, which changes parts of it.
pub(crate) async fn update(call: Call<Resource>, method: Method, headers: HeaderMap, body: JsonBody) -> Answer {
    let (writing, id) = target(&call, Ability::Update).await?;
    let body = body.read(call.max_body_bytes()).await?;
    let if_match = if_match(&headers);
    let resource = match method {
        Method::PUT => writing.replace(id, if_match, &body).await?,
        _ => writing.change(id, if_match, &body).await?,
    };
    Ok(([(header::ETAG, quoted(resource.tag))], json_response(StatusCode::OK, written_body(&resource))).into_response())
}

/// Returns the body of the answer to a write of one resource. Lists the parts that sanitizing removed, if any (`API.md`
/// 4.4.8), and the problems of a working copy (4.21).
pub(super) fn written_body(answer: &ResourceAnswer) -> String {
    let mut meta = Map::new();
    if !answer.sanitized.is_empty() {
        meta.insert("sanitized".to_owned(), answer.sanitized.to_json());
    }
    if !answer.not_ready.is_empty() {
        meta.insert("not_ready".to_owned(), Value::Object(answer.not_ready.clone()));
    }
    if meta.is_empty() {
        return with_data(&answer.json);
    }
    let meta = Value::Object(meta);
    format!("{{\"data\":{},\"meta\":{meta}}}", answer.json)
}

pub(crate) async fn delete(call: Call<Resource>, headers: HeaderMap) -> Answer {
    // Discarding a working copy is a change; the resource stays.
    // An invalid `copy` is reported only after the errors that come before parameters (`API.md` 1.7).
    let is_discard = RawParams::parse(&call.query).single("copy").ok().flatten() == Some("working");
    let ability = if is_discard { Ability::Update } else { Ability::Delete };
    let (writing, id) = target(&call, ability).await?;
    writing.delete(id, if_match(&headers)).await?;
    Ok(no_content())
}

/// Makes working copies live, or plans that.
pub(crate) async fn publish(call: Call<Resource>, headers: HeaderMap, request: Post) -> Answer {
    let publish = async |body: JsonBody, idempotent| {
        let (blueprint, id) = &call.path;
        let begin = || {
            let writing = call.app.content.write(&call.access, Ability::Publish, blueprint, &call.query)?;
            writing.require_live("change what is published")?;
            let id = writing.target(id)?;
            writing.require_working_copies()?;
            Ok((writing, id))
        };
        let (writing, id) = call.app.content.checked(begin).await?;
        let body = body.read(call.max_body_bytes()).await?;
        Ok(writing.publish(id, if_match(&headers), &body, idempotent).await?)
    };
    request.answer(&call, Ability::Publish, rendered, publish).await
}

/// Returns the answer to a write of one resource that sent no values.
pub(super) fn rendered(resource: &ResourceAnswer) -> RenderedResponse {
    RenderedResponse::new(StatusCode::OK, with_data(&resource.json)).with(header::ETAG, &quoted(resource.tag))
}

pub(crate) async fn export(call: Call<String>, extensions: Extensions, headers: HeaderMap) -> Answer {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    check_explain(&call)?;
    let view = call.app.content.view_of(&call.access, &call.path, &call.query)?;
    let mut export = Export::begin_in_time(view, &call.query, accept).await?;
    let file = format!("attachment; filename=\"{}.{}\"", call.path, export.format().extension());
    let headers = [
        (header::CONTENT_TYPE, export.format().media_type().to_owned()),
        (header::VARY, VARY_BY_TOKEN_AND_FORMAT.to_owned()),
        (header::CONTENT_DISPOSITION, file),
    ];
    let how = export.explained().cloned();
    let account = Connection::account_of(&extensions);
    let body = stream::produced(account, move || Ok(export.next_chunk().map_err(io::Error::other)?.map(Bytes::from)));
    let response = (headers, Response::new(body)).into_response();
    Ok(explained(response, how.as_ref()))
}

/// Returns an entity tag in the form of a header.
pub(crate) fn quoted(tag: EntityTag) -> String {
    format!("\"{tag}\"")
}

fn etag(tag: EntityTag) -> HeaderValue {
    HeaderValue::from_str(&quoted(tag)).expect("a tag is visible ASCII")
}

/// Returns the condition of the `If-Match` header. Weak tags and malformed tags match nothing.
pub(crate) fn if_match(headers: &HeaderMap) -> IfMatch {
    let mut values = headers.get_all(header::IF_MATCH).iter().peekable();
    if values.peek().is_none() {
        return IfMatch::Any;
    }
    let mut tags = Vec::new();
    for tag in values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')) {
        if tag.trim() == "*" {
            return IfMatch::Any;
        }
        let bare = tag.trim().strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        tags.extend(bare.and_then(EntityTag::parse));
    }
    IfMatch::OneOf(tags)
}
