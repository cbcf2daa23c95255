//! `bindery import BLUEPRINT FILE`: NDJSON, plain, gzip or zstd, into a running server or a data folder. Must not know
//! what a line holds.

use std::time::Instant;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};

use super::error::{CliError, failed};
use super::folder::{configure_existing, with_content};
use super::input::{Cut, Pieces, progress, read_pieces};
use super::remote::{Remote, root_cause};
use super::tally::Tally;
use crate::access::Access;
use crate::config::ImportArgs;
use crate::content::{Content, ImportLine};
use crate::http::error_object;

/// How many batches of lines may wait to be sent to the server.
const BATCHES_IN_FLIGHT: usize = 4;
/// How many results may wait to be tallied.
const RESULTS_IN_FLIGHT: usize = 1024;

pub(super) async fn import(args: ImportArgs) -> Result<(), CliError> {
    let started = Instant::now();
    let progress = progress(&args.file, "  {msg}")?;
    let mut tally = Tally::new(&args.file, progress.clone());
    let batches = read_pieces(&args.file, Cut::AfterLines, progress)?;
    match Remote::of(&args.server)? {
        Some(remote) => import_to_server(&remote, &args.blueprint, batches, &mut tally).await?,
        None => {
            let config = configure_existing(&args.server.folder)?;
            let import =
                async |content: Content| import_to_folder(&content, &args.blueprint, batches, &mut tally).await;
            with_content(&config, import).await?;
        }
    }
    tally.finish(started.elapsed())
}

async fn import_to_folder(
    content: &Content,
    blueprint: &str,
    mut batches: Pieces,
    tally: &mut Tally,
) -> Result<(), CliError> {
    let mut import = content.import(&Access::everything("cli"), blueprint, "")?;
    while let Some(batch) = batches.recv().await {
        let batch = batch.map_err(|error| failed("reading the file", &error))?;
        tally.add_lines(&batch);
        for line in batch.split(|byte| *byte == b'\n') {
            note(import.push(line).await?, tally);
        }
    }
    note(import.finish().await?, tally);
    Ok(())
}

fn note(results: Vec<ImportLine>, tally: &mut Tally) {
    for ImportLine { index, result } in results {
        match result {
            Ok(imported) => tally.succeed(index, imported.op),
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
    let send = async move {
        while let Some(batch) = batches.recv().await {
            if let Ok(batch) = &batch {
                let _ = noted.send(batch.clone());
            }
            if body.send(batch).await.is_err() {
                return;
            }
        }
    };
    let receive = async {
        let mut results = std::pin::pin!(results);
        while let Some(line) = results.next().await {
            while let Ok(batch) = sent.try_recv() {
                tally.add_lines(&batch);
            }
            note_line(&line?, tally)?;
        }
        Ok::<(), CliError>(())
    };
    let ((), received) = tokio::join!(send, receive);
    received
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

/// Notes a line of the response. A line without an index says why the server ended the import.
fn note_line(line: &Value, tally: &mut Tally) -> Result<(), CliError> {
    let Some(index) = line["index"].as_u64() else {
        let message = line["errors"]["message"].as_str().unwrap_or("the import was cut off");
        return Err(CliError::Incomplete(message.to_owned()));
    };
    match line["op"].as_str() {
        Some(op) => tally.succeed(index, op),
        None => tally.fail(index, &line["errors"]),
    }
    Ok(())
}
