//! Ranked search in an index of articles: `cargo bench -p bindery-index --bench ranked -- FOLDER ARTICLES`.
//!
//! `ARTICLES` is a file with an article a line, as JSON with the texts `title`, `summary` and `body`. The index is built in the
//! folder unless it is there. The figures are medians and 99th percentiles in milliseconds, on one thread, of queries that do not
//! repeat. Compare them as ratios with those of another commit, measured in turns.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_index::*;
use serde_json::Value as Json;

const TITLE: ColumnId = 1;
const SUMMARY: ColumnId = 2;
const BODY: ColumnId = 3;
const NAME: u32 = 1;
/// The number of queries of each kind.
const QUERIES: usize = 300;
/// The number of articles of which words are taken.
const SAMPLED: usize = 10_000;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    // Without arguments, as in `cargo bench` of the whole workspace, there is nothing to measure.
    let (Some(folder), Some(articles)) = (arguments.next(), arguments.next()) else { return };
    let folder = Path::new(&folder);
    let articles = std::fs::read_to_string(articles).unwrap();
    let articles: Vec<[String; 3]> = articles.lines().map(texts).collect();
    if !folder.join("MANIFEST").exists() {
        build(folder, &articles);
    }
    println!("{} articles", articles.len());
    let words = SampledWords::of(&articles);
    let indexes = Indexes::open(folder, Options::default()).unwrap();
    let index = indexes.get(NAME).unwrap();
    // Reads the files, so that no query has to.
    measure_all("warm-up", &index, &words, &mut Random(11), |_| ());
    measure_all("as written", &index, &words, &mut Random(5), |_| ());
    let mut next = 0..articles.len();
    let mut update = |count: usize| {
        // A stride that makes documents of all runs outdated.
        let numbers = next.by_ref().take(count).map(|number| number * 7_919 % articles.len());
        index.apply(numbers.map(|number| put(number, &articles[number])).collect());
    };
    update(4_000);
    measure_all("after 4,000 updates", &index, &words, &mut Random(6), |_| ());
    measure_all("an update before each", &index, &words, &mut Random(7), |_| update(1));
}

/// Makes the words of a query.
type Make<'a> = dyn Fn(&mut Random) -> String + 'a;

fn measure_all(state: &str, index: &Index, words: &SampledWords, random: &mut Random, mut before: impl FnMut(usize)) {
    let kinds: [(&str, &Make<'_>); 4] = [
        ("one word", &|random| format!("{} ", random.pick(&words.common))),
        ("two words", &|random| format!("{} {} ", random.pick(&words.common), random.pick(&words.common))),
        ("rare word and a beginning", &|random| {
            let common = random.pick(&words.common);
            let letters = 3 + random.below(3);
            format!("{} {}", random.pick(&words.rare), common.chars().take(letters).collect::<String>())
        }),
        ("two words, one with a typo", &|random| {
            let (typed, at) = (random.pick(&words.common), 2 + random.below(3));
            let typed: String =
                typed.chars().enumerate().filter(|(index, _)| *index != at).map(|(_, one)| one).collect();
            format!("{typed} {} ", random.pick(&words.common))
        }),
    ];
    for (name, make) in kinds {
        let mut times = Vec::new();
        for number in 0..QUERIES {
            before(number);
            let query = query(&make(random));
            let began = Instant::now();
            index.snapshot().search(&query, 0, 25).unwrap();
            times.push(began.elapsed());
        }
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        println!("{:52} {:9.3} {:9.3}", format!("{state}: {name}"), at(0.5), at(0.99));
    }
}

fn query(words: &str) -> Query {
    let fields = [(TITLE, 4.0), (SUMMARY, 2.0), (BODY, 1.0)];
    let fields = fields.map(|(column, weight)| TextField { column, weight, fallback: None }).to_vec();
    Query {
        variant: 1,
        filter: Filter::Words(TextQuery::new(Words::parse(words, true), fields).into()),
        sort: vec![SortKey { by: SortBy::Relevance, descending: true }],
    }
}

fn build(folder: &Path, articles: &[[String; 3]]) {
    let columns = [TITLE, SUMMARY, BODY].map(|id| Column { id, kind: Kind::Prose }).to_vec();
    let indexes = Indexes::open(folder, Options::default()).unwrap();
    let index = indexes.create(NAME, Schema { columns, variants: vec![Variant { number: 1, locale: None }] });
    for (start, some) in (0..).step_by(1_000).zip(articles.chunks(1_000)) {
        index.apply((start..).zip(some).map(|(number, texts)| put(number, texts)).collect());
    }
    indexes.freeze(1).write().unwrap();
    // Merges go on until the number of runs stays as it is.
    let merges = indexes.merges();
    let mut before = u64::MAX;
    while before != merges.load(std::sync::atomic::Ordering::SeqCst) {
        before = merges.load(std::sync::atomic::Ordering::SeqCst);
        std::thread::sleep(Duration::from_secs(3));
    }
    indexes.freeze(2).write().unwrap();
}

fn put(number: usize, texts: &[String; 3]) -> IndexOp {
    let values = [TITLE, SUMMARY, BODY].into_iter().zip(texts);
    let values = values.map(|(column, text)| (column, Value::Text(Arc::from(&**text)))).collect();
    let stamps = Stamps { version: 1, created: number as i64, updated: 1, published: None };
    IndexOp::Put { id: number as u128, stamps, copies: vec![(1, Some(Copy { number: 1, values }))] }
}

/// Returns title, summary and body of an article. The body is without its tags.
fn texts(line: &str) -> [String; 3] {
    let article: Json = serde_json::from_str(line).unwrap();
    let [title, summary, body] =
        ["title", "summary", "body"].map(|key| article[key].as_str().unwrap_or_default().to_owned());
    let body: Vec<&str> = body.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect();
    [title, summary, body.join(" ")]
}

/// Words of the articles.
struct SampledWords {
    /// Words of six letters or more in 3 to 50 % of the articles.
    common: Vec<String>,
    /// Words of ten letters or more in one of the sampled articles.
    rare: Vec<String>,
}

impl SampledWords {
    fn of(articles: &[[String; 3]]) -> SampledWords {
        let sampled = articles.len().min(SAMPLED);
        let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
        for (number, [_, _, body]) in articles.iter().step_by(articles.len().div_ceil(SAMPLED)).enumerate() {
            let is_other = |character: char| !character.is_ascii_lowercase();
            for word in body.split(is_other).filter(|word| word.len() >= 6) {
                let (count, last) = counts.entry(word).or_insert((0, usize::MAX));
                *count += usize::from(*last != number);
                *last = number;
            }
        }
        let all = |is_wanted: &dyn Fn(&str, usize) -> bool| {
            let wanted = counts.iter().filter(|(word, (count, _))| is_wanted(word, *count));
            let mut words: Vec<String> = wanted.map(|(word, _)| (*word).to_owned()).collect();
            words.sort_unstable();
            words
        };
        SampledWords {
            common: all(&|_, count| (sampled * 3 / 100..sampled / 2).contains(&count)),
            rare: all(&|word, count| word.len() >= 10 && count == 1),
        }
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as usize % end
    }

    fn pick<'a>(&mut self, words: &'a [String]) -> &'a str {
        &words[self.below(words.len())]
    }
}
