//! `GET /metrics` for Prometheus (`API.md` 4.12): the counters, and gauges that are read when they are requested.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{RawQuery, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, VARY};
use axum::http::{Extensions, HeaderMap};
use axum::response::{IntoResponse, Response};
use bindery_access::unauthenticated;
use bindery_config::Config;
use bindery_content::{DURATION_BOUNDS, DurationFigures};
use bindery_model::error::{Code, Error};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::app::App;
use crate::error::Answer;
use crate::observe::sizes::{FOLDERS, Process, Sizes};
use crate::request::client::Client;
use crate::request::head::{secret, takes_no_parameters};

/// The format for clients that accept it, such as Prometheus.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The format for all other clients, such as `promtool check metrics`.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FolderLabels {
    folder: &'static str,
}

pub(crate) async fn serve(
    State(app): State<App>,
    RawQuery(query): RawQuery,
    extensions: Extensions,
    headers: HeaderMap,
) -> Answer {
    check_reader(&app.config, &extensions, &headers)?;
    takes_no_parameters(query.as_deref().unwrap_or_default())?;
    let text = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        encode(&mut text, &registry(&app)).map(|()| text)
    });
    let text = text.await.map_err(Error::internal)?.map_err(Error::internal)?;
    let (text, media_type) = match asks_for_open_metrics(&headers) {
        true => (text, OPEN_METRICS),
        false => (to_prometheus_text(&text), TEXT),
    };
    let mut response = Response::new(text).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

fn asks_for_open_metrics(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|range| range.trim().starts_with("application/openmetrics-text"))
}

/// Converts the metrics to the older format, which names counters like their samples, and has neither units nor an end
/// mark.
fn to_prometheus_text(open_metrics: &str) -> String {
    let counters: HashSet<&str> =
        open_metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines().filter(|line| !line.starts_with("# UNIT ") && *line != "# EOF") {
        let mut parts = line.splitn(4, ' ');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some("#"), Some(kind), Some(name), Some(rest)) if counters.contains(name) => {
                text.push_str(&format!("# {kind} {name}_total {rest}\n"));
            }
            _ => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

/// Refuses clients that may not read the metrics: these name no content, but reveal how much of everything there is.
fn check_reader(config: &Config, extensions: &Extensions, headers: &HeaderMap) -> Result<(), Error> {
    let Some(expected) = &config.metrics_token else {
        let is_here = Client::of(extensions, headers, &config.analytics).address.is_loopback();
        let refused = "without the setting `metrics_token`, /metrics is for loopback addresses only";
        return if is_here { Ok(()) } else { Err(Error::new(Code::Forbidden, refused)) };
    };
    // Compares hashes, so that the duration of the comparison reveals nothing about the token.
    let is_expected = |sent: &str| blake3::hash(sent.as_bytes()) == blake3::hash(expected.secret().as_bytes());
    match secret(headers).is_some_and(is_expected) {
        true => Ok(()),
        false => {
            Err(unauthenticated("/metrics needs `metrics_token`: send the header `Authorization: Bearer <token>`"))
        }
    }
}

fn registry(app: &App) -> Registry {
    let mut registry = Registry::with_prefix("bindery");
    app.metrics.register(&mut registry);
    register_sizes(&mut registry, &app.config.data);
    if let Some(free) = app.content.disk_free_bytes() {
        gauge(&mut registry, "disk_free_bytes", "Free space of the disk of the data folder", free);
    }
    register_content(&mut registry, app);
    register_node(&mut registry, app);
    register_caches(&mut registry, app);
    counter(&mut registry, "analytics_dropped", "Pageviews that were dropped", app.analytics.dropped());
    let (searches, clicks) = app.analytics.searches_and_clicks();
    counter(&mut registry, "analytics_searches", "Searches that were counted", searches);
    counter(&mut registry, "analytics_clicks", "Clicks on results of searches that were counted", clicks);
    register_media(&mut registry, app);
    register_process(&mut registry);
    registry
}

fn register_content(registry: &mut Registry, app: &App) {
    let content = app.content.figures();
    gauge(registry, "resources", "Resources of all blueprints", content.resources);
    gauge(registry, "blueprints", "Blueprints", content.blueprints);
    gauge(registry, "writable", "1 if writes are accepted", u64::from(app.content.is_writable()));
    let groups = content.sync_time.count();
    counter(registry, "write_groups", "Groups of writes that were made durable together", groups);
    counter(registry, "writes", "Commands that were decided in these groups", content.commands);
    gauge(registry, "write_queue", "Commands that wait to be decided", content.queued);
    let commits = Counter::<f64, std::sync::atomic::AtomicU64>::default();
    commits.inc_by(content.sync_time.sum.as_secs_f64());
    registry.register_with_unit("write_commit", "Time that appending and syncing groups took", Unit::Seconds, commits);
    let (queue, sync) = (Histogram(content.queue_time), Histogram(content.sync_time));
    registry.register_with_unit("write_queue", "Time that commands waited to be decided", Unit::Seconds, queue);
    registry.register_with_unit("log_sync", "Time until a group was appended and synced", Unit::Seconds, sync);
    counter(registry, "index_merges", "Merges of parts of the indexes", content.merges);
    let held =
        "Versions of the indexes in use: one and at most 64 before it for each, and those that reads and exports hold";
    gauge(registry, "index_snapshots", held, content.snapshots);
}

fn register_node(registry: &mut Registry, app: &App) {
    let Some(node) = app.content.node() else { return };
    gauge(registry, "node_lag_seconds", "Time since this node last had everything", node.standing.lag.as_secs());
    gauge(
        registry,
        "node_position",
        "The last group of the shared log that this node has applied",
        node.standing.position.seq,
    );
    gauge(registry, "node_leads", "1 if this node leads the cluster", u64::from(node.leads));
    gauge(
        registry,
        "node_follows",
        "0 if this node stopped following the log",
        u64::from(node.standing.fault.is_none()),
    );
}

fn register_caches(registry: &mut Registry, app: &App) {
    let (answers, bytes) = app.answers.size();
    gauge(registry, "kept_answers", "Answers that are kept to be sent again", answers as u64);
    gauge(registry, "kept_answers_bytes", "Their size", bytes as u64);
    let (hits, misses) = app.answers.uses();
    counter(registry, "kept_answers_hits", "Reads that were answered with a kept answer", hits);
    counter(registry, "kept_answers_misses", "Reads whose answer was made and could be kept", misses);
    counter(registry, "kept_answers_outlived", "Kept lists that were the same after a write", app.answers.outlived());
    let documents = app.content.kept_document_bytes();
    gauge(registry, "kept_documents_bytes", "Size of the copies that are kept unpacked", documents);
    let (hits, misses) = app.content.kept_document_reads();
    counter(registry, "kept_documents_hits", "Copies that were read and were kept unpacked", hits);
    counter(registry, "kept_documents_misses", "Copies that were read from the store", misses);
}

fn register_media(registry: &mut Registry, app: &App) {
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let counters = &app.media.counters;
    counter(registry, "media_uploads", "Files that were uploaded", of(&counters.uploads));
    counter(registry, "media_upload_bytes", "Their size", of(&counters.upload_bytes));
    counter(registry, "media_originals", "Files that were answered", of(&counters.originals));
    counter(
        registry,
        "media_renditions",
        "Pictures in other sizes and formats that were answered",
        of(&counters.renditions),
    );
    let failed = "Pictures in other sizes and formats that could not be made";
    counter(registry, "media_renditions_failed", failed, of(&counters.failed_renditions));
    let sizes = Sizes::kept(&app.config.data);
    gauge(registry, "media_bytes", "Size of the files in the data folder", sizes.media);
    gauge(
        registry,
        "media_cache_bytes",
        "Size of the pictures that were made, and of running uploads",
        sizes.media_cache,
    );
}

fn register_sizes(registry: &mut Registry, data: &Path) {
    let sizes = Sizes::kept(data);
    let folders = Family::<FolderLabels, Gauge>::default();
    for (folder, bytes) in FOLDERS.into_iter().zip(sizes.bytes) {
        folders.get_or_create(&FolderLabels { folder }).set(clamped(bytes));
        gauge(registry, &format!("{folder}_bytes"), &format!("Size of the folder {folder}"), bytes);
    }
    registry.register_with_unit("data", "Size of the data folder, by part", Unit::Bytes, folders);
    gauge(registry, "index_runs", "Parts of the indexes on disk", sizes.runs);
}

/// A histogram of the content, as a metric.
#[derive(Debug)]
struct Histogram(DurationFigures);

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> std::fmt::Result {
        let Histogram(figures) = self;
        let bounds = DURATION_BOUNDS.into_iter().chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(figures.buckets).collect();
        encoder.encode_histogram::<NoLabelSet>(figures.sum.as_secs_f64(), figures.count(), &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
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
