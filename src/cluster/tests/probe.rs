//! The check of stores.

use std::sync::Arc;

use object_store::memory::InMemory;

use super::faulty::{Faults, FaultyStore};
use super::{folder_store, memory_store};
use crate::objects::block;
use crate::{ClusterError, Store};

#[test]
fn stores_with_the_condition_pass() {
    let store = memory_store();
    store.probe().unwrap();
    assert!(block(store.objects.list("probe", None)).unwrap().is_empty());
    let folder = tempfile::tempdir().unwrap();
    folder_store(folder.path()).probe().unwrap();
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
}

#[test]
fn stores_that_ignore_the_condition_fail() {
    let faults = Faults { ignores_condition: true, ..Faults::default() };
    let store = Store::of(Arc::new(FaultyStore::new(Arc::new(InMemory::new()), faults, 1)));
    let error = store.probe().unwrap_err();
    assert!(matches!(error, ClusterError::Unsuitable { .. }), "{error}");
    assert!(error.to_string().contains("Amazon S3"), "{error}");
    assert!(block(store.objects.list("probe", None)).unwrap().is_empty());
}

#[test]
fn stores_that_are_unreliable_pass() {
    let faults = Faults { errors: 2, conflicts: 2, lost_answers: 2, ..Faults::default() };
    for seed in 1..=20 {
        let store = Store::of(Arc::new(FaultyStore::new(Arc::new(InMemory::new()), faults.clone(), seed)));
        // The first request asks whether the store is there at all, and is sent once.
        let result = store.probe();
        let is_at_once = result.as_ref().is_err_and(|error| error.to_string().contains("cluster.json"));
        assert!(result.is_ok() || is_at_once, "seed {seed}: {result:?}");
    }
}

#[test]
fn stores_that_hardly_answer_fail() {
    let faults = Faults { errors: 60, ..Faults::default() };
    for seed in 1..=20 {
        let store = Store::of(Arc::new(FaultyStore::new(Arc::new(InMemory::new()), faults.clone(), seed)));
        let error = store.probe().unwrap_err();
        assert!(matches!(error, ClusterError::Unreachable { .. }), "seed {seed}: {error}");
    }
}
