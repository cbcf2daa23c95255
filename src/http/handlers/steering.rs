//! Synonyms and rules of ranked search (`API.md` 4.25). Must not know what they change.

use axum::http::{StatusCode, header};
use bindery_content::SteeringKind;
use bindery_model::ability::Ability;
use serde_json::{Value, json};

use crate::answer::respond::{data_value, no_content};
use crate::error::Answer;
use crate::request::head::{BaseUrl, Call};
use crate::request::idempotency::{Post, RenderedResponse};
use crate::transport::body::JsonBody;

async fn list(call: Call, kind: SteeringKind) -> Answer {
    let all = call.app.content.list_steering(&call.access, kind)?;
    call.takes_no_parameters()?;
    Ok(data_value(StatusCode::OK, all.into()))
}

async fn find(call: Call<String>, kind: SteeringKind) -> Answer {
    call.access.require(&[Ability::Manage])?;
    // Checked before the entry is looked up (`API.md` 1.7).
    call.takes_no_parameters()?;
    Ok(data_value(StatusCode::OK, call.app.content.find_steering(&call.access, kind, &call.path)?))
}

async fn create(call: Call, base: String, request: Post, kind: SteeringKind, path: &'static str) -> Answer {
    let render = move |shown: &Value| {
        let location = format!("{base}/v2/search/{path}/{}", shown["id"].as_str().unwrap_or_default());
        RenderedResponse::new(StatusCode::CREATED, json!({ "data": shown }).to_string())
            .with(header::LOCATION, &location)
    };
    let create = async |body: JsonBody, idempotent| {
        let body = body.read(call.max_body_bytes()).await?;
        Ok(call.app.content.create_steering(&call.access, kind, &body, idempotent).await?)
    };
    request.answer(&call, Ability::Manage, render, create).await
}

async fn change(call: Call<String>, body: JsonBody, kind: SteeringKind, is_whole: bool) -> Answer {
    // A missing entry is reported before an error in the body (`API.md` 1.7).
    call.app.content.find_steering(&call.access, kind, &call.path)?;
    let body = body.read(call.max_body_bytes()).await?;
    let changed = call.app.content.change_steering(&call.access, kind, &call.path, &body, is_whole).await?;
    Ok(data_value(StatusCode::OK, changed))
}

async fn delete(call: Call<String>, kind: SteeringKind) -> Answer {
    call.app.content.delete_steering(&call.access, kind, &call.path).await?;
    Ok(no_content())
}

/// Synonyms.
pub(crate) mod synonyms {
    use super::{Answer, BaseUrl, Call, JsonBody, Post, SteeringKind};

    const KIND: SteeringKind = SteeringKind::Synonym;

    pub(crate) async fn list(call: Call) -> Answer {
        super::list(call, KIND).await
    }

    pub(crate) async fn create(call: Call, BaseUrl(base): BaseUrl, request: Post) -> Answer {
        super::create(call, base, request, KIND, "synonyms").await
    }

    pub(crate) async fn find(call: Call<String>) -> Answer {
        super::find(call, KIND).await
    }

    pub(crate) async fn replace(call: Call<String>, body: JsonBody) -> Answer {
        super::change(call, body, KIND, true).await
    }

    pub(crate) async fn change(call: Call<String>, body: JsonBody) -> Answer {
        super::change(call, body, KIND, false).await
    }

    pub(crate) async fn delete(call: Call<String>) -> Answer {
        super::delete(call, KIND).await
    }
}

/// Rules.
pub(crate) mod rules {
    use super::{Answer, BaseUrl, Call, JsonBody, Post, SteeringKind};

    const KIND: SteeringKind = SteeringKind::Rule;

    pub(crate) async fn list(call: Call) -> Answer {
        super::list(call, KIND).await
    }

    pub(crate) async fn create(call: Call, BaseUrl(base): BaseUrl, request: Post) -> Answer {
        super::create(call, base, request, KIND, "rules").await
    }

    pub(crate) async fn find(call: Call<String>) -> Answer {
        super::find(call, KIND).await
    }

    pub(crate) async fn replace(call: Call<String>, body: JsonBody) -> Answer {
        super::change(call, body, KIND, true).await
    }

    pub(crate) async fn change(call: Call<String>, body: JsonBody) -> Answer {
        super::change(call, body, KIND, false).await
    }

    pub(crate) async fn delete(call: Call<String>) -> Answer {
        super::delete(call, KIND).await
    }
}
