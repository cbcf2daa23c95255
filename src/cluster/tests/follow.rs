//! Following a log.

use std::sync::Arc;
use std::sync::mpsc::{TryRecvError, channel};
use std::time::{Duration, Instant};

use object_store::memory::InMemory;

use super::faulty::{Faults, FaultyStore};
use super::{BASE_NUMBER, append_groups, create, memory_log};
use crate::objects::block;
use crate::{ClusterError, Found, Store};

const SOON: Duration = Duration::from_secs(5);

#[test]
fn a_follower_returns_every_group_in_order() {
    let (store, log, start) = memory_log();
    let positions = append_groups(&log, start, 40);
    let (sender, woken) = channel();
    let follower =
        store.log(&log.history(), "b").unwrap().follow(start, move || sender.send(()).unwrap_or_default()).unwrap();
    let mut seen = Vec::new();
    while seen.len() < 40 {
        woken.recv_timeout(SOON).unwrap();
        seen.extend(follower.take().into_iter().map(|(_, position)| position));
    }
    assert_eq!(seen, positions[1..]);
    wait_until(|| follower.status().is_at_tail);
    assert!(follower.status().last_look.is_some() && follower.status().error.is_none());

    // A hint is much faster than waiting for the next look.
    follower.set_poll(Duration::from_secs(3600));
    std::thread::sleep(Duration::from_millis(50));
    let next = append_groups(&log, positions[40], 1)[1];
    std::thread::sleep(Duration::from_millis(50));
    assert!(follower.take().is_empty());
    follower.hint(next.seq);
    assert_eq!(take(&follower), [next]);

    // What the caller appended is not returned.
    let own = append_groups(&log, next, 2);
    follower.advance(&own[2]);
    let other = append_groups(&log, own[2], 1)[1];
    follower.hint(other.seq);
    assert_eq!(take(&follower), [other]);

    // Dropping it ends the task, and with it the closure.
    drop(follower);
    wait_until(|| matches!(woken.try_recv(), Err(TryRecvError::Disconnected)));
}

/// Waits until something has arrived.
fn take(follower: &crate::Follower) -> Vec<crate::Position> {
    let mut taken = Vec::new();
    wait_until(|| {
        taken.extend(follower.take().into_iter().map(|(_, position)| position));
        !taken.is_empty()
    });
    taken
}

fn wait_until(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < SOON, "it takes too long");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_log_is_read_ahead_to_its_end_and_goes_on_behind_it() {
    let (_store, log, start) = memory_log();
    let mut positions = append_groups(&log, start, 100);
    let mut groups = log.read_ahead(start).unwrap();
    let mut read = |expected: &[crate::Position]| {
        for expected in expected {
            assert!(matches!(groups.read().unwrap(), Found::Group(_, end) if end == *expected), "{expected:?}");
        }
        assert_eq!(groups.read().unwrap(), Found::Missing);
    };
    read(&positions[1..]);
    for _ in 0..3 {
        positions = append_groups(&log, positions[positions.len() - 1], 20);
        read(&positions[1..]);
    }
    log.remove_before(2, Duration::ZERO).unwrap();
    assert_eq!(log.read_ahead(start).unwrap().read().unwrap(), Found::Removed);
}

#[test]
fn a_log_whose_store_fails_now_and_then_is_read_ahead_as_it_is() {
    for seed in 1..=10 {
        let inner = Arc::new(InMemory::new());
        let log_of = |faults: Faults| {
            let store = Store::of(Arc::new(FaultyStore::new(Arc::clone(&inner), faults, seed)));
            let history = store.cluster().unwrap_or_else(|_| create(&store)).history;
            (store.log(&history, "a").unwrap(), history)
        };
        let (log, history) = log_of(Faults::default());
        let start = crate::Position::start(history.id, BASE_NUMBER);
        let positions = append_groups(&log, start, 150);
        let (log, _) = log_of(Faults { errors: 4, cut_reads: 4, ..Faults::default() });
        let mut groups = log.read_ahead(start).unwrap();
        for expected in &positions[1..] {
            let found = groups.read().unwrap();
            assert!(matches!(found, Found::Group(_, end) if end == *expected), "seed {seed}: {found:?}");
        }
        assert_eq!(groups.read().unwrap(), Found::Missing);
    }
}

#[test]
fn a_follower_reports_what_it_cannot_follow() {
    let (store, log, start) = memory_log();
    let positions = append_groups(&log, start, 4);
    log.remove_before(2, Duration::ZERO).unwrap();
    let follower = log.follow(start, || {}).unwrap();
    follower.set_poll(Duration::from_millis(10));
    let error = |follower: &crate::Follower| follower.status().error;
    wait_until(|| matches!(error(&follower).as_deref(), Some(ClusterError::Removed { seq: 1 })));
    // It goes on from the base that the caller begins from.
    follower.advance(&positions[2]);
    wait_until(|| follower.status().is_at_tail);
    assert_eq!(follower.take().len(), 2);
    assert!(error(&follower).is_none());

    // A group of another history.
    let (other_store, other, other_start) = memory_log();
    append_groups(&other, other_start, 5);
    let bytes = block(other_store.objects.get("0001/log/00000000000000000005", 1000)).unwrap().unwrap();
    block(store.objects.overwrite("0001/log/00000000000000000005", bytes)).unwrap();
    wait_until(|| matches!(error(&follower).as_deref(), Some(ClusterError::Diverged { seq: 5, .. })));
    assert!(!follower.status().is_at_tail && follower.take().is_empty());
}

#[test]
fn a_follower_ends_at_a_gap_however_many_groups_are_before_it() {
    let (store, log, start) = memory_log();
    let positions = append_groups(&log, start, 9);
    block(store.objects.remove("0001/log/00000000000000000007")).unwrap();
    for (before, from) in positions[..=6].iter().enumerate() {
        let follower = log.follow(*from, || {}).unwrap();
        wait_until(|| matches!(follower.status().error.as_deref(), Some(ClusterError::Gap { seq: 7 })));
        let status = follower.status();
        assert_eq!((status.position, status.is_at_tail, status.knows_tail()), (positions[6], false, false));
        assert_eq!(follower.take().len(), 6 - before);
    }
    // So do commands, which append where reading ends.
    let mut groups = log.read_ahead(start).unwrap();
    for expected in &positions[1..=6] {
        assert!(matches!(groups.read().unwrap(), Found::Group(_, end) if end == *expected), "{expected:?}");
    }
    assert!(matches!(groups.read(), Err(ClusterError::Gap { seq: 7 })));
    // Behind the gap everything is there.
    let follower = log.follow(positions[7], || {}).unwrap();
    wait_until(|| follower.status().knows_tail());
    assert_eq!(follower.status().position, positions[9]);
}

#[test]
fn a_follower_knows_the_tail_only_if_it_could_look_for_a_gap() {
    let inner = Arc::new(InMemory::new());
    let store_of = |faults| Store::of(Arc::new(FaultyStore::new(Arc::clone(&inner), faults, 1)));
    let store = store_of(Faults::default());
    let history = create(&store).history;
    let start = crate::Position::start(history.id, BASE_NUMBER);
    append_groups(&store.log(&history, "a").unwrap(), start, 3);
    let log = store_of(Faults { refuses_lists: true, ..Faults::default() }).log(&history, "b").unwrap();
    let follower = log.follow(start, || {}).unwrap();
    wait_until(|| matches!(follower.status().error.as_deref(), Some(ClusterError::Unreachable { .. })));
    assert_eq!(follower.take().len(), 3);
    assert!(!follower.status().is_at_tail && !follower.status().knows_tail());
}

#[test]
fn a_follower_reads_no_more_than_fits_into_memory() {
    let (_store, log, mut position) = memory_log();
    for _ in 0..8 {
        position = log.append(&position, &[vec![0; 10 << 20]], 1, &mut super::patient).unwrap();
    }
    let start = crate::Position::start(log.history().id, super::BASE_NUMBER);
    let follower = log.follow(start, || {}).unwrap();
    follower.set_poll(Duration::from_millis(5));
    let mut seen = 0;
    while seen < 8 {
        std::thread::sleep(Duration::from_millis(100));
        let taken = follower.take().len();
        // One round that began with some room may bring three more.
        assert!((1..=6).contains(&taken), "{taken}");
        seen += taken;
    }
}

#[test]
fn taking_and_advancing_send_no_requests() {
    let inner = std::sync::Arc::new(object_store::memory::InMemory::new());
    let faults = super::faulty::Faults::default();
    let faulty = std::sync::Arc::new(super::faulty::FaultyStore::new(inner, faults, 1));
    let store = crate::Store::of(std::sync::Arc::clone(&faulty) as std::sync::Arc<_>);
    let log = store.log(&super::create(&store).history, "a").unwrap();
    let start = crate::Position::start(log.history().id, super::BASE_NUMBER);
    let follower = log.follow(start, || {}).unwrap();
    follower.set_poll(Duration::from_secs(3600));
    wait_until(|| follower.status().is_at_tail);
    std::thread::sleep(Duration::from_millis(50));
    let before = faulty.reads();
    for position in &append_groups(&log, start, 20)[1..] {
        follower.advance(position);
        assert!(follower.take().is_empty());
    }
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(faulty.reads(), before);
}
