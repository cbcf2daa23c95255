//! Bulk requests (`API.md` 4.5). Must not know what an item holds.

use axum::http::StatusCode;
use bindery_content::{BulkAnswer, Idempotency, IdempotentAnswer, Operation};
use serde_json::{Map, Value, json};

use crate::error::{Answer, Failure, error_object};
use crate::request::head::Call;
use crate::request::idempotency::{Post, RenderedResponse, respond_to};
use crate::transport::body::JsonBody;

pub(crate) async fn create(call: Call<String>, request: Post) -> Answer {
    post(call, Operation::Create, request).await
}

pub(crate) async fn publish(call: Call<String>, request: Post) -> Answer {
    post(call, Operation::Publish, request).await
}

pub(crate) async fn unpublish(call: Call<String>, request: Post) -> Answer {
    post(call, Operation::Unpublish, request).await
}

pub(crate) async fn update(call: Call<String>, body: JsonBody) -> Answer {
    respond_to(run(&call, Operation::Update, body, None).await?, render)
}

pub(crate) async fn delete(call: Call<String>, body: JsonBody) -> Answer {
    respond_to(run(&call, Operation::Delete, body, None).await?, render)
}

async fn post(call: Call<String>, operation: Operation, request: Post) -> Answer {
    let run = async |body, idempotent| run(&call, operation, body, idempotent).await;
    request.answer(&call, operation.ability(), render, run).await
}

/// Runs a bulk request. `idempotent` is set for a request with an `Idempotency-Key`.
async fn run(
    call: &Call<String>,
    operation: Operation,
    body: JsonBody,
    idempotent: Option<Idempotency<BulkAnswer>>,
) -> Result<IdempotentAnswer<BulkAnswer>, Failure> {
    let content = &call.app.content;
    let begin = || {
        let writing = content.write(&call.access, operation.ability(), &call.path, &call.query)?;
        writing.check_operation(operation)?;
        Ok(writing)
    };
    let writing = content.checked(begin).await?;
    let body = body.read(call.max_body_bytes()).await?;
    Ok(writing.bulk(operation, &body, idempotent).await?)
}

fn render(bulk: &BulkAnswer) -> RenderedResponse {
    let BulkAnswer { operation, applied, failed } = bulk;
    let status = match (failed.is_empty(), operation) {
        (false, _) => StatusCode::MULTI_STATUS,
        (true, Operation::Create) => StatusCode::CREATED,
        (true, _) => StatusCode::OK,
    };
    let name = operation.list_name();
    let applied_items: Vec<Value> =
        applied.iter().map(|item| json!({ "id": item.id.to_string(), "index": item.index })).collect();
    let failed_items: Vec<Value> =
        failed.iter().map(|item| json!({ "index": item.index, "errors": error_object(&item.error) })).collect();
    let mut data = Map::new();
    data.insert(name.to_owned(), applied_items.into());
    data.insert("failed".to_owned(), failed_items.into());
    let mut meta = Map::new();
    meta.insert("total".to_owned(), (applied.len() + failed.len()).into());
    meta.insert(name.to_owned(), applied.len().into());
    meta.insert("failed".to_owned(), failed.len().into());
    let sanitized = applied.iter().filter(|item| !item.sanitized.is_empty());
    let sanitized = sanitized.map(|item| (item.index.to_string(), item.sanitized.to_json())).collect();
    let not_ready = applied.iter().filter(|item| !item.not_ready.is_empty());
    let not_ready = not_ready.map(|item| (item.index.to_string(), item.not_ready.clone().into())).collect();
    let by_index: [(&str, Map<String, Value>); 2] = [("sanitized", sanitized), ("not_ready", not_ready)];
    let found = by_index.into_iter().filter(|(_, items)| !items.is_empty());
    meta.extend(found.map(|(name, items)| (name.to_owned(), items.into())));
    RenderedResponse::new(status, json!({ "data": data, "meta": meta }).to_string())
}
