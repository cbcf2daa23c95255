//! The raw bytes of answers to connections that never become requests of the router. Must not know sockets.

use axum::http::{HeaderValue, StatusCode};
use bindery_model::error::{Code, Error};
use serde_json::{Value, json};

use crate::error::{error_object, wire};
use crate::request::request_id;

/// The longest head of a request, in bytes.
pub(crate) const MAX_HEAD_BYTES: usize = 64 << 10;

/// The most headers of a request, which is hyper's limit.
const MAX_HEADERS: usize = 100;

/// The statuses with which the parser answers.
pub(crate) const PARSER_STATUSES: [&str; 3] = ["400", "414", "431"];

/// Returns the replacement of the parser's answer with this status; `None` for a status that it does not use.
/// `is_line_complete` distinguishes a too long URL from too long headers. `date` is a header line.
pub(crate) fn of_the_parser(status: &str, is_line_complete: bool, date: Option<&str>) -> Option<Vec<u8>> {
    let (status, error) = match status {
        "400" => {
            let message = "the request is not valid HTTP/1.1: its first line or a header is malformed";
            (StatusCode::BAD_REQUEST, Error::new(Code::MalformedJson, message))
        }
        "431" if is_line_complete => {
            let what = format!("there are more than {MAX_HEADERS} headers, or they are");
            (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, too_large(&what))
        }
        "414" | "431" => (StatusCode::URI_TOO_LONG, too_large("the URL is")),
        _ => return None,
    };
    Some(answer(status, &error, date))
}

/// Returns the answer to a connection beyond the limit.
pub(crate) fn no_place() -> Vec<u8> {
    let message = "all connections of the server are in use; try again";
    answer(StatusCode::SERVICE_UNAVAILABLE, &Error::new(Code::Overloaded, message), Some("retry-after: 1"))
}

/// Returns the answer of `/healthz` while the data folder is opened.
pub(crate) fn alive() -> Vec<u8> {
    let id = request_id::random();
    let lines = [
        "HTTP/1.1 200 OK",
        "x-content-type-options: nosniff",
        &format!("x-request-id: {}", id.to_str().unwrap_or_default()),
        "connection: close",
        "content-length: 0",
    ];
    format!("{}\r\n\r\n", lines.join("\r\n")).into_bytes()
}

/// Returns the answer to all other requests meanwhile; for `/readyz` with the progress.
pub(crate) fn opening(progress: Option<f64>, is_head: bool) -> Vec<u8> {
    let error =
        Error::new(Code::Overloaded, "the server is starting: its data folder is being opened; try again in a moment");
    let mut body = json!({ "errors": error_object(&error) });
    if let Some(progress) = progress {
        body["progress"] = progress.into();
    }
    // The refusal is not logged, because clients that wait for a start send many requests a second.
    let id = request_id::random();
    let mut bytes = with_body(&id, StatusCode::SERVICE_UNAVAILABLE, &body, Some("retry-after: 1"));
    if is_head {
        bytes.truncate(bytes.len() - body.to_string().len());
    }
    bytes
}

fn too_large(what: &str) -> Error {
    let message = format!("{what} too long: the head of a request has at most {MAX_HEAD_BYTES} bytes");
    Error::new(Code::PayloadTooLarge, message)
}

/// Returns an error as an answer, and logs it under a new id.
fn answer(status: StatusCode, error: &Error, header: Option<&str>) -> Vec<u8> {
    let (id, (_, code)) = (request_id::random(), wire(error.code));
    tracing::info!(id = id.to_str().unwrap_or_default(), status = status.as_u16(), code, "refused");
    with_body(&id, status, &json!({ "errors": error_object(error) }), header)
}

fn with_body(id: &HeaderValue, status: StatusCode, body: &Value, header: Option<&str>) -> Vec<u8> {
    let id = id.to_str().unwrap_or_default();
    let body = body.to_string();
    let mut lines = vec![
        format!("HTTP/1.1 {} {}", status.as_u16(), status.canonical_reason().unwrap_or_default()),
        "content-type: application/json".to_owned(),
        "x-content-type-options: nosniff".to_owned(),
        format!("x-request-id: {id}"),
        "connection: close".to_owned(),
        format!("content-length: {}", body.len()),
    ];
    lines.extend(header.map(str::to_owned));
    format!("{}\r\n\r\n{body}", lines.join("\r\n")).into_bytes()
}
