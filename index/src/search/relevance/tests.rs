#![allow(clippy::unwrap_used)]

use proptest::collection::vec;
use proptest::prelude::*;

use crate::index::Index;
use crate::language::Language;
use crate::options::{Options, Thresholds};
use crate::query::{Filter, Query, SortBy, SortKey};
use crate::schema::{Column, Copy, IndexOp, Kind, Schema, Stamps, Value, Variant};
use crate::text_query::{Expansion, TextField, TextQuery, Words};

const TITLE: u32 = 1;
const SUMMARY: u32 = 2;
const BODY: u32 = 3;

/// Texts of few words, so that many articles have the same word, some of them often.
fn text() -> impl Strategy<Value = String> {
    vec(
        prop::sample::select(vec![
            "kernel",
            "kernels",
            "kernal",
            "server",
            "disk",
            "other",
            "getKernel",
            "disk.server",
        ]),
        0..12,
    )
    .prop_map(|words| words.join(" "))
}

fn put(id: usize, texts: [&str; 3]) -> IndexOp {
    let values = [TITLE, SUMMARY, BODY].into_iter().zip(texts).map(|(column, text)| (column, Value::Text(text.into())));
    let stamps = Stamps { version: 1, created: (id % 3) as i64, updated: 1, published: None };
    IndexOp::Put { id: id as u128, stamps, copies: vec![(1, Some(Copy { number: 1, values: values.collect() }))] }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// The first page must be the beginning of the order of all matches, regardless of whether only leaders or all
    /// matches were scored.
    #[test]
    fn a_page_is_the_beginning_of_the_order_of_all(
        articles in vec((text(), text(), text()), 4..20),
        words in prop::sample::select(vec!["kernel ", "kernel", "kernel server ", "kernle disk", "kernel -other server", "getKernel missing "]),
        is_expanded in any::<bool>(),
        weights in prop::sample::select(vec![[4.0, 2.0, 1.0], [1.5, 1.0, 1.5], [3.0, 3.0, 1.0], [1.0, 1.1, 1.2]]),
    ) {
        let columns = [TITLE, SUMMARY, BODY].map(|id| Column { id, kind: Kind::Prose }).to_vec();
        let schema = Schema { columns, variants: vec![Variant { number: 1, locale: None }] };
        let index = Index::in_memory(schema, Options { thresholds: Thresholds::tiny(), ..Options::default() });
        index.apply(articles.iter().enumerate().map(|(id, (title, summary, body))| put(id, [title, summary, body])).collect());
        let fields = [TITLE, SUMMARY, BODY].into_iter().zip(weights);
        let fields = fields.map(|(column, weight)| TextField { column, weight, fallback: None }).collect();
        let expansion = Expansion { language: Language::of_tag("en"), lets_go: true, stop_words: Vec::new(), synonyms: None };
        let words = match is_expanded {
            true => Words::parse_expanded(words, true, &expansion),
            false => Words::parse(words, true),
        };
        let query = Query {
            variant: 1,
            filter: Filter::Words(TextQuery::new(words, fields).into()),
            sort: vec![SortKey { by: SortBy::Relevance, descending: true }],
        };
        let page = |limit| index.snapshot().search(&query, 0, limit).unwrap().hits.into_iter().map(|hit| hit.id).collect::<Vec<_>>();
        let all = page(usize::MAX);
        for limit in 1..all.len() {
            prop_assert_eq!(&page(limit), &all[..limit]);
        }
    }
}
