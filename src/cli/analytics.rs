//! `bindery analytics import` and `delete`, on a running server or a data folder. Must not know how pageviews are
//! counted.

use std::path::Path;
use std::time::{Duration, Instant};

use url::form_urlencoded;

use super::error::{CliError, failed};
use super::folder::{configure, with_analytics};
use super::input::{Cut, Pieces, progress, read_pieces};
use super::output::print;
use super::remote::Remote;
use crate::analytics::{Analytics, ImportOutcome};
use crate::config::{AnalyticsCommand, ServerArgs};
use crate::model::site::site_host;

pub(super) async fn analytics(command: AnalyticsCommand) -> Result<(), CliError> {
    match command {
        AnalyticsCommand::Import { file, site, server } => import(&file, &site, &server).await,
        AnalyticsCommand::Delete { site, before, from, to, server } => {
            delete(&site, from.as_deref(), before.or(to).as_deref(), &server).await
        }
    }
}

fn host(site: &str) -> Result<String, CliError> {
    site_host(site).ok_or_else(|| {
        CliError::Incomplete(format!("`--site` is `{site}`; it must be a host such as `www.example.com`"))
    })
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
        Some(remote) => {
            let response = remote.delete_with_response(&format!("/v2/analytics/events?{query}")).await?;
            response["deleted"].as_u64().unwrap_or_default()
        }
        None => {
            let config = configure(&server.folder)?;
            with_analytics(&config, move |analytics| Ok(analytics.delete(&query)?)).await?
        }
    };
    print(&format!("{deleted} pageviews of {host} are deleted"));
    Ok(())
}

async fn import(file: &Path, site: &str, server: &ServerArgs) -> Result<(), CliError> {
    let host = host(site)?;
    let started = Instant::now();
    let progress = progress(file, "")?;
    let pieces = read_pieces(file, Cut::Anywhere, progress.clone())?;
    let outcome = match Remote::of(server)? {
        Some(remote) => {
            let response = remote.post_text(&format!("/v2/analytics/import?site={host}"), pieces).await?;
            serde_json::from_value(response).map_err(|error| failed("reading the response", &error))?
        }
        None => import_to_folder(server, host, pieces).await?,
    };
    progress.finish_and_clear();
    report(&outcome, started.elapsed());
    Ok(())
}

async fn import_to_folder(server: &ServerArgs, host: String, mut pieces: Pieces) -> Result<ImportOutcome, CliError> {
    let config = configure(&server.folder)?;
    let import = move |analytics: Analytics| {
        let mut import = analytics.import(&host);
        while let Some(piece) = pieces.blocking_recv() {
            import.push(&piece.map_err(|error| failed("reading the file", &error))?);
        }
        Ok(import.finish()?)
    };
    with_analytics(&config, import).await
}

fn report(outcome: &ImportOutcome, elapsed: Duration) {
    let ImportOutcome { lines, pageviews, added, robots, others, bad, first_bad } = outcome;
    print(&format!(
        "{lines} lines in {:.1} s: {pageviews} pageviews ({added} of them new), {robots} from robots, \
         {others} other requests, {bad} bad lines",
        elapsed.as_secs_f64()
    ));
    for (number, text) in first_bad {
        print(&format!("line {number} is not in the combined format: {text}"));
    }
}
