//! Sorting, ranges and single writes on a large index: `cargo bench -p bindery-index --bench orders -- FOLDER RESOURCES`.
//!
//! The index is built in the folder unless it is there. The figures are medians and 99th percentiles in milliseconds, and the
//! mean CPU time, which other processes disturb less but which is counted in steps of milliseconds. One thread, operands that
//! do not repeat. Compare them as ratios with those of another commit, measured in turns.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_index::*;

const TITLE: ColumnId = 1;
const SUMMARY: ColumnId = 2;
const STATUS: ColumnId = 3;
const CATEGORY: ColumnId = 4;
const PRICE: ColumnId = 5;
const MINUTES: ColumnId = 6;
const FEATURED: ColumnId = 7;
const PUBLISHED_ON: ColumnId = 8;
const NAME: u32 = 1;
const STATUSES: [&str; 4] = ["live", "draft", "archived", "review"];
const CATEGORIES: [&str; 8] = ["news", "tutorials", "reference", "security", "networking", "cloud", "kernel", "events"];

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    // Without arguments, as in `cargo bench` of the whole workspace, there is nothing to measure.
    let (Some(folder), Some(resources)) = (arguments.next(), arguments.next()) else { return };
    let (folder, resources) = (Path::new(&folder), resources.parse().unwrap());
    if !folder.join("MANIFEST").exists() {
        build(folder, resources);
    }
    println!("{resources} resources");
    measure(folder, resources);
}

fn schema() -> Schema {
    let kinds = [
        (TITLE, Kind::Text),
        (SUMMARY, Kind::Text),
        (STATUS, Kind::Plain),
        (CATEGORY, Kind::Plain),
        (PRICE, Kind::Number),
        (MINUTES, Kind::Number),
        (FEATURED, Kind::Bool),
        (PUBLISHED_ON, Kind::Instant),
    ];
    let columns = kinds.map(|(id, kind)| Column { id, kind }).to_vec();
    Schema { columns, variants: vec![Variant { number: 1, locale: Some("en".to_owned()) }] }
}

/// Writes an index of that many resources.
fn build(folder: &Path, resources: u64) {
    let began = Began::now();
    let indexes = Indexes::open(folder, Options::default()).unwrap();
    let index = indexes.create(NAME, schema());
    let mut random = Random(7);
    for start in (0..resources).step_by(1_000) {
        let ops = (start..resources.min(start + 1_000)).map(|number| put(number, number as i64, &mut random));
        index.apply(ops.collect());
    }
    indexes.freeze(1).write().unwrap();
    let built = began.elapsed().wall;
    // Merges go on until the folder stays as it is.
    let mut quiet = 0;
    let mut before = 0;
    while quiet < 6 {
        std::thread::sleep(Duration::from_millis(500));
        let now = folders(folder);
        quiet = if now == before { quiet + 1 } else { 0 };
        before = now;
    }
    indexes.freeze(2).write().unwrap();
    let bytes = bytes(folder) as f64 / 1e6;
    println!(
        "built in {:.1} s, merged in {:.1} s, {bytes:.1} MB",
        built.as_secs_f64(),
        began.elapsed().wall.as_secs_f64()
    );
}

fn folders(folder: &Path) -> usize {
    let of = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    of(folder).flat_map(|path| of(&path).collect::<Vec<_>>()).map(|path| 1 + of(&path).count() * 1_000).sum()
}

fn bytes(path: &Path) -> u64 {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| bytes(&entry.path())).sum(),
        Err(_) => path.metadata().map_or(0, |data| data.len()),
    }
}

fn put(number: u64, updated: i64, random: &mut Random) -> IndexOp {
    let created = 1_600_000_000_000 + number as i64 * 60_000;
    let stamps = Stamps {
        version: updated as u64,
        created,
        updated: created + updated,
        published: (random.below(100) < 85).then(|| created + random.below(500_000_000) as i64),
    };
    IndexOp::Put { id: id(number), stamps, copies: vec![(1, Some(copy(number, random)))] }
}

/// Ids ascend in time, like those of version 7.
fn id(number: u64) -> u128 {
    u128::from(number) << 64 | u128::from(number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

fn copy(number: u64, random: &mut Random) -> Copy {
    let text = |text: String| Value::Text(Arc::from(text));
    let price = (2000.0 / (1.01 - random.unit())).round() / 100.0;
    let mut values = vec![
        (TITLE, text(words(random, 6))),
        (SUMMARY, text(words(random, 28))),
        (STATUS, text(STATUSES[random.below(7).min(3) as usize].to_owned())),
        (CATEGORY, text(CATEGORIES[random.below(8) as usize].to_owned())),
        (MINUTES, Value::Number(1.0 + random.below(40) as f64)),
        (FEATURED, Value::Bool(random.below(10) == 0)),
    ];
    if random.below(20) > 0 {
        values.push((PRICE, Value::Number(price)));
    }
    let micros = 1_500_000_000_000_000 + random.below(300_000_000) as i64 * 1_000_000;
    values.push((PUBLISHED_ON, Value::Instant { micros, text: Arc::from("2026-01-01") }));
    Copy { number, values }
}

fn words(random: &mut Random, count: usize) -> String {
    let words: Vec<String> = (0..count).map(|_| word(random.skewed(30_000))).collect();
    words.join(" ")
}

/// A word of two to five syllables.
fn word(number: u64) -> String {
    const SYLLABLES: [&str; 16] =
        ["ka", "ter", "no", "li", "mus", "ron", "ve", "tia", "sol", "pre", "dan", "qui", "xo", "bel", "gra", "fi"];
    let mut rest = number.wrapping_mul(2_654_435_761) % 1_048_576 + 16;
    let mut word = String::new();
    while rest > 0 {
        word.push_str(SYLLABLES[(rest % 16) as usize]);
        rest /= 16;
    }
    word
}

fn measure(folder: &Path, resources: u64) {
    first_sorts(folder);
    let began = Began::now();
    let indexes = Indexes::open(folder, Options::default()).unwrap();
    row("ready after a start", &mut [began.elapsed()]);
    let index = indexes.get(NAME).unwrap();
    let mut random = Random(3);
    let pages = resources / 25;
    let by_created = vec![key(SortBy::Date(DateColumn::Created), true)];
    let query = Query { variant: 1, filter: Filter::All, sort: by_created };
    once("first default list after a start", &index, &query, 0);
    each("default list, any page", &index, &mut random, |random| (query.clone(), random.below(pages) * 25));
    each("status and price range, by price", &index, &mut random, |random| {
        let low = 20.0 + random.below(60_000) as f64 / 1_000.0;
        let price = Filter::Column(PRICE, Predicate::Number(between(low, low + 5.0 + random.below(20) as f64)));
        let status = equals(STATUS, STATUSES[random.below(4) as usize]);
        (by_column(Filter::And(vec![status, price]), PRICE, false), 0)
    });
    each("price range, newest first", &index, &mut random, |random| {
        let low = 20.0 + random.below(60_000) as f64 / 1_000.0;
        let filter = Filter::Column(PRICE, Predicate::Number(between(low, low + 1.0)));
        (Query { filter, ..query.clone() }, 0)
    });
    each("narrow instant range, by title", &index, &mut random, |random| {
        let low = 1_500_000_000_000_000 + random.below(300_000_000) as i64 * 1_000_000;
        let filter = Filter::Column(PUBLISHED_ON, Predicate::Instant(between(low, low + 100_000_000_000)));
        (by_column(filter, TITLE, false), 0)
    });
    each("updated in a range, newest first", &index, &mut random, |random| {
        let low = 1_600_000_000_000 + random.below(resources) as i64 * 60_000;
        (Query { filter: Filter::Date(DateColumn::Updated, between(low, low + 60_000_000)), ..query.clone() }, 0)
    });
    each("title contains, two categories", &index, &mut random, |random| {
        let word = word(random.skewed(3_000));
        let title = Filter::Column(TITLE, Predicate::Substring(Anchor::Anywhere, word[1..].to_owned()));
        let first = random.below(8) as usize;
        let categories = [first, (first + 1 + random.below(7) as usize) % 8];
        let category = Filter::Or(categories.map(|category| equals(CATEGORY, CATEGORIES[category])).to_vec());
        let sort = vec![key(SortBy::Date(DateColumn::Published), true)];
        (Query { variant: 1, filter: Filter::And(vec![title, category]), sort }, 0)
    });
    each("few matches, by summary", &index, &mut random, |random| {
        let word = word(300 + random.below(3_000));
        let title = Filter::Column(TITLE, Predicate::Substring(Anchor::Anywhere, word));
        (by_column(title, SUMMARY, false), 0)
    });
    writes(&index, resources, &mut random, &query);
}

/// Each in a process that has just opened the index.
fn first_sorts(folder: &Path) {
    for (name, column, offset) in [
        ("first sort by title", TITLE, 0),
        ("first sort by summary", SUMMARY, 0),
        ("first sort by price", PRICE, 0),
        ("first sort by featured", FEATURED, 0),
        ("first sort by title, page 10,000", TITLE, 250_000),
        ("first sort by summary, page 10,000", SUMMARY, 250_000),
        ("first sort by price, page 10,000", PRICE, 250_000),
    ] {
        let mut times = Vec::new();
        for _ in 0..3 {
            let indexes = Indexes::open(folder, Options::default()).unwrap();
            let index = indexes.get(NAME).unwrap();
            let began = Began::now();
            index.snapshot().search(&by_column(Filter::All, column, false), offset, 25).unwrap();
            times.push(began.elapsed());
        }
        row(name, &mut times);
    }
    let indexes = Indexes::open(folder, Options::default()).unwrap();
    let index = indexes.get(NAME).unwrap();
    once("first featured = true", &index, &by_column(equals(FEATURED, "true"), PRICE, true), 0);
}

fn writes(index: &Index, resources: u64, random: &mut Random, newest: &Query) {
    let mut times = [const { Vec::new() }; 4];
    let sort = vec![key(SortBy::Date(DateColumn::Updated), true)];
    let last_changed = Query { sort, ..newest.clone() };
    index.snapshot().search(&last_changed, 0, 25).unwrap();
    for round in 0..300 {
        let update = put(random.below(resources), 1_000_000 + round, random);
        let create = put(resources + round as u64, 0, random);
        let delete = IndexOp::Delete { id: id(resources + round as u64) };
        for (op, times) in [update, create, delete].into_iter().zip(&mut times) {
            let began = Began::now();
            index.apply(vec![op]);
            times.push(began.elapsed());
        }
        let began = Began::now();
        index.snapshot().search(&last_changed, 0, 25).unwrap();
        times[3].push(began.elapsed());
    }
    let names = ["an update alone", "a create alone", "a delete alone", "last changed first, after three writes"];
    names.iter().zip(&mut times).for_each(|(name, times)| row(name, times));
}

fn each(name: &str, index: &Index, random: &mut Random, mut make: impl FnMut(&mut Random) -> (Query, u64)) {
    let mut times = Vec::new();
    for _ in 0..200 {
        let (query, offset) = make(random);
        let began = Began::now();
        index.snapshot().search(&query, offset, 25).unwrap();
        times.push(began.elapsed());
    }
    row(name, &mut times);
}

fn once(name: &str, index: &Index, query: &Query, offset: u64) {
    let began = Began::now();
    index.snapshot().search(query, offset, 25).unwrap();
    row(name, &mut [began.elapsed()]);
}

fn row(name: &str, times: &mut [Took]) {
    let cpu = times.iter().map(|took| took.cpu.as_secs_f64() * 1e3).sum::<f64>() / times.len() as f64;
    times.sort_by_key(|took| took.wall);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].wall.as_secs_f64() * 1e3;
    println!("{name:42} {:10.3} {:10.3} {cpu:10.3}", at(0.5), at(0.99));
}

fn by_column(filter: Filter, column: ColumnId, descending: bool) -> Query {
    Query { variant: 1, filter, sort: vec![key(SortBy::Column(column), descending)] }
}

fn key(by: SortBy, descending: bool) -> SortKey {
    SortKey { by, descending }
}

fn equals(column: ColumnId, text: &str) -> Filter {
    Filter::Column(column, Predicate::Equals(text.to_owned()))
}

fn between<T>(from: T, to: T) -> Range<T> {
    Range { from: Some(Bound::Included(from)), to: Some(Bound::Excluded(to)) }
}

/// A moment, also in the CPU time of this thread.
struct Began(Instant, Duration);

/// How long something took.
struct Took {
    wall: Duration,
    cpu: Duration,
}

impl Began {
    fn now() -> Began {
        let cpu = cpu_time();
        Began(Instant::now(), cpu)
    }

    fn elapsed(&self) -> Took {
        Took { wall: self.0.elapsed(), cpu: cpu_time() - self.1 }
    }
}

fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(stat.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap())
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Small numbers are more frequent.
    fn skewed(&mut self, end: u64) -> u64 {
        ((end as f64).powf(self.unit()) - 1.0) as u64
    }
}
