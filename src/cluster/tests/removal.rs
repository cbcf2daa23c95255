//! Removing groups, and names that should exist but do not.

use std::time::Duration;

use super::{append_groups, memory_log, patient};
use crate::objects::block;
use crate::{AppendError, Found, Log, Position, Store};

#[test]
fn removed_groups_leave_their_names() {
    removed_groups_are_known(memory_log());
}

pub(super) fn removed_groups_are_known((store, log, start): (Store, Log, Position)) {
    let positions = append_groups(&log, start, 10);
    assert_eq!(log.remove_before(6, Duration::from_secs(3600)).unwrap(), 0);
    assert_eq!(log.remove_before(6, Duration::ZERO).unwrap(), 5);
    assert_eq!(log.remove_before(6, Duration::ZERO).unwrap(), 0);
    for position in &positions[..5] {
        assert_eq!(log.read(position).unwrap(), Found::Removed);
        assert!(!log.confirm(position).unwrap());
        let error = log.append(position, &[b"late".to_vec()], 1, &mut patient).unwrap_err();
        assert!(matches!(error, AppendError::Removed { .. }), "{error}");
    }
    assert!(matches!(log.read(&positions[5]).unwrap(), Found::Group(..)));
    assert_eq!(log.compare(&positions[3]).unwrap(), crate::PositionMatch::Removed);
    assert_eq!(log.missing_names(1, 10).unwrap(), Vec::<u64>::new());

    // Another process goes on where this one ended.
    let other = store.log(&log.history(), "b").unwrap();
    let listed = block(store.objects.get("0001/removed.json", 1000)).unwrap().unwrap();
    assert!(std::str::from_utf8(&listed).unwrap().contains("\"before\": 6"), "{listed:?}");
    assert_eq!(other.remove_before(8, Duration::ZERO).unwrap(), 2);
}

#[test]
fn a_group_is_appended_behind_a_removed_one() {
    what_follows_removed_groups_is_appended(memory_log());
}

pub(super) fn what_follows_removed_groups_is_appended((_store, log, start): (Store, Log, Position)) {
    let positions = append_groups(&log, start, 3);
    assert_eq!(log.remove_before(4, Duration::ZERO).unwrap(), 3);
    assert!(log.confirm(&positions[3]).unwrap());
    let behind = log.append(&positions[3], &[b"next".to_vec()], 1, &mut patient).unwrap();
    assert_eq!(behind.seq, 4);
    assert!(matches!(log.read(&positions[3]).unwrap(), Found::Group(..)));
}

#[test]
fn a_gap_is_found() {
    let (store, log, start) = memory_log();
    let positions = append_groups(&log, start, 6);
    assert_eq!(log.is_behind_gap(&positions[2]).unwrap(), None);
    assert_eq!(log.is_behind_gap(&positions[6]).unwrap(), None);
    for seq in [3, 4] {
        block(store.objects.remove(&format!("0001/log/{seq:020}"))).unwrap();
    }
    assert_eq!(log.is_behind_gap(&positions[2]).unwrap(), Some(3));
    assert_eq!(log.is_behind_gap(&positions[1]).unwrap(), None);
    assert_eq!(log.missing_names(1, 6).unwrap(), [3, 4]);
    assert_eq!(log.missing_names(5, 8).unwrap(), [7, 8]);
    assert_eq!(log.missing_names(1, 2).unwrap(), Vec::<u64>::new());
}
