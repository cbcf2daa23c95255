//! Blueprints, tokens and members (`API.md` 6).

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::App;
use super::error::ApiError;
use super::extract::{Bearer, PathOne, read_json_body};
use super::respond::{address, data_value};
use crate::model::ability::Ability;

pub(super) async fn list_blueprints(
    State(app): State<App>,
    Bearer(access): Bearer,
) -> Result<Response, ApiError> {
    Ok(data_value(StatusCode::OK, app.content.list_blueprints(&access)?.into()))
}

pub(super) async fn find_blueprint(
    State(app): State<App>,
    Bearer(access): Bearer,
    PathOne(slug): PathOne,
) -> Result<Response, ApiError> {
    Ok(data_value(StatusCode::OK, app.content.find_blueprint(&access, &slug)?))
}

pub(super) async fn create_blueprint(
    State(app): State<App>,
    Bearer(access): Bearer,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    access.require(&[Ability::Manage])?;
    let body = read_json_body(&app, &headers, body).await?;
    let blueprint = app.content.create_blueprint(&access, &body).await?;
    let slug = blueprint["slug"].as_str().unwrap_or_default();
    let location = address(&app, &headers, &format!("/v2/blueprints/{slug}"));
    Ok(([(header::LOCATION, location)], data_value(StatusCode::CREATED, blueprint)).into_response())
}

pub(super) async fn replace_blueprint(
    State(app): State<App>,
    Bearer(access): Bearer,
    PathOne(slug): PathOne,
    RawQuery(raw): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    app.content.check_blueprint(&access, &slug)?;
    let body = read_json_body(&app, &headers, body).await?;
    let content = app.content.clone();
    // The change goes on if the client leaves (`API.md` 6).
    let change = tokio::spawn(async move {
        content.replace_blueprint(&access, &slug, &raw.unwrap_or_default(), &body).await
    });
    let blueprint = change.await.map_err(crate::model::error::Error::internal)??;
    Ok(data_value(StatusCode::OK, blueprint))
}

pub(super) async fn delete_blueprint(
    State(app): State<App>,
    Bearer(access): Bearer,
    PathOne(slug): PathOne,
    RawQuery(raw): RawQuery,
) -> Result<StatusCode, ApiError> {
    app.content.delete_blueprint(&access, &slug, &raw.unwrap_or_default()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn list_tokens(State(app): State<App>, Bearer(access): Bearer) -> Result<Response, ApiError> {
    Ok(data_value(StatusCode::OK, app.content.list_tokens(&access)?.into()))
}

pub(super) async fn create_token(
    State(app): State<App>,
    Bearer(access): Bearer,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    access.require(&[Ability::Manage])?;
    let body = read_json_body(&app, &headers, body).await?;
    Ok(data_value(StatusCode::CREATED, app.content.create_token(&access, &body).await?))
}

pub(super) async fn revoke_token(
    State(app): State<App>,
    Bearer(access): Bearer,
    PathOne(id): PathOne,
) -> Result<StatusCode, ApiError> {
    app.content.revoke_token(&access, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn list_members(State(app): State<App>, Bearer(access): Bearer) -> Result<Response, ApiError> {
    Ok(data_value(StatusCode::OK, app.content.list_members(&access)?.into()))
}

pub(super) async fn find_member(
    State(app): State<App>,
    Bearer(access): Bearer,
    PathOne(id): PathOne,
) -> Result<Response, ApiError> {
    Ok(data_value(StatusCode::OK, app.content.find_member(&access, &id)?))
}

pub(super) async fn create_member(
    State(app): State<App>,
    Bearer(access): Bearer,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    access.require(&[Ability::Manage])?;
    let body = read_json_body(&app, &headers, body).await?;
    let member = app.content.create_member(&access, &body).await?;
    let location = address(&app, &headers, &format!("/v2/members/{}", member["id"]));
    Ok(([(header::LOCATION, location)], data_value(StatusCode::CREATED, member)).into_response())
}

pub(super) async fn change_member(
    State(app): State<App>,
    Bearer(access): Bearer,
    PathOne(id): PathOne,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    app.content.find_member(&access, &id)?;
    let body = read_json_body(&app, &headers, body).await?;
    Ok(data_value(StatusCode::OK, app.content.change_member(&access, &id, &body).await?))
}

pub(super) async fn delete_member(
    State(app): State<App>,
    Bearer(access): Bearer,
    PathOne(id): PathOne,
) -> Result<StatusCode, ApiError> {
    app.content.delete_member(&access, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
