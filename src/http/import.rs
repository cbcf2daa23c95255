//! Imports (`API.md` 4.11): lines of a body in, lines of a response out. Must not know what a line holds.

use axum::body::Bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::body::JsonBody;
use super::error::{Answer, error_object};
use super::head::Call;
use super::idempotency::{Post, Rendered};
use super::lines::{Line, Lines};
use super::stream::{Pieces, streamed};
use crate::content::{Import, ImportLine};
use crate::model::ability::Ability;
use crate::model::error::{Error, Result};
use crate::model::value::Sanitized;

/// The accepted types of the body; the first is also the type of the response.
const LINE_TYPES: [&str; 3] = ["application/x-ndjson", "application/ndjson", "application/json"];

/// With an `Idempotency-Key` the body is read whole, since the key stands for all of it; without one it is streamed.
pub(super) async fn import(call: Call<String>, request: Post) -> Answer {
    if !request.has_key() {
        return import_streamed(&call, request.into_body());
    }
    let render = |lines: &Vec<ImportLine>| {
        let mut sanitized = Sanitized::default();
        let lines = render_lines(lines, &mut sanitized);
        Rendered::new(StatusCode::OK, lines + &render_sanitized(&sanitized)).with(header::CONTENT_TYPE, LINE_TYPES[0])
    };
    let import = async |body: JsonBody, idempotent: Option<_>| {
        let import = call.app.content.import(&call.access, &call.path, &call.query)?;
        let body = body.read_as(call.max_body_bytes(), &LINE_TYPES).await?;
        let idempotent = idempotent.ok_or_else(|| Error::internal("a body was read, but not fingerprinted"))?;
        Ok(import.once(body, idempotent).await?)
    };
    request.answer(&call, Ability::Manage, render, import).await
}

fn import_streamed(call: &Call<String>, body: JsonBody) -> Answer {
    let import = call.app.content.import(&call.access, &call.path, &call.query)?;
    let lines = Lines::new(body.into_stream(&LINE_TYPES)?, call.max_body_bytes());
    let (pieces, body) = streamed();
    tokio::spawn(run(import, lines, pieces));
    Ok(([(header::CONTENT_TYPE, LINE_TYPES[0])], Response::new(body)).into_response())
}

/// Imports line by line. The status is sent before the first line is read, so an error that ends the import early is
/// reported as the last line of the response.
async fn run(import: Import, lines: Lines, pieces: Pieces) {
    if let Err(error) = import_lines(import, lines, &pieces).await {
        send(&pieces, format!("{}\n", json!({ "errors": error_object(&error) }))).await;
    }
}

async fn import_lines(mut import: Import, mut lines: Lines, pieces: &Pieces) -> Result<()> {
    let mut sanitized = Sanitized::default();
    while let Some(line) = lines.next().await? {
        let results = match line {
            Line::Whole(line) => import.push(&line).await?,
            Line::TooLong(error) => import.refuse(error).await?,
        };
        if !results.is_empty() {
            send(pieces, render_lines(&results, &mut sanitized)).await;
        }
    }
    while let Some(results) = import.finish_next().await? {
        if !results.is_empty() {
            send(pieces, render_lines(&results, &mut sanitized)).await;
        }
    }
    if !sanitized.is_empty() {
        send(pieces, render_sanitized(&sanitized)).await;
    }
    Ok(())
}

/// Sends a piece. The import goes on if the client no longer reads: it has still sent its lines.
async fn send(pieces: &Pieces, text: String) {
    let _ = pieces.send(Ok(Bytes::from(text))).await;
}

/// The last line: what sanitizing removed of all lines; nothing if it removed nothing.
fn render_sanitized(sanitized: &Sanitized) -> String {
    if sanitized.is_empty() { String::new() } else { format!("{}\n", json!({ "sanitized": sanitized.to_json() })) }
}

/// The answers to lines. What sanitizing removed of them is added up.
fn render_lines(results: &[ImportLine], sanitized: &mut Sanitized) -> String {
    let mut out = String::new();
    for ImportLine { index, result } in results {
        let line = match result {
            Ok(imported) => {
                sanitized.add(&imported.sanitized);
                json!({ "index": index, "id": imported.id.to_string(), "op": imported.op })
            }
            Err(error) => json!({ "index": index, "errors": error_object(error) }),
        };
        out.push_str(&line.to_string());
        out.push('\n');
    }
    out
}
