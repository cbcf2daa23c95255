//! The requests of pages of a site beyond lists: facets, stats, groups, relations, ranked search and neighbours. They
//! have no SQL, because they are not compared with PostgreSQL. Some are compared with Meilisearch. Knows no server.

use serde_json::json;

use crate::query::{Kind, Make, Material, NEWEST, Query, distinct, encode};
use crate::random::Random;

/// Returns all kinds, in the order in which they are measured.
pub(crate) fn kinds(material: &Material<'_>, random: &mut Random) -> Vec<Kind> {
    let sample = material.sample;
    let makes: [(&'static str, &'static str, Make<'_>); 8] = [
        ("facets", "Facets of three fields over a filter", &|random| {
            let (low, high) = price(random);
            let path = format!("?filter[price][between]={low},{high}&facets=category,status,tags");
            let (filter, facets) = (format!("price {low} TO {high}"), ["category", "status", "tags"]);
            Some(list(path).search(1, json!({"filter": filter, "facets": facets, "sort": NEWEST})))
        }),
        ("stats", "Stats of a number over a filter", &|random| {
            let (low, high) = price(random);
            Some(list(format!("?filter[price][between]={low},{high}&stats=reading_minutes")))
        }),
        ("group", "A group of three", &|random| {
            let (low, high) = price(random);
            let (category, status) = (random.pick(&sample.categories)?, random.pick(&sample.statuses)?);
            let (category, status) = (encode(category), encode(status));
            let or = |at, filter| format!("filter[$or][{at}]{filter}");
            let filters = [
                or(0, format!("[category]={category}")),
                or(1, format!("[price][between]={low},{high}")),
                or(2, format!("[status]={status}&filter[$or][2][featured]=true")),
            ];
            Some(list(format!("?{}", filters.join("&"))))
        }),
        ("relation", "A filter on authors", &|random| {
            let number = random.below(AUTHORS / 10);
            let page = 1 + random.below(4);
            Some(list(format!("?filter[author.name][contains]={number}&filter[author.city]=Porto&page={page}")))
        }),
        ("ranked", "Ranked search: two words", &|random| {
            let (one, other) = (random.pick(&sample.common)?, random.pick(&sample.common)?);
            Some(ranked(&format!("{one} {other} ")))
        }),
        ("typed", "Ranked search: a rare word and the beginning of another", &|random| {
            let (rare, common) = (random.pick(&sample.rare)?, random.pick(&sample.common)?);
            let beginning = inside_from_start(common, 3 + random.below(3))?;
            Some(ranked(&format!("{rare} {beginning}")))
        }),
        ("typo", "Ranked search: two words, one with a typo", &|random| {
            let (one, other) = (random.pick(&sample.common)?, random.pick(&sample.common)?);
            Some(ranked(&format!("{} {other} ", with_typo(one, random)?)))
        }),
        ("neighbours", "Neighbours by title", &|random| {
            let id = random.pick(material.ids)?;
            Some(Query { path: format!("/v2/resources/articles/{id}/neighbors?sort=title"), ..Query::default() })
        }),
    ];
    let kind = |(key, name, make)| Kind { key, name, queries: distinct(make, random, material.wanted) };
    makes.into_iter().map(kind).collect()
}

/// The number of authors.
pub(crate) const AUTHORS: usize = 1_000;

fn list(parameters: String) -> Query {
    Query { path: format!("/v2/resources/articles{parameters}"), ..Query::default() }
}

/// Makes a ranked search. A blank at the end says that the last word is complete, in Meilisearch, too.
fn ranked(q: &str) -> Query {
    list(format!("?q={}", encode(q))).search(1, json!({"q": q}))
}

fn price(random: &mut Random) -> (f64, f64) {
    let low = random.below(60_000) as f64 / 100.0;
    (low, low + 50.0 + random.below(200) as f64)
}

fn inside_from_start(word: &str, chars: usize) -> Option<String> {
    (word.chars().count() > chars).then(|| word.chars().take(chars).collect())
}

/// Returns the word with two neighbours swapped, neither of them the first.
fn with_typo(word: &str, random: &mut Random) -> Option<String> {
    let mut letters: Vec<char> = word.chars().collect();
    let at = 1 + random.below(letters.len().checked_sub(2)?.max(1));
    if letters.get(at)? == letters.get(at + 1)? {
        return None;
    }
    letters.swap(at, at + 1);
    Some(letters.into_iter().collect())
}
