//! Blueprints, members and tokens (`API.md` 4.9, 4.10 and 5.5).

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::App;
use super::error::Answer;
use super::extract::{BaseUrl, Bearer, JsonBody, Path};
use super::idempotency::{Begun, Plain, Post, Wording, answer, keep};
use super::respond::data_value;
use crate::model::ability::Ability;
use crate::model::error::Error;

pub(super) async fn list_blueprints(State(app): State<App>, Bearer(access): Bearer) -> Answer {
    Ok(data_value(StatusCode::OK, app.content.list_blueprints(&access)?.into()))
}

pub(super) async fn find_blueprint(State(app): State<App>, Bearer(access): Bearer, Path(slug): Path<String>) -> Answer {
    Ok(data_value(StatusCode::OK, app.content.find_blueprint(&access, &slug)?))
}

pub(super) async fn create_blueprint(
    State(app): State<App>,
    Bearer(access): Bearer,
    BaseUrl(base): BaseUrl,
    request: Post,
) -> Answer {
    let (body, once) = match request.begin(&app, &access, Ability::Manage).await? {
        Begun::New { body, once } => (body, once),
        Begun::Kept(kept) => return Ok(kept),
    };
    let body = body.read(app.config.max_body_bytes).await?;
    let wording: Wording<Value> = Arc::new(move |blueprint| {
        let slug = blueprint["slug"].as_str().unwrap_or_default();
        created(blueprint, &format!("{base}/v2/blueprints/{slug}"))
    });
    let done = app.content.create_blueprint(&access, &body, keep(once, &wording)).await?;
    answer(done, &wording)
}

fn created(value: &Value, location: &str) -> Plain {
    Plain::new(StatusCode::CREATED, json!({ "data": value }).to_string()).with(header::LOCATION, location)
}

pub(super) async fn replace_blueprint(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path(slug): Path<String>,
    RawQuery(raw): RawQuery,
    body: JsonBody,
) -> Answer {
    let replacing = app.content.replace_blueprint(&access, &slug, &raw.unwrap_or_default())?;
    let body = body.read(app.config.max_body_bytes).await?;
    // The change goes on if the client leaves (`API.md` 4.9.7).
    let change = tokio::spawn(async move { replacing.run(&body).await });
    let blueprint = change.await.map_err(Error::internal)??;
    Ok(data_value(StatusCode::OK, blueprint))
}

pub(super) async fn delete_blueprint(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path(slug): Path<String>,
    RawQuery(raw): RawQuery,
) -> Answer {
    app.content.delete_blueprint(&access, &slug, &raw.unwrap_or_default()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn list_tokens(State(app): State<App>, Bearer(access): Bearer) -> Answer {
    Ok(data_value(StatusCode::OK, app.content.list_tokens(&access)?.into()))
}

pub(super) async fn create_token(State(app): State<App>, Bearer(access): Bearer, body: JsonBody) -> Answer {
    access.require(&[Ability::Manage])?;
    let body = body.read(app.config.max_body_bytes).await?;
    Ok(data_value(StatusCode::CREATED, app.content.create_token(&access, &body).await?))
}

pub(super) async fn revoke_token(State(app): State<App>, Bearer(access): Bearer, Path(id): Path<String>) -> Answer {
    app.content.revoke_token(&access, &id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn list_members(State(app): State<App>, Bearer(access): Bearer) -> Answer {
    Ok(data_value(StatusCode::OK, app.content.list_members(&access)?.into()))
}

pub(super) async fn find_member(State(app): State<App>, Bearer(access): Bearer, Path(id): Path<String>) -> Answer {
    Ok(data_value(StatusCode::OK, app.content.find_member(&access, &id)?))
}

pub(super) async fn create_member(
    State(app): State<App>,
    Bearer(access): Bearer,
    BaseUrl(base): BaseUrl,
    request: Post,
) -> Answer {
    let (body, once) = match request.begin(&app, &access, Ability::Manage).await? {
        Begun::New { body, once } => (body, once),
        Begun::Kept(kept) => return Ok(kept),
    };
    let body = body.read(app.config.max_body_bytes).await?;
    let wording: Wording<Value> =
        Arc::new(move |member| created(member, &format!("{base}/v2/members/{}", member["id"])));
    let done = app.content.create_member(&access, &body, keep(once, &wording)).await?;
    answer(done, &wording)
}

pub(super) async fn change_member(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path(id): Path<String>,
    body: JsonBody,
) -> Answer {
    app.content.find_member(&access, &id)?;
    let body = body.read(app.config.max_body_bytes).await?;
    Ok(data_value(StatusCode::OK, app.content.change_member(&access, &id, &body).await?))
}

pub(super) async fn delete_member(State(app): State<App>, Bearer(access): Bearer, Path(id): Path<String>) -> Answer {
    app.content.delete_member(&access, &id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
