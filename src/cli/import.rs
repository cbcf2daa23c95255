//! `bindery import BLUEPRINT FILE`: NDJSON, JSON or CSV, into a running server or a data folder. Must not know what an item
//! holds.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use indicatif::ProgressBar;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};

use super::blueprint_file::read_blueprint;
use super::error::{CliError, failed};
use super::folder::{configure, configure_existing, with_content};
use super::input::{Pieces, Reading, progress, read_pieces};
use super::remote::{Remote, root_cause};
use super::rows::{RowOptions, Rows};
use super::tally::{Tally, items};
use crate::access::Access;
use crate::config::{Config, ImportArgs};
use crate::content::{Content, ImportCheck, ImportLine};
use crate::http::error_object;
use crate::model::blueprint::Blueprint;
use crate::model::value::Sanitized;

/// How many batches of lines may wait to be sent to the server.
const BATCHES_IN_FLIGHT: usize = 1;
/// How many results may wait to be tallied.
const RESULTS_IN_FLIGHT: usize = 1024;
/// How many lines may be without a result. A server has fewer lines wait for others, so this never waits for ever.
const OPEN_LINES: usize = 600_000;
/// How long a client with that many waits before it looks again.
const OPEN_PAUSE: Duration = Duration::from_millis(20);

pub(super) async fn import(args: ImportArgs) -> Result<(), CliError> {
    let started = Instant::now();
    let progress = progress(&args.file, "  {msg}")?;
    let mut tally = Tally::new(&args.file, progress.clone());
    match Remote::of(&args.server)? {
        Some(remote) => {
            let config = configure(&args.server.folder)?;
            let blueprint = read_blueprint(remote.get(&format!("/v2/blueprints/{}", args.blueprint)).await?)?;
            let batches = read_items(&args, &config, blueprint.clone(), progress)?;
            match args.dry_run {
                true => check(&blueprint, &config, batches, &mut tally).await?,
                false => import_to_server(&remote, &args.blueprint, batches, &mut tally).await?,
            }
        }
        None => {
            let config = configure_existing(&args.server.folder)?;
            let import = async |content: Content| {
                let blueprint = content.find_blueprint(&Access::everything("cli"), &args.blueprint)?;
                let batches = read_items(&args, &config, Blueprint::clone(&blueprint), progress)?;
                match args.dry_run {
                    true => check(&blueprint, &config, batches, &mut tally).await,
                    false => import_to_folder(&content, &args.blueprint, batches, &mut tally).await,
                }
            };
            with_content(&config, import).await?;
        }
    }
    tally.finish(started.elapsed(), args.dry_run)
}

/// The items of the file.
fn read_items(
    args: &ImportArgs,
    config: &Config,
    blueprint: Blueprint,
    progress: ProgressBar,
) -> Result<Pieces, CliError> {
    let ImportArgs { map, list_separator, key, .. } = args;
    let map = map.iter().cloned().collect();
    let options = Box::new(RowOptions { blueprint, map, list_separator: list_separator.clone(), key: key.clone() });
    let rows = args.format.as_deref().and_then(Rows::named);
    read_pieces(&args.file, Reading::Items { rows, options, max_bytes: config.max_body_bytes }, progress)
}

/// Checks the items without writing anything.
async fn check(blueprint: &Blueprint, config: &Config, mut batches: Pieces, tally: &mut Tally) -> Result<(), CliError> {
    let check = ImportCheck::new(blueprint.clone(), config.video_hosts.clone());
    let mut index = 0;
    while let Some(batch) = batches.recv().await {
        let batch = batch.map_err(|error| failed("reading the file", &error))?;
        tally.add_lines(&batch);
        for line in items(&batch) {
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
    mut batches: Pieces,
    tally: &mut Tally,
) -> Result<(), CliError> {
    let mut import = content.import(&Access::everything("cli"), blueprint, "")?;
    let mut sanitized = Sanitized::default();
    while let Some(batch) = batches.recv().await {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                while let Some(results) = import.finish_next().await? {
                    note(results, tally, &mut sanitized);
                }
                return Err(unreadable(&error));
            }
        };
        tally.add_lines(&batch);
        for line in batch.split(|byte| *byte == b'\n') {
            note(import.push(line).await?, tally, &mut sanitized);
        }
    }
    while let Some(results) = import.finish_next().await? {
        note(results, tally, &mut sanitized);
    }
    tally.sanitized(sanitized.to_json());
    Ok(())
}

fn note(results: Vec<ImportLine>, tally: &mut Tally, sanitized: &mut Sanitized) {
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
    mut batches: Pieces,
    tally: &mut Tally,
) -> Result<(), CliError> {
    let (body, stream) = mpsc::channel(BATCHES_IN_FLIGHT);
    let results = read_results(remote, format!("/v2/resources/{blueprint}/import"), stream);
    // A result may only be tallied after its line, so every batch is noted before it is sent.
    let (noted, mut sent) = mpsc::unbounded_channel::<Bytes>();
    let open = Arc::new(AtomicUsize::new(0));
    let still_open = Arc::clone(&open);
    // If the file cannot be read any further, the body ends, and the server writes what it has got.
    let send = async move {
        while let Some(batch) = batches.recv().await {
            let batch = batch.map_err(|error| unreadable(&error))?;
            let _ = noted.send(batch.clone());
            open.fetch_add(items(&batch).count(), Ordering::Relaxed);
            while open.load(Ordering::Relaxed) > OPEN_LINES && !body.is_closed() {
                tokio::time::sleep(OPEN_PAUSE).await;
            }
            if body.send(Ok(batch)).await.is_err() {
                break;
            }
        }
        Ok(())
    };
    let receive = async {
        let mut results = std::pin::pin!(results);
        while let Some(line) = results.next().await {
            while let Ok(batch) = sent.try_recv() {
                tally.add_lines(&batch);
            }
            if note_line(line?, tally)? {
                still_open.fetch_sub(1, Ordering::Relaxed);
            }
        }
        Ok::<(), CliError>(())
    };
    let (sent, received) = tokio::join!(send, receive);
    received.and(sent)
}

fn unreadable(error: &io::Error) -> CliError {
    failed("reading the file (the lines before are imported)", error)
}

/// The lines of the response, as they arrive.
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
    let what = "the server disconnected before the import ended; start it and import the file again, which creates no \
                duplicates";
    failed(what, &root_cause(cause))
}

/// Notes a line of the response. A line without an index says what sanitizing removed, or why the server ended the import.
/// Returns whether it answers a line that was sent.
fn note_line(mut line: Value, tally: &mut Tally) -> Result<bool, CliError> {
    if line.get("sanitized").is_some() {
        tally.sanitized(line["sanitized"].take());
        return Ok(false);
    }
    let Some(index) = line["index"].as_u64() else {
        let message = line["errors"]["message"].as_str().unwrap_or("the import was cut off");
        return Err(CliError::Incomplete(message.to_owned()));
    };
    match line["op"].as_str() {
        Some(op) => tally.succeed(index, op),
        None => tally.fail(index, &line["errors"]),
    }
    Ok(true)
}
