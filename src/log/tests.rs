#![allow(clippy::unwrap_used)]

mod damage;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// A file that a log cannot write to, or can write to and not sync.
fn failing(log: &Log, step: &str) -> File {
    match step {
        "write" => File::open(&log.active.path).unwrap(),
        _ => File::options().write(true).open("/dev/null").unwrap(),
    }
}

const SMALL: LogOptions = LogOptions { first_segment_bytes: 256, segment_bytes: 1024, synced_through: 0 };

fn open(folder: &TempDir) -> Log {
    Log::open(folder.path(), SMALL).unwrap()
}

fn payload(number: u64) -> Vec<u8> {
    format!("payload of {number} ").repeat(1 + number as usize % 4).into_bytes()
}

/// Returns the folder of a closed log that holds the records `1..=count`.
fn filled(count: u64, options: LogOptions) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::open(folder.path(), options).unwrap();
    for number in 1..=count {
        assert_eq!(log.append(&payload(number)).unwrap(), number);
    }
    log.sync().unwrap();
    folder
}

fn records(log: &Log) -> Vec<(u64, Vec<u8>)> {
    log.read_from(log.first()).unwrap().collect::<Result<_, _>>().unwrap()
}

fn expected(range: std::ops::RangeInclusive<u64>) -> Vec<(u64, Vec<u8>)> {
    range.map(|number| (number, payload(number))).collect()
}

fn segment_paths(folder: &Path) -> Vec<PathBuf> {
    folder::list(folder).unwrap().into_iter().map(|segment| segment.path).collect()
}

#[test]
fn a_new_log_is_empty_and_begins_at_one() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(&folder);
    assert_eq!((log.first(), log.last(), log.bytes_since(0)), (1, 0, 0));
    assert_eq!(records(&log), []);
}

#[test]
fn records_survive_reopening_after_each_append() {
    let folder = tempfile::tempdir().unwrap();
    for number in 1..=60 {
        let mut log = open(&folder);
        assert_eq!(log.last(), number - 1);
        assert_eq!(log.append(&payload(number)).unwrap(), number);
        log.sync().unwrap();
        assert_eq!(records(&log), expected(1..=number));
    }
    assert!(segment_paths(folder.path()).len() > 3);
}

#[test]
fn a_record_larger_than_a_segment_gets_a_segment_of_its_own_size() {
    let folder = tempfile::tempdir().unwrap();
    let large = vec![7; 5000];
    // The large record is the first record, one in the middle, and two in a row.
    let payloads = [large.clone(), payload(2), payload(3), large.clone(), large.clone(), vec![], payload(7)];
    let mut log = open(&folder);
    for payload in &payloads {
        log.append(payload).unwrap();
    }
    log.sync().unwrap();
    drop(log);
    let log = open(&folder);
    let read: Vec<_> = records(&log).into_iter().map(|(_, payload)| payload).collect();
    assert_eq!(read, payloads);
}

#[test]
fn nothing_is_written_after_a_failed_write_or_sync() {
    for step in ["write", "sync"] {
        let folder = filled(3, SMALL);
        let mut log = open(&folder);
        log.active.file = failing(&log, step);
        let failed = log.append(b"four").and_then(|_| log.sync());
        assert!(matches!(failed, Err(LogError::Io { .. })), "{step}");
        assert!(matches!(log.append(b"five"), Err(LogError::Stopped)));
        assert!(matches!(log.sync(), Err(LogError::Stopped)));
        assert!(matches!(log.reset_to(9), Err(LogError::Stopped)));
        drop(log);
        let mut log = open(&folder);
        assert!(log.last() == 3 || log.last() == 4);
        log.append(b"continued").unwrap();
        log.sync().unwrap();
    }
}

#[test]
fn a_failed_sync_of_the_previous_segment_stops_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = open(&folder);
    log.append(&[1; 100]).unwrap();
    log.active.file = failing(&log, "sync");
    assert!(matches!(log.append(&[2; 500]), Err(LogError::Io { .. })));
    assert!(matches!(log.append(b"x"), Err(LogError::Stopped)));
    assert_eq!(log.last(), 1);
}

#[test]
fn only_segments_without_newer_records_are_removed() {
    let folder = filled(60, SMALL);
    let mut log = open(&folder);
    let firsts: Vec<u64> = folder::list(folder.path()).unwrap().iter().map(|segment| segment.first).collect();
    let third = firsts[2];
    assert_eq!(log.remove_before(firsts[1] - 1).unwrap(), 0);
    assert!(log.remove_before(third).unwrap() > 0);
    assert_eq!(log.first(), third);
    assert!(matches!(log.read_from(third - 1), Err(LogError::NotKept { first, .. }) if first == third));
    assert_eq!(records(&log), expected(third..=60));
    log.remove_before(u64::MAX).unwrap();
    assert_eq!(segment_paths(folder.path()).len(), 1);
    drop(log);
    let log = open(&folder);
    assert_eq!((log.first(), log.last()), (*firsts.last().unwrap(), 60));
}

#[test]
fn beginning_a_segment_allows_the_previous_one_to_be_removed() {
    let folder = filled(3, LogOptions::default());
    let mut log = open(&folder);
    log.begin_segment().unwrap();
    log.begin_segment().unwrap();
    assert_eq!(records(&log), expected(1..=3));
    assert_eq!(log.append(&payload(4)).unwrap(), 4);
    assert!(log.remove_before(4).unwrap() > 0);
    drop(log);
    let log = open(&folder);
    assert_eq!((log.first(), records(&log)), (4, expected(4..=4)));
}

#[test]
fn bytes_since_counts_the_segments_that_hold_newer_records() {
    let folder = filled(60, SMALL);
    let log = open(&folder);
    let segments = folder::list(folder.path()).unwrap();
    let older: u64 = segments[..segments.len() - 1].iter().map(|segment| segment.bytes).sum();
    assert_eq!(log.bytes_since(0), older + log.active.offset);
    assert_eq!(log.bytes_since(segments[1].first - 1), older - segments[0].bytes + log.active.offset);
    assert_eq!(log.bytes_since(60), 0);
}

/// A checkpoint is due after a number of bytes. If the bytes before the last checkpoint counted, each checkpoint would
/// be due at once.
#[test]
fn bytes_since_leaves_out_what_was_appended_before() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::open(folder.path(), LogOptions::default()).unwrap();
    log.active.ends = RecordEnds::spaced(64);
    let mut positions = vec![log.active.offset];
    for number in 1..=200 {
        assert_eq!(log.append(&payload(number)).unwrap(), number);
        positions.push(log.active.offset);
    }
    for number in 0..200 {
        let exact = positions[200] - positions[number as usize];
        let counted = log.bytes_since(number);
        let slack = positions[0].max(64);
        assert!(counted >= exact && counted <= exact + slack, "after {number}: {counted}, not {exact}");
    }
}

#[test]
fn a_reset_log_is_empty_and_begins_at_the_given_number() {
    let folder = filled(60, SMALL);
    let mut log = open(&folder);
    log.reset_to(1000).unwrap();
    assert_eq!((log.first(), log.last()), (1000, 999));
    assert_eq!(records(&log), []);
    drop(log);
    let mut log = open(&folder);
    assert_eq!((log.first(), log.last()), (1000, 999));
    assert_eq!(log.append(b"x").unwrap(), 1000);
    assert_eq!(segment_paths(folder.path()).len(), 1);
}

#[test]
fn a_reader_reads_while_records_are_appended() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = open(&folder);
    log.append(&payload(1)).unwrap();
    let reader = log.reader();
    for number in 2..=40 {
        log.append(&payload(number)).unwrap();
        let read: Vec<_> = reader.read(1, number).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(read, expected(1..=number));
    }
    assert!(reader.read(1, 41).unwrap().last().unwrap().is_err());
    assert_eq!(reader.read(41, 40).unwrap().count(), 0);
}

#[test]
fn a_folder_can_be_opened_by_only_one_log_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(&folder);
    assert!(matches!(Log::open(folder.path(), SMALL), Err(LogError::InUse { .. })));
    drop(log);
    open(&folder);
}

#[derive(Debug, Clone)]
enum Action {
    Append(usize),
    Reopen,
    RemoveBefore(u64),
    Sync,
    Reset(u64),
    BeginSegment,
}

fn steps() -> impl Strategy<Value = Vec<Action>> {
    let step = prop_oneof![
        12 => (0..700usize).prop_map(Action::Append),
        2 => Just(Action::Reopen),
        2 => (0..80u64).prop_map(Action::RemoveBefore),
        2 => Just(Action::Sync),
        1 => (1..50u64).prop_map(Action::Reset),
        1 => Just(Action::BeginSegment),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_log_returns_what_was_appended_through_reopening_removal_and_reset(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let mut log = open(&folder);
        let mut kept: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut last = 0;
        for step in steps {
            match step {
                Action::Append(length) => {
                    last += 1;
                    let payload = vec![last as u8; length];
                    prop_assert_eq!(log.append(&payload).unwrap(), last);
                    kept.push((last, payload));
                }
                Action::Reopen => {
                    drop(log);
                    log = open(&folder);
                }
                Action::BeginSegment => log.begin_segment().unwrap(),
                Action::RemoveBefore(number) => {
                    log.remove_before(number).unwrap();
                    prop_assert!(log.first() <= number.max(1).max(kept.first().map_or(last + 1, |(first, _)| *first)));
                    kept.retain(|(number, _)| *number >= log.first());
                }
                Action::Sync => log.sync().unwrap(),
                Action::Reset(first) => {
                    log.reset_to(first).unwrap();
                    kept.clear();
                    last = first - 1;
                }
            }
            prop_assert_eq!(log.last(), last);
            prop_assert_eq!(&records(&log), &kept);
        }
    }
}
