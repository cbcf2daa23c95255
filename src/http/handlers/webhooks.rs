//! Webhooks (`API.md` 6.2). Must not know how they are delivered.

use axum::http::{StatusCode, header};
use bindery_content::{Idempotency, Webhook};
use bindery_model::ability::Ability;
use bindery_model::time::format_millis;
use bindery_webhooks::{Delivery, DeliveryState, SendOutcome};
use serde_json::{Value, json};

use crate::answer::respond::{data_value, no_content};
use crate::error::Answer;
use crate::request::head::{BaseUrl, Call};
use crate::request::idempotency::{Post, RenderedResponse};
use crate::transport::body::JsonBody;

/// Returns a webhook without its secret, with its last error.
fn shown(webhook: &Webhook, error: Option<String>) -> Value {
    json!({
        "id": webhook.id,
        "type": "webhook",
        "name": webhook.name,
        "url": webhook.url,
        "events": webhook.events,
        "blueprints": webhook.blueprints,
        "active": webhook.active,
        "created_at": format_millis(webhook.created_at),
        "updated_at": format_millis(webhook.updated_at),
        "error": error,
    })
}

fn delivery(delivery: &Delivery) -> Value {
    let state = match delivery.state {
        DeliveryState::Delivered => "delivered",
        DeliveryState::Retrying => "retrying",
        DeliveryState::GivenUp => "given_up",
    };
    json!({
        "id": delivery.message,
        "type": "delivery",
        "number": delivery.number,
        "op": delivery.op,
        "blueprint": delivery.blueprint,
        "resource": delivery.resource,
        "at": format_millis(delivery.at),
        "attempt": delivery.attempt,
        "state": state,
        "status": delivery.status,
        "error": delivery.error,
        "duration_ms": delivery.milliseconds,
        "next_attempt_at": delivery.next_attempt.map(format_millis),
    })
}

pub(crate) async fn list(call: Call) -> Answer {
    let webhooks = call.app.content.list_webhooks(&call.access)?;
    call.takes_no_parameters()?;
    Ok(data_value(
        StatusCode::OK,
        webhooks.iter().map(|webhook| shown(webhook, call.app.webhooks.error(&webhook.id))).collect(),
    ))
}

pub(crate) async fn find(call: Call<String>) -> Answer {
    call.access.require(&[Ability::Manage])?;
    // Checked before the webhook is looked up (`API.md` 1.7).
    call.takes_no_parameters()?;
    let webhook = call.app.content.find_webhook(&call.access, &call.path)?;
    Ok(data_value(StatusCode::OK, shown(&webhook, call.app.webhooks.error(&webhook.id))))
}

pub(crate) async fn create(call: Call, BaseUrl(base): BaseUrl, request: Post) -> Answer {
    let render = move |webhook: &Webhook| {
        // A new webhook has no error. To ask for it would have the committer wait for a lock of the webhooks.
        let mut value = shown(webhook, None);
        value["secret"] = Value::from(webhook.secret.as_str());
        let location = format!("{base}/v2/webhooks/{}", webhook.id);
        RenderedResponse::new(StatusCode::CREATED, json!({ "data": value }).to_string())
            .with(header::LOCATION, &location)
    };
    let create = async |body: JsonBody, idempotent| {
        let body = body.read(call.max_body_bytes()).await?;
        Ok(call.app.content.create_webhook(&call.access, &body, idempotent).await?)
    };
    request.answer(&call, Ability::Manage, render, create).await
}

pub(crate) async fn change(call: Call<String>, body: JsonBody) -> Answer {
    // A missing webhook is reported before an error in the body (`API.md` 1.7).
    let content = &call.app.content;
    content.checked(|| content.find_webhook(&call.access, &call.path)).await?;
    let body = body.read(call.max_body_bytes()).await?;
    let webhook = content.change_webhook(&call.access, &call.path, &body).await?;
    Ok(data_value(StatusCode::OK, shown(&webhook, call.app.webhooks.error(&webhook.id))))
}

pub(crate) async fn delete(call: Call<String>) -> Answer {
    call.app.content.delete_webhook(&call.access, &call.path).await?;
    Ok(no_content())
}

pub(crate) async fn deliveries(call: Call<String>) -> Answer {
    call.access.require(&[Ability::Manage])?;
    call.takes_no_parameters()?;
    call.app.content.find_webhook(&call.access, &call.path)?;
    let deliveries = call.app.webhooks.deliveries(&call.path);
    Ok(data_value(StatusCode::OK, deliveries.iter().map(delivery).collect()))
}

/// Sends a test message at once, and answers its outcome. Its body is not read, unless a key stands for it.
pub(crate) async fn test(call: Call<String>, request: Post) -> Answer {
    let render = |result: &Value| RenderedResponse::new(StatusCode::OK, json!({ "data": result }).to_string());
    let has_key = request.has_key();
    let test = async |body: JsonBody, idempotent: Option<Idempotency<Value>>| {
        let content = &call.app.content;
        let webhook = content.checked(|| content.find_webhook(&call.access, &call.path)).await?;
        // An answer that cannot be kept would have the client send the message again.
        match &idempotent {
            Some(_) => content.check_writable()?,
            None if has_key => body.read(call.max_body_bytes()).await.map(drop)?,
            None => {}
        }
        let SendOutcome { message, status, error, milliseconds } = call.app.webhooks.test(&webhook).await;
        let state = if error.is_none() { "delivered" } else { "given_up" };
        let result =
            json!({ "id": message, "state": state, "status": status, "error": error, "duration_ms": milliseconds });
        Ok(content.answer_without_write(&call.access, result, idempotent).await?)
    };
    request.answer(&call, Ability::Manage, render, test).await
}
