//! Compares indexes that hold the same resources after different histories: order and scores must be equal to the bit.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::index::Index;
use crate::indexes::Indexes;
use crate::interrupt::Interrupt;
use crate::language::Language;
use crate::options::Options;
use crate::query::{Filter, Query, SortBy, SortKey};
use crate::schema::{Column, Copy, IndexOp, Kind, Schema, Stamps, Value, Variant, VariantNumber};
use crate::search::Snapshot;
use crate::text_query::{Expansion, TextField, TextQuery, Words};

const NAME: u32 = 1;
const COLUMNS: [(u32, f32); 3] = [(1, 4.0), (2, 2.0), (3, 1.0)];
const VARIANTS: [VariantNumber; 2] = [1, 2];

/// The texts of a resource: a copy for each variant, with a text or null for each column.
type Texts = [Option<[Option<String>; 3]>; 2];
/// The resources of an index.
type Resources = BTreeMap<u8, Texts>;

#[derive(Debug, Clone)]
enum Step {
    Put(u8, Texts),
    Delete(u8),
    /// Applies the operations since the last one.
    Apply,
    Checkpoint,
    /// Writes a checkpoint, then opens the folder again.
    Reopen,
}

/// A match, and the bits of its score.
type Scored = (u128, u32);

/// An index in a folder, with the operations that are not applied yet.
struct History {
    folder: TempDir,
    options: Options,
    indexes: Option<Indexes>,
    waiting: Vec<IndexOp>,
    resources: Resources,
    checkpoints: u64,
}

impl History {
    fn new(options: Options) -> History {
        let folder = tempfile::tempdir().unwrap();
        let indexes = Indexes::open(folder.path(), options.clone()).unwrap();
        indexes.create(NAME, schema());
        let (waiting, resources) = (Vec::new(), Resources::new());
        History { folder, options, indexes: Some(indexes), waiting, resources, checkpoints: 0 }
    }

    fn index(&self) -> Index {
        self.indexes.as_ref().unwrap().get(NAME).unwrap()
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Put(id, texts) => {
                self.waiting.push(put(id, &texts));
                self.resources.insert(id, texts);
            }
            Step::Delete(id) => {
                self.waiting.push(IndexOp::Delete { id: id.into() });
                self.resources.remove(&id);
            }
            Step::Apply => self.index().apply(std::mem::take(&mut self.waiting)),
            Step::Checkpoint => {
                self.take(Step::Apply);
                self.checkpoints += 1;
                self.indexes.as_ref().unwrap().freeze(self.checkpoints).write().unwrap();
            }
            Step::Reopen => {
                self.take(Step::Checkpoint);
                self.indexes = None;
                self.indexes = Some(Indexes::open(self.folder.path(), self.options.clone()).unwrap());
            }
        }
    }

    /// Makes its resources equal to these.
    fn become_equal_to(&mut self, resources: &Resources) {
        let before = self.resources.clone();
        before.keys().filter(|id| !resources.contains_key(id)).for_each(|id| self.take(Step::Delete(*id)));
        for (id, texts) in resources.iter().filter(|(id, texts)| before.get(id) != Some(texts)) {
            self.take(Step::Put(*id, texts.clone()));
        }
        self.take(Step::Apply);
    }
}

fn schema() -> Schema {
    let columns = COLUMNS.map(|(id, _)| Column { id, kind: Kind::Prose }).to_vec();
    Schema { columns, variants: VARIANTS.map(|number| Variant { number, locale: None }).to_vec() }
}

fn put(id: u8, texts: &Texts) -> IndexOp {
    let copy = |texts: &[Option<String>; 3]| {
        let values = COLUMNS.iter().zip(texts).filter_map(|((column, _), text)| Some((*column, text.as_deref()?)));
        Copy { number: 1, values: values.map(|(column, text)| (column, Value::Text(text.into()))).collect() }
    };
    let stamps = Stamps { version: 1, created: (id % 3).into(), updated: 1, published: None };
    let copies = VARIANTS.into_iter().zip(texts).map(|(variant, texts)| (variant, texts.as_ref().map(copy)));
    IndexOp::Put { id: id.into(), stamps, copies: copies.collect() }
}

fn texts() -> impl Strategy<Value = Texts> {
    let words = [
        "kernel",
        "kernels",
        "kernal",
        "server",
        "servers",
        "disk",
        "allocator",
        "memory",
        "記憶",
        "getDisk",
        "disk.server",
        "kernelserver",
        "serversdisk",
    ];
    let text = vec(prop::sample::select(words.to_vec()), 0..60).prop_map(|words| words.join(" "));
    let copy = prop::array::uniform3(prop::option::of(text));
    prop::array::uniform2(prop::option::weighted(0.8, copy))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => (0..24u8, texts()).prop_map(|(id, texts)| Step::Put(id, texts)),
        6 => (0..24u8).prop_map(Step::Delete),
        6 => Just(Step::Apply),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Reopen),
    ];
    vec(step, 1..80)
}

fn query() -> impl Strategy<Value = Query> {
    let words = [
        "kernel",
        "kernle",
        "servers",
        "serv",
        "d",
        "disk",
        "alocator",
        "memory",
        "記憶",
        "\"memory disk\"",
        "getDisk",
        "server.disk",
        "missing",
    ];
    let words = vec(prop::sample::select(words.to_vec()), 1..4).prop_map(|words| words.join(" "));
    let end = prop::sample::select(vec!["", " "]);
    let expansion =
        Expansion { language: Language::of_tag("de"), lets_go: true, stop_words: Vec::new(), synonyms: None };
    let expansion = prop::option::weighted(0.7, Just(expansion));
    (words, end, any::<bool>(), prop::sample::select(VARIANTS.to_vec()), expansion).prop_map(
        |(words, end, falls_back, variant, expansion)| {
            let fallback = falls_back.then_some(VARIANTS[0]);
            let fields = COLUMNS.map(|(column, weight)| TextField { column, weight, fallback }).to_vec();
            let words = format!("{words}{end}");
            let words = match expansion {
                None => Words::parse(&words, true),
                Some(expansion) => Words::parse_expanded(&words, true, &expansion),
            };
            Query {
                variant,
                filter: Filter::Words(TextQuery::new(words, fields).into()),
                sort: vec![SortKey { by: SortBy::Relevance, descending: true }],
            }
        },
    )
}

/// Returns all matches in order, each with its score.
fn ranked(snapshot: &Snapshot, query: &Query) -> Vec<Scored> {
    let interrupt = Interrupt::never();
    let evaluator = snapshot.evaluator(query.variant, &interrupt);
    let search = evaluator.text_search(query.ranks_by().unwrap()).unwrap();
    let scored = search.scored(Arc::unwrap_or_clone(search.matches().unwrap()), None).unwrap();
    let bits: BTreeMap<u128, u32> = scored
        .slots
        .iter()
        .zip(scored.scores)
        .map(|(slot, score)| (snapshot.version.hit(slot).id, score.to_bits()))
        .collect();
    let hits = snapshot.search(query, 0, usize::MAX).unwrap().hits;
    hits.into_iter().map(|hit| (hit.id, bits[&hit.id])).collect()
}

fn ranked_all(snapshot: &Snapshot, queries: &[Query]) -> Vec<Vec<Scored>> {
    queries.iter().map(|query| ranked(snapshot, query)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn the_history_of_an_index_does_not_affect_scores(
        one in steps(),
        other in steps(),
        read_at in 0..80usize,
        queries in vec(query(), 1..6),
    ) {
        let mut long = History::new(Options::tiny());
        let mut read = None;
        for (number, step) in one.into_iter().enumerate() {
            long.take(step);
            if number == read_at {
                let snapshot = long.index().snapshot();
                read = Some((ranked_all(&snapshot, &queries), snapshot));
            }
        }
        long.take(Step::Apply);
        let mut other_way = History::new(Options { memory_run_entries: 3, merge_fan_in: 3, ..Options::default() });
        for (number, step) in other.into_iter().enumerate() {
            other_way.take(step);
            if number % 16 == 0 {
                ranked_all(&other_way.index().snapshot(), &queries);
            }
        }
        other_way.become_equal_to(&long.resources);
        let rebuilt = Index::in_memory(schema(), Options::default());
        rebuilt.apply(long.resources.iter().map(|(id, texts)| put(*id, texts)).collect());

        let expected = ranked_all(&rebuilt.snapshot(), &queries);
        prop_assert_eq!(&ranked_all(&long.index().snapshot(), &queries), &expected);
        prop_assert_eq!(&ranked_all(&other_way.index().snapshot(), &queries), &expected);
        for history in [&mut long, &mut other_way] {
            history.take(Step::Reopen);
            prop_assert_eq!(&ranked_all(&history.index().snapshot(), &queries), &expected);
        }
        if let Some((before, snapshot)) = read {
            prop_assert_eq!(&ranked_all(&snapshot, &queries), &before);
        }
    }
}

/// A run in memory stores counts of words in fewer bits than a run on disk.
#[test]
fn a_very_frequent_word_has_the_same_score_in_memory_and_on_disk() {
    let many = |count: usize| Some([Some("kernel ".repeat(count)), None, None]);
    let resources = Resources::from([(1, [many(70_000), None]), (2, [many(65_535), None]), (3, [many(1), None])]);
    let mut history = History::new(Options::default());
    history.become_equal_to(&resources);
    let fields = vec![TextField { column: 1, weight: 1.0, fallback: None }];
    let query = Query {
        variant: 1,
        filter: Filter::Words(TextQuery::new(Words::parse("kernel ", true), fields).into()),
        sort: vec![SortKey { by: SortBy::Relevance, descending: true }],
    };
    let in_memory = ranked(&history.index().snapshot(), &query);
    history.take(Step::Reopen);
    assert_eq!(ranked(&history.index().snapshot(), &query), in_memory);
}
