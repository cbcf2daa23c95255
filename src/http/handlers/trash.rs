//! The trash (`API.md` 4.23). Must not know what a resource holds.

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use bindery_content::{TrashEntry, TrashPage, TrashReferrers};
use bindery_model::ability::Ability;
use bindery_model::time::format_millis;
use serde_json::{Value, json};

use crate::answer::links::Links;
use crate::answer::respond::{VARY_BY_TOKEN, json as json_response, no_content};
use crate::error::Answer;
use crate::handlers::resources::rendered;
use crate::request::head::{BaseUrl, Call};
use crate::request::idempotency::Post;
use crate::transport::body::JsonBody;

pub(crate) async fn list(call: Call, BaseUrl(base): BaseUrl) -> Answer {
    let TrashPage { entries, page, total } = call.app.content.trash(&call.access, &call.query).await?;
    let Links { first, last, prev, next } = Links::new(&format!("{base}/v2/trash"), &call.query, page, total);
    let entries: Vec<Value> = entries.into_iter().map(shown).collect();
    let body = json!({
        "data": entries,
        "links": { "first": first, "last": last, "prev": prev, "next": next },
        "meta": {
            "current_page": page.number,
            "last_page": page.last(total),
            "per_page": page.per_page,
            "total": total,
        },
    });
    Ok(([(header::VARY, VARY_BY_TOKEN)], json_response(StatusCode::OK, body.to_string())).into_response())
}

fn shown(entry: TrashEntry) -> Value {
    let TrashEntry { id, blueprint, title, deleted_at, by, referrers } = entry;
    let referrers = referrers.into_iter().map(
        |TrashReferrers { blueprint, field, total }| json!({ "blueprint": blueprint, "field": field, "total": total }),
    );
    json!({
        "id": id.to_string(),
        "blueprint": blueprint,
        "title": title,
        "deleted_at": format_millis(deleted_at),
        "by": by,
        "referrers": referrers.collect::<Vec<Value>>(),
    })
}

pub(crate) async fn restore(call: Call<String>, request: Post) -> Answer {
    let restore = async |body: JsonBody, idempotent| {
        let content = &call.app.content;
        let (writing, id) = content.checked(|| content.trashed(&call.access, &call.path, &call.query)).await?;
        let body = body.read(call.max_body_bytes()).await?;
        Ok(writing.restore(id, &body, idempotent).await?)
    };
    request.answer(&call, Ability::Delete, rendered, restore).await
}

pub(crate) async fn purge(call: Call<String>) -> Answer {
    let content = &call.app.content;
    let (writing, id) = content.checked(|| content.trashed(&call.access, &call.path, &call.query)).await?;
    writing.purge(id).await?;
    Ok(no_content())
}
