#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::WorkingVersions;
use crate::collate::Collation;
use crate::index::ReplacedRun;
use crate::run::{DiskRun, NumberedRun, Run};
use crate::version::CopySet;
use crate::*;

const TITLE: ColumnId = 8;
const RANK: ColumnId = 16;

fn schema() -> Schema {
    let column = |id, kind| Column { id, kind };
    let variant = |number| Variant { number, locale: None };
    Schema {
        columns: vec![column(TITLE, Kind::Prose), column(RANK, Kind::Number), column(WORKING_UPDATED, Kind::Instant)],
        variants: [1, 2].into_iter().flat_map(|live| [variant(live), variant(working_variant(live))]).collect(),
    }
}

fn stamps(updated: i64) -> Stamps {
    Stamps { version: 1, created: 1, updated, published: None }
}

/// A copy: its words and its number.
type Values = (String, f64);

fn copy((title, rank): &Values, updated: Option<i64>) -> Copy {
    let mut values = vec![(TITLE, Value::Text(title.as_str().into())), (RANK, Value::Number(*rank))];
    values.extend(updated.map(|at| (WORKING_UPDATED, Value::Instant { micros: at * 1_000, text: "".into() })));
    Copy { number: *rank as u64, values }
}

/// A resource of the model: the date of its last change, and for both variants the live and the working copy with its
/// date.
#[derive(Clone, Default)]
struct Resource {
    updated: i64,
    live: [Option<Values>; 2],
    working: [Option<(Values, i64)>; 2],
}

/// Small numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Returns an index in which the working copies of the model are the live ones.
fn replaced(model: &BTreeMap<u128, Resource>, of_dates: usize) -> Index {
    let index = Index::in_memory(schema(), Options::default());
    let put = |(id, resource): (&u128, &Resource)| {
        let shown = |at: usize| resource.working[at].as_ref().map(|(values, _)| values).or(resource.live[at].as_ref());
        let copies = (0..2).map(|at| (at as u16 + 1, shown(at).map(|values| copy(values, None)))).collect();
        let updated = resource.working[of_dates].as_ref().map_or(resource.updated, |(_, at)| *at);
        IndexOp::Put { id: *id, stamps: stamps(updated), copies }
    };
    index.apply(model.iter().map(put).collect());
    index
}

fn queries(variant: u16) -> Vec<Query> {
    let sorts = [SortBy::Id, SortBy::Column(TITLE), SortBy::Column(RANK), SortBy::Date(DateColumn::Updated)];
    let range = |from| Range { from: Some(Bound::Included(from)), to: None };
    let words =
        TextQuery::new(Words::parse("apple", false), vec![TextField { column: TITLE, weight: 1.0, fallback: None }]);
    let filters = [
        Filter::All,
        Filter::Column(TITLE, Predicate::Substring(Anchor::Anywhere, "ap".into())),
        Filter::Column(TITLE, Predicate::Null),
        Filter::Not(Box::new(Filter::Column(RANK, Predicate::Number(range(3.0))))),
        Filter::Date(DateColumn::Updated, Range { from: Some(Bound::Excluded(20)), to: None }),
        Filter::Words(words.into()),
    ];
    let mut queries = Vec::new();
    for filter in &filters {
        for by in sorts {
            for descending in [false, true] {
                queries.push(Query { variant, filter: filter.clone(), sort: vec![SortKey { by, descending }] });
            }
        }
    }
    let sort = vec![SortKey { by: SortBy::Relevance, descending: true }];
    queries.push(Query { variant, filter: filters[5].clone(), sort });
    queries
}

/// Writes all runs in memory to disk. The disk run has the number of the run that it replaces, and other document
/// numbers.
fn write_to_disk(index: &Index, folder: &Path) {
    for frozen in index.freeze().runs {
        let (documents, schema) = (frozen.live_documents(), index.schema());
        let (variant, number, path) = (frozen.variant, frozen.number, folder.join(frozen.number.to_string()));
        let run = DiskRun::build(&path, &documents, None, &schema, &Collation::of(None), index.damage()).unwrap();
        let on_disk = NumberedRun::new(number, Run::Disk(Arc::new(run)));
        assert!(index.replace(variant, &[ReplacedRun { number, live_docs: frozen.live_docs }], Some(on_disk)));
    }
}

/// Compares the tables of a snapshot with working copies with those of one that is made without an earlier one.
fn assert_tables_are_those_of_a_new_version(snapshot: &Snapshot, variant: VariantNumber) {
    let made = snapshot.working(variant).version;
    let new = WorkingVersions::default().of(&snapshot.version, variant, &Mutex::default());
    assert_eq!(made.rows.entries().collect::<Vec<_>>(), new.rows.entries().collect::<Vec<_>>());
    for (made, new) in made.copy_sets.iter().zip(&new.copy_sets) {
        let locations = |copies: &CopySet| copies.locations.entries().filter(|at| at.is_copy()).collect::<Vec<_>>();
        assert_eq!(locations(made), locations(new));
        let current = |copies: &CopySet| {
            let of = |run: &NumberedRun| (run.number, run.live.to_bitmap().iter().collect::<Vec<_>>());
            copies.runs.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(current(made), current(new));
    }
}

#[test]
fn a_working_snapshot_is_like_an_index_with_the_working_copies_and_the_live_one_does_not_know_them() {
    for seed in 1..4 {
        let mut random = Random(seed);
        let folder = tempfile::tempdir().unwrap();
        let index = Index::in_memory(schema(), Options { memory_run_entries: 7, ..Options::default() });
        let (mut model, mut live_only) = (BTreeMap::<u128, Resource>::new(), BTreeMap::<u128, Resource>::new());
        for step in 0..400 {
            let id = u128::from(random.below(30)) + 1;
            let at = random.below(2) as usize;
            let words = ["apple", "banana apple", "cherry", "grape"][random.below(4) as usize];
            let values = (words.to_owned(), random.below(6) as f64);
            let resource = model.entry(id).or_default();
            let op = match random.below(10) {
                0 => {
                    model.remove(&id);
                    IndexOp::Delete { id }
                }
                kind => {
                    let copies = if kind < 5 {
                        resource.updated = step;
                        resource.live[at] = Some(values.clone());
                        vec![(at as u16 + 1, Some(copy(&values, None)))]
                    } else if kind < 8 {
                        resource.working[at] = Some((values.clone(), step));
                        vec![(working_variant(at as u16 + 1), Some(copy(&values, Some(step))))]
                    } else {
                        resource.working[at] = None;
                        vec![(working_variant(at as u16 + 1), None)]
                    };
                    IndexOp::Put { id, stamps: stamps(resource.updated), copies }
                }
            };
            index.apply(vec![op]);
            if random.below(12) == 0 {
                write_to_disk(&index, folder.path());
            }
            if random.below(3) == 0 {
                // Most are made of the one that was made before.
                let variant = if random.below(4) == 0 { 2 } else { 1 };
                assert_tables_are_those_of_a_new_version(&index.snapshot(), variant);
            }
            if step % 40 != 39 {
                continue;
            }
            live_only.clone_from(&model);
            live_only.values_mut().for_each(|resource| resource.working = Default::default());
            let snapshot = index.snapshot();
            let working: usize = model.values().flat_map(|resource| &resource.working).flatten().count();
            assert_eq!(snapshot.working_copies(), working as u64);
            for variant in [1, 2] {
                let cases = [
                    (snapshot.clone(), replaced(&live_only, 0).snapshot()),
                    (snapshot.working(variant), replaced(&model, usize::from(variant) - 1).snapshot()),
                ];
                for (got, expected) in cases {
                    for query in queries(variant) {
                        let page = |snapshot: &Snapshot| {
                            let hits = snapshot.search(&query, 0, 100).unwrap();
                            (hits.total, hits.hits.iter().map(|hit| (hit.id, hit.stamps)).collect::<Vec<_>>())
                        };
                        assert_eq!(page(&got), page(&expected), "seed {seed} step {step} {query:?}");
                    }
                }
            }
        }
    }
}
