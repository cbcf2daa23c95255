//! Measures reads: a first pass with requests that were never sent before, then the same requests again, each with one
//! client and with 16, beside the bare handler, PostgreSQL and Meilisearch.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::Value;

use crate::bare::{self, Bare};
use crate::client::{Connection, get};
use crate::load::{Measured, Sample, cycle, once, run_one};
use crate::meilisearch::Meilisearch;
use crate::postgres::Postgres;
use crate::query::{Kind, Query};
use crate::report::{Figure, Unit};
use crate::wrk::{self, Wrk};
use crate::{Result, say};

/// The maximum number of pages of a walk with cursors.
const WALKED: usize = 400;
/// The number of different requests that are repeated.
const REPEATED: usize = 10;
/// The number of rounds. Server and bare handler take turns, so that other work on the machine affects both.
const ROUNDS: u32 = 3;
/// The number of clients of a loaded server.
pub(crate) const MANY: usize = 16;

/// The data for the measurements.
pub(crate) struct Reads<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) bare: &'a Bare,
    pub(crate) postgres: Option<&'a Postgres>,
    pub(crate) meilisearch: Option<&'a Meilisearch>,
    pub(crate) wrk: Option<&'a Wrk>,
    pub(crate) repeat: Duration,
    pub(crate) first: Duration,
}

/// Returns a figure of measured requests.
pub(crate) fn figure(key: String, name: String, measured: &Measured) -> Figure {
    Figure {
        p95: Some(measured.percentile(0.95)),
        p99: Some(measured.percentile(0.99)),
        per_second: Some(measured.per_second()),
        n: Some(measured.samples.len()),
        failed: measured.failed,
        ..Figure::new(key, name, measured.percentile(0.5), Unit::Milliseconds)
    }
}

impl Reads<'_> {
    /// Returns all figures of one kind of request. A quarter of the requests is for one client.
    pub(crate) fn kind(&self, kind: &Kind) -> Result<Vec<Figure>> {
        say(kind.name);
        let (key, name) = (kind.key, kind.name);
        if kind.queries.is_empty() {
            return Ok(Vec::new());
        }
        let (alone, together) = kind.queries.split_at(kind.queries.len().div_ceil(4));
        let first = run_one(self.address, 1, once(requests(alone)), self.first)?;
        let sql: Vec<Vec<String>> = alone.iter().map(|query| query.sql.clone()).collect();
        let postgres = self.postgres.filter(|_| sql.iter().all(|statements| !statements.is_empty()));
        let postgres = postgres.map(|postgres| postgres.measure(&sql, self.first)).transpose()?;
        let median = postgres.and_then(|times| times.median());
        let one = figure(format!("{key}.first.1"), format!("{name}: first, 1 client"), &first);
        let meilisearch = self.beside_meilisearch(&one, alone)?;
        let mut figures = vec![one.beside("PostgreSQL", median)];
        figures.extend(meilisearch);
        if !together.is_empty() {
            let many = run_one(self.address, MANY, once(requests(together)), self.first)?;
            figures.push(figure(format!("{key}.first.16"), format!("{name}: first, 16 clients"), &many));
        }
        let again = &alone[..first.samples.len().clamp(1, REPEATED).min(alone.len())];
        figures.extend(self.again(key, name, again, None)?);
        Ok(figures)
    }

    /// Returns a further row beside Meilisearch, if these requests are compared with it.
    fn beside_meilisearch(&self, figure: &Figure, queries: &[Query]) -> Result<Option<Figure>> {
        let searches: Vec<&Value> = queries.iter().filter_map(|query| query.meilisearch.as_ref()).collect();
        let Some(meilisearch) = self.meilisearch.filter(|_| !searches.is_empty()) else { return Ok(None) };
        let measured = meilisearch.measure(&searches, self.first)?;
        Ok(Some(figure.beside_meilisearch(measured.percentile(0.5))))
    }

    /// Measures a walk with cursors: each page is requested once, by the link on the page before.
    pub(crate) fn walk(&self, path: &str) -> Result<Figure> {
        say("A walk with cursors");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let measured = runtime.block_on(async {
            let mut connection = Connection::open(self.address).await?;
            let mut next = Some(path.to_owned());
            let (mut measured, began) = (Measured::default(), Instant::now());
            while let Some(path) = next.filter(|_| measured.samples.len() < WALKED) {
                let (at, sent) = (began.elapsed(), Instant::now());
                let answer = connection.send(&get(&path, None)).await?;
                measured.samples.push(Sample { at, took: sent.elapsed() });
                measured.bytes += answer.bytes;
                measured.failed += usize::from(answer.status != 200);
                let page: Value = serde_json::from_slice(connection.body())?;
                next = page["links"]["next"].as_str().and_then(|link| Some(link[link.find("/v2/")?..].to_owned()));
            }
            measured.seconds = began.elapsed().as_secs_f64();
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(measured)
        })?;
        Ok(figure("cursor".to_owned(), "A walk with cursors, by title: a page".to_owned(), &measured))
    }

    /// Measures one repeated page, without and with its tag.
    pub(crate) fn one_page(&self, path: &str) -> Result<Vec<Figure>> {
        say("One page over and over");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let etag = runtime.block_on(async {
            let mut connection = Connection::open(self.address).await?;
            connection.send(&get(path, None)).await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(connection.header("etag").map(str::to_owned))
        })?;
        let query = [Query { path: path.to_owned(), ..Query::default() }];
        let mut figures = self.again("page", "One page", &query, None)?;
        let etag = etag.ok_or("a list without a tag")?;
        figures.extend(self.again("not_modified", "304", &query, Some(&etag))?);
        Ok(figures)
    }

    /// Measures requests that were sent before, in rounds with the bare handler.
    fn again(&self, key: &str, name: &str, queries: &[Query], etag: Option<&str>) -> Result<Vec<Figure>> {
        let requests: Vec<Bytes> = queries.iter().map(|query| get(&query.path, etag)).collect();
        let (mut one, mut one_bare) = (Measured::default(), Measured::default());
        let mut path = bare::path(0);
        for _ in 0..ROUNDS {
            one.append(run_one(self.address, 1, cycle(requests.clone()), self.repeat / ROUNDS)?);
            path = bare::path(if etag.is_some() { 0 } else { one.answer_bytes() });
            let request = cycle(vec![get(&path, None)]);
            one_bare.append(run_one(self.bare.address, 1, request, self.repeat / ROUNDS)?);
        }
        let (key_one, name_one) = (format!("{key}.again.1"), format!("{name}: again, 1 client"));
        let mut figures = vec![figure(key_one, name_one, &one).beside("bare", Some(one_bare.percentile(0.5)))];
        if let Some(wrk) = self.wrk {
            let paths: Vec<String> = queries.iter().map(|query| query.path.clone()).collect();
            let (mut many, mut bare) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                many.push(wrk.run(self.address, &paths, etag)?);
                bare.push(wrk.run(self.bare.address, std::slice::from_ref(&path), None)?);
            }
            let (many, bare) = (wrk::middle(many).ok_or("no rounds")?, wrk::middle(bare).ok_or("no rounds")?);
            let (key, name) = (format!("{key}.again.16"), format!("{name}: again, 16 clients, wrk"));
            let rate = Figure {
                p95: Some(many.p95),
                p99: Some(many.p99),
                n: Some(many.n),
                failed: many.failed,
                ..Figure::new(key, name, many.per_second, Unit::PerSecond)
            };
            figures.push(rate.beside("bare", Some(bare.per_second)));
        }
        Ok(figures)
    }
}

fn requests(queries: &[Query]) -> Vec<Bytes> {
    queries.iter().map(|query| get(&query.path, None)).collect()
}
