//! Bulk requests (`API.md` 4.5). Must not know what an item holds.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::body::JsonBody;
use super::error::{Answer, Failure, error_object};
use super::head::Call;
use super::idempotency::{Post, Rendered, respond_to};
use crate::content::{BulkAnswer, Done, Keep, Operation};

pub(super) async fn create(call: Call<String>, request: Post) -> Answer {
    post(call, Operation::Create, request).await
}

pub(super) async fn publish(call: Call<String>, request: Post) -> Answer {
    post(call, Operation::Publish, request).await
}

pub(super) async fn unpublish(call: Call<String>, request: Post) -> Answer {
    post(call, Operation::Unpublish, request).await
}

pub(super) async fn update(call: Call<String>, body: JsonBody) -> Answer {
    respond_to(run(&call, Operation::Update, body, None).await?, render)
}

pub(super) async fn delete(call: Call<String>, body: JsonBody) -> Answer {
    respond_to(run(&call, Operation::Delete, body, None).await?, render)
}

async fn post(call: Call<String>, operation: Operation, request: Post) -> Answer {
    let run = async |body, keep| run(&call, operation, body, keep).await;
    request.answer(&call, operation.ability(), render, run).await
}

/// `keep` is for requests with an `Idempotency-Key`.
async fn run(
    call: &Call<String>,
    operation: Operation,
    body: JsonBody,
    keep: Option<Keep<BulkAnswer>>,
) -> Result<Done<BulkAnswer>, Failure> {
    let writing = call.app.content.write(&call.access, operation.ability(), &call.path, &call.query)?;
    let body = body.read(call.max_body_bytes()).await?;
    Ok(writing.bulk(operation, &body, keep).await?)
}

fn render(bulk: &BulkAnswer) -> Rendered {
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
    Rendered::new(status, json!({ "data": data, "meta": meta }).to_string())
}
