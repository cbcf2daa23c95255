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
fn stores_that_are_unreliable_can_pass() {
    let faults = Faults { errors: 5, conflicts: 5, lost_answers: 5, ..Faults::default() };
    let store = Store::of(Arc::new(FaultyStore::new(Arc::new(InMemory::new()), faults, 2)));
    // Errors outside of the races end the check without a verdict.
    match store.probe() {
        Ok(()) | Err(ClusterError::Unreachable { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}
