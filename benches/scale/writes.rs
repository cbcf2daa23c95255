//! Measures writes: alone, beside readers, in bulk, and a mixed load whose longest pauses are shown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::client::{Client, get, post};
use crate::load::{Group, Measured, Source, cycle, run, run_one, steps};
use crate::meilisearch::Meilisearch;
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
/// The longest time for the writes of one figure without readers.
const LONGEST: Duration = Duration::from_secs(60);
const CREATE: &str = "/v2/resources/articles";

/// A load of readers, first alone, then beside writers.
struct ReadersAndWriters {
    /// The first part of the keys of its figures.
    key: &'static str,
    /// The readers, as the names of the figures say it.
    readers: &'static str,
    /// The kinds of requests, of which the ids are read four times as often.
    kinds: &'static [&'static str],
    /// Articles are created published. They come before all others in these pages then, so that each changes all of
    /// them.
    is_published: bool,
}

/// Pages, searches and single articles.
const MIXED: [&str; 5] = ["list", "published", "range", "contains", "id"];
const LOADS: [ReadersAndWriters; 2] = [
    ReadersAndWriters { key: "readers", readers: "16 readers", kinds: &MIXED, is_published: true },
    ReadersAndWriters {
        key: "unaffected",
        readers: "16 readers of pages that do not change",
        kinds: &["published"],
        is_published: false,
    },
];

/// The data for the measurements.
pub(crate) struct Writes<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) sample: &'a Sample,
    pub(crate) kinds: &'a [Kind],
    pub(crate) postgres: Option<&'a Postgres>,
    pub(crate) meilisearch: Option<&'a Meilisearch>,
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

    fn body(&self, is_published: bool) -> Value {
        let published_at = is_published.then_some("2026-11-01T08:00:00Z");
        json!({"published_at": published_at, "attributes": self.attributes()})
    }

    fn bulk(&self) -> Bytes {
        let resources: Vec<Value> = (0..BULK).map(|_| self.body(true)).collect();
        post(&format!("{CREATE}/bulk"), &json!({"resources": resources}).to_string())
    }
}

impl Writes<'_> {
    /// Measures all writes.
    pub(crate) fn measure(&self) -> Result<(Vec<Figure>, Option<Pauses>)> {
        let fresh = Arc::new(Fresh { articles: self.sample.articles.clone(), next: AtomicUsize::new(0) });
        let mut figures = vec![self.alone(&fresh)?, self.bulk(&fresh)?];
        figures.extend(self.until_found(&fresh)?);
        for load in &LOADS {
            figures.extend(self.beside_readers(&fresh, load)?);
        }
        let (rates, pauses) = self.mixed(&fresh)?;
        figures.extend(rates);
        Ok((figures, Some(pauses)))
    }

    fn alone(&self, fresh: &Arc<Fresh>) -> Result<Figure> {
        say("Create");
        let measured = run_one(self.address, 1, creates(fresh, self.creates, true), LONGEST)?;
        let postgres = self.inserts(fresh, self.creates, 1)?;
        Ok(figure("create.1".to_owned(), "Create, 1 client".to_owned(), &measured).beside("PostgreSQL", postgres))
    }

    fn bulk(&self, fresh: &Arc<Fresh>) -> Result<Figure> {
        say("Bulk");
        let (bodies, bulks) = (fresh.clone(), self.bulks);
        let source: Source = Arc::new(move |number| (number < bulks).then(|| bodies.bulk()));
        let measured = run_one(self.address, 1, source, LONGEST)?;
        let postgres = self.inserts(fresh, self.bulks * BULK, BULK)?;
        Ok(figure("bulk.1".to_owned(), "Bulk create of 100".to_owned(), &measured).beside("PostgreSQL", postgres))
    }

    /// Measures the same inserts with PostgreSQL, which are also durable.
    fn inserts(&self, fresh: &Fresh, articles: usize, rows: usize) -> Result<Option<f64>> {
        let Some(postgres) = self.postgres else { return Ok(None) };
        let articles: Vec<String> = (0..articles).map(|_| fresh.attributes().to_string()).collect();
        Ok(postgres.insert(&articles, rows)?.median())
    }

    /// Measures the time from a write until a list has it, if there is a Meilisearch to compare it with.
    fn until_found(&self, fresh: &Fresh) -> Result<Option<Figure>> {
        let Some(meilisearch) = self.meilisearch else { return Ok(None) };
        say("A write until it is found");
        let mut client = Client::open(self.address)?;
        let measured = steps(self.creates, LONGEST, |_| {
            let body = fresh.body(true);
            let slug = body["attributes"]["slug"].as_str().unwrap_or_default();
            let (create, list) = (post(CREATE, &body.to_string()), get(&format!("{CREATE}?filter[slug]={slug}"), None));
            let sent = Instant::now();
            client.send(&create)?;
            let page = client.send(&list)?;
            let took = sent.elapsed();
            let page: Value = serde_json::from_slice(page)?;
            if page["meta"]["total"] != 1 {
                return Err(format!("a list lacks what was created before: {page}").into());
            }
            Ok(took)
        })?;
        let articles: Vec<Value> = (0..self.creates).map(|_| fresh.attributes()).collect();
        let median = meilisearch.until_found(&articles, LONGEST)?.percentile(0.5);
        let row = figure("found.1".to_owned(), "A write until it is found, 1 client".to_owned(), &measured);
        Ok(Some(row.beside("Meilisearch", Some(median))))
    }

    /// Measures readers without writers, then with them.
    fn beside_readers(&self, fresh: &Arc<Fresh>, load: &ReadersAndWriters) -> Result<Vec<Figure>> {
        let ReadersAndWriters { key, readers: name, kinds, is_published } = load;
        say(&format!("{name} and 4 writers"));
        let readers = || Group { clients: MANY, source: self.reading(kinds) };
        let quiet = run(self.address, vec![readers()], self.repeat * 2)?;
        let writers = Group { clients: WRITERS, source: creates(fresh, usize::MAX, *is_published) };
        let busy = run(self.address, vec![readers(), writers], self.repeat * 2)?;
        let ([quiet], [reads, writes]) = (quiet.as_slice(), busy.as_slice()) else { return Err("no groups".into()) };
        let p95 = |key: String, name: String, measured: &Measured| {
            Figure::new(key, name, measured.percentile(0.95), Unit::Milliseconds)
        };
        Ok(vec![
            figure(format!("{key}.quiet"), format!("{name} without writers"), quiet),
            figure(format!("{key}.busy"), format!("{name} beside 4 writers"), reads),
            p95(format!("{key}.p95"), format!("p95 of {name} beside 4 writers"), reads)
                .beside("without", Some(quiet.percentile(0.95))),
            figure(format!("{key}.creates"), format!("Create, 4 writers beside {name}"), writes),
        ])
    }

    /// Returns a source of requests of these kinds.
    fn reading(&self, kinds: &[&str]) -> Source {
        let some = |kind: &Kind| -> Vec<Bytes> {
            let share = if kind.key == "id" { 400 } else { 100 };
            kind.queries.iter().rev().take(share).map(|query| get(&query.path, None)).collect()
        };
        let mut requests: Vec<Bytes> =
            self.kinds.iter().filter(|kind| kinds.contains(&kind.key)).flat_map(some).collect();
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
            Group { clients: MANY, source: self.reading(&MIXED) },
            Group { clients: WRITERS - 1, source: creates(fresh, usize::MAX, true) },
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

fn creates(fresh: &Arc<Fresh>, count: usize, are_published: bool) -> Source {
    let fresh = fresh.clone();
    Arc::new(move |number| (number < count).then(|| post(CREATE, &fresh.body(are_published).to_string())))
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
