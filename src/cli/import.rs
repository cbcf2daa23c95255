//! `bindery import BLUEPRINT FILE`: NDJSON, JSON or CSV, into a running server or a data folder. Must not know what an
//! item holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bindery_access::Access;
use bindery_config::{Config, ImportArgs};
use bindery_content::{Content, Import, ImportCheck, ImportLine};
use bindery_http::{Media, error_object};
use bindery_model::blueprint::Blueprint;
use bindery_model::time::{format_millis, now_millis};
use bindery_model::value::FieldRemovals;
use indicatif::ProgressBar;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};

use super::blueprint_file::read_blueprint;
use super::error::{CliError, failed};
use super::fetched::{FetchReport, Library, LibraryPlace, library_of, with_fetched_files};
use super::folder::{blocking, configure, configure_existing, with_content};
use super::format::Rows;
use super::input::{Batch, Batches, Pieces, progress, read_batches};
use super::output::report;
use super::rejects::Rejects;
use super::remote::{Remote, root_cause};
use super::rows::{Items, RowOptions};
use super::source::{Source, explained};
use super::survey::TableOptions;
use super::tally::{Tally, lines};

/// The number of batches of lines that may wait to be sent to the server.
const BATCHES_IN_FLIGHT: usize = 1;
/// The number of results that may wait to be tallied.
const RESULTS_IN_FLIGHT: usize = 1024;
/// The number of lines that may be without a result. A server lets fewer lines wait for others, so this never blocks
/// forever.
const OPEN_LINES: usize = 600_000;
/// The time after which a client at this limit checks again.
const OPEN_PAUSE: Duration = Duration::from_millis(20);

pub(super) async fn import(args: ImportArgs) -> Result<(), CliError> {
    let started = Instant::now();
    // Reports a missing file before it connects to a server.
    let progress = progress(&args.file, "  {msg}")?;
    let (tally, outcome, fetching) = match Remote::of(&args.server)? {
        Some(remote) => {
            let config = configure(&args.server.folder)?;
            let blueprint = read_blueprint(remote.get(&format!("/v2/blueprints/{}", args.blueprint)).await?)?;
            let library = library_on_server(&args, &remote, &config).await?;
            let (batches, mut tally) = read_items(&args, config.max_body_bytes, blueprint.clone(), progress).await?;
            let (batches, fetching) = fetched(&args, batches, &blueprint, library);
            let outcome = match args.dry_run {
                true => check(&blueprint, &config.video_hosts, batches, &mut tally).await,
                false => import_to_server(&remote, &args.blueprint, batches, &mut tally).await,
            };
            (tally, outcome, fetching)
        }
        None => {
            let config = configure_existing(&args.server.folder)?;
            let import = async |content: Content| {
                let blueprint = content.find_blueprint(&Access::everything("cli"), &args.blueprint)?;
                let plain = Blueprint::clone(&blueprint);
                let library = library_in_folder(&args, &content, &config)?;
                let (batches, mut tally) = read_items(&args, config.max_body_bytes, plain, progress).await?;
                let (batches, fetching) = fetched(&args, batches, &blueprint, library);
                let outcome = match args.dry_run {
                    true => check(&blueprint, &config.video_hosts, batches, &mut tally).await,
                    false => import_to_folder(&content, &args.blueprint, batches, &mut tally).await,
                };
                Ok((tally, outcome, fetching))
            };
            with_content(&config, import).await?
        }
    };
    let imported = tally.finish(started.elapsed(), args.dry_run, outcome);
    match fetching {
        Some(fetching) => fetching.await.map_err(|error| failed("fetching files", &error))?.finish(imported),
        None => imported,
    }
}

/// Returns the library on a server that fetched files belong to; `None` if none are to be fetched.
async fn library_on_server(args: &ImportArgs, remote: &Remote, config: &Config) -> Result<Option<Library>, CliError> {
    if !args.fetch_media || args.dry_run {
        return Ok(None);
    }
    let listed = remote.get("/v2/blueprints").await?;
    let listed = listed.as_array().into_iter().flatten().cloned().map(read_blueprint);
    let blueprints = listed.collect::<Result<Vec<Blueprint>, CliError>>()?;
    let blueprint = library_of(args.media.as_deref(), blueprints.iter())?.to_owned();
    let own = own_addresses(config).chain([remote.address("/media/")]).collect();
    Ok(Some(Library { blueprint, place: LibraryPlace::Server(remote.clone()), own }))
}

/// Like [`library_on_server`], for a data folder.
fn library_in_folder(args: &ImportArgs, content: &Content, config: &Config) -> Result<Option<Library>, CliError> {
    if !args.fetch_media || args.dry_run {
        return Ok(None);
    }
    let blueprints = content.list_blueprints(&Access::everything("cli"))?;
    let blueprint = library_of(args.media.as_deref(), blueprints.iter().map(AsRef::as_ref))?.to_owned();
    let media = Media::new(config).map_err(|error| failed("reading `media_types`", &error))?;
    let (content, private_addresses) = (content.clone(), config.webhook_private_addresses);
    let place = LibraryPlace::Folder { content, media: Box::new(media), private_addresses };
    Ok(Some(Library { blueprint, place, own: own_addresses(config).collect() }))
}

/// Returns the beginnings of addresses of files that the server has already.
fn own_addresses(config: &Config) -> impl Iterator<Item = String> {
    config.public_url.iter().map(|url| format!("{url}/media/"))
}

/// Has the files fetched that the items name, if there is a library for them.
fn fetched(
    args: &ImportArgs,
    batches: Batches,
    blueprint: &Blueprint,
    library: Option<Library>,
) -> (Batches, Option<JoinHandle<FetchReport>>) {
    match library {
        None => (batches, None),
        Some(library) => {
            let (batches, fetching) = with_fetched_files(batches, blueprint, library, &args.file);
            (batches, Some(fetching))
        }
    }
}

/// Returns the items of the file, and a tally for them. Prints a report on the columns of a table.
async fn read_items(
    args: &ImportArgs,
    max_bytes: usize,
    blueprint: Blueprint,
    progress: ProgressBar,
) -> Result<(Batches, Tally), CliError> {
    let ImportArgs { map, list_separator, key, .. } = args;
    let now = || format_millis(now_millis());
    let options = RowOptions {
        blueprint,
        map: map.iter().cloned().collect(),
        list_separator: list_separator.clone(),
        key: key.clone(),
        publish: args.publish.as_ref().map(|time| time.clone().unwrap_or_else(now)),
        table: TableOptions::of(&args.table, max_bytes),
    };
    let file = args.file.clone();
    let rows = args.format.as_deref().and_then(Rows::named);
    let looked_through = move || {
        let (rows, mut source) = Source::open(&file, rows)?;
        let items = Items::of(rows, &options, &mut source)
            .map_err(|error| failed(format!("reading {}", file.display()), &explained(error)))?;
        Ok::<_, CliError>((rows, source, items, options))
    };
    let (rows, source, items, options) = blocking("reading the file", looked_through).await?;
    items.reports(&options).iter().for_each(|line| report(line));
    let unit = if rows == Rows::Json { "item" } else { "line" };
    let rejects = (!args.dry_run).then(|| Rejects::of(&args.file, "rejected", items.rejects()));
    let tally = Tally::new(unit, rejects, progress.clone());
    Ok((read_batches(source, items, options, progress), tally))
}

/// Checks the items without writing anything.
async fn check(
    blueprint: &Blueprint,
    video_hosts: &[String],
    mut batches: Batches,
    tally: &mut Tally,
) -> Result<(), CliError> {
    let check = ImportCheck::new(blueprint.clone(), video_hosts.to_vec());
    let mut index = 0;
    while let Some(batch) = batches.recv().await {
        let batch = batch.map_err(|error| failed("reading the file", &error))?;
        let items = batch.lines.clone();
        tally.add(batch);
        for line in lines(&items) {
            match check.line(line) {
                Ok(()) => tally.succeed(index, "created"),
                Err(error) => tally.fail(index, &error_object(&error)),
            }
            index += 1;
        }
    }
    Ok(())
}

async fn import_to_folder(
    content: &Content,
    blueprint: &str,
    batches: Batches,
    tally: &mut Tally,
) -> Result<(), CliError> {
    let mut import = content.import(&Access::everything("cli"), blueprint, "")?;
    let imported = import_batches(&mut import, batches, tally).await;
    // An import that ended early may have written lines whose answers were not returned yet.
    note(import.settle().await, tally, &mut FieldRemovals::default());
    imported
}

async fn import_batches(import: &mut Import, mut batches: Batches, tally: &mut Tally) -> Result<(), CliError> {
    let mut sanitized = FieldRemovals::default();
    let mut unread = Ok(());
    while let Some(batch) = batches.recv().await {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                unread = Err(failed("reading the file", &error));
                break;
            }
        };
        let items = batch.lines.clone();
        tally.add(batch);
        for line in lines(&items) {
            note(import.push(line).await?, tally, &mut sanitized);
        }
    }
    while let Some(results) = import.finish_next().await? {
        note(results, tally, &mut sanitized);
    }
    tally.sanitized(sanitized.to_json());
    unread
}

fn note(results: Vec<ImportLine>, tally: &mut Tally, sanitized: &mut FieldRemovals) {
    for ImportLine { index, result } in results {
        match result {
            Ok(imported) => {
                sanitized.add(&imported.sanitized);
                tally.succeed(index, imported.op);
            }
            Err(error) => tally.fail(index, &error_object(&error)),
        }
    }
}

async fn import_to_server(
    remote: &Remote,
    blueprint: &str,
    mut batches: Batches,
    tally: &mut Tally,
) -> Result<(), CliError> {
    let (body, stream) = mpsc::channel(BATCHES_IN_FLIGHT);
    let results = read_results(remote, format!("/v2/resources/{blueprint}/import"), stream);
    // A result may only be tallied after its line, so every batch is noted before it is sent.
    let (noted, mut sent) = mpsc::unbounded_channel::<Batch>();
    let open = Arc::new(AtomicUsize::new(0));
    let still_open = Arc::clone(&open);
    // If reading the file fails, the body ends, and the server writes the lines that it received.
    let send = async move {
        while let Some(batch) = batches.recv().await {
            let batch = batch.map_err(|error| failed("reading the file", &error))?;
            let items = batch.lines.clone();
            open.fetch_add(batch.origins.len(), Ordering::Relaxed);
            let _ = noted.send(batch);
            while open.load(Ordering::Relaxed) > OPEN_LINES && !body.is_closed() {
                tokio::time::sleep(OPEN_PAUSE).await;
            }
            // A batch that contains only broken rows is not sent.
            if !items.is_empty() && body.send(Ok(items)).await.is_err() {
                break;
            }
        }
        Ok(())
    };
    let receive = async {
        let mut results = std::pin::pin!(results);
        while let Some(line) = results.next().await {
            while let Ok(batch) = sent.try_recv() {
                tally.add(batch);
            }
            if note_line(line?, tally)? {
                still_open.fetch_sub(1, Ordering::Relaxed);
            }
        }
        Ok::<(), CliError>(())
    };
    let (read, received) = tokio::join!(send, receive);
    // Counts the rest: broken rows at the end, and items without a result.
    while let Ok(batch) = sent.try_recv() {
        tally.add(batch);
    }
    received.and(read)
}

/// Returns the lines of the response, as they arrive.
fn read_results(remote: &Remote, path: String, body: Pieces) -> impl Stream<Item = Result<Value, CliError>> {
    let (results, received) = mpsc::channel(RESULTS_IN_FLIGHT);
    let remote = remote.clone();
    tokio::spawn(async move {
        let read = async {
            let mut response = remote.post_stream(&path, body).await?;
            let mut unread = Vec::new();
            while let Some(piece) = response.chunk().await.map_err(|error| cut_off(&error))? {
                unread.extend_from_slice(&piece);
                while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = unread.drain(..=end).collect();
                    let value =
                        serde_json::from_slice(&line).map_err(|error| failed("reading the response", &error))?;
                    if results.send(Ok(value)).await.is_err() {
                        return Ok(());
                    }
                }
            }
            Ok::<(), CliError>(())
        };
        if let Err(error) = read.await {
            let _ = results.send(Err(error)).await;
        }
    });
    ReceiverStream::new(received)
}

fn cut_off(cause: &dyn std::error::Error) -> CliError {
    failed("the server disconnected before the import ended", &root_cause(cause))
}

/// Notes a line of the response. A line without an index has the parts that sanitizing removed, or the error with which
/// the server ended the import. Returns whether it answers a line that was sent.
fn note_line(mut line: Value, tally: &mut Tally) -> Result<bool, CliError> {
    if line.get("sanitized").is_some() {
        tally.sanitized(line["sanitized"].take());
        return Ok(false);
    }
    let Some(index) = line["index"].as_u64() else {
        tally.end();
        let message = line["errors"]["message"].as_str().unwrap_or("the import was cut off");
        return Err(CliError::Incomplete(message.to_owned()));
    };
    match line["op"].as_str() {
        Some(op) => tally.succeed(index, op),
        None => tally.fail(index, &line["errors"]),
    }
    Ok(true)
}
