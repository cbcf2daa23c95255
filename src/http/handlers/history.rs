//! The history of a resource (`API.md` 4.22). Must not know what a resource holds.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use bindery_content::{HistoryPage, RevisionEntry};
use bindery_model::ability::Ability;
use bindery_model::time::format_millis;
use serde_json::{Value, json};

use crate::answer::links::Links;
use crate::answer::respond::{VARY_BY_TOKEN, json as json_response, no_content, with_data};
use crate::error::Answer;
use crate::handlers::resources::{if_match, rendered};
use crate::request::head::{BaseUrl, Call};
use crate::request::idempotency::Post;
use crate::transport::body::JsonBody;

/// The blueprint's slug, and the resource's id.
type Resource = (String, String);
/// The same, and the number of a revision.
type Revision = (String, String, String);

pub(crate) async fn list(call: Call<Resource>, BaseUrl(base): BaseUrl) -> Answer {
    let (blueprint, id) = &call.path;
    let found = call.app.content.history(&call.access, blueprint, id, &call.query).await?;
    let HistoryPage { revisions, next } = found;
    let url = format!("{base}/v2/resources/{blueprint}/{id}/history");
    let links = Links::of_walk(&url, &call.query, next.as_deref());
    let revisions: Vec<Value> = revisions.into_iter().map(shown).collect();
    let body = json!({ "data": revisions, "links": { "first": links.first, "next": links.next } });
    Ok(([(header::VARY, VARY_BY_TOKEN)], json_response(StatusCode::OK, body.to_string())).into_response())
}

fn shown(entry: RevisionEntry) -> Value {
    let RevisionEntry { number, at, by, op, variant, fields } = entry;
    let at = format_millis(at);
    json!({ "number": number, "at": at, "by": by, "op": op, "variant": variant, "fields": fields })
}

pub(crate) async fn find(call: Call<Revision>) -> Answer {
    let (blueprint, id, number) = &call.path;
    let found = call.app.content.revision(&call.access, blueprint, id, number, &call.query).await?;
    let body = match found.changes {
        None => with_data(&found.json),
        Some(changes) => format!("{{\"data\":{},\"changes\":{}}}", found.json, Value::Object(changes)),
    };
    Ok(([(header::VARY, VARY_BY_TOKEN)], json_response(StatusCode::OK, body)).into_response())
}

pub(crate) async fn restore(call: Call<Revision>, headers: HeaderMap, request: Post) -> Answer {
    let (blueprint, id, number) = &call.path;
    let restore = async |body: JsonBody, idempotent| {
        let begin = || {
            let writing = call.app.content.write(&call.access, Ability::Update, blueprint, &call.query)?;
            writing.require_history()?;
            let id = writing.target(id)?;
            Ok((writing, id))
        };
        let (mut writing, id) = call.app.content.checked(begin).await?;
        // An unknown revision is reported before an error in the body (`API.md` 1.7).
        let number = writing.target_revision(id, number).await?;
        let body = body.read(call.max_body_bytes()).await?;
        Ok(writing.restore_revision(id, number, if_match(&headers), &body, idempotent).await?)
    };
    request.answer(&call, Ability::Update, rendered, restore).await
}

pub(crate) async fn delete(call: Call<Resource>) -> Answer {
    let (blueprint, id) = &call.path;
    call.app.content.delete_history(&call.access, blueprint, id, &call.query).await?;
    Ok(no_content())
}
