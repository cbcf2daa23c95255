//! Tests of the crate.

#![allow(clippy::unwrap_used)]

mod bases;
mod ceph;
mod codec;
mod create;
mod elsewhere;
mod faults;
mod faulty;
mod follow;
mod over_http;
mod postgres;
mod probe;
mod races;
mod removal;

use std::ops::ControlFlow;
use std::time::Duration;

use crate::{ClusterInfo, Found, Log, Position, Store, Wait};

/// The number of the last record in the first base of each test.
const BASE_NUMBER: u64 = 7;

/// Gives an append 20 seconds.
fn patient(wait: Wait) -> ControlFlow<()> {
    if wait.elapsed > Duration::from_secs(20) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// A store in memory that no other test uses.
fn memory_store() -> Store {
    let name = crate::id::random_id().unwrap();
    Store::open(&format!("memory://{name}/prefix")).unwrap()
}

fn folder_store(folder: &std::path::Path) -> Store {
    Store::open(&format!("file://{}", folder.display())).unwrap()
}

/// Creates a cluster whose first base is a short text.
fn create(store: &Store) -> ClusterInfo {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base");
    std::fs::write(&base, "the first base").unwrap();
    store.create_cluster(&base, BASE_NUMBER).unwrap()
}

/// A log in memory, and the position at which it begins.
pub(crate) fn memory_log() -> (Store, Log, Position) {
    let store = memory_store();
    let info = create(&store);
    let log = store.log(&info.history, "a").unwrap();
    (store, log, Position::start(info.history.id, BASE_NUMBER))
}

/// Appends `n` groups of one record. Returns the position behind each, from `position` on.
fn append_groups(log: &Log, mut position: Position, n: usize) -> Vec<Position> {
    let mut positions = vec![position];
    for index in 0..n {
        let record = format!("record {index}").into_bytes();
        position = log.append(&position, &[record], 1, &mut patient).unwrap();
        positions.push(position);
    }
    positions
}

/// Reads to the tail. Returns the records and the position of the tail.
fn read_all(log: &Log, mut position: Position) -> (Vec<Vec<u8>>, Position) {
    let mut records = Vec::new();
    loop {
        match log.read(&position).unwrap() {
            Found::Group(group, behind) => {
                records.extend(group.records);
                position = behind;
            }
            Found::Missing => return (records, position),
            Found::Removed => panic!("nothing was removed"),
        }
    }
}
