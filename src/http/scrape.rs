//! `GET /metrics` for Prometheus (`API.md` 4.12): what was counted, and what is looked up when somebody asks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{RawQuery, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::app::App;
use super::error::Answer;
use super::head::takes_no_parameters;
use crate::model::error::Error;

/// The type of Prometheus's text format.
const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How long sizes of folders stand: finding them out reads every name in the data folder, and needs no token.
const SIZES_KEPT: Duration = Duration::from_secs(10);

/// The parts of the data folder whose sizes are told.
const FOLDERS: [&str; 5] = ["log", "store", "base", "index", "analytics"];

/// The sizes that were found last, of which data folder, and when.
static SIZES: Mutex<Option<(PathBuf, Instant, Arc<Sizes>)>> = Mutex::new(None);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FolderLabels {
    folder: &'static str,
}

/// What the data folder holds.
#[derive(Debug, Default)]
struct Sizes {
    /// In the order of [`FOLDERS`].
    bytes: [u64; FOLDERS.len()],
    /// Parts of indexes on disk.
    runs: u64,
}

/// What Linux says of this process; zeros elsewhere.
#[derive(Default)]
struct Process {
    resident_bytes: u64,
    open_files: u64,
    threads: u64,
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

impl Sizes {
    /// The sizes, at most [`SIZES_KEPT`] old.
    fn kept(data: &Path) -> Arc<Sizes> {
        let mut kept = SIZES.lock();
        match &*kept {
            Some((of, at, sizes)) if of == data && at.elapsed() < SIZES_KEPT => Arc::clone(sizes),
            _ => {
                let sizes = Arc::new(Sizes::of(data));
                *kept = Some((data.to_owned(), Instant::now(), Arc::clone(&sizes)));
                sizes
            }
        }
    }

    fn of(data: &Path) -> Sizes {
        let folders = |folder: &Path| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
        };
        // One folder for each index, and in it one for each run.
        let runs = folders(&data.join("index")).iter().map(|index| folders(index).len() as u64).sum();
        Sizes { bytes: FOLDERS.map(|folder| bytes_in(&data.join(folder))), runs }
    }
}

/// The size of all files in a folder. Files that go away meanwhile are not counted.
fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_in(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

impl Process {
    fn of_this() -> Process {
        let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return Process::default() };
        let number = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
        };
        let open_files = std::fs::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64);
        Process { resident_bytes: number("VmRSS:") * 1024, open_files, threads: number("Threads:") }
    }
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
