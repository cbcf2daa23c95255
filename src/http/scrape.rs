//! `GET /metrics` for Prometheus (`API.md` 4.12): what was counted, and what is looked up when somebody asks.

use std::path::Path;

use axum::extract::{RawQuery, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::app::App;
use super::error::Answer;
use super::head::takes_no_parameters;
use super::sizes::{FOLDERS, Process, Sizes};
use crate::model::error::Error;

/// The type of Prometheus's text format.
const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FolderLabels {
    folder: &'static str,
}

pub(super) async fn serve(State(app): State<App>, RawQuery(query): RawQuery) -> Answer {
    takes_no_parameters(query.as_deref().unwrap_or_default())?;
    let text = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        encode(&mut text, &registry(&app)).map(|()| text)
    });
    let text = text.await.map_err(Error::internal)?.map_err(Error::internal)?;
    let mut response = Response::new(text).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(TEXT));
    Ok(response)
}

fn registry(app: &App) -> Registry {
    let mut registry = Registry::with_prefix("bindery");
    app.metrics.register(&mut registry);
    register_sizes(&mut registry, &app.config.data);
    let content = app.content.figures();
    gauge(&mut registry, "resources", "Resources of all blueprints", content.resources);
    gauge(&mut registry, "blueprints", "Blueprints", content.blueprints);
    gauge(&mut registry, "writable", "1 if writes are accepted", u64::from(app.content.is_writable()));
    counter(&mut registry, "write_groups", "Groups of writes that were made durable together", content.groups);
    counter(&mut registry, "writes", "Commands that were decided in these groups", content.commands);
    let commits = Counter::<f64, std::sync::atomic::AtomicU64>::default();
    commits.inc_by(content.commit_time.as_secs_f64());
    registry.register_with_unit("write_commit", "Time that appending and syncing groups took", Unit::Seconds, commits);
    let (answers, bytes) = app.answers.size();
    gauge(&mut registry, "kept_answers", "Answers that are kept to be sent again", answers as u64);
    gauge(&mut registry, "kept_answers_bytes", "Their size", bytes as u64);
    let documents = app.content.kept_document_bytes();
    gauge(&mut registry, "kept_documents_bytes", "Size of the documents that are kept unpacked", documents);
    counter(&mut registry, "analytics_dropped", "Pageviews that were dropped", app.analytics.dropped());
    register_process(&mut registry);
    registry
}

fn register_sizes(registry: &mut Registry, data: &Path) {
    let sizes = Sizes::kept(data);
    let folders = Family::<FolderLabels, Gauge>::default();
    for (folder, bytes) in FOLDERS.into_iter().zip(sizes.bytes) {
        folders.get_or_create(&FolderLabels { folder }).set(clamped(bytes));
    }
    registry.register_with_unit("data", "Size of the data folder, by part", Unit::Bytes, folders);
    gauge(registry, "index_runs", "Parts of the indexes on disk", sizes.runs);
}

fn register_process(registry: &mut Registry) {
    let process = Process::of_this();
    gauge(registry, "process_resident_memory_bytes", "Memory in use", process.resident_bytes);
    gauge(registry, "process_open_files", "Open files and connections", process.open_files);
    gauge(registry, "process_threads", "Threads", process.threads);
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge = Gauge::<i64>::default();
    gauge.set(clamped(value));
    registry.register(name, help, gauge);
}

fn counter(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let counter = Counter::<u64>::default();
    counter.inc_by(value);
    registry.register(name, help, counter);
}

fn clamped(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
