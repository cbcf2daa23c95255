//! The comparison on real content: a catalog and articles as NDJSON, compressed with zstd, in the folder that
//! `BINDERY_TEST_DATA` names. Without it, these tests print that they are skipped.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use super::random::Random;
use super::values::Related;
use super::world::{Driver, SLUG, World};
use super::{Figures, View};
use crate::support::Server;

/// The number of queries per round.
const QUERIES: usize = 200;

/// The number of rounds. A few writes follow each.
const ROUNDS: u64 = 3;

#[test]
fn random_queries_on_a_catalog_of_cities_match_the_oracle() {
    let text =
        ["name", "alt_name", "admin_code", "municipality_code", "municipality_sub_code"].map(|slug| (slug, "text"));
    let choices = ["country", "feature_code"].map(|slug| (slug, "enum"));
    let numbers = ["population", "latitude", "longitude"].map(|slug| (slug, "number"));
    let booleans = ["is_capital", "is_admin_seat"].map(|slug| (slug, "boolean"));
    let fields = [&text[..], &choices, &numbers, &booleans].concat();
    compare("catalog-cities.ndjson.zst", &fields, &[], usize::MAX);
}

#[test]
fn random_queries_on_articles_in_seven_languages_match_the_oracle() {
    let fields = [
        ("title", "text"),
        ("slug", "slug"),
        ("description", "text"),
        ("body", "rich-text"),
        ("tags", "multi-enum"),
        ("reading_minutes", "number"),
        ("status", "enum"),
        ("updated_on", "date"),
        ("source_url", "link"),
    ];
    compare("articles-cpp.ndjson.zst", &fields, &["en", "de", "es", "fr", "ja", "ru", "zh-CN"], 1_200);
}

fn compare(file: &str, fields: &[(&str, &str)], variants: &[&str], count: usize) {
    let Some(folder) = std::env::var_os("BINDERY_TEST_DATA").map(PathBuf::from) else {
        eprintln!("BINDERY_TEST_DATA is not set: {file} is skipped");
        return;
    };
    let started = Instant::now();
    let server = Server::start();
    let viewer = server.token(&["view"]);
    let settings = |kind: &str| if kind.ends_with("enum") { json!({ "values": null }) } else { json!({}) };
    let fields = fields
        .iter()
        .map(|(slug, kind)| json!({ "name": slug, "slug": slug, "type": kind, "settings": settings(kind) }));
    let variants = variants.iter().map(|slug| json!({ "name": slug, "slug": slug, "default": *slug == "en" }));
    let blueprint = json!({
        "name": SLUG, "slug": SLUG, "fields": fields.collect::<Vec<_>>(), "variants": variants.collect::<Vec<_>>(),
    });
    let mut world = World::of(Driver::Binary(server, viewer), blueprint, Related::default());
    let lines = lines(&folder.join(file), count);
    for lines in lines.chunks(2_000) {
        world.load(lines);
    }
    eprintln!(
        "{file}: {} of {} lines were rejected; loaded after {:?}",
        world.rejected,
        world.attempted,
        started.elapsed()
    );
    assert!(world.rejected * 100 < world.attempted);
    let mut figures = Figures::default();
    for round in 0..ROUNDS {
        if let (Driver::Binary(server, _), 2) = (&mut world.driver, round) {
            server.kill_and_restart();
        }
        let table = world.table(&mut Random::new(round));
        let started = Instant::now();
        // Each round makes the same choices, so that cached results are used again after writes.
        let mut random = Random::new(7);
        for _ in 0..QUERIES {
            let view = View { world: &world, table: &table, sees_drafts: random.chance(70) };
            view.ask(&mut random, &mut figures).unwrap_or_else(|difference| panic!("round {round}: {difference}"));
        }
        figures.states += 1;
        eprintln!("{file}: {figures:?}, the last {QUERIES} in {:?}", started.elapsed());
        world.write(&mut Random::new(round));
    }
}

fn lines(path: &Path, count: usize) -> Vec<Value> {
    let decoder = zstd::Decoder::new(std::fs::File::open(path).unwrap()).unwrap();
    BufReader::new(decoder).lines().take(count).map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}
