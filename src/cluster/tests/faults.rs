//! Appends to a store that loses answers, delays puts and cuts reads.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use object_store::memory::InMemory;

use super::faulty::{Faults, FaultyStore};
use super::{BASE_NUMBER, create, read_all};
use crate::{AppendError, ClusterError, Found, Log, Position, Store};

/// What became of each record, as its writer was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Appended,
    NotAppended,
}

/// Reads on to the tail, whatever the store does.
fn catch_up(log: &Log, position: &mut Position) {
    loop {
        match log.read(position) {
            Ok(Found::Group(_, behind)) => *position = behind,
            Ok(Found::Missing) => return,
            Ok(Found::Removed) => panic!("nothing was removed"),
            Err(ClusterError::Unreachable { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Appends records until `n` were appended. Gives each append little time, and finds out later what became of it.
fn write(log: &Log, node: &str, mut position: Position, n: usize) -> BTreeMap<Vec<u8>, Fate> {
    let mut fates = BTreeMap::new();
    let mut n_unknown = 0;
    for index in 0.. {
        if fates.values().filter(|&&fate| fate == Fate::Appended).count() == n {
            break;
        }
        let record = format!("{node}-{index}").into_bytes();
        // Some give up at once, which is when a put is most likely on its way.
        let limit = Duration::from_millis([0, 10, 500][index % 3]);
        let mut hurried =
            |wait: crate::Wait| if wait.elapsed > limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let mut outcome = log.append(&position, std::slice::from_ref(&record), 1, &mut hurried);
        while let Err(AppendError::Unknown(_)) = outcome {
            n_unknown += 1;
            // Nothing else can be appended before the outcome is known.
            let other = log.append(&position, &[b"other".to_vec()], 1, &mut hurried);
            assert!(matches!(other, Err(AppendError::Unknown(_))), "{other:?}");
            outcome = log.resume(&mut hurried).unwrap();
        }
        match outcome {
            Ok(behind) => {
                position = behind;
                fates.insert(record, Fate::Appended);
            }
            Err(AppendError::Conflict { .. } | AppendError::Unreachable(_)) => {
                fates.insert(record, Fate::NotAppended);
                catch_up(log, &mut position);
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(log.resume(&mut |_| ControlFlow::Break(())).is_none());
    assert!(n_unknown > 0, "no outcome was unknown");
    fates
}

#[test]
fn every_answer_is_true_on_a_store_that_misbehaves() {
    for seed in 1..=3 {
        let inner = Arc::new(InMemory::new());
        let info = create(&Store::of(Arc::clone(&inner) as Arc<_>));
        let start = Position::start(info.history.id, BASE_NUMBER);
        let faults =
            Faults { lost_answers: 12, late_puts: 12, conflicts: 8, errors: 8, cut_reads: 8, ..Faults::default() };
        let faulty = Arc::new(FaultyStore::new(Arc::clone(&inner), faults, seed));
        let fates: Vec<_> = thread::scope(|scope| {
            let threads = ["a", "b", "c"].map(|node| {
                let log = Store::of(Arc::clone(&faulty) as Arc<_>).log(&info.history, node).unwrap();
                scope.spawn(move || write(&log, node, start, 60))
            });
            threads.map(|thread| thread.join().unwrap()).into()
        });
        while faulty.late() > 0 {
            thread::sleep(Duration::from_millis(20));
        }
        let log = Store::of(inner).log(&info.history, "d").unwrap();
        let (records, tail) = read_all(&log, start);
        let mut times: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        for record in &records {
            *times.entry(record.clone()).or_default() += 1;
        }
        for (record, fate) in fates.iter().flatten() {
            let expected = usize::from(*fate == Fate::Appended);
            let record_text = String::from_utf8_lossy(record);
            assert_eq!(times.remove(record).unwrap_or(0), expected, "{record_text} of seed {seed}: {fate:?}");
        }
        assert!(times.is_empty(), "nobody appended {times:?}");
        assert_eq!((tail.seq, tail.number), (180, BASE_NUMBER + 180));
        let counts = faulty.counts();
        for fault in ["lost answer", "late put", "conflict", "error", "cut read"] {
            assert!(counts.get(fault).is_some_and(|&count| count > 5), "{fault} happened too rarely: {counts:?}");
        }
    }
}
