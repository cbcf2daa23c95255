//! Articles made of the sentences of the demonstration. The same seed and size always give the same bytes. They are
//! used when no other source is named.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use crate::Result;
use crate::random::Random;

const DEMONSTRATION: &[u8] = include_bytes!("../../src/demo/articles.ndjson.zst");
const STATUSES: [&str; 10] = ["live", "live", "live", "live", "live", "live", "live", "draft", "archived", "review"];
const CATEGORIES: [&str; 8] = ["news", "tutorials", "reference", "security", "networking", "cloud", "kernel", "events"];
/// The first and the last day of creation, in seconds.
const FROM: f64 = 1_546_300_800.0;
const TO: f64 = 1_793_491_200.0;

/// Writes `size` articles.
pub(crate) fn write(path: &Path, size: usize, seed: u64) -> Result<()> {
    let languages = sentences()?;
    let mut random = Random::new(seed);
    let mut out = BufWriter::new(File::create(path)?);
    for number in 0..size {
        // Three of five articles are in the first language.
        let language = if random.below(5) < 3 { 0 } else { random.below(languages.len()) };
        let article = article(&mut random, &languages[language], number, size);
        writeln!(out, "{article}")?;
    }
    out.flush()?;
    Ok(())
}

/// Returns the sentences of each language, in the order of the demonstration's variants.
fn sentences() -> Result<Vec<Vec<String>>> {
    let text = String::from_utf8(zstd::decode_all(DEMONSTRATION)?)?;
    let mut languages: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        let article: Value = serde_json::from_str(line)?;
        for (language, attributes) in article["variants"].as_object().into_iter().flatten() {
            if !languages.iter().any(|(name, _)| name == language) {
                languages.push((language.clone(), Vec::new()));
            }
            let found = languages.iter_mut().find(|(name, _)| name == language);
            if let (Some((_, sentences)), Some(body)) = (found, attributes["body"].as_str()) {
                cut(body, sentences);
            }
        }
    }
    languages.retain(|(_, sentences)| sentences.len() > 50);
    if languages.is_empty() {
        return Err("the demonstration has no sentences".into());
    }
    Ok(languages.into_iter().map(|(_, sentences)| sentences).collect())
}

/// Collects the sentences between the tags of a body.
fn cut(body: &str, sentences: &mut Vec<String>) {
    let pieces = body.split(['<', '\n']).filter_map(|piece| piece.split('>').next_back());
    for sentence in pieces.flat_map(|piece| piece.split_inclusive(['.', '。'])) {
        let sentence = sentence.trim();
        if (12..260).contains(&sentence.chars().count()) && !sentence.contains('&') {
            sentences.push(sentence.to_owned());
        }
    }
}

fn article(random: &mut Random, sentences: &[String], number: usize, size: usize) -> Value {
    // A long tail: the median is about 1.5 KB, and few bodies have more than 5 KB.
    let target = (700.0 / (1.02 - random.unit()).powf(0.9)).min(30_000.0) as usize;
    let mut body = String::new();
    while body.len() < target {
        let paragraph: Vec<&str> = (0..2 + random.below(4)).map(|_| sentence(random, sentences)).collect();
        let _ = writeln!(body, "<p>{}</p>", paragraph.join(" "));
    }
    let title: String = sentence(random, sentences).chars().take(90).collect();
    let summary: String =
        [sentence(random, sentences), sentence(random, sentences)].join(" ").chars().take(240).collect();
    let created = FROM + (TO - FROM) * (number as f64 + random.unit()) / size as f64;
    let published = created + -random.unit().max(1e-9).ln() * 200_000.0;
    let is_published = random.below(100) < 85;
    let tags = 2 + random.below(4);
    let mut tags: Vec<String> = (0..tags).map(|_| format!("tag-{}", random.skewed(300))).collect();
    tags.sort();
    tags.dedup();
    let price = (20.0 / (1.01 - random.unit()) * 100.0).round() / 100.0;
    json!({
        "title": title,
        "slug": format!("article-{number}"),
        "summary": summary,
        "body": body,
        "status": random.pick(&STATUSES),
        "category": CATEGORIES[random.skewed(CATEGORIES.len())],
        "price": price,
        "reading_minutes": 1 + target / 1200,
        "featured": random.below(20) == 0,
        "tags": tags,
        "published_on": &time(published)[..10],
        "published_at": is_published.then(|| time(published)),
        "created_at": time(created),
    })
}

/// Returns a sentence. Some sentences are frequent, which makes frequent words and phrases, as in real text.
fn sentence<'a>(random: &mut Random, sentences: &'a [String]) -> &'a str {
    &sentences[random.skewed(sentences.len())]
}

fn time(seconds: f64) -> String {
    let time = chrono::DateTime::from_timestamp_millis((seconds * 1000.0) as i64).unwrap_or_default();
    time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
