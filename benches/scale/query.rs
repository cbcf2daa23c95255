//! What a request that is measured consists of, and making different ones. Knows no kinds.

use std::collections::HashSet;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::random::Random;
use crate::sample::Sample;

/// One request, and the statements that answer the same question, if there is anything to compare.
#[derive(Clone)]
pub(crate) struct Query {
    pub(crate) path: String,
    pub(crate) sql: Vec<String>,
}

/// Requests of one kind, no two of them the same.
pub(crate) struct Kind {
    /// A short name for file formats.
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    pub(crate) queries: Vec<Query>,
}

/// What queries are made of.
pub(crate) struct Material<'a> {
    pub(crate) sample: &'a Sample,
    pub(crate) ids: &'a [String],
    pub(crate) size: usize,
    /// How many queries of a kind to make. There are fewer if there are not so many.
    pub(crate) wanted: usize,
}

pub(crate) type Make<'a> = &'a dyn Fn(&mut Random) -> Option<Query>;

/// Different queries, as many as are wanted if there are so many.
pub(crate) fn distinct(make: Make<'_>, random: &mut Random, wanted: usize) -> Vec<Query> {
    let mut paths = HashSet::new();
    let attempts = (0..wanted * 20).filter_map(|_| make(random));
    attempts.filter(|query| paths.insert(query.path.clone())).take(wanted).collect()
}

/// A text as a part of a query string.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
