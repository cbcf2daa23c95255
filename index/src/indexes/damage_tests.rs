//! Tests with every kind of damage in every kind of file, while the index is closed. Afterwards each answer must be the
//! same as before, or an error. Also tests failures of the system at every step of a checkpoint.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::tests::{NEVER, copy_folder, files};
use super::*;
use crate::query::{Anchor, Bound, Filter, Predicate, Query, Range, SortBy, SortKey};
use crate::schema::{Column, Copy, IndexOp, Kind, Stamps, Value, Variant};

const COLUMNS: [(u32, Kind); 5] =
    [(1, Kind::Text), (2, Kind::List), (3, Kind::Number), (4, Kind::Instant), (5, Kind::Markup)];
const RESOURCES: u128 = 90;

fn schema() -> Schema {
    let columns = COLUMNS.map(|(id, kind)| Column { id, kind }).to_vec();
    let variant = |number| Variant { number, locale: None };
    Schema { columns, variants: vec![variant(0), variant(1)] }
}

fn options() -> Options {
    Options { memory_run_entries: 45, merge_fan_in: 1_000, quiet_after: NEVER, ..Options::tiny() }
}

/// Resources with short and long texts in two variants.
fn put(id: u128, word: &str) -> IndexOp {
    let mut random = Random(id as u64);
    // Letters that hardly shrink when they are compressed, so that files have several blocks.
    let letters = 0..if id.is_multiple_of(7) { 30_000 } else { 0 };
    let letters = letters.map(|_| char::from(b" ABCDEFGHIJKLMNOPQRSTUVWXYZ"[random.below(27)]));
    let long = format!("{word} number {id} ") + &letters.collect::<String>();
    let values = |variant: u64| {
        vec![
            (1, Value::Text(long.as_str().into())),
            (2, Value::List(vec![word.into(), format!("{id}-{variant}").into()])),
            (3, Value::Number(id as f64 / 2.0)),
            (4, Value::Instant { micros: id as i64, text: format!("at {id}").into() }),
            (5, Value::Markup { exact: [id as u8; 16], text: format!("Marked {id}").into() }),
        ]
    };
    let copy = |variant: u64| Some(Copy { number: id as u64 + variant, values: values(variant) });
    let stamps = Stamps { version: 1, created: id as i64, updated: 0, published: None };
    IndexOp::Put { id, stamps, copies: vec![(0, copy(0)), (1, copy(1))] }
}

fn fill(index: &Index) {
    for id in 0..RESOURCES {
        index.apply(vec![put(id, "early")]);
    }
    for id in 30..50 {
        index.apply(vec![put(id, "late")]);
    }
    index.apply(vec![IndexOp::Delete { id: 3 }]);
}

fn from<T>(bound: T) -> Range<T> {
    Range { from: Some(Bound::Included(bound)), to: None }
}

/// Queries that read every section of every file.
fn queries() -> Vec<Query> {
    let substring =
        |column, needle: &str| Filter::Column(column, Predicate::Substring(Anchor::Anywhere, needle.into()));
    let filters = [
        Filter::All,
        substring(1, "early number"),
        substring(1, "late"),
        substring(2, "7-1"),
        substring(5, "marked 1"),
        Filter::Not(Box::new(substring(1, "r 5"))),
        Filter::Column(1, Predicate::Equals("late number 31 ".into())),
        Filter::Column(1, Predicate::Text(from("early number 7".to_owned()))),
        Filter::Column(2, Predicate::Has("late".into())),
        Filter::Column(3, Predicate::Number(from(20.0))),
        Filter::Column(4, Predicate::Instant(from(60))),
        Filter::Column(5, Predicate::Null),
    ];
    let mut queries = Vec::new();
    for (number, filter) in filters.into_iter().enumerate() {
        let by = SortBy::Column(COLUMNS[number % COLUMNS.len()].0);
        let sort = vec![SortKey { by, descending: number % 2 == 1 }];
        queries.push(Query { variant: number as u16 % 2, filter, sort });
    }
    queries
}

/// Returns the ids, in order, that each query finds; `None` for one that fails.
fn answers(index: &Index) -> Vec<Option<Vec<u128>>> {
    let snapshot = index.snapshot();
    let ids = |query| Some(snapshot.search(&query, 0, 1_000).ok()?.hits.iter().map(|hit| hit.id).collect());
    queries().into_iter().map(ids).collect()
}

/// A small generator of random numbers, so that a test case can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Damages one or two of the files. Returns a description.
fn damage(files: &[PathBuf], random: &mut Random) -> String {
    let path = &files[random.below(files.len())];
    let mut bytes = fs::read(path).unwrap();
    let at = random.below(bytes.len());
    let replace = |path: &Path, bytes: &[u8]| {
        fs::remove_file(path).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let what = match random.below(6) {
        0 | 1 => {
            bytes[at] ^= 1 << random.below(8);
            replace(path, &bytes);
            format!("bit in byte {at} flipped")
        }
        2 => {
            replace(path, &bytes[..at]);
            format!("truncated to {at} bytes")
        }
        3 => {
            let end = bytes.len().min(at + 512);
            bytes[at..end].fill(0);
            replace(path, &bytes);
            format!("zeros from {at} to {end}")
        }
        4 => {
            fs::remove_file(path).unwrap();
            "removed".to_owned()
        }
        _ => {
            // The copy comes from a file of the same kind, which is the hardest damage to notice.
            let alike: Vec<_> = files.iter().filter(|other| other.extension() == path.extension()).collect();
            let other = alike[random.below(alike.len())];
            let others = fs::read(other).unwrap();
            replace(other, &bytes);
            replace(path, &others);
            format!("swapped with {}", other.display())
        }
    };
    format!("{}: {what}", path.display())
}

fn try_damage(tries: u64) {
    let folder = tempfile::tempdir().unwrap();
    let sound = folder.path().join("sound");
    let indexes = Indexes::open(&sound, options()).unwrap();
    for name in [1, 2] {
        fill(&indexes.create(name, schema()));
    }
    let expected = answers(&indexes.get(1).unwrap());
    assert!(expected.iter().flatten().filter(|ids| !ids.is_empty()).count() >= 10, "{expected:?}");
    indexes.freeze(5).write().unwrap();
    drop(indexes);
    assert_eq!(Indexes::check(&sound).problems, []);

    let (mut dropped, mut refused, mut unharmed) = (0, 0, 0);
    for seed in 0..tries {
        let bad = folder.path().join("bad");
        copy_folder(&sound, &bad);
        let what = damage(&files(&bad), &mut Random(seed));
        let is_changed = files(&bad).len() != files(&sound).len()
            || files(&sound)
                .iter()
                .any(|file| fs::read(file).unwrap() != fs::read(bad.join(file.strip_prefix(&sound).unwrap())).unwrap());
        let found = Indexes::check(&bad);
        let is_lost = found.number.is_none();
        assert_eq!(is_changed, is_lost || !found.problems.is_empty(), "try {seed}, {what}: {found:?}");

        let indexes = Indexes::open(&bad, options()).unwrap();
        let mut is_refused = false;
        for name in [1, 2] {
            let Some(index) = indexes.get(name) else { continue };
            for (got, expected) in answers(&index).iter().zip(&expected) {
                is_refused |= got.is_none();
                assert!(got.is_none() || got == expected, "try {seed}, {what}: {got:?} instead of {expected:?}");
            }
            assert_eq!(index.is_damaged(), indexes.damaged().contains(&name));
        }
        dropped += usize::from(indexes.names().len() < 2);
        refused += usize::from(is_refused);
        unharmed += usize::from(indexes.names().len() == 2 && !is_refused);

        // The owner of the indexes rebuilds missing ones, so the test does too.
        let missing: BTreeSet<u32> = [1, 2].into_iter().filter(|name| indexes.get(*name).is_none()).collect();
        for name in missing.into_iter().chain(indexes.damaged()) {
            fill(&indexes.create(name, schema()));
        }
        indexes.freeze(6).write().unwrap();
        drop(indexes);
        let indexes = Indexes::open(&bad, options()).unwrap();
        for name in [1, 2] {
            assert_eq!(answers(&indexes.get(name).unwrap()), expected, "try {seed}, {what}, index {name}");
        }
        drop(indexes);
        fs::remove_dir_all(&bad).unwrap();
    }
    eprintln!("{tries} tries: {dropped} dropped at the start, {refused} refused, {unharmed} without effect");
    assert!(dropped > 0 && refused > 0);
}

#[test]
fn a_damaged_index_never_answers_wrongly() {
    try_damage(60);
}

#[test]
#[ignore = "long: 500 tries; run with `cargo test --lib --workspace damaged_index -- --ignored`"]
fn a_damaged_index_never_answers_wrongly_in_500_tries() {
    try_damage(500);
}
