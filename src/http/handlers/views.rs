//! Views of lists that members save (`API.md` 4.19). Must not know who sees them.

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use bindery_content::OwnedView;
use bindery_model::ability::Ability;
use bindery_model::error::Error;
use bindery_model::time::format_millis;
use bindery_query::{RawParams, strict};
use serde_json::{Value, json};

use crate::answer::respond::{data_value, no_content};
use crate::error::Answer;
use crate::request::head::{BaseUrl, Call};
use crate::request::idempotency::{Post, RenderedResponse};
use crate::transport::body::JsonBody;

fn shown(OwnedView { view, owner }: &OwnedView) -> Value {
    json!({
        "id": view.id,
        "type": "view",
        "blueprint": view.blueprint,
        "name": view.name,
        "query": view.query,
        "shared": view.shared,
        "owner": { "id": view.owner, "name": owner },
        "created_at": format_millis(view.created_at),
        "updated_at": format_millis(view.updated_at),
    })
}

/// Refuses a token before anything else is checked (`API.md` 1.7).
fn refuse_tokens(call: &Call) -> Result<(), Error> {
    call.app.content.list_views(&call.access, Some("")).map(|_| ())
}

pub(crate) async fn list(call: Call) -> Answer {
    refuse_tokens(&call)?;
    let params = RawParams::parse(&call.query);
    strict::check(&params, &["blueprint"])?;
    let views = call.app.content.list_views(&call.access, params.single("blueprint")?)?;
    Ok(data_value(StatusCode::OK, views.iter().map(shown).collect()))
}

pub(crate) async fn create(call: Call, BaseUrl(base): BaseUrl, request: Post) -> Answer {
    refuse_tokens(&call)?;
    let render = move |made: &OwnedView| {
        RenderedResponse::new(StatusCode::CREATED, json!({ "data": shown(made) }).to_string())
            .with(LOCATION, &format!("{base}/v2/views/{}", made.view.id))
    };
    let create = async |body: JsonBody, idempotent| {
        let body = body.read(call.max_body_bytes()).await?;
        Ok(call.app.content.create_view(&call.access, &body, idempotent).await?)
    };
    // Every role has this ability.
    request.answer(&call, Ability::View, render, create).await
}

pub(crate) async fn change(call: Call<String>, body: JsonBody) -> Answer {
    // A missing view is reported before an error in the body (`API.md` 1.7).
    let content = &call.app.content;
    content.checked(|| content.check_view(&call.access, &call.path)).await?;
    let body = body.read(call.max_body_bytes()).await?;
    Ok(data_value(StatusCode::OK, shown(&content.change_view(&call.access, &call.path, &body).await?)))
}

pub(crate) async fn delete(call: Call<String>) -> Answer {
    call.app.content.delete_view(&call.access, &call.path).await?;
    Ok(no_content())
}
