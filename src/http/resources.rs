//! Resources: get, list, create, update, delete, export (`API.md` 4.2 to 4.5). Must not know what a resource holds.

use std::io;

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::body::JsonBody;
use super::error::Answer;
use super::head::{BaseUrl, Call};
use super::idempotency::{Post, Rendered};
use super::respond::{cacheable, data, no_content, with_data};
use super::stream;
use crate::content::{self, Created, Etags};
use crate::model::ability::Ability;

/// The path's segments: the blueprint's slug and the resource's id.
type Resource = (String, String);

pub(super) async fn list(call: Call<String>, BaseUrl(base): BaseUrl, headers: HeaderMap) -> Answer {
    let reading = call.app.content.read(&call.access, &call.path)?;
    let tag = format!("\"{}\"", reading.list_tag());
    let url = format!("{base}/v2/resources/{}", call.path);
    // Made even if the client has it already: an invalid parameter must never be answered with 304.
    let list = reading.list(&call.query, &url)?;
    Ok(cacheable(&headers, tag, list.json))
}

pub(super) async fn find(call: Call<Resource>, headers: HeaderMap) -> Answer {
    let (blueprint, id) = &call.path;
    let resource = call.app.content.read(&call.access, blueprint)?.find(id, &call.query)?;
    Ok(cacheable(&headers, etag(&resource), with_data(&resource.json)))
}

pub(super) async fn create(call: Call<String>, BaseUrl(base): BaseUrl, request: Post) -> Answer {
    let blueprint = call.path.clone();
    let render = move |(id, resource): &Created| {
        Rendered::new(StatusCode::CREATED, with_data(&resource.json))
            .with(header::ETAG, &etag(resource))
            .with(header::LOCATION, &format!("{base}/v2/resources/{blueprint}/{id}"))
    };
    let create = async |body: JsonBody, keep| {
        let writing = call.app.content.write(&call.access, Ability::Create, &call.path, &call.query)?;
        let body = body.read(call.max_body_bytes()).await?;
        Ok(writing.create(&body, keep).await?)
    };
    request.answer(&call, Ability::Create, render, create).await
}

/// `PUT` replaces a copy, `PATCH` changes parts of it.
pub(super) async fn update(call: Call<Resource>, method: Method, headers: HeaderMap, body: JsonBody) -> Answer {
    let (blueprint, id) = &call.path;
    let writing = call.app.content.write(&call.access, Ability::Update, blueprint, &call.query)?;
    let id = writing.target(id)?;
    let body = body.read(call.max_body_bytes()).await?;
    let etags = if_match(&headers);
    let resource = match method {
        Method::PUT => writing.replace(id, etags, &body).await?,
        _ => writing.change(id, etags, &body).await?,
    };
    Ok(([(header::ETAG, etag(&resource))], data(StatusCode::OK, &resource.json)).into_response())
}

pub(super) async fn delete(call: Call<Resource>, headers: HeaderMap) -> Answer {
    let (blueprint, id) = &call.path;
    let writing = call.app.content.write(&call.access, Ability::Delete, blueprint, &call.query)?;
    let id = writing.target(id)?;
    writing.delete(id, if_match(&headers)).await?;
    Ok(no_content())
}

pub(super) async fn export(call: Call<String>, headers: HeaderMap) -> Answer {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let mut export = call.app.content.read(&call.access, &call.path)?.export(&call.query, accept)?;
    let headers = [(header::CONTENT_TYPE, export.format().media_type()), (header::VARY, "Authorization")];
    let body = stream::produced(move || Ok(export.next_chunk().map_err(io::Error::other)?.map(Bytes::from)));
    Ok((headers, Response::new(body)).into_response())
}

/// The entity tag of a resource: its version and its blueprint's.
fn etag(resource: &content::Answer) -> String {
    let (resource, blueprint) = resource.version;
    format!("\"{resource}-{blueprint}\"")
}

/// The versions that an `If-Match` names. Weak tags and tags of another form match nothing.
fn if_match(headers: &HeaderMap) -> Etags {
    let mut values = headers.get_all(header::IF_MATCH).iter().peekable();
    if values.peek().is_none() {
        return Etags::Any;
    }
    let mut versions = Vec::new();
    for tag in values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')) {
        if tag.trim() == "*" {
            return Etags::Any;
        }
        let numbers = tag.trim().strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        let numbers = numbers.and_then(|tag| tag.split_once('-'));
        let parsed = numbers.and_then(|(resource, blueprint)| Some((resource.parse().ok()?, blueprint.parse().ok()?)));
        versions.extend(parsed);
    }
    Etags::Versions(versions)
}
