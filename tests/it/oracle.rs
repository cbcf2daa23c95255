//! Random queries over random data. Each answer is compared with that of a naive implementation of the contract.
//!
//! `BINDERY_ORACLE_QUERIES=200000` makes a long run, `BINDERY_ORACLE_SEED=7` a different one.

mod answer;
mod app;
mod ask;
mod beside;
mod condition;
mod corpus;
mod filter;
mod forms;
pub(crate) mod random;
mod real;
mod values;
mod words;
mod world;

use std::time::Instant;

use serde_json::Value;

use self::answer::Table;
use self::app::InProcess;
use self::ask::{Pairs, encode};
use self::random::Random;
use self::world::{Driver, SLUG, World};
use crate::support::{Server, setting};

/// The number of queries for each state of the data.
const QUERIES_PER_STATE: usize = 600;

/// The number of states of each world.
const STATES_PER_WORLD: usize = 8;

#[derive(Debug, Default)]
struct Figures {
    queries: usize,
    states: usize,
    walks: usize,
    exports: usize,
    aggregates: usize,
    neighbors: usize,
    expansions: usize,
    errors: usize,
    /// The total number of matches.
    matches: usize,
}

#[test]
fn random_queries_match_the_oracle() {
    let wanted = setting("BINDERY_ORACLE_QUERIES", 4_000) as usize;
    let first_seed = setting("BINDERY_ORACLE_SEED", 1);
    let per_state = if wanted < 10_000 { 250 } else { QUERIES_PER_STATE };
    let started = Instant::now();
    let mut figures = Figures::default();
    for seed in first_seed.. {
        if figures.queries >= wanted {
            break;
        }
        let mut random = Random::new(seed);
        let world = World::new(&mut random, Driver::InProcess(InProcess::start()));
        live(seed, world, &mut random, STATES_PER_WORLD, per_state, &mut figures);
        if wanted > 10_000 {
            eprintln!("seed {seed}: {figures:?} after {:?}", started.elapsed());
        }
    }
    assert!(figures.matches > figures.queries, "too few matches: {figures:?}");
}

#[test]
fn random_queries_over_http_match_the_oracle_after_kills() {
    let wanted = setting("BINDERY_ORACLE_HTTP_QUERIES", 600) as usize;
    let mut figures = Figures::default();
    for seed in setting("BINDERY_ORACLE_SEED", 1_001).. {
        if figures.queries >= wanted {
            break;
        }
        let mut random = Random::new(seed);
        let server = Server::start();
        let viewer = server.token(&["view"]);
        let world = World::new(&mut random, Driver::Binary(server, viewer));
        live(seed, world, &mut random, 3, 200, &mut figures);
    }
}

fn live(seed: u64, mut world: World, random: &mut Random, states: usize, queries: usize, figures: &mut Figures) {
    for state in 0..states {
        world.write(random);
        match &mut world.driver {
            Driver::InProcess(server) if random.chance(40) => server.checkpoint(),
            Driver::InProcess(server) if random.chance(25) => server.restart(),
            Driver::Binary(server, _) if random.chance(50) => server.kill_and_restart(),
            _ => {}
        }
        let table = world.table(random);
        figures.states += 1;
        for _ in 0..queries {
            let view = View { world: &world, table: &table, sees_drafts: random.chance(70) };
            if let Err(difference) = view.ask(random, figures) {
                panic!("seed {seed}, state {state}: {difference}");
            }
        }
    }
    assert!(world.rejected * 4 < world.attempted, "{} of {} writes were rejected", world.rejected, world.attempted);
}

/// One state of the data, seen with or without drafts.
struct View<'a> {
    world: &'a World,
    table: &'a Table,
    sees_drafts: bool,
}

impl View<'_> {
    /// Compares the answers to one random query. Reports a difference together with the smallest query that shows it.
    fn ask(&self, random: &mut Random, figures: &mut Figures) -> Result<(), String> {
        let pairs = ask::pairs(random, self.table);
        let is_complete = random.chance(2);
        figures.queries += 1;
        self.compare(random, &pairs, figures, is_complete).map_err(|difference| {
            let smallest = self.smallest(&pairs);
            let again = self.list(&smallest, 1, 100).err();
            format!("{difference}\nsmaller: {smallest:?}\n{}", again.unwrap_or_default())
        })
    }

    fn compare(
        &self,
        random: &mut Random,
        pairs: &Pairs,
        figures: &mut Figures,
        is_complete: bool,
    ) -> Result<(), String> {
        let per_page = *random.pick(&[1, 2, 3, 7, 25, 100]);
        let total = match self.answer(pairs) {
            Ok(ids) => ids.len(),
            Err(_) => {
                figures.errors += 1;
                0
            }
        };
        figures.matches += total;
        let page = random.within(1, total / per_page + 2);
        self.list(pairs, page, per_page)?;
        // With very many matches, one page is enough.
        if random.chance(2) && total < 5_000 {
            figures.walks += 1;
            self.walk(pairs, *random.pick(&[1, 5, 10]))?;
        }
        if random.chance(4) && total < 5_000 {
            figures.exports += 1;
            self.export(random, pairs)?;
        }
        if random.chance(25) {
            figures.aggregates += 1;
            self.aggregates(random, pairs)?;
        }
        if random.chance(10) {
            figures.neighbors += 1;
            self.neighbors(random, pairs)?;
        }
        if random.chance(10) {
            figures.expansions += 1;
            self.expansion(random, pairs)?;
        }
        if random.chance(3) && total < 1_000 {
            self.walk_with_cursors(pairs, *random.pick(&[1, 4, 9]))?;
        }
        if random.chance(3) {
            self.referrers(random)?;
        }
        if is_complete { self.compare_first_page(pairs) } else { Ok(()) }
    }

    fn answer(&self, pairs: &Pairs) -> Result<Vec<&str>, &'static str> {
        let today = chrono::Utc::now().timestamp_millis().div_euclid(86_400_000);
        let indexes = self.table.answer(pairs, self.sees_drafts, today)?;
        Ok(indexes.into_iter().map(|index| self.table.rows[index].id.as_str()).collect())
    }

    /// Compares one page.
    fn list(&self, pairs: &Pairs, page: usize, per_page: usize) -> Result<(), String> {
        let path = format!("/v2/resources/{SLUG}?{}&fields=id&page={page}&per_page={per_page}", encode(pairs));
        let reply = self.world.driver.read(&path, self.sees_drafts);
        let expected = match self.answer(pairs) {
            Err(code) if reply.status == 422 && reply.code() == code => return Ok(()),
            Err(code) => return Err(format!("{path}\n{pairs:?}\nnot {code} but {} {}", reply.status, reply.text)),
            Ok(ids) => ids,
        };
        if reply.status != 200 {
            return Err(format!("{path}\n{pairs:?}\n{} {}", reply.status, reply.text));
        }
        let body = reply.json();
        let found = ids(&body["data"]);
        let start = ((page - 1) * per_page).min(expected.len());
        let end = (start + per_page).min(expected.len());
        let last = expected.len().div_ceil(per_page).max(1);
        let meta = &body["meta"];
        if found != expected[start..end] || meta["total"] != expected.len() || meta["last_page"] != last {
            let (missing, extra) = difference(&expected[start..end], &found);
            return Err(format!(
                "{path}\n{pairs:?}\ntotal {} but expected {}\nmissing {missing:#?}\nextra {extra:#?}\nfound {found:?}\nexpected {:?}\n{}",
                meta["total"],
                expected.len(),
                &expected[start..end],
                self.describe(&missing, &extra),
            ));
        }
        Ok(())
    }

    fn describe(&self, missing: &[&str], extra: &[String]) -> String {
        let is_named = |id: &str| missing.contains(&id) || extra.iter().any(|other| other == id);
        let rows = self.table.rows.iter().filter(|row| is_named(&row.id)).take(3);
        rows.map(|row| format!("{} {:?}", row.id, row.copies))
            .collect::<Vec<_>>()
            .join("\n")
            .chars()
            .take(5_000)
            .collect()
    }

    /// Checks that following `links.next` leads to each match exactly once.
    fn walk(&self, pairs: &Pairs, per_page: usize) -> Result<(), String> {
        let Ok(expected) = self.answer(pairs) else { return Ok(()) };
        let mut path = format!("/v2/resources/{SLUG}?{}&fields=id&per_page={per_page}", encode(pairs));
        let mut found = Vec::new();
        loop {
            let body = self.world.driver.read(&path, self.sees_drafts).expect(200).json();
            found.extend(ids(&body["data"]));
            let Some(next) = body["links"]["next"].as_str() else { break };
            path = next[next.find("/v2/").unwrap()..].to_owned();
        }
        if found == expected { Ok(()) } else { Err(format!("walking {path}\nfound {found:?}\nexpected {expected:?}")) }
    }

    fn export(&self, random: &mut Random, pairs: &Pairs) -> Result<(), String> {
        let format = *random.pick(&["json", "ndjson", "csv"]);
        let fields = if format == "csv" { "" } else { "&fields=id" };
        let path = format!("/v2/resources/{SLUG}/export?{}{fields}&format={format}", encode(pairs));
        let reply = self.world.driver.read(&path, self.sees_drafts);
        let expected = match self.answer(pairs) {
            Ok(ids) => ids,
            Err(code) if reply.status == 422 && reply.code() == code => return Ok(()),
            Err(code) => return Err(format!("{path}\nnot {code} but {}", reply.text)),
        };
        let text = reply.expect(200).text;
        let found: Vec<String> = match format {
            "json" => ids(&serde_json::from_str::<Value>(&text).unwrap()["data"]),
            "ndjson" => {
                let lines: Vec<Value> =
                    text.split_terminator('\n').map(|line| serde_json::from_str(line).unwrap()).collect();
                ids(&lines.into())
            }
            _ => self.csv(&text, pairs),
        };
        if found == expected { Ok(()) } else { Err(format!("{path}\nfound {found:?}\nexpected {expected:?}")) }
    }

    /// Returns the ids of a CSV export. Compares the other cells with the stored values.
    fn csv(&self, text: &str, pairs: &Pairs) -> Vec<String> {
        assert!(text.ends_with("\r\n"));
        let variant = self.table.variant(pairs).unwrap();
        let slugs =
            self.table.blueprint["fields"].as_array().unwrap().iter().map(|field| field["slug"].as_str().unwrap());
        let header: Vec<&str> =
            ["id", "type", "published_at", "created_at", "updated_at"].into_iter().chain(slugs).collect();
        let fallback = pairs.iter().find(|(name, _)| name == "fallback").map(|(_, slug)| slug);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap(), header);
        let mut ids = Vec::new();
        for record in reader.records() {
            let record = record.unwrap();
            let row = self.table.rows.iter().find(|row| row.id == record[0]).unwrap();
            for (slug, cell) in header.iter().zip(&record).skip(5) {
                let own = &row.copies[&variant][*slug];
                let value = fallback.filter(|_| own.is_null()).map_or(own, |fallback| &row.copies[fallback][*slug]);
                let shown = match value {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    Value::Number(number) => forms::number_text(number.as_f64().unwrap()),
                    other => other.to_string(),
                };
                assert_eq!(cell, shown, "{slug}");
            }
            ids.push(record[0].to_owned());
        }
        ids
    }

    /// Compares the complete resources of the first page. Each value must be the stored one or, if that is null,
    /// the one of the fallback.
    fn compare_first_page(&self, pairs: &Pairs) -> Result<(), String> {
        let Ok(expected) = self.answer(pairs) else { return Ok(()) };
        let variant = self.table.variant(pairs).unwrap();
        if pairs.iter().any(|(name, _)| name == "fallback") {
            return Ok(());
        }
        for fallback in self.table.variants() {
            let path = format!("/v2/resources/{SLUG}?{}&fallback={fallback}", encode(pairs));
            let data = self.world.driver.read(&path, self.sees_drafts).expect(200).data();
            if ids(&data) != expected[..expected.len().min(25)] {
                return Err(format!("{path} differs"));
            }
            for item in data.as_array().unwrap() {
                let row = self.table.rows.iter().find(|row| row.id == item["id"].as_str().unwrap()).unwrap();
                for (slug, value) in item["attributes"].as_object().unwrap() {
                    let own = &row.copies[&variant][slug];
                    let expected = if own.is_null() { &row.copies[&fallback][slug] } else { own };
                    if value != expected {
                        return Err(format!("{path}: {slug} of {} is {value}, not {expected}", row.id));
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the query with as few parameters as possible, such that the answers still differ.
    fn smallest(&self, pairs: &Pairs) -> Pairs {
        let mut smallest = pairs.clone();
        let mut index = 0;
        while index < smallest.len() {
            let mut fewer = smallest.clone();
            fewer.remove(index);
            match self.list(&fewer, 1, 100) {
                Err(_) => smallest = fewer,
                Ok(()) => index += 1,
            }
        }
        smallest
    }
}

fn ids(data: &Value) -> Vec<String> {
    data.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

fn difference<'a>(expected: &[&'a str], found: &[String]) -> (Vec<&'a str>, Vec<String>) {
    let missing = expected.iter().copied().filter(|id| !found.iter().any(|other| other == id)).collect();
    let extra = found.iter().filter(|id| !expected.contains(&id.as_str())).cloned().collect();
    (missing, extra)
}
