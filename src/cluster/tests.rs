//! Tests of the crate.

mod races;

use std::ops::ControlFlow;
use std::time::Duration;

use crate::{ClusterInfo, Log, Store, Wait};

/// Gives an append 20 seconds.
fn patient(wait: Wait) -> ControlFlow<()> {
    if wait.elapsed > Duration::from_secs(20) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// A store in memory that no other test uses.
fn memory_store() -> Store {
    let name = crate::position::random_id().unwrap();
    Store::open(&format!("memory://{name}/prefix")).unwrap()
}

/// Creates a cluster whose first base is a short text, and ends with record 7.
fn create(store: &Store) -> ClusterInfo {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base");
    std::fs::write(&base, "the first base").unwrap();
    store.create_cluster(&base, 7).unwrap()
}

/// A log in memory.
fn memory_log() -> (Store, Log) {
    let store = memory_store();
    let info = create(&store);
    let log = store.log(&info.history, "a").unwrap();
    (store, log)
}
