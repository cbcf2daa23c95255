//! `bindery analytics import` and `delete`: an access log into a running server or a data folder, figures out of it.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::mpsc;
use url::form_urlencoded;

use super::import::decompress;
use super::remote::Remote;
use super::{CliError, close_analytics, failed, open_analytics, print, start_log};
use crate::analytics::ImportOutcome;
use crate::config::{AnalyticsCommand, Config, ServerArgs};
use crate::model::error::Error;
use crate::model::site::site_host;

const PIECE_BYTES: usize = 256 << 10;
const PIECES_IN_FLIGHT: usize = 4;

type Pieces = mpsc::Receiver<Result<Bytes, std::io::Error>>;

pub(super) async fn analytics(command: AnalyticsCommand) -> Result<(), CliError> {
    match command {
        AnalyticsCommand::Import { file, site, server } => import(&file, &site, &server).await,
        AnalyticsCommand::Delete { site, before, from, to, server } => {
            delete(&site, from.as_deref(), before.or(to).as_deref(), &server).await
        }
    }
}

fn host(site: &str) -> Result<String, CliError> {
    site_host(site)
        .ok_or_else(|| CliError::Incomplete(format!("`--site` is `{site}`; it takes a host such as `www.example.com`")))
}

async fn delete(site: &str, start: Option<&str>, end: Option<&str>, server: &ServerArgs) -> Result<(), CliError> {
    let host = host(site)?;
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("site", &host);
    for (name, day) in [("start", start), ("end", end)] {
        query.extend_pairs(day.map(|day| (name, day)));
    }
    let query = query.finish();
    let deleted = match Remote::of(server)? {
        Some(remote) => remote.delete_answered(&format!("/v2/analytics/events?{query}")).await?["deleted"].as_u64(),
        None => Some(delete_in_folder(server, query).await?),
    };
    print(&format!("{} pageviews of {host} are deleted", deleted.unwrap_or_default()));
    Ok(())
}

async fn delete_in_folder(server: &ServerArgs, query: String) -> Result<u64, CliError> {
    let config = Config::load(server.settings(), server.config.as_deref())?;
    start_log("warn");
    let analytics = open_analytics(&config).await?;
    let deleting = analytics.clone();
    let deleted = tokio::task::spawn_blocking(move || deleting.delete(&query)).await.map_err(Error::internal)?;
    close_analytics(analytics).await?;
    deleted.map_err(CliError::from)
}

async fn import(file: &Path, site: &str, server: &ServerArgs) -> Result<(), CliError> {
    let host = host(site)?;
    let started = Instant::now();
    let progress = progress(file)?;
    let pieces = read_pieces(file, progress.clone())?;
    let outcome = match Remote::of(server)? {
        Some(remote) => {
            let answer = remote.post_text(&format!("/v2/analytics/import?site={host}"), pieces).await?;
            serde_json::from_value(answer).map_err(|error| failed("reading the answer", &error))?
        }
        None => import_to_folder(server, &host, pieces).await?,
    };
    progress.finish_and_clear();
    show(&outcome, started.elapsed());
    Ok(())
}

async fn import_to_folder(server: &ServerArgs, host: &str, mut pieces: Pieces) -> Result<ImportOutcome, CliError> {
    let config = Config::load(server.settings(), server.config.as_deref())?;
    start_log("warn");
    let analytics = open_analytics(&config).await?;
    let mut import = analytics.import(host);
    let counted = tokio::task::spawn_blocking(move || {
        while let Some(piece) = pieces.blocking_recv() {
            import.push(&piece.map_err(|error| failed("reading the file", &error))?);
        }
        import.finish().map_err(CliError::from)
    });
    let outcome = counted.await.map_err(Error::internal)?;
    close_analytics(analytics).await?;
    outcome
}

fn progress(file: &Path) -> Result<ProgressBar, CliError> {
    let size = std::fs::metadata(file).map_err(|error| failed(format!("opening {}", file.display()), &error))?;
    let progress = ProgressBar::new(size.len());
    let style = ProgressStyle::with_template("{bar:40} {percent:>3} % {bytes_per_sec}, {eta} left");
    progress.set_style(style.map_err(|error| failed("drawing the progress bar", &error))?);
    Ok(progress)
}

/// Reads the file on a thread of its own.
fn read_pieces(path: &Path, progress: ProgressBar) -> Result<Pieces, CliError> {
    let file = File::open(path).map_err(|error| failed(format!("opening {}", path.display()), &error))?;
    let (sender, pieces) = mpsc::channel(PIECES_IN_FLIGHT);
    tokio::task::spawn_blocking(move || {
        let read = || {
            let mut reader = decompress(progress.wrap_read(file))?;
            let mut piece = vec![0; PIECE_BYTES];
            loop {
                let count = reader.read(&mut piece)?;
                // Nobody waits for more once the import has ended.
                if count == 0 || sender.blocking_send(Ok(Bytes::copy_from_slice(&piece[..count]))).is_err() {
                    return Ok::<(), std::io::Error>(());
                }
            }
        };
        if let Err(error) = read() {
            let _ = sender.blocking_send(Err(error));
        }
    });
    Ok(pieces)
}

fn show(outcome: &ImportOutcome, elapsed: Duration) {
    let ImportOutcome { lines, pageviews, added, robots, others, bad, first_bad } = outcome;
    print(&format!(
        "{lines} lines in {:.1} s: {pageviews} pageviews ({added} of them new), {robots} of robots, {others} other requests, {bad} bad lines",
        elapsed.as_secs_f64()
    ));
    for (number, text) in first_bad {
        print(&format!("line {number} is not in the combined format: {text}"));
    }
}
