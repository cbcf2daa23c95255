//! The parts of a measured request, and the making of different ones. Knows no kinds.

use std::collections::HashSet;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::random::Random;
use crate::sample::Sample;

/// One request, and the same question for PostgreSQL and for Meilisearch, if it is compared with them.
#[derive(Clone, Default)]
pub(crate) struct Query {
    pub(crate) path: String,
    pub(crate) sql: Vec<String>,
    pub(crate) meilisearch: Option<Value>,
}

impl Query {
    /// Adds the search of Meilisearch, by page, because it only estimates the total of searches by offset.
    pub(crate) fn search(mut self, page: usize, mut search: Value) -> Self {
        search["page"] = json!(page);
        search["hitsPerPage"] = json!(25);
        self.meilisearch = Some(search);
        self
    }
}

/// The order of Meilisearch that is the default order of Bindery.
pub(crate) const NEWEST: [&str; 1] = ["created_at:desc"];

/// A kind of requests, no two of which are the same.
pub(crate) struct Kind {
    /// A short name for file formats.
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    pub(crate) queries: Vec<Query>,
}

/// The material of which queries are made.
pub(crate) struct Material<'a> {
    pub(crate) sample: &'a Sample,
    pub(crate) ids: &'a [String],
    pub(crate) size: usize,
    /// The number of queries to make of a kind. There are fewer if there are not that many different ones.
    pub(crate) wanted: usize,
}

pub(crate) type Make<'a> = &'a dyn Fn(&mut Random) -> Option<Query>;

/// Makes different queries. There are `wanted` ones if that many are different.
pub(crate) fn distinct(make: Make<'_>, random: &mut Random, wanted: usize) -> Vec<Query> {
    let mut paths = HashSet::new();
    let attempts = (0..wanted * 20).filter_map(|_| make(random));
    attempts.filter(|query| paths.insert(query.path.clone())).take(wanted).collect()
}

/// Encodes a text as a part of a query string.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
