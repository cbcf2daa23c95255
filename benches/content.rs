//! Measures lists: imports a corpus of articles through the write path, then calls `Content` without HTTP. Run it with
//! `cargo bench --bench content -- 100000` on an otherwise idle machine. The number is the number of articles (20,000
//! by default).
//!
//! Corpus: sentences of 6 to 14 words from a vocabulary of 4,000 made-up words with a skewed distribution, bodies of
//! 1.5 KB in rich text, 90 % published, ten statuses, prices, dates over six years. A seed always makes the same
//! corpus.
//!
//! Reports the rate of the import and, for each list, the time of the first call (nothing is cached) and the median of
//! 200 more.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_access::Access;
use bindery_content::{Content, ContentOptions};

const REPEATS: usize = 200;

const LISTS: [(&str, &str); 13] = [
    ("newest first", ""),
    ("page at half", "page=HALF"),
    ("filter and range, by price", "filter[status]=status-3&filter[price][between]=100,300&sort=price"),
    ("by title", "sort=title"),
    ("by title, page at half", "sort=title&page=HALF"),
    ("three keys", "sort=status,-reviewed_on,title"),
    ("rare substring", "search=RARE"),
    ("common substring", "search=COMMON"),
    ("not containing", "filter[title][not_contains]=COMMON"),
    ("facets over a filter", "filter[price][between]=100,300&facets=status,reviewed_on:month,created_at:day&fields=id"),
    ("facets over everything", "facets=status,published_at:month,reviewed_on:year&fields=id"),
    ("statistics", "filter[status][ne]=status-3&stats=price&fields=id"),
    ("published before a day", "filter[published_at][lt]=2024-06-01&sort=-published_at"),
];

fn main() {
    let articles = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(20_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let content = Content::open(&ContentOptions {
        folder: folder.path().join("data"),
        admin_token: None,
        video_hosts: Vec::new(),
        public_url: None,
        store_cache_bytes: 256 << 20,
        index: Default::default(),
        query_timeout: std::time::Duration::from_secs(10),
        write_timeout: std::time::Duration::from_secs(30),
        changes_kept: 1_000_000,
        max_answer_bytes: usize::MAX,
        cluster: None,
    })
    .unwrap();
    let access = Arc::new(Access::everything("bench"));
    let mut corpus = Corpus::new(7);
    let lines: Vec<String> = (0..articles).map(|number| corpus.article(number)).collect();
    let bytes: usize = lines.iter().map(String::len).sum();

    let started = Instant::now();
    runtime.block_on(import(&content, &access, &lines));
    let seconds = started.elapsed().as_secs_f64();
    println!("{articles} articles, {} MB of NDJSON", bytes >> 20);
    println!(
        "import: {seconds:.1} s, {:.0} articles per second, {:.1} MB per second",
        articles as f64 / seconds,
        bytes as f64 / 1e6 / seconds
    );
    println!("{:32} {:>9} {:>12} {:>12}", "list of 25", "total", "first", "median");
    for (name, query) in LISTS {
        let query = query.replace("HALF", &(articles / 50).max(1).to_string());
        let query = query.replace("RARE", &corpus.words[3_990]).replace("COMMON", &corpus.words[2][..3]);
        time(&content, &access, name, &query);
    }
    content.close();
}

async fn import(content: &Content, access: &Access, lines: &[String]) {
    let blueprint = r#"{"name": "Articles", "fields": [
        {"name": "Title", "type": "text"}, {"name": "Body", "type": "rich-text"},
        {"name": "Status", "type": "enum"}, {"name": "Price", "type": "number"},
        {"name": "Reviewed on", "type": "date"}]}"#;
    content.create_blueprint(access, blueprint.as_bytes(), None).await.unwrap();
    let mut import = content.import(access, "articles", "").unwrap();
    let mut answers = Vec::new();
    for line in lines {
        answers.extend(import.push(line.as_bytes()).await.unwrap());
    }
    answers.extend(import.finish().await.unwrap());
    assert_eq!(answers.len(), lines.len());
    assert!(answers.iter().all(|answer| answer.result.is_ok()));
}

fn time(content: &Content, access: &Arc<Access>, name: &str, query: &str) {
    let list = || {
        let started = Instant::now();
        let answer = content.view(access, "articles").unwrap().list(query).unwrap();
        (started.elapsed(), answer)
    };
    let (first, answer) = list();
    let mut times: Vec<Duration> = (0..REPEATS).map(|_| list().0).collect();
    times.sort_unstable();
    let total = answer.total;
    println!("{name:32} {total:>9} {:>9.2} ms {:>9.3} ms", millis(first), millis(times[REPEATS / 2]));
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The generator of the corpus. It has its own random numbers, so that no update of a dependency changes the corpus.
struct Corpus {
    state: u64,
    words: Vec<String>,
}

impl Corpus {
    fn new(seed: u64) -> Self {
        let mut corpus = Corpus { state: seed, words: Vec::new() };
        for _ in 0..4_000 {
            let length = 3 + corpus.below(8);
            let letters = (0..length).map(|_| b"etaoinshrdlucmfwypvbgkjqxz"[corpus.skewed(26)] as char);
            let word = letters.collect();
            corpus.words.push(word);
        }
        corpus
    }

    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Returns a number below `bound`. Small numbers are more likely.
    fn skewed(&mut self, bound: usize) -> usize {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        ((unit * unit) * bound as f64) as usize
    }

    fn sentence(&mut self) -> String {
        let length = 6 + self.below(9);
        let indexes: Vec<usize> = (0..length).map(|_| self.skewed(4_000)).collect();
        let words: Vec<&str> = indexes.into_iter().map(|index| self.words[index].as_str()).collect();
        words.join(" ")
    }

    fn article(&mut self, number: usize) -> String {
        let mut body = String::new();
        while body.len() < 1_500 {
            let sentence = self.sentence();
            let _ = write!(body, "<p>{sentence}.</p>");
        }
        let published = (self.below(10) > 0)
            .then(|| format!("{}-{:02}-{:02}T08:00:00Z", 2020 + self.below(6), 1 + self.below(12), 1 + self.below(28)));
        let line = serde_json::json!({
            "key": format!("article/{number}"),
            "published_at": published,
            "attributes": {
                "title": self.sentence(),
                "body": body,
                "status": format!("status-{}", self.below(10)),
                "price": self.below(100_000) as f64 / 100.0,
                "reviewed_on": format!("{}-{:02}-{:02}", 2020 + self.below(6), 1 + self.below(12), 1 + self.below(28)),
            },
        });
        line.to_string()
    }
}
