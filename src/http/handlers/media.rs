//! Uploads of media (`API.md` 4.27): receives a file, and has its resource created or changed. Must not know what a
//! file may be.

mod delivery;
mod form;
mod parameters;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use bindery_content::{CreatedResource, ResourceWriter};
use bindery_model::ability::Ability;
use bindery_model::error::Error;
use bindery_model::id::ResourceId;
use bindery_model::json;
use serde_json::Value;

use self::form::{Form, ReceivedForm};
use super::resources::{if_match, quoted, written_body};
use crate::answer::respond::json as json_response;
use crate::error::Answer;
use crate::media::fetch::FileRequest;
use crate::request::head::{BaseUrl, Call, Credentials};
use crate::request::idempotency::{KeyedRequest, RenderedResponse};
use crate::transport::body::JsonBody;
use crate::transport::slots::{Owner, RequestSlot};

pub(crate) use self::delivery::deliver;

/// The path's segments: the blueprint's slug and the resource's id.
type Resource = (String, String);

/// Creates a resource with the file of a form.
pub(crate) async fn create(
    mut call: Call<String>,
    credentials: Credentials,
    BaseUrl(base): BaseUrl,
    request: Request,
) -> Answer {
    let keyed = KeyedRequest::of(&request);
    let key = keyed.key(&call, Ability::Create)?;
    writer(&call).await?;
    let _slot = slot(&call)?;
    let form = Form::begin(&call.app, request, true).await?;
    let ReceivedForm { upload, name, attributes, published_at } = form.receive().await?;
    let attributes = attributes.unwrap_or_else(|| "{}".to_owned());
    json::parse(attributes.as_bytes())?;
    let mut body = format!("{{\"attributes\":{attributes}");
    if let Some(date) = &published_at {
        body.push_str(&format!(",\"published_at\":{}", Value::from(date.as_str())));
    }
    body.push('}');
    let file = call.app.media.store(&call.app.content, upload, &name).await?;
    call.access = credentials.access(&call.app)?;
    let writing = writer(&call).await?;
    let (hash, name) = (file.hash.clone(), file.name.clone());
    let parts = [hash.as_bytes(), name.as_bytes(), body.as_bytes()];
    let render = created(base, call.path.clone());
    let create = async |idempotent| Ok(writing.create_media(file, None, body.as_bytes(), idempotent).await?);
    keyed.answer(&call, key.as_ref(), &parts, render, create).await
}

/// Creates a resource with a file from the web.
pub(crate) async fn fetch(
    mut call: Call<String>,
    credentials: Credentials,
    BaseUrl(base): BaseUrl,
    request: Request,
) -> Answer {
    let keyed = KeyedRequest::of(&request);
    let key = keyed.key(&call, Ability::Create)?;
    let writing = writer(&call).await?;
    let _slot = slot(&call)?;
    let Ok(body) = <JsonBody as axum::extract::FromRequest<()>>::from_request(request, &()).await;
    let sent = body.read(call.max_body_bytes()).await?;
    // A file on the web may change, so the request itself is what a key stands for.
    let request = key.as_ref().map(|key| keyed.request(key, &[&sent]));
    if let Some(kept) = keyed.kept(&call, key.as_ref(), request.as_ref()).await? {
        return Ok(kept);
    }
    let FileRequest { url, known_as, body } = FileRequest::read(&sent)?;
    if let Some(known) = writing.known_under(known_as.as_deref()).await? {
        let content = &call.app.content;
        let keep = async |idempotent| Ok(content.answer_without_write(&call.access, known, idempotent).await?);
        return keyed.answer(&call, key.as_ref(), &[&sent], found, keep).await;
    }
    let file = call.app.media.fetch(&call.app.content, &url, call.app.config.webhook_private_addresses).await?;
    call.access = credentials.access(&call.app)?;
    let writing = writer(&call).await?;
    let render = created(base, call.path.clone());
    let create = async |idempotent| Ok(writing.create_media(file, known_as, body.as_bytes(), idempotent).await?);
    keyed.answer(&call, key.as_ref(), &[&sent], render, create).await
}

/// Replaces the file of a resource.
pub(crate) async fn replace(
    mut call: Call<Resource>,
    credentials: Credentials,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    let if_match = if_match(&headers);
    call.app.content.checked(|| target(&call)).await?;
    let _slot = slot(&call)?;
    let form = Form::begin(&call.app, request, false).await?;
    // A stale `If-Match` is reported after the type of the body (`API.md` 1.7), and before the file arrives, which may
    // be large.
    let check_match = || target(&call).and_then(|(writing, id)| writing.check_match(id, &if_match));
    call.app.content.checked(check_match).await?;
    let form = form.receive().await?;
    let file = call.app.media.store(&call.app.content, form.upload, &form.name).await?;
    call.access = credentials.access(&call.app)?;
    let (writing, id) = call.app.content.checked(|| target(&call)).await?;
    let resource = writing.replace_file(id, if_match, file).await?;
    Ok(([(header::ETAG, quoted(resource.tag))], json_response(StatusCode::OK, written_body(&resource))).into_response())
}

/// Returns a write to the resource that the path names, and its id.
fn target(call: &Call<Resource>) -> Result<(ResourceWriter, ResourceId), Error> {
    let (blueprint, id) = &call.path;
    let writing = call.app.content.write(&call.access, Ability::Update, blueprint, &call.query)?;
    writing.require_replaceable()?;
    let id = writing.target(id)?;
    Ok((writing, id))
}

/// Returns a write to the media blueprint that the path names.
async fn writer(call: &Call<String>) -> Result<ResourceWriter, Error> {
    let begin = || {
        let writing = call.app.content.write(&call.access, Ability::Create, &call.path, &call.query)?;
        writing.require_live("create a resource")?;
        writing.require_media()?;
        Ok(writing)
    };
    call.app.content.checked(begin).await
}

/// Takes a slot for an upload, if its resource could be written now.
fn slot<P>(call: &Call<P>) -> Result<RequestSlot, Error> {
    call.app.content.check_writable()?;
    call.app.media.uploads.take([Owner::Sender(call.access.actor.clone())])
}

/// Returns the answer with a resource that exists already.
fn found(CreatedResource { answer, .. }: &CreatedResource) -> RenderedResponse {
    RenderedResponse::new(StatusCode::OK, written_body(answer)).with(header::ETAG, &quoted(answer.tag))
}

/// Returns the function that makes the answer to a creation.
fn created(
    base: String,
    blueprint: String,
) -> impl Fn(&CreatedResource) -> RenderedResponse + Clone + Send + Sync + 'static {
    move |CreatedResource { id, answer }| {
        RenderedResponse::new(StatusCode::CREATED, written_body(answer))
            .with(header::ETAG, &quoted(answer.tag))
            .with(header::LOCATION, &format!("{base}/v2/resources/{blueprint}/{id}"))
    }
}
