#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::Duration;

use super::*;
use crate::query::{Filter, Predicate, Query};
use crate::schema::{Column, Copy, Kind, Stamps, Value, Variant};

const STAMPS: Stamps = Stamps { version: 1, created: 1, updated: 2, published: None };

fn schema() -> Schema {
    Schema { columns: vec![Column { id: 1, kind: Kind::Text }], variants: vec![Variant { number: 1, locale: None }] }
}

fn put(id: u128, text: &str) -> IndexOp {
    let values = vec![(1, Value::Text(text.into()))];
    IndexOp::Put { id, stamps: STAMPS, copies: vec![(1, Some(Copy { number: 7, values }))] }
}

fn delete(id: u128) -> IndexOp {
    IndexOp::Delete { id }
}

fn ids(snapshot: &Snapshot, text: &str) -> Vec<u128> {
    let filter = Filter::Column(1, Predicate::Equals(text.into()));
    let query = Query { variant: 1, filter, sort: Vec::new() };
    snapshot.search(&query, 0, 100).unwrap().hits.into_iter().map(|hit| hit.id).collect()
}

#[test]
fn a_snapshot_does_not_change() {
    let index = Index::in_memory(schema(), Options::default());
    index.apply(vec![put(1, "a"), put(2, "b")]);
    let before = index.snapshot();
    index.apply(vec![put(1, "b"), delete(2), put(3, "a")]);
    let after = index.snapshot();
    assert_eq!((ids(&before, "a"), ids(&before, "b")), (vec![1], vec![2]));
    assert_eq!((ids(&after, "a"), ids(&after, "b")), (vec![3], vec![1]));
    assert_eq!((ids(&before, "a"), ids(&before, "b")), (vec![1], vec![2]));
    assert!(before.get(2).is_some() && before.get(3).is_none());
    assert!(after.get(2).is_none() && after.get(3).is_some());
}

#[test]
fn a_slot_is_not_reused_while_a_snapshot_shows_its_resource() {
    let index = Index::in_memory(schema(), Options::default());
    index.apply(vec![put(1, "a")]);
    let before = index.snapshot();
    let slot = before.get(1).unwrap().slot;
    index.apply(vec![delete(1)]);
    index.apply(vec![put(2, "b")]);
    assert_ne!(index.snapshot().get(2).unwrap().slot, slot);
    assert_eq!(before.get(1).unwrap().slot, slot);
    drop(before);
    // The index itself holds the versions before the last writes, until a large one.
    index.apply((100..300).map(|id| put(id, "d")).collect());
    index.apply(vec![put(3, "c")]);
    assert_eq!(index.snapshot().get(3).unwrap().slot, slot);
    assert_eq!(index.snapshot().get(1), None);
}

#[test]
fn a_write_copies_a_leaf_of_each_table() {
    let index = Index::in_memory(schema(), Options::default());
    index.apply((0..20_000).map(|id| put(id, "a")).collect());
    let before = index.version();
    index.apply(vec![put(10_000, "b")]);
    let after = index.version();
    fn copied<T: ::core::marker::Copy + Default>(one: &SlotTable<T>, other: &SlotTable<T>) -> usize {
        one.slices().zip(other.slices()).filter(|(one, other)| one.as_ptr() != other.as_ptr()).count()
    }
    assert_eq!(copied(&before.rows, &after.rows), 1);
    assert_eq!(copied(&before.copy_sets[0].locations, &after.copy_sets[0].locations), 1);
    index.apply(vec![delete(10_000)]);
    assert_eq!(copied(after.live_slots.words(), index.version().live_slots.words()), 1);
}

#[test]
fn reusing_the_old_slot_of_an_id_does_not_lose_its_new_slot() {
    let vacant = |id| Row { id, ..Row::default() };
    let rows = SlotTable::of(&[vacant(5), vacant(6), Row::new(7, STAMPS)]);
    let index = Index::load(schema(), rows, Vec::new(), IndexContext::alone(Options::default(), None));
    assert_eq!(index.snapshot().total(), 1);
    index.apply(vec![put(6, "a")]);
    index.apply(vec![put(8, "b")]);
    let snapshot = index.snapshot();
    assert_eq!([6, 7, 8].map(|id| snapshot.get(id).map(|hit| hit.slot)), [Some(0), Some(2), Some(1)]);
    assert_eq!(snapshot.total(), 3);
}

#[test]
fn a_backfilled_column_is_searched_like_any_other() {
    let index = Index::in_memory(schema(), Options::default());
    index.apply(vec![put(1, "a"), put(2, "b")]);
    assert_eq!(ids(&index.snapshot(), "a"), [1]);
    let added = Column { id: 8, kind: Kind::Number };
    index.set_schema(Schema { columns: vec![schema().columns[0], added], ..schema() });
    let filled = |id: u128, text: &str, number: f64| {
        let values = vec![(1, Value::Text(text.into())), (8, Value::Number(number))];
        IndexOp::Put { id, stamps: STAMPS, copies: vec![(1, Some(Copy { number: 7, values }))] }
    };
    index.backfill(vec![filled(1, "a", 5.0)]);
    index.apply(vec![put(2, "a")]);
    index.backfill(vec![filled(2, "a", 6.0)]);
    assert_eq!(ids(&index.snapshot(), "a"), [1, 2]);
    let filter = Filter::Column(8, Predicate::Equals("6".into()));
    let query = Query { variant: 1, filter, sort: Vec::new() };
    assert_eq!(index.snapshot().search(&query, 0, 10).unwrap().hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [2]);
}

#[test]
fn a_new_schema_removes_columns_and_variants_at_once() {
    let index = Index::in_memory(schema(), Options::default());
    index.apply(vec![put(1, "a")]);
    let before = index.snapshot();
    assert_eq!(ids(&before, "a"), [1]);
    index.set_schema(Schema { columns: Vec::new(), ..schema() });
    assert!(ids(&index.snapshot(), "a").is_empty());
    index.set_schema(Schema { variants: Vec::new(), ..schema() });
    index.set_schema(schema());
    let after = index.snapshot();
    assert!(ids(&after, "a").is_empty());
    assert_eq!(after.copy(after.get(1).unwrap().slot, 1), None);
    assert_eq!(ids(&before, "a"), [1]);
    assert_eq!(index.schema(), schema());
}

#[test]
fn apply_blocks_while_too_many_runs_are_frozen() {
    let options = Options { memory_run_entries: 1, frozen_runs: 2, ..Options::tiny() };
    let woken = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&woken);
    let wake: Wake = Arc::new(move || _ = counter.fetch_add(1, Ordering::SeqCst));
    let index = Index::new(schema(), IndexContext::alone(options, Some(wake)));
    index.apply(vec![put(1, "a")]);
    assert!(!index.is_behind());
    index.apply(vec![put(2, "b")]);
    assert!(index.is_behind(), "writes that can wait leave the last room to others");
    index.apply(vec![put(3, "c")]);
    assert_eq!(index.frozen().len(), 2);
    assert_eq!(woken.load(Ordering::SeqCst), 2);
    let blocked = thread::spawn({
        let index = index.clone();
        move || index.apply(vec![delete(1)])
    });
    thread::sleep(Duration::from_millis(50));
    assert_eq!(index.snapshot().total(), 3, "the deletion is blocked");
    let frozen = index.frozen().swap_remove(0);
    let replaced = [ReplacedRun { number: frozen.number, live_docs: frozen.live_docs }];
    let new = NumberedRun::new(index.take_run_number(), Run::Memory(frozen.memory));
    assert!(index.replace(1, &replaced, Some(new)));
    blocked.join().unwrap();
    assert_eq!(index.snapshot().total(), 2);
    assert!(index.is_behind());
    assert!(!index.replace(1, &replaced, None), "the run was replaced already");
    index.disable_backpressure();
    assert!(!index.is_behind());
    assert!(index.has_waiting_runs(), "work that can wait does");
    index.apply(vec![put(4, "d"), put(5, "e"), put(6, "f")]);
    index.apply(vec![put(7, "g")]);
    assert_eq!(index.snapshot().total(), 6);
}

#[test]
fn copies_changed_while_a_run_is_written_stay_changed() {
    let index = Index::in_memory(schema(), Options::default());
    index.apply(vec![put(1, "a"), put(2, "b"), put(3, "c")]);
    let FrozenVersion { version, mut runs } = index.freeze();
    let frozen = runs.swap_remove(0);
    assert!(version.copy_sets[0].runs.iter().all(|run| run.number == frozen.number));
    index.apply(vec![delete(1), put(2, "B")]);
    let replaced = ReplacedRun { number: frozen.number, live_docs: frozen.live_docs };
    let new = NumberedRun::new(index.take_run_number(), Run::Memory(frozen.memory));
    assert!(index.replace(1, &[replaced], Some(new)));
    assert!(index.frozen().is_empty());
    let snapshot = index.snapshot();
    assert_eq!(["a", "b", "B", "c"].map(|text| ids(&snapshot, text)), [vec![], vec![], vec![2], vec![3]]);
}

#[test]
fn readers_see_all_of_a_write_or_nothing() {
    let index = Index::in_memory(schema(), Options { memory_run_entries: 64, ..Options::tiny() });
    index.apply((0..32).map(|id| put(id, "0")).collect());
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 1..200u32 {
                index.apply((0..32).map(|id| put(id, &round.to_string())).collect());
            }
        });
        while !writer.is_finished() {
            let snapshot = index.snapshot();
            let value = |round: u32| ids(&snapshot, &round.to_string()).len();
            assert_eq!((0..200).map(value).filter(|&count| count > 0).collect::<Vec<_>>(), [32]);
        }
    });
}
