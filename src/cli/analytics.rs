//! `bindery analytics import` and `delete`, on a running server or a data folder, and `repair` on a data folder. Must
//! not know how pageviews are counted.

use std::path::Path;
use std::time::{Duration, Instant};

use bindery_analytics::{Analytics, AnalyticsOptions, Day, Period};
use bindery_config::{AnalyticsCommand, FolderArgs, ServerArgs};
use bindery_http::analytics::ImportBody;
use bindery_model::site::site_host;
use bindery_model::time::{format_date, parse_date};
use url::form_urlencoded;

use super::error::{CliError, failed};
use super::folder::{blocking, configure_existing, require_own_analytics, with_analytics};
use super::input::{Pieces, progress, read_pieces};
use super::output::{counted, note, print};
use super::remote::Remote;

pub(super) async fn analytics(command: AnalyticsCommand) -> Result<(), CliError> {
    match command {
        AnalyticsCommand::Import { file, site, server } => import(&file, &site, &server).await,
        AnalyticsCommand::Repair { folder } => repair(&folder).await,
        AnalyticsCommand::Delete { site, before, from, to, server } => {
            let to = before.or(to);
            delete(DeleteRequest::parse(&site, from.as_deref(), to.as_deref())?, &server).await
        }
    }
}

/// Moves damaged files aside. If nothing is damaged, only reads the folder.
async fn repair(folder: &FolderArgs) -> Result<(), CliError> {
    let config = configure_existing(folder)?;
    require_own_analytics(&config, "start the node, which gets them from the storage of the cluster when it leads")?;
    let analytics = AnalyticsOptions::in_folder(&config.data).folder;
    let done = blocking("repairing the analytics", move || bindery_analytics::repair(&analytics)).await?;
    if done.is_empty() {
        print("nothing of the analytics is damaged");
    }
    done.iter().for_each(|done| print(done));
    Ok(())
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
        let period = Period::between(start, end).ok_or_else(wrong_order)?;
        Ok(DeleteRequest { host: host(site)?, start, end, period })
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
    let DeleteRequest { host, period, .. } = &request;
    let deleted = match Remote::of(server)? {
        Some(remote) => {
            let path = format!("/v2/analytics/events?{}", request.query());
            remote.delete_with_response(&path).await?["deleted"].as_u64().unwrap_or_default()
        }
        None => {
            let config = configure_existing(&server.folder)?;
            let (host, period) = (host.clone(), *period);
            with_analytics(&config, move |analytics| Ok(analytics.delete(&host, period)?)).await?
        }
    };
    let were = if deleted == 1 { "was" } else { "were" };
    note(&format!("{} of {host} {were} deleted", counted(deleted, "pageview")));
    Ok(())
}

async fn import(file: &Path, site: &str, server: &ServerArgs) -> Result<(), CliError> {
    let host = host(site)?;
    let started = Instant::now();
    let progress = progress(file, "")?;
    let pieces = read_pieces(file, progress.clone())?;
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

async fn import_to_folder(server: &ServerArgs, host: String, mut pieces: Pieces) -> Result<ImportBody, CliError> {
    let config = configure_existing(&server.folder)?;
    let import = move |analytics: Analytics| {
        let mut import = analytics.import(&host)?;
        while let Some(piece) = pieces.blocking_recv() {
            import.push(&piece.map_err(|error| failed("reading the file", &error))?);
        }
        Ok(ImportBody::from(import.finish()?))
    };
    with_analytics(&config, import).await
}

fn report(outcome: &ImportBody, elapsed: Duration) {
    let ImportBody { lines, pageviews, added, robots, others, bad, first_bad } = outcome;
    note(&format!(
        "{} in {:.1} s: {} ({added} of them new), {robots} from robots, {}, {}",
        counted(*lines, "line"),
        elapsed.as_secs_f64(),
        counted(*pageviews, "pageview"),
        counted(*others, "other request"),
        counted(*bad, "bad line"),
    ));
    for (number, text) in first_bad {
        print(&format!("line {number} is not in the combined format: {text}"));
    }
}
