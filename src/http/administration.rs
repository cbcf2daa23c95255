//! Blueprints, tokens and members (`API.md` 6).

use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use super::App;
use super::error::Answer;
use super::extract::{BaseUrl, Bearer, JsonBody, Path};
use super::respond::data_value;
use crate::model::ability::Ability;
use crate::model::error::Error;

pub(super) async fn list_blueprints(
    State(app): State<App>,
    Bearer(access): Bearer,
) -> Answer {
    Ok(data_value(StatusCode::OK, app.content.list_blueprints(&access)?.into()))
}

pub(super) async fn find_blueprint(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path(slug): Path<String>,
) -> Answer {
    Ok(data_value(StatusCode::OK, app.content.find_blueprint(&access, &slug)?))
}

pub(super) async fn create_blueprint(
    State(app): State<App>,
    Bearer(access): Bearer,
    BaseUrl(base): BaseUrl,
    body: JsonBody,
) -> Answer {
    access.require(&[Ability::Manage])?;
    let body = body.read(app.config.max_body_bytes).await?;
    let blueprint = app.content.create_blueprint(&access, &body).await?;
    let slug = blueprint["slug"].as_str().unwrap_or_default();
    let location = format!("{base}/v2/blueprints/{slug}");
    Ok(([(header::LOCATION, location)], data_value(StatusCode::CREATED, blueprint)).into_response())
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
    // The change goes on if the client leaves (`API.md` 6).
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

pub(super) async fn create_token(
    State(app): State<App>,
    Bearer(access): Bearer,
    body: JsonBody,
) -> Answer {
    access.require(&[Ability::Manage])?;
    let body = body.read(app.config.max_body_bytes).await?;
    Ok(data_value(StatusCode::CREATED, app.content.create_token(&access, &body).await?))
}

pub(super) async fn revoke_token(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path(id): Path<String>,
) -> Answer {
    app.content.revoke_token(&access, &id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn list_members(State(app): State<App>, Bearer(access): Bearer) -> Answer {
    Ok(data_value(StatusCode::OK, app.content.list_members(&access)?.into()))
}

pub(super) async fn find_member(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path(id): Path<String>,
) -> Answer {
    Ok(data_value(StatusCode::OK, app.content.find_member(&access, &id)?))
}

pub(super) async fn create_member(
    State(app): State<App>,
    Bearer(access): Bearer,
    BaseUrl(base): BaseUrl,
    body: JsonBody,
) -> Answer {
    access.require(&[Ability::Manage])?;
    let body = body.read(app.config.max_body_bytes).await?;
    let member = app.content.create_member(&access, &body).await?;
    let location = format!("{base}/v2/members/{}", member["id"]);
    Ok(([(header::LOCATION, location)], data_value(StatusCode::CREATED, member)).into_response())
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

pub(super) async fn delete_member(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path(id): Path<String>,
) -> Answer {
    app.content.delete_member(&access, &id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
