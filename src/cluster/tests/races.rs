//! Logs that append at the same time.

use std::collections::BTreeSet;
use std::thread;

use super::{create, memory_log, memory_store, patient};
use crate::{AppendError, Found, History, Log, Position, Store};

/// Appends `n` records in groups of one, each named after the node, behind whatever others append.
fn append_many(log: &Log, history: &History, node: &str, n: usize) -> Position {
    let mut position = Position::start(history.id, 7);
    for index in 0..n {
        let record = format!("{node}-{index}").into_bytes();
        loop {
            match log.append(&position, std::slice::from_ref(&record), 1, &mut patient) {
                Ok(behind) => break position = behind,
                Err(AppendError::Conflict { .. }) => position = read_all(log, position).1,
                Err(error) => panic!("{error}"),
            }
        }
    }
    position
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

fn race(store: &Store) {
    let info = create(store);
    assert_eq!(store.cluster().unwrap(), info);
    let nodes = ["a", "b", "c"];
    thread::scope(|scope| {
        for node in nodes {
            let log = store.log(&info.history, node).unwrap();
            scope.spawn(move || append_many(&log, &info.history, node, 30));
        }
    });
    let log = store.log(&info.history, "d").unwrap();
    let (records, tail) = read_all(&log, Position::start(info.history.id, 7));
    assert_eq!(records.len(), 90);
    assert_eq!(tail.number, 7 + 90);
    assert_eq!(records.iter().collect::<BTreeSet<_>>().len(), 90, "a record is in the log twice");
    for node in nodes {
        let own = records.iter().filter(|record| record.starts_with(node.as_bytes()));
        let expected = (0..30).map(|index| format!("{node}-{index}").into_bytes());
        assert!(own.cloned().eq(expected), "the records of {node} are not in order");
    }
    assert!(log.confirm(&tail).unwrap());
    assert!(!log.confirm(&Position::start(info.history.id, 7)).unwrap());
}

#[test]
fn logs_in_memory_agree_on_one_order() {
    race(&memory_store());
}

#[test]
fn logs_in_a_folder_agree_on_one_order() {
    let folder = tempfile::tempdir().unwrap();
    race(&Store::open(&format!("file://{}", folder.path().display())).unwrap());
}

#[test]
fn an_append_behind_an_old_position_is_a_conflict() {
    let (_store, log) = memory_log();
    let start = Position::start(log.history().id, 7);
    let first = log.append(&start, &[b"one".to_vec(), b"two".to_vec()], 3, &mut patient).unwrap();
    assert_eq!((first.seq, first.number), (1, 9));
    let error = log.append(&start, &[b"three".to_vec()], 3, &mut patient).unwrap_err();
    assert!(matches!(error, AppendError::Conflict { seq: 1 }), "{error}");
    let Found::Group(group, behind) = log.read(&start).unwrap() else { panic!("the group is missing") };
    assert_eq!((behind, group.writer.as_str(), group.term, group.first), (first, "a", 3, 8));
    assert_eq!(group.records, [b"one".to_vec(), b"two".to_vec()]);
}
