//! Logs that append at the same time.

use std::collections::BTreeSet;
use std::thread;

use super::{BASE_NUMBER, create, folder_store, memory_log, memory_store, patient, read_all};
use crate::{AppendError, Found, Log, Position, PositionMatch, Store};

/// Appends `n` records in groups of one, each named after the node, behind whatever others append.
fn append_many(log: &Log, mut position: Position, node: &str, n: usize) {
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
}

/// Three logs append at the same time to a new cluster.
pub(super) fn race(store: &Store) {
    let info = create(store);
    assert_eq!(store.cluster().unwrap(), info);
    let start = Position::start(info.history.id, BASE_NUMBER);
    let nodes = ["a", "b", "c"];
    thread::scope(|scope| {
        for node in nodes {
            let log = store.log(&info.history, node).unwrap();
            scope.spawn(move || append_many(&log, start, node, 30));
        }
    });
    let log = store.log(&info.history, "d").unwrap();
    let (records, tail) = read_all(&log, start);
    assert_eq!((records.len(), tail.number), (90, BASE_NUMBER + 90));
    assert_eq!(records.iter().collect::<BTreeSet<_>>().len(), 90, "a record is in the log twice");
    for node in nodes {
        let own = records.iter().filter(|record| record.starts_with(node.as_bytes()));
        let expected = (0..30).map(|index| format!("{node}-{index}").into_bytes());
        assert!(own.cloned().eq(expected), "the records of {node} are not in order");
    }
    assert!(log.confirm(&tail).unwrap());
    assert!(!log.confirm(&start).unwrap());
    assert_eq!(log.missing_names(1, tail.seq).unwrap(), Vec::<u64>::new());
}

#[test]
fn logs_in_memory_agree_on_one_order() {
    race(&memory_store());
}

#[test]
fn logs_in_a_folder_agree_on_one_order() {
    let folder = tempfile::tempdir().unwrap();
    race(&folder_store(folder.path()));
}

#[test]
fn an_append_behind_an_old_position_is_a_conflict() {
    let (_store, log, start) = memory_log();
    let first = log.append(&start, &[b"one".to_vec(), b"two".to_vec()], 3, &mut patient).unwrap();
    assert_eq!((first.seq, first.number), (1, 9));
    let error = log.append(&start, &[b"three".to_vec()], 3, &mut patient).unwrap_err();
    assert!(matches!(error, AppendError::Conflict { seq: 1 }), "{error}");
    let Found::Group(group, behind) = log.read(&start).unwrap() else { panic!("the group is missing") };
    assert_eq!((behind, group.writer.as_str(), group.term, group.first), (first, "a", 3, 8));
    assert_eq!(group.records, [b"one".to_vec(), b"two".to_vec()]);
}

#[test]
fn a_group_that_does_not_continue_the_position_has_diverged() {
    let (_store, log, start) = memory_log();
    let first = log.append(&start, &[b"one".to_vec()], 1, &mut patient).unwrap();
    log.append(&first, &[b"two".to_vec()], 1, &mut patient).unwrap();
    let other = Position { chain: start.chain, ..first };
    let error = log.read(&other).unwrap_err();
    assert!(matches!(error, crate::ClusterError::Diverged { seq: 2, .. }), "{error}");
    let error = log.read(&Position { number: 9, ..first }).unwrap_err();
    assert!(matches!(error, crate::ClusterError::Diverged { seq: 2, .. }), "{error}");

    assert_eq!(log.compare(&start).unwrap(), PositionMatch::Same);
    assert_eq!(log.compare(&first).unwrap(), PositionMatch::Same);
    assert_eq!(log.compare(&other).unwrap(), PositionMatch::Other);
    assert_eq!(log.compare(&Position { seq: 3, ..first }).unwrap(), PositionMatch::Missing);
}

#[test]
fn a_group_that_is_too_large_is_refused() {
    let (_store, log, start) = memory_log();
    let error = log.append(&start, &[vec![0; 64 << 20]], 1, &mut patient).unwrap_err();
    assert!(matches!(error, AppendError::TooLarge { .. }), "{error}");
    log.append(&start, &[vec![0; 63 << 20]], 1, &mut patient).unwrap();
    assert!(matches!(log.read(&start).unwrap(), Found::Group(..)));
}

#[test]
fn a_folder_that_was_moved_away_is_not_an_empty_log() {
    let parent = tempfile::tempdir().unwrap();
    let (folder, elsewhere) = (parent.path().join("log"), parent.path().join("elsewhere"));
    std::fs::create_dir(&folder).unwrap();
    let store = folder_store(&folder);
    let info = create(&store);
    let log = store.log(&info.history, "a").unwrap();
    let start = Position::start(info.history.id, BASE_NUMBER);
    let first = log.append(&start, &[b"one".to_vec()], 1, &mut patient).unwrap();

    std::fs::rename(&folder, &elsewhere).unwrap();
    for position in [start, first] {
        let error = log.append(&position, &[b"two".to_vec()], 1, &mut patient).unwrap_err();
        assert!(matches!(error, AppendError::Unreachable(_)), "{error}");
    }
    assert!(log.read(&first).is_err() && log.confirm(&first).is_err());
    assert!(matches!(store.cluster(), Err(crate::ClusterError::NoBucket { .. })));
    assert!(!folder.exists());

    // Neither is a folder with the cluster's file but without the group before.
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(elsewhere.join("cluster.json"), folder.join("cluster.json")).unwrap();
    let error = log.append(&first, &[b"two".to_vec()], 1, &mut patient).unwrap_err();
    assert!(matches!(error, AppendError::Unreachable(_)), "{error}");

    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::rename(&elsewhere, &folder).unwrap();
    assert_eq!(log.append(&first, &[b"two".to_vec()], 1, &mut patient).unwrap().seq, 2);
}
