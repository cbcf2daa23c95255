//! Blueprints, members and tokens (`API.md` 4.9, 4.10 and 5.5). Must not know the rules for valid ones.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use bindery_access::Member;
use bindery_model::ability::Ability;
use bindery_model::blueprint::{Blueprint, render};
use bindery_model::error::Error;
use serde_json::{Value, json};

use crate::answer::represent;
use crate::answer::respond::{self, data_value, no_content};
use crate::error::Answer;
use crate::request::head::{BaseUrl, Call};
use crate::request::idempotency::{Post, RenderedResponse};
use crate::transport::body::JsonBody;

pub(crate) async fn list_blueprints(call: Call) -> Answer {
    let blueprints = call.app.content.list_blueprints(&call.access)?;
    call.takes_no_parameters()?;
    Ok(data_value(StatusCode::OK, blueprints.iter().map(|blueprint| render::to_json(blueprint)).collect()))
}

pub(crate) async fn find_blueprint(call: Call<String>) -> Answer {
    let blueprint = call.app.content.find_blueprint(&call.access, &call.path)?;
    call.takes_no_parameters()?;
    Ok(data_value(StatusCode::OK, render::to_json(&blueprint)))
}

pub(crate) async fn create_blueprint(call: Call, BaseUrl(base): BaseUrl, request: Post) -> Answer {
    let render = move |blueprint: &Arc<Blueprint>| {
        let body = json!({ "data": render::to_json(blueprint) });
        created(&body, &format!("{base}/v2/blueprints/{}", blueprint.slug))
    };
    let create = async |body: JsonBody, idempotent| {
        let body = body.read(call.max_body_bytes()).await?;
        Ok(call.app.content.create_blueprint(&call.access, &body, idempotent).await?)
    };
    request.answer(&call, Ability::Manage, render, create).await
}

fn created(body: &Value, location: &str) -> RenderedResponse {
    RenderedResponse::new(StatusCode::CREATED, body.to_string()).with(header::LOCATION, location)
}

pub(crate) async fn replace_blueprint(call: Call<String>, body: JsonBody) -> Answer {
    let content = &call.app.content;
    let begin = || content.replace_blueprint(&call.access, &call.path, &call.query);
    let replacement = content.checked(begin).await?;
    let body = body.read(call.max_body_bytes()).await?;
    // Spawned as its own task, so that the change continues if the client disconnects (`API.md` 4.9.7).
    let change = tokio::spawn(async move { replacement.run(&body).await });
    let replaced = change.await.map_err(Error::internal)??;
    Ok(data_value(StatusCode::OK, represent::replaced(&replaced)))
}

pub(crate) async fn delete_blueprint(call: Call<String>) -> Answer {
    call.app.content.delete_blueprint(&call.access, &call.path, &call.query).await?;
    Ok(no_content())
}

pub(crate) async fn list_tokens(call: Call) -> Answer {
    let tokens = call.app.content.list_tokens(&call.access)?;
    call.takes_no_parameters()?;
    Ok(data_value(StatusCode::OK, tokens.iter().map(represent::token).collect()))
}

pub(crate) async fn create_token(call: Call, body: JsonBody) -> Answer {
    call.access.require(&[Ability::Manage])?;
    let body = body.read(call.max_body_bytes()).await?;
    let issued = call.app.content.create_token(&call.access, &body).await?;
    Ok(data_value(StatusCode::CREATED, represent::issued_token(&issued)))
}

pub(crate) async fn revoke_token(call: Call<String>) -> Answer {
    call.app.content.revoke_token(&call.access, &call.path).await?;
    Ok(no_content())
}

pub(crate) async fn list_members(call: Call) -> Answer {
    let members = call.app.content.list_members(&call.access)?;
    call.takes_no_parameters()?;
    let shows_emails = call.access.may(Ability::Manage);
    let shown = members.iter().map(|member| match shows_emails {
        true => represent::member(member, call.app.content.invited_until(member.id)),
        false => represent::colleague(member),
    });
    Ok(data_value(StatusCode::OK, shown.collect()))
}

pub(crate) async fn find_member(call: Call<String>) -> Answer {
    call.access.require(&[Ability::Manage])?;
    // Checked before the member is looked up (`API.md` 1.7).
    call.takes_no_parameters()?;
    let member = call.app.content.find_member(&call.access, &call.path)?;
    let invited_until = call.app.content.invited_until(member.id);
    Ok(data_value(StatusCode::OK, represent::member(&member, invited_until)))
}

pub(crate) async fn create_member(call: Call, BaseUrl(base): BaseUrl, request: Post) -> Answer {
    let render = move |member: &Member| {
        // A new member has no invitation yet.
        created(&represent::written_member(member, None), &format!("{base}/v2/members/{}", member.id))
    };
    let create = async |body: JsonBody, idempotent| {
        let body = body.read(call.max_body_bytes()).await?;
        Ok(call.app.content.create_member(&call.access, &body, idempotent).await?)
    };
    request.answer(&call, Ability::Manage, render, create).await
}

pub(crate) async fn change_member(call: Call<String>, body: JsonBody) -> Answer {
    // A missing member is reported before an error in the body (`API.md` 1.7).
    let content = &call.app.content;
    content.checked(|| content.find_member(&call.access, &call.path)).await?;
    let body = body.read(call.max_body_bytes()).await?;
    let member = content.change_member(&call.access, &call.path, &body).await?;
    let invited_until = content.invited_until(member.id);
    Ok(respond::json(StatusCode::OK, represent::written_member(&member, invited_until).to_string()))
}

pub(crate) async fn delete_member(call: Call<String>) -> Answer {
    call.app.content.delete_member(&call.access, &call.path).await?;
    Ok(no_content())
}
