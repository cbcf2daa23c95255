//! Synonyms and rules of ranked search (`API.md` 4.25). Must not know what they change.

use axum::http::{StatusCode, header};
use bindery_content::{RulePreview, SteeringKind};
use bindery_model::ability::Ability;
use serde_json::{Value, json};

use super::resources::list_body;
use crate::answer::respond::{data_value, json as json_response, no_content};
use crate::answer::server_timing::explained;
use crate::error::Answer;
use crate::request::head::{BaseUrl, Call};
use crate::request::idempotency::{Post, RenderedResponse};
use crate::transport::body::JsonBody;

/// A kind of entries, for which the handlers are made.
pub(crate) trait Entry {
    /// The kind.
    const KIND: SteeringKind;
    /// The segment of the path.
    const PATH: &'static str;
}

/// Synonyms.
pub(crate) struct Synonyms;

/// Rules.
pub(crate) struct Rules;

impl Entry for Synonyms {
    const KIND: SteeringKind = SteeringKind::Synonym;
    const PATH: &'static str = "synonyms";
}

impl Entry for Rules {
    const KIND: SteeringKind = SteeringKind::Rule;
    const PATH: &'static str = "rules";
}

pub(crate) async fn list<E: Entry>(call: Call) -> Answer {
    let all = call.app.content.list_steering(&call.access, E::KIND)?;
    call.takes_no_parameters()?;
    Ok(data_value(StatusCode::OK, all.into()))
}

pub(crate) async fn find<E: Entry>(call: Call<String>) -> Answer {
    call.access.require(&[Ability::Manage])?;
    // Checked before the entry is looked up (`API.md` 1.7).
    call.takes_no_parameters()?;
    Ok(data_value(StatusCode::OK, call.app.content.find_steering(&call.access, E::KIND, &call.path)?))
}

pub(crate) async fn create<E: Entry>(call: Call, BaseUrl(base): BaseUrl, request: Post) -> Answer {
    let render = move |shown: &Value| {
        let location = format!("{base}/v2/search/{}/{}", E::PATH, shown["id"].as_str().unwrap_or_default());
        RenderedResponse::new(StatusCode::CREATED, json!({ "data": shown }).to_string())
            .with(header::LOCATION, &location)
    };
    let create = async |body: JsonBody, idempotent| {
        let body = body.read(call.max_body_bytes()).await?;
        Ok(call.app.content.create_steering(&call.access, E::KIND, &body, idempotent).await?)
    };
    request.answer(&call, Ability::Manage, render, create).await
}

/// Returns a list as it would be with a rule that is not stored.
pub(crate) async fn preview(call: Call, BaseUrl(base): BaseUrl, request: Post) -> Answer {
    let body = request.checked_body(&call, Ability::Manage)?;
    call.takes_no_parameters()?;
    let body = body.read(call.max_body_bytes()).await?;
    let RulePreview { blueprint, list, mut page } = call.app.content.preview_rule(&call.access, &body).await?;
    let how = page.explained.take();
    let url = format!("{base}/v2/resources/{blueprint}");
    let response = json_response(StatusCode::OK, list_body(page, how.as_ref(), &url, &list));
    Ok(explained(response, how.as_ref()))
}

pub(crate) async fn replace<E: Entry>(call: Call<String>, body: JsonBody) -> Answer {
    write::<E>(call, body, true).await
}

pub(crate) async fn change<E: Entry>(call: Call<String>, body: JsonBody) -> Answer {
    write::<E>(call, body, false).await
}

async fn write<E: Entry>(call: Call<String>, body: JsonBody, is_whole: bool) -> Answer {
    // A missing entry is reported before an error in the body (`API.md` 1.7).
    let content = &call.app.content;
    content.checked(|| content.find_steering(&call.access, E::KIND, &call.path)).await?;
    let body = body.read(call.max_body_bytes()).await?;
    let changed = content.change_steering(&call.access, E::KIND, &call.path, &body, is_whole).await?;
    Ok(data_value(StatusCode::OK, changed))
}

pub(crate) async fn delete<E: Entry>(call: Call<String>) -> Answer {
    call.app.content.delete_steering(&call.access, E::KIND, &call.path).await?;
    Ok(no_content())
}
