//! Resources: get, list, create, update, delete, export, import (`API.md` 4.2 to 4.5 and 4.11).

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::IntoResponse;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::App;
use super::error::{Answer, error_object};
use super::extract::{BaseUrl, Bearer, JsonBody, Line, Lines, Path};
use super::idempotency::{self, Begun, Plain, Post, Wording, keep};
use super::respond::{data, is_unmodified, json};
use crate::content::{self, Created, Etags, Export, ImportLine};
use crate::model::ability::Ability;
use crate::model::error::Error;

/// The types of an import's body; the first is that of its answer.
const LINES: [&str; 3] = ["application/x-ndjson", "application/ndjson", "application/json"];

/// How many pieces of a streamed answer may wait for the client.
const PIECES_IN_FLIGHT: usize = 4;

pub(super) async fn list(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path(blueprint): Path<String>,
    RawQuery(raw): RawQuery,
    BaseUrl(base): BaseUrl,
    headers: HeaderMap,
) -> Answer {
    let reading = app.content.read(&access, &blueprint)?;
    let raw = raw.unwrap_or_default();
    let tag = format!("\"{}\"", reading.list_tag());
    let address = format!("{base}/v2/resources/{blueprint}");
    // The parameters are checked also where nothing changed: a wrong one is never answered with 304.
    let answer = reading.list(&raw, &address)?;
    let vary = [(header::ETAG, tag.clone()), (header::VARY, "Authorization".to_owned())];
    if is_unmodified(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, vary).into_response());
    }
    Ok((vary, json(StatusCode::OK, answer.json)).into_response())
}

pub(super) async fn find(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path((blueprint, id)): Path<(String, String)>,
    RawQuery(raw): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let answer = app.content.read(&access, &blueprint)?.find(&id, &raw.unwrap_or_default())?;
    let tag = etag(&answer);
    let vary = [(header::ETAG, tag.clone()), (header::VARY, "Authorization".to_owned())];
    if is_unmodified(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, vary).into_response());
    }
    Ok((vary, data(StatusCode::OK, &answer.json)).into_response())
}

pub(super) async fn create(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path(blueprint): Path<String>,
    RawQuery(raw): RawQuery,
    BaseUrl(base): BaseUrl,
    request: Post,
) -> Answer {
    let (body, once) = match request.begin(&app, &access, Ability::Create).await? {
        Begun::New { body, once } => (body, once),
        Begun::Kept(kept) => return Ok(kept),
    };
    let writing = app.content.write(&access, Ability::Create, &blueprint, &raw.unwrap_or_default())?;
    let body = body.read(app.config.max_body_bytes).await?;
    let wording: Wording<Created> = Arc::new(move |(id, answer)| {
        let location = format!("{base}/v2/resources/{blueprint}/{id}");
        let text = format!("{{\"data\":{}}}", answer.json);
        Plain::new(StatusCode::CREATED, text).with(header::ETAG, &etag(answer)).with(header::LOCATION, &location)
    });
    let done = writing.create(&body, keep(once, &wording)).await?;
    idempotency::answer(done, &wording)
}

/// `PUT` and `PATCH`: all of a copy, or parts of it.
pub(super) async fn update(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path((blueprint, id)): Path<(String, String)>,
    RawQuery(raw): RawQuery,
    method: Method,
    headers: HeaderMap,
    body: JsonBody,
) -> Answer {
    let writing = app.content.write(&access, Ability::Update, &blueprint, &raw.unwrap_or_default())?;
    let id = writing.target(&id)?;
    let body = body.read(app.config.max_body_bytes).await?;
    let etags = if_match(&headers);
    let answer = match method {
        Method::PUT => writing.replace(id, etags, &body).await?,
        _ => writing.change(id, etags, &body).await?,
    };
    Ok(([(header::ETAG, etag(&answer))], data(StatusCode::OK, &answer.json)).into_response())
}

pub(super) async fn delete(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path((blueprint, id)): Path<(String, String)>,
    RawQuery(raw): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let writing = app.content.write(&access, Ability::Delete, &blueprint, &raw.unwrap_or_default())?;
    let id = writing.target(&id)?;
    writing.delete(id, if_match(&headers)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn export(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path(blueprint): Path<String>,
    RawQuery(raw): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let export = app.content.read(&access, &blueprint)?.export(&raw.unwrap_or_default(), accept)?;
    let media_type = HeaderValue::from_static(export.format().media_type());
    let (pieces, body) = mpsc::channel(PIECES_IN_FLIGHT);
    tokio::task::spawn_blocking(move || send_export(export, &pieces));
    let body = Body::from_stream(ReceiverStream::new(body));
    Ok(([(header::CONTENT_TYPE, media_type), (header::VARY, HeaderValue::from_static("Authorization"))], body)
        .into_response())
}

/// Writes an export piece by piece; a client that goes away ends it. A fault cuts the answer off, so that it cannot be
/// taken for a whole one.
fn send_export(mut export: Export, pieces: &mpsc::Sender<Result<Bytes, std::io::Error>>) {
    loop {
        let piece = match export.next_chunk() {
            Ok(Some(piece)) => Ok(Bytes::from(piece)),
            Ok(None) => return,
            Err(error) => Err(std::io::Error::other(error)),
        };
        let is_last = piece.is_err();
        if pieces.blocking_send(piece).is_err() || is_last {
            return;
        }
    }
}

pub(super) async fn import(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path(blueprint): Path<String>,
    RawQuery(raw): RawQuery,
    request: Post,
) -> Answer {
    let (body, once) = match request.begin(&app, &access, Ability::Manage).await? {
        Begun::New { body, once } => (body, once),
        Begun::Kept(kept) => return Ok(kept),
    };
    let import = app.content.import(&access, &blueprint, &raw.unwrap_or_default())?;
    if let Some(once) = once {
        let body = body.read_as(app.config.max_body_bytes, &LINES).await?;
        let wording: Wording<Vec<ImportLine>> =
            Arc::new(|lines| Plain::new(StatusCode::OK, answer_lines(lines)).with(header::CONTENT_TYPE, LINES[0]));
        let done = import.once(body, idempotency::keeping(once, &wording)).await?;
        return idempotency::answer(done, &wording);
    }
    let lines = body.lines(app.config.max_body_bytes)?;
    let (pieces, answer) = mpsc::channel(PIECES_IN_FLIGHT);
    tokio::spawn(run_import(import, lines, pieces));
    let body = Body::from_stream(ReceiverStream::new(answer));
    Ok(([(header::CONTENT_TYPE, LINES[0])], body).into_response())
}

/// Imports line by line. The status is sent before the first line is read, so what ends an import early is its last
/// answer line.
async fn run_import(import: content::Import, lines: Lines, pieces: mpsc::Sender<Result<Bytes, std::io::Error>>) {
    if let Err(error) = import_lines(import, lines, &pieces).await {
        let line = serde_json::json!({ "errors": error_object(&error) });
        let _ = pieces.send(Ok(Bytes::from(format!("{line}\n")))).await;
    }
}

async fn import_lines(
    mut import: content::Import,
    mut lines: Lines,
    pieces: &mpsc::Sender<Result<Bytes, std::io::Error>>,
) -> Result<(), Error> {
    while let Some(line) = lines.next().await? {
        let answers = match line {
            Line::Whole(line) => import.push(&line).await?,
            Line::TooLong(error) => import.refuse(error).await?,
        };
        if !answers.is_empty() {
            // A client that no longer listens has still sent its lines: they are imported.
            let _ = pieces.send(Ok(Bytes::from(answer_lines(&answers)))).await;
        }
    }
    let answers = import.finish().await?;
    let _ = pieces.send(Ok(Bytes::from(answer_lines(&answers)))).await;
    Ok(())
}

fn answer_lines(answers: &[ImportLine]) -> String {
    let mut out = String::new();
    for ImportLine { index, result } in answers {
        let line = match result {
            Ok((id, op)) => serde_json::json!({ "index": index, "id": id.to_string(), "op": op }),
            Err(error) => serde_json::json!({ "index": index, "errors": error_object(error) }),
        };
        out.push_str(&line.to_string());
        out.push('\n');
    }
    out
}

fn etag(answer: &content::Answer) -> String {
    let (resource, blueprint) = answer.version;
    format!("\"{resource}-{blueprint}\"")
}

/// The versions of an `If-Match`. Weak tags, and what is no tag of ours, match nothing.
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
