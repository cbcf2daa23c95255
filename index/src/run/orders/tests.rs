#![allow(clippy::unwrap_used)]

use std::cmp::Ordering;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::collate::Collation;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::query::{Bound, Range as ValueRange};
use crate::run::memory::Document;
use crate::schema::Value;
use crate::value::ValueRef;

/// Texts, many of which have the same beginning, or the same collation key.
fn texts() -> BoxedStrategy<Option<Value>> {
    let text = prop_oneof!["[aAbB\u{e9}]{0,2}", "the same long beginning of [abB]{0,2}", Just("e\u{301}".to_owned()),];
    prop::option::weighted(0.8, text.prop_map(|text| Value::Text(text.into()))).boxed()
}

fn numbers() -> BoxedStrategy<Option<Value>> {
    let number = prop_oneof![Just(-0.0), Just(0.0), (-3..4).prop_map(f64::from)];
    prop::option::weighted(0.8, number.prop_map(Value::Number)).boxed()
}

fn runs() -> impl Strategy<Value = (KeyKind, Vec<Vec<Option<Value>>>)> {
    let runs = |values: BoxedStrategy<Option<Value>>| prop::collection::vec(prop::collection::vec(values, 0..12), 1..5);
    prop_oneof![
        runs(texts()).prop_map(|runs| (KeyKind::Text, runs)),
        runs(numbers()).prop_map(|runs| (KeyKind::Rank, runs)),
    ]
}

fn documents(values: &[Option<Value>]) -> Vec<Document> {
    let values = values.iter().map(|value| value.iter().map(|value| (0, value.clone())).collect());
    values.map(|values| Document::new(0, values)).collect()
}

fn compare(collation: &Collation, left: ValueRef<'_>, right: ValueRef<'_>) -> Ordering {
    match (left.rank(), right.rank()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => collation.compare(&left.sort_text().unwrap(), &right.sort_text().unwrap()),
    }
}

/// Returns the groups of documents, in order, each ascending.
fn groups(order: &RunOrder) -> Vec<Vec<u32>> {
    let group = |group| {
        let mut documents: Vec<u32> = order.group(group).map(|index| order.document(index)).collect();
        documents.sort_unstable();
        documents
    };
    (0..order.groups()).map(group).collect()
}

/// Returns the expected groups, by comparing all values.
fn expected_groups(collation: &Collation, documents: &[Document], is_in: impl Fn(u32) -> bool) -> Vec<Vec<u32>> {
    let value = |number: u32| documents[number as usize].value(0);
    let mut numbers: Vec<u32> =
        (0..documents.len() as u32).filter(|&number| !value(number).is_null() && is_in(number)).collect();
    numbers.sort_by(|&left, &right| compare(collation, value(left), value(right)));
    let same = |left: &u32, right: &u32| compare(collation, value(*left), value(*right)).is_eq();
    numbers.chunk_by(same).map(<[u32]>::to_vec).collect()
}

proptest! {
    #[test]
    fn a_merged_order_is_that_of_all_values(
        (kind, runs) in runs(),
        kept in prop::collection::vec(any::<bool>(), 60),
        descending in any::<bool>(),
        max_steps in prop_oneof![Just(usize::MAX), 0usize..40],
    ) {
        let (collation, never) = (Collation::of(None), Interrupt::never());
        let all = documents(&runs.concat());
        let runs: Vec<Vec<Document>> = runs.iter().map(|values| documents(values)).collect();
        let mut inputs = Vec::new();
        let mut start = 0;
        for run in &runs {
            let value = move |document: u32| run[document as usize].value(0);
            let order = RunOrder::sorted(kind, 0..run.len() as u32, value, &collation, &never).unwrap();
            prop_assert_eq!(groups(&order), expected_groups(&collation, run, |_| true));
            let kept = &kept[start as usize..];
            inputs.push(OrderInput {
                groups: 0..order.groups(),
                order: Arc::new(order),
                number: Box::new(move |document| kept[document as usize].then_some(start + document)),
                value: Box::new(value),
            });
            start += run.len() as u32;
        }
        let mut expected = expected_groups(&collation, &all, |number| kept[number as usize]);
        if descending {
            expected.reverse();
        }
        let mut merged = MergedOrder::new(inputs, &collation, descending, max_steps, &never).unwrap();
        let (mut found, mut group) = (Vec::new(), Vec::new());
        while merged.next_group(&mut group).unwrap().is_some() {
            group.sort_unstable();
            found.push(group.clone());
        }
        // A cut order must be the beginning of the whole one.
        prop_assert_eq!(&found[..], &expected[..found.len()]);
        prop_assert!(merged.is_cut() || found.len() == expected.len());
        prop_assert!(max_steps != usize::MAX || !merged.is_cut());
    }

    #[test]
    fn a_run_in_memory_orders_what_is_appended(
        (kind, runs) in runs(),
        bounds in (prop::option::of(-3i32..4), prop::option::of(-3i32..4), any::<bool>()),
    ) {
        let (collation, never) = (Collation::of(None), Interrupt::never());
        let all = documents(&runs.concat());
        let orders = MemoryOrders::default();
        let value = |document: u32| all[document as usize].value(0);
        let mut length = 0;
        for run in &runs {
            length += run.len() as u32;
            let pieces = orders.get((0, kind), length, &value, &collation, &never).unwrap();
            prop_assert!(pieces.len() <= 6);
            let mut found: Vec<u32> = pieces.iter().flat_map(|piece| piece.documents().collect::<Vec<_>>()).collect();
            found.sort_unstable();
            prop_assert_eq!(found, (0..length).filter(|&number| !value(number).is_null()).collect::<Vec<_>>());
            for piece in &pieces {
                let is_in = |number: u32| piece.documents().any(|other| other == number);
                prop_assert_eq!(groups(piece), expected_groups(&collation, &all, is_in));
                if kind == KeyKind::Rank {
                    check_range(piece, &value, bounds);
                }
            }
        }
    }
}

fn check_range<'a>(order: &RunOrder, value: &dyn Fn(u32) -> ValueRef<'a>, bounds: (Option<i32>, Option<i32>, bool)) {
    let (from, to, included) = bounds;
    let bound = |number: Option<i32>| {
        number.map(|number| match included {
            true => Bound::Included(f64::from(number)),
            false => Bound::Excluded(f64::from(number)),
        })
    };
    let range = ValueRange { from: bound(from), to: bound(to) };
    let holds = |&number: &u32| matches!(value(number), ValueRef::Number(number) if range.holds(&number));
    let mut expected: Vec<u32> = order.documents().filter(holds).collect();
    expected.sort_unstable();
    let ranks = RankRange::of_numbers(&range);
    let mut found = crate::bitmap::Bitmap::default();
    order.add_in_range(&ranks, || order.documents().collect(), &Interrupt::never(), &mut found).unwrap();
    assert_eq!(found.iter().collect::<Vec<_>>(), expected);
    assert_eq!(order.count_in(&ranks), expected.len());
}

#[test]
fn nothing_is_in_a_range_that_ends_at_no_number() {
    let range = ValueRange { from: None, to: Some(Bound::Included(f64::NAN)) };
    let documents = documents(&[Some(Value::Number(1.0))]);
    let value = |document: u32| documents[document as usize].value(0);
    let order = RunOrder::sorted(KeyKind::Rank, 0..1, value, &Collation::of(None), &Interrupt::never()).unwrap();
    assert_eq!(order.count_in(&RankRange::of_numbers(&range)), 0);
}

#[test]
fn an_interrupt_ends_sorting_and_merging() {
    let documents = documents(&vec![Some(Value::Number(1.0)); 1_000]);
    let value = |document: u32| documents[document as usize].value(0);
    let collation = Collation::of(None);
    let stop = || true;
    let sorted = |interrupt: &Interrupt<'_>| RunOrder::sorted(KeyKind::Rank, 0..1_000, value, &collation, interrupt);
    assert!(matches!(sorted(&Interrupt::when(&stop)), Err(Error::Interrupted)));
    let order = Arc::new(sorted(&Interrupt::never()).unwrap());
    let input = OrderInput { groups: 0..1, order, number: Box::new(Some), value: Box::new(value) };
    let merged = RunOrder::merge(KeyKind::Rank, vec![input], &collation, &Interrupt::when(&stop));
    assert!(matches!(merged, Err(Error::Interrupted)));
}
