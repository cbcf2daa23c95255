//! `bindery analytics import` and `delete`: imports an access log and deletes figures, on a running server or in a data
//! folder.

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
use crate::analytics::{Day, Period};
use crate::config::{AnalyticsCommand, Config, ServerArgs};
use crate::http::analytics::ImportBody;
use crate::model::error::Error;
use crate::model::site::site_host;
use crate::model::time::{format_date, parse_date};

const PIECE_BYTES: usize = 256 << 10;
const PIECES_IN_FLIGHT: usize = 4;

type Pieces = mpsc::Receiver<Result<Bytes, std::io::Error>>;

pub(super) async fn analytics(command: AnalyticsCommand) -> Result<(), CliError> {
    match command {
        AnalyticsCommand::Import { file, site, server } => import(&file, &site, &server).await,
        AnalyticsCommand::Delete { site, before, from, to, server } => {
            let to = before.or(to);
            delete(DeleteRequest::parse(&site, from.as_deref(), to.as_deref())?, &server).await
        }
    }
}

/// The figures that a `delete` names.
struct DeleteRequest {
    host: String,
    start: Option<Day>,
    end: Option<Day>,
    period: Period,
}

impl DeleteRequest {
    fn parse(site: &str, from: Option<&str>, to: Option<&str>) -> Result<DeleteRequest, CliError> {
        let (start, end) = (day("--from", from)?, day("--to", to)?);
        let wrong_order = || CliError::Incomplete("`--from` is after `--to`; expected a day up to it".to_owned());
        Ok(DeleteRequest {
            host: host(site)?,
            start,
            end,
            period: Period::between(start, end).ok_or_else(wrong_order)?,
        })
    }

    fn query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("site", &self.host);
        for (name, day) in [("start", self.start), ("end", self.end)] {
            query.extend_pairs(day.map(|day| (name, format_date(day))));
        }
        query.finish()
    }
}

fn host(site: &str) -> Result<String, CliError> {
    let wrong = || format!("`--site` is `{site}`; expected a host such as `www.example.com`");
    site_host(site).ok_or_else(|| CliError::Incomplete(wrong()))
}

fn day(flag: &str, text: Option<&str>) -> Result<Option<Day>, CliError> {
    let Some(text) = text else { return Ok(None) };
    let wrong = || CliError::Incomplete(format!("`{flag}` is `{text}`; expected a date such as `2026-11-20`"));
    parse_date(text).map(Some).ok_or_else(wrong)
}

async fn delete(request: DeleteRequest, server: &ServerArgs) -> Result<(), CliError> {
    let deleted = match Remote::of(server)? {
        Some(remote) => {
            let path = format!("/v2/analytics/events?{}", request.query());
            remote.delete_answered(&path).await?["deleted"].as_u64().unwrap_or_default()
        }
        None => delete_in_folder(server, &request).await?,
    };
    print(&format!("{deleted} pageviews of {} were deleted", request.host));
    Ok(())
}

async fn delete_in_folder(server: &ServerArgs, request: &DeleteRequest) -> Result<u64, CliError> {
    let config = Config::load(server.settings(), server.config.as_deref())?;
    start_log("warn");
    let analytics = open_analytics(&config).await?;
    let (deleting, host, period) = (analytics.clone(), request.host.clone(), request.period);
    let deleted = tokio::task::spawn_blocking(move || deleting.delete(&host, period)).await.map_err(Error::internal)?;
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

async fn import_to_folder(server: &ServerArgs, host: &str, mut pieces: Pieces) -> Result<ImportBody, CliError> {
    let config = Config::load(server.settings(), server.config.as_deref())?;
    start_log("warn");
    let analytics = open_analytics(&config).await?;
    let mut import = analytics.import(host);
    let counted = tokio::task::spawn_blocking(move || {
        while let Some(piece) = pieces.blocking_recv() {
            import.push(&piece.map_err(|error| failed("reading the file", &error))?);
        }
        import.finish().map(ImportBody::from).map_err(CliError::from)
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
                // Sending fails once the import has ended.
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

fn show(outcome: &ImportBody, elapsed: Duration) {
    let ImportBody { lines, pageviews, added, robots, others, bad, first_bad } = outcome;
    print(&format!(
        "{lines} lines in {:.1} s: {pageviews} pageviews ({added} of them new), {robots} requests of robots, {others} other requests, {bad} bad lines",
        elapsed.as_secs_f64()
    ));
    for (number, text) in first_bad {
        print(&format!("line {number} is not in the combined format: {text}"));
    }
}
