//! Measures writes: alone, beside readers, in bulk, and a mixed load whose longest pauses are shown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::client::{get, post};
use crate::load::{Group, Measured, Source, cycle, run, run_one};
use crate::postgres::Postgres;
use crate::query::Kind;
use crate::reads::{MANY, figure};
use crate::report::{Figure, Pauses, Unit};
use crate::sample::Sample;
use crate::{Result, say};

/// The number of articles in a bulk request.
const BULK: usize = 100;
/// The number of clients that write beside readers.
const WRITERS: usize = 4;
/// The bounds of the histogram of pauses, in milliseconds.
const BOUNDS: [f64; 9] = [0.0, 1.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];
const CREATE: &str = "/v2/resources/articles";

/// The data for the measurements.
pub(crate) struct Writes<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) sample: &'a Sample,
    pub(crate) kinds: &'a [Kind],
    pub(crate) postgres: Option<&'a Postgres>,
    pub(crate) repeat: Duration,
    /// The numbers of creates and bulk requests to measure.
    pub(crate) creates: usize,
    pub(crate) bulks: usize,
    pub(crate) mixed: Duration,
}

/// The source of articles that were never written: copies with another slug.
struct Fresh {
    articles: Vec<Value>,
    next: AtomicUsize,
}

impl Fresh {
    fn attributes(&self) -> Value {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut attributes = self.articles.get(number % self.articles.len().max(1)).cloned().unwrap_or_default();
        if let Some(fields) = attributes.as_object_mut() {
            fields.remove("created_at");
            fields.remove("published_at");
            fields.insert("slug".to_owned(), Value::String(format!("fresh-{number}")));
        }
        attributes
    }

    fn body(&self) -> Value {
        json!({"published_at": "2026-11-01T08:00:00Z", "attributes": self.attributes()})
    }

    fn bulk(&self) -> Bytes {
        let resources: Vec<Value> = (0..BULK).map(|_| self.body()).collect();
        post(&format!("{CREATE}/bulk"), &json!({"resources": resources}).to_string())
    }
}

impl Writes<'_> {
    /// Measures all writes.
    pub(crate) fn measure(&self) -> Result<(Vec<Figure>, Option<Pauses>)> {
        let fresh = Arc::new(Fresh { articles: self.sample.articles.clone(), next: AtomicUsize::new(0) });
        let mut figures = vec![self.alone(&fresh)?, self.bulk(&fresh)?];
        figures.extend(self.beside_readers(&fresh)?);
        let (rates, pauses) = self.mixed(&fresh)?;
        figures.extend(rates);
        Ok((figures, Some(pauses)))
    }

    fn alone(&self, fresh: &Arc<Fresh>) -> Result<Figure> {
        say("Create");
        let measured = run_one(self.address, 1, creates(fresh, self.creates), Duration::from_secs(60))?;
        let postgres = self.inserts(fresh, self.creates, 1)?;
        Ok(figure("create.1".to_owned(), "Create, 1 client".to_owned(), &measured).beside("PostgreSQL", postgres))
    }

    fn bulk(&self, fresh: &Arc<Fresh>) -> Result<Figure> {
        say("Bulk");
        let (bodies, bulks) = (fresh.clone(), self.bulks);
        let source: Source = Arc::new(move |number| (number < bulks).then(|| bodies.bulk()));
        let measured = run_one(self.address, 1, source, Duration::from_secs(60))?;
        let postgres = self.inserts(fresh, self.bulks * BULK, BULK)?;
        Ok(figure("bulk.1".to_owned(), "Bulk create of 100".to_owned(), &measured).beside("PostgreSQL", postgres))
    }

    /// Measures the same inserts with PostgreSQL, which are also durable.
    fn inserts(&self, fresh: &Fresh, articles: usize, rows: usize) -> Result<Option<f64>> {
        let Some(postgres) = self.postgres else { return Ok(None) };
        let articles: Vec<String> = (0..articles).map(|_| fresh.attributes().to_string()).collect();
        Ok(postgres.insert(&articles, rows)?.median())
    }

    /// Measures readers without writers, then with them.
    fn beside_readers(&self, fresh: &Arc<Fresh>) -> Result<Vec<Figure>> {
        say("Readers and writers");
        let readers = || Group { clients: MANY, source: self.reading() };
        let quiet = run(self.address, vec![readers()], self.repeat * 2)?;
        let writers = Group { clients: WRITERS, source: creates(fresh, usize::MAX) };
        let busy = run(self.address, vec![readers(), writers], self.repeat * 2)?;
        let ([quiet], [reads, writes]) = (quiet.as_slice(), busy.as_slice()) else { return Err("no groups".into()) };
        let name = |key: &str, name: &str, measured| figure(key.to_owned(), name.to_owned(), measured);
        let p95 = |key: &str, name: &str, measured: &Measured| {
            Figure::new(key, name, measured.percentile(0.95), Unit::Milliseconds)
        };
        Ok(vec![
            name("readers.quiet", "16 readers without writers", quiet),
            name("readers.busy", "16 readers beside 4 writers", reads),
            p95("readers.p95", "p95 of 16 readers beside 4 writers", reads)
                .beside("without", Some(quiet.percentile(0.95))),
            name("create.4", "Create, 4 writers beside 16 readers", writes),
        ])
    }

    /// Returns a source of pages, searches and single articles, some of them more often than others.
    fn reading(&self) -> Source {
        let some = |kind: &Kind| -> Vec<Bytes> {
            let share = if kind.key == "id" { 400 } else { 100 };
            kind.queries.iter().rev().take(share).map(|query| get(&query.path, None)).collect()
        };
        let mixed = ["list", "published", "range", "contains", "id"];
        let lists = self.kinds.iter().filter(|kind| mixed.contains(&kind.key)).map(some);
        let mut requests: Vec<Bytes> = lists.flatten().collect();
        let mut random = crate::random::Random::new(3);
        for at in (1..requests.len()).rev() {
            requests.swap(at, random.below(at + 1));
        }
        cycle(requests)
    }

    fn mixed(&self, fresh: &Arc<Fresh>) -> Result<(Vec<Figure>, Pauses)> {
        say(&format!("Mixed load of {} s", self.mixed.as_secs()));
        let bulks = fresh.clone();
        let groups = vec![
            Group { clients: MANY, source: self.reading() },
            Group { clients: WRITERS - 1, source: creates(fresh, usize::MAX) },
            Group { clients: 1, source: Arc::new(move |_| Some(bulks.bulk())) },
        ];
        let measured = run(self.address, groups, self.mixed)?;
        let [reads, creates, bulks] = measured.as_slice() else { return Err("no groups".into()) };
        let name = |key: &str, name: &str, measured| figure(key.to_owned(), name.to_owned(), measured);
        let figures = vec![
            name("mixed.reads", "Mixed load: 16 readers", reads),
            name("mixed.creates", "Mixed load: 3 writers", creates),
            name("mixed.bulks", "Mixed load: 1 writer of bulks of 100", bulks),
        ];
        Ok((figures, pauses(self.mixed.as_secs(), reads, &[("create", creates), ("bulk", bulks)])))
    }
}

fn creates(fresh: &Arc<Fresh>, count: usize) -> Source {
    let fresh = fresh.clone();
    Arc::new(move |number| (number < count).then(|| post(CREATE, &fresh.body().to_string())))
}

fn pauses(seconds: u64, reads: &Measured, writes: &[(&str, &Measured)]) -> Pauses {
    let mut counts: Vec<(f64, usize, usize)> = BOUNDS.iter().map(|bound| (*bound, 0, 0)).collect();
    let mut longest = Vec::new();
    let groups = writes.iter().copied().chain([("read", reads)]);
    for (what, measured) in groups {
        for sample in &measured.samples {
            let took = sample.took.as_secs_f64() * 1e3;
            let row = counts.iter_mut().rfind(|(bound, ..)| took >= *bound);
            if let Some((_, read, written)) = row {
                *(if what == "read" { read } else { written }) += 1;
            }
            if took >= 5.0 {
                longest.push((sample.at.as_secs_f64(), took, what.to_owned()));
            }
        }
    }
    longest.sort_by(|one, other| other.1.total_cmp(&one.1));
    longest.truncate(10);
    Pauses { seconds, counts, longest }
}
