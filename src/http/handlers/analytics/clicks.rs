//! The handler of clicks on the results of searches (`API.md` 4.8.13).

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::IntoResponse;
use bindery_analytics::ResultClick;
use bindery_model::error::{Code, Error, FieldErrors, Result};
use bindery_model::id::ResourceId;
use bindery_model::json;
use serde_json::Value;

use super::event_body::shown;
use super::events::{MAX_EVENT_BYTES, asks_not_to_be_tracked, limit_visitor};
use crate::app::App;
use crate::error::Answer;
use crate::request::head::Path;
use crate::transport::body::JsonBody;

/// The greatest position of a result.
const MAX_POSITION: u64 = 100_000;
const FIELDS: [&str; 2] = ["id", "position"];

/// Handles `POST /v2/analytics/searches/{search_id}/click`. Answers before the click is counted, and gives the same
/// answer if it is not counted.
pub(super) async fn click(State(app): State<App>, Path(search): Path<String>, parts: Parts, body: JsonBody) -> Answer {
    limit_visitor(&app, &parts)?;
    let number = app.analytics.clickable_search(&search)?;
    let max_bytes = MAX_EVENT_BYTES.min(app.config.max_body_bytes);
    let body = body.read_as(max_bytes, &["application/json", "text/plain"]).await?;
    let (resource, position) = parse_click(&body)?;
    if !(app.config.analytics.do_not_track && asks_not_to_be_tracked(&parts.headers)) {
        app.analytics.submit(ResultClick { number, resource: resource.as_u128(), position });
    }
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Reads the body of a click: the clicked resource and its position.
///
/// Errors: `MALFORMED_JSON`; `VALIDATION_FAILED` with the errors of all fields.
fn parse_click(body: &[u8]) -> Result<(ResourceId, u32)> {
    let Value::Object(object) = json::parse(body)? else {
        let message = "the body is not an object; send `{\"id\": \"…\", \"position\": 1}`";
        return Err(Error::new(Code::ValidationFailed, message));
    };
    let mut errors = FieldErrors::new();
    let mut report = |field: &str, message: String| errors.push((field.to_owned(), vec![message]));
    let (id, position) = (object.get("id"), object.get("position"));
    let resource = id.and_then(Value::as_str).and_then(ResourceId::parse);
    if resource.is_none() {
        report("id", format!("it is {}; expected the id of the clicked resource", shown(id)));
    }
    let place = position.and_then(Value::as_u64).filter(|place| (1..=MAX_POSITION).contains(place));
    if place.is_none() {
        let shown = shown(position);
        report("position", format!("it is {shown}; expected the place in the list, from 1 to {MAX_POSITION}"));
    }
    for key in object.keys().filter(|key| !FIELDS.contains(&key.as_str())) {
        report(key, "it is unknown; a click has `id` and `position`".to_owned());
    }
    match (resource, place.and_then(|place| u32::try_from(place).ok())) {
        (Some(resource), Some(place)) if errors.is_empty() => Ok((resource, place)),
        _ => Err(Error::validation(errors)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_click_has_an_id_and_a_position() {
        let id = "01980000-0000-7000-8000-000000000001";
        let ok = parse_click(format!("{{\"id\":\"{id}\",\"position\":3}}").as_bytes()).unwrap();
        assert_eq!((ok.0.to_string().as_str(), ok.1), (id, 3));
        let table = [
            ("{}", "id position"),
            ("{\"id\":1,\"position\":0}", "id position"),
            ("{\"id\":\"x\",\"position\":100001}", "id position"),
            (&format!("{{\"id\":\"{id}\",\"position\":1.5}}"), "position"),
            (&format!("{{\"id\":\"{id}\",\"position\":-1}}"), "position"),
            (&format!("{{\"id\":\"{id}\",\"position\":\"1\"}}"), "position"),
            (&format!("{{\"id\":\"{id}\",\"position\":1,\"q\":2}}"), "q"),
        ];
        for (body, fields) in table {
            let errors = parse_click(body.as_bytes()).unwrap_err();
            let json = errors.to_json();
            let known: Vec<&str> = json["fields"].as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(known.join(" "), fields, "{body}");
        }
        assert_eq!(parse_click(b"[]").unwrap_err().code, Code::ValidationFailed);
        assert_eq!(parse_click(b"{").unwrap_err().code, Code::MalformedJson);
    }
}
