//! Bulk requests (`API.md` 4.5).

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::App;
use super::error::{Answer, error_object};
use super::extract::{Bearer, JsonBody, Path};
use super::idempotency::{Begun, Plain, Post, Wording, answer, keep};
use crate::access::Access;
use crate::content::{BulkAnswer, Done, Once, Operation};

pub(super) async fn create(
    app: State<App>,
    bearer: Bearer,
    blueprint: Path<String>,
    query: RawQuery,
    request: Post,
) -> Answer {
    post(app, bearer, blueprint, query, request, Operation::Create).await
}

pub(super) async fn publish(
    app: State<App>,
    bearer: Bearer,
    blueprint: Path<String>,
    query: RawQuery,
    request: Post,
) -> Answer {
    post(app, bearer, blueprint, query, request, Operation::Publish).await
}

pub(super) async fn unpublish(
    app: State<App>,
    bearer: Bearer,
    blueprint: Path<String>,
    query: RawQuery,
    request: Post,
) -> Answer {
    post(app, bearer, blueprint, query, request, Operation::Unpublish).await
}

pub(super) async fn update(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path(blueprint): Path<String>,
    RawQuery(raw): RawQuery,
    body: JsonBody,
) -> Answer {
    run(&app, &access, &blueprint, &raw.unwrap_or_default(), Operation::Update, body, None).await
}

pub(super) async fn delete(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path(blueprint): Path<String>,
    RawQuery(raw): RawQuery,
    body: JsonBody,
) -> Answer {
    run(&app, &access, &blueprint, &raw.unwrap_or_default(), Operation::Delete, body, None).await
}

async fn post(
    State(app): State<App>,
    Bearer(access): Bearer,
    Path(blueprint): Path<String>,
    RawQuery(raw): RawQuery,
    request: Post,
    operation: Operation,
) -> Answer {
    match request.begin(&app, &access, operation.ability()).await? {
        Begun::Kept(kept) => Ok(kept),
        Begun::New { body, once } => {
            run(&app, &access, &blueprint, &raw.unwrap_or_default(), operation, body, once).await
        }
    }
}

async fn run(
    app: &App,
    access: &Access,
    blueprint: &str,
    raw_query: &str,
    operation: Operation,
    body: JsonBody,
    once: Option<Once>,
) -> Answer {
    let writing = app.content.write(access, operation.ability(), blueprint, raw_query)?;
    let body = body.read(app.config.max_body_bytes).await?;
    let wording: Wording<BulkAnswer> = Arc::new(word);
    let done: Done<BulkAnswer> = writing.bulk(operation, &body, keep(once, &wording)).await?;
    answer(done, &wording)
}

fn word(bulk: &BulkAnswer) -> Plain {
    let BulkAnswer { operation, done, failed } = bulk;
    let status = match (failed.is_empty(), operation) {
        (false, _) => StatusCode::MULTI_STATUS,
        (true, Operation::Create) => StatusCode::CREATED,
        (true, _) => StatusCode::OK,
    };
    let name = operation.list_name();
    let done_items: Vec<Value> =
        done.iter().map(|(index, id)| json!({ "id": id.to_string(), "index": index })).collect();
    let failed_items: Vec<Value> =
        failed.iter().map(|(index, error)| json!({ "index": index, "errors": error_object(error) })).collect();
    let mut data = Map::new();
    data.insert(name.to_owned(), done_items.into());
    data.insert("failed".to_owned(), failed_items.into());
    let mut meta = Map::new();
    meta.insert("total".to_owned(), (done.len() + failed.len()).into());
    meta.insert(name.to_owned(), done.len().into());
    meta.insert("failed".to_owned(), failed.len().into());
    Plain::new(status, json!({ "data": data, "meta": meta }).to_string())
}
