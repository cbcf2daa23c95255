//! The kinds of measured requests. Each kind makes as many different requests as are wanted. Each request has the SQL
//! that answers the same question, and some have the search of Meilisearch. Knows no server.

use serde_json::json;

use crate::query::{Kind, Make, Material, NEWEST, Query, distinct, encode};
use crate::random::Random;
use crate::sample::Sample;
use crate::site_queries;

/// Returns all kinds, in the order in which they are measured.
pub(crate) fn kinds(material: &Material<'_>, seed: u64) -> Vec<Kind> {
    let sample = material.sample;
    let pages = material.size.div_ceil(25).max(2);
    let makes: [(&'static str, &'static str, Make<'_>); 15] = [
        ("list", "Default list, first half", &|random| Some(newest(1 + random.below(pages / 2)))),
        ("deep", "Default list, second half", &|random| Some(newest(pages / 2 + 1 + random.below(pages / 2)))),
        ("published", "Published, newest first", &|random| {
            let number = 1 + random.below(pages * 4 / 5);
            let filter = format!("published_at <= {}", chrono::Utc::now().timestamp_millis());
            let query = page("filter[published]=true&", PUBLISHED, DEFAULT, number);
            Some(query.search(number, json!({"filter": filter, "sort": NEWEST})))
        }),
        ("range", "Status and price range, by price", &|random| {
            let status = random.pick(&sample.statuses)?;
            let low = random.below(60_000) as f64 / 100.0;
            let high = low + 50.0 + random.below(200) as f64;
            let path = format!("?filter[status]={}&filter[price][between]={low},{high}&sort=price", encode(status));
            let condition = format!("status = {} and price between {low} and {high}", quote(status));
            let filter = format!("status = {} AND price {low} TO {high}", json!(status));
            let query = query(path, &condition, "price, id", 0);
            Some(query.search(1, json!({"filter": filter, "sort": ["price:asc"]})))
        }),
        ("title", "By title", &|random| {
            Some(page("filter[published]=true&sort=title&", PUBLISHED, BY_TITLE, 1 + random.below(pages * 4 / 5)))
        }),
        ("summary", "By summary", &|random| {
            Some(page("filter[published]=true&sort=summary&", PUBLISHED, BY_SUMMARY, 1 + random.below(pages * 4 / 5)))
        }),
        ("contains", "Title contains, two categories", &|random| {
            let word = inside(random.pick(&sample.common)?, random, 4)?;
            let (first, second) = (random.pick(&sample.categories)?, random.pick(&sample.categories)?);
            let categories = format!("filter[category][in]={},{}", encode(first), encode(second));
            let path = format!("?filter[title][contains]={}&{categories}&sort=-published_at", encode(&word));
            let categories = format!("category in ({}, {})", quote(first), quote(second));
            let condition = format!("title ilike {} and {categories}", like(&word));
            Some(query(path, &condition, "published_at desc nulls last, id desc", 0))
        }),
        ("rare", "Search: rare fragment", &|random| {
            let word = random.pick(&sample.rare)?;
            Some(search(&word[1..word.len() - 1]))
        }),
        ("fourteen", "Search: 14 characters of a body", &|random| Some(search(&fourteen(sample, random)?))),
        ("common", "Search: common fragment", &|random| {
            let word = random.pick(&sample.common)?;
            Some(search(&inside(word, random, 5)?))
        }),
        ("two", "Search: two letters", &|random| random.pick(&sample.two_letters).map(|two| search(two))),
        ("one", "Search: one letter", &|random| random.pick(&sample.letters).map(|one| search(one))),
        ("words", "Search: two frequent words", &|random| random.pick(&sample.pairs).map(|pair| search(pair))),
        ("ideographs", "Search: Japanese and Chinese", &|random| {
            let run: Vec<char> = random.pick(&sample.ideographs)?.chars().collect();
            let length = 2 + random.below(3);
            let at = random.below(run.len() + 1 - length);
            Some(search(&run[at..at + length].iter().collect::<String>()))
        }),
        ("not_contains", "Title does not contain", &|random| {
            let word = inside(random.pick(&sample.common)?, random, 4)?;
            let path = format!("?filter[title][not_contains]={}", encode(&word));
            Some(query(path, &format!("title not ilike {}", like(&word)), DEFAULT, 0))
        }),
    ];
    let mut random = Random::new(seed);
    let mut kinds: Vec<Kind> = Vec::new();
    for (key, name, make) in makes {
        kinds.push(Kind { key, name, queries: distinct(make, &mut random, material.wanted) });
    }
    let by_id = |random: &mut Random| {
        let path = format!("/v2/resources/articles/{}", random.pick(material.ids)?);
        let number = 1 + random.below(material.size);
        let sql = vec![format!("select {ROW} from articles where id = {number}")];
        Some(Query { path, sql, ..Query::default() })
    };
    kinds.push(Kind { key: "id", name: "By id", queries: distinct(&by_id, &mut random, material.wanted) });
    kinds.extend(site_queries::kinds(material, &mut random));
    kinds
}

const ROW: &str = "id, attributes, created_at, published_at";
const DEFAULT: &str = "created_at desc, id desc";
const PUBLISHED: &str = "published_at <= now()";
const BY_TITLE: &str = "title collate \"und-x-icu\", id";
const BY_SUMMARY: &str = "attributes->>'summary' collate \"und-x-icu\", id";

/// Makes a page of the default list.
fn newest(number: usize) -> Query {
    page("", "true", DEFAULT, number).search(number, json!({"sort": NEWEST}))
}

/// Makes a list of which only the page varies.
fn page(parameters: &str, condition: &str, order: &str, number: usize) -> Query {
    query(format!("?{parameters}page={number}"), condition, order, (number - 1) * 25)
}

/// Makes a query for the total and the page. On later pages, only the ids of the skipped rows are read: that is faster.
fn query(parameters: String, condition: &str, order: &str, offset: usize) -> Query {
    let total = format!("select count(*) from articles where {condition}");
    let page = if offset == 0 {
        format!("select {ROW} from articles where {condition} order by {order} limit 25")
    } else {
        format!(
            "with page as materialized (select id from articles where {condition} order by {order} limit 25 \
             offset {offset}) select {ROW} from articles join page using (id) order by {order}"
        )
    };
    Query { path: format!("/v2/resources/articles{parameters}"), sql: vec![total, page], ..Query::default() }
}

fn search(needle: &str) -> Query {
    let fields = ["title", "attributes->>'summary'", "attributes->>'body'"];
    let conditions: Vec<String> = fields.iter().map(|field| format!("{field} ilike {}", like(needle))).collect();
    query(format!("?search={}", encode(needle)), &format!("({})", conditions.join(" or ")), DEFAULT, 0)
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn like(needle: &str) -> String {
    let escaped = needle.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    quote(&format!("%{escaped}%"))
}

/// Returns a part of a word of at least `least` letters that is not its beginning.
pub(crate) fn inside(word: &str, random: &mut Random, least: usize) -> Option<String> {
    let from = 1 + random.below(word.len().checked_sub(least)?.max(1));
    let to = from + least + random.below(word.len().saturating_sub(from + least) + 1);
    word.get(from..to).or_else(|| word.get(1..)).map(str::to_owned)
}

fn fourteen(sample: &Sample, random: &mut Random) -> Option<String> {
    let text: Vec<char> = random.pick(&sample.texts)?.chars().collect();
    let at = random.below(text.len().checked_sub(14)?);
    let needle: String = text[at..at + 14].iter().collect();
    (needle.trim() == needle).then_some(needle)
}
