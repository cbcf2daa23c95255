#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// Makes the next write or sync fail once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InjectedFailure(Step);

impl InjectedFailure {
    pub(super) fn trigger(next: &mut Option<InjectedFailure>, step: Step) -> std::io::Result<()> {
        match next.take_if(|failure| failure.0 == step) {
            Some(_) => Err(std::io::Error::other("injected")),
            None => Ok(()),
        }
    }
}

const SMALL: LogOptions = LogOptions { first_segment_bytes: 256, segment_bytes: 1024, synced_through: 0 };

fn open(folder: &TempDir) -> Log {
    Log::open(folder.path(), SMALL).unwrap()
}

fn payload(number: u64) -> Vec<u8> {
    format!("payload of {number} ").repeat(1 + number as usize % 4).into_bytes()
}

/// The folder of a closed log that holds the records `1..=count`.
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
    // As the very first record, in the middle, and twice in a row.
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
fn a_log_torn_at_any_byte_keeps_the_records_before_it_and_accepts_new_ones() {
    const COUNT: u64 = 6;
    let options = LogOptions { first_segment_bytes: 1024, ..SMALL };
    let whole = filled(COUNT, options.clone());
    let path = segment_paths(whole.path()).remove(0);
    let bytes = std::fs::read(&path).unwrap();
    let ends: Vec<usize> = (1..=COUNT)
        .scan(HEADER_BYTES as usize, |end, number| {
            *end += segment::RECORD_HEADER_BYTES as usize + payload(number).len();
            Some(*end)
        })
        .collect();
    for torn_at in HEADER_BYTES as usize..*ends.last().unwrap() {
        let folder = tempfile::tempdir().unwrap();
        let mut torn = bytes.clone();
        torn[torn_at..].fill(0);
        std::fs::write(folder.path().join(path.file_name().unwrap()), &torn).unwrap();
        let mut log = Log::open(folder.path(), options.clone()).unwrap();
        let last = ends.iter().filter(|end| **end <= torn_at).count() as u64;
        // The count is exact because no payload ends with zeros, which would survive the cut.
        assert_eq!(log.last(), last, "torn at {torn_at}");
        for number in last + 1..=COUNT {
            log.append(&payload(number)).unwrap();
        }
        log.sync().unwrap();
        drop(log);
        let log = Log::open(folder.path(), options.clone()).unwrap();
        assert_eq!(records(&log), expected(1..=COUNT), "torn at {torn_at}");
    }
}

#[test]
fn complete_records_behind_a_torn_one_never_become_valid_again() {
    let options = LogOptions { first_segment_bytes: 1024, ..SMALL };
    let folder = filled(6, options.clone());
    let path = segment_paths(folder.path()).remove(0);
    let mut bytes = std::fs::read(&path).unwrap();
    // Record 4's page never reached the disk, those of 5 and 6 did.
    let at = find(&bytes, b"payload of 4");
    bytes[at] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let mut log = Log::open(folder.path(), options.clone()).unwrap();
    assert_eq!(log.last(), 3);
    // The gap is filled by a record of the same length.
    log.append(&payload(4)).unwrap();
    log.sync().unwrap();
    drop(log);
    let log = Log::open(folder.path(), options).unwrap();
    assert_eq!(records(&log), expected(1..=4));
}

#[test]
fn every_flipped_bit_is_detected() {
    let options = LogOptions { first_segment_bytes: 1024, ..SMALL };
    let folder = filled(5, options.clone());
    let path = segment_paths(folder.path()).remove(0);
    let bytes = std::fs::read(&path).unwrap();
    let end = find(&bytes, b"payload of 5 ") + payload(5).len();
    for at in 0..end {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(&path, &flipped).unwrap();
        match Log::open(folder.path(), options.clone()) {
            Err(LogError::Corrupt { .. }) => assert!(at < HEADER_BYTES as usize, "byte {at}"),
            Ok(log) if at < HEADER_BYTES as usize => assert!((28..32).contains(&at), "byte {at}: {}", log.last()),
            Ok(log) => {
                let last = log.last();
                assert!(last < 5, "byte {at}");
                assert_eq!(records(&log), expected(1..=last), "byte {at}");
            }
            Err(error) => panic!("byte {at}: {error}"),
        }
    }
}

#[test]
fn damage_to_a_synced_record_is_an_error_and_not_a_torn_tail() {
    let options = LogOptions { first_segment_bytes: 1024, ..SMALL };
    let folder = filled(5, options.clone());
    let path = segment_paths(folder.path()).remove(0);
    let whole = std::fs::read(&path).unwrap();
    let mut bytes = whole.clone();
    let at = find(&bytes, b"payload of 4");
    bytes[at] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let synced = LogOptions { synced_through: 5, ..options.clone() };
    let error = Log::open(folder.path(), synced.clone()).unwrap_err();
    let LogError::Corrupt { file, offset, .. } = &error else { panic!("{error}") };
    assert_eq!((file, *offset), (&path, at as u64 - segment::RECORD_HEADER_BYTES));
    // Nothing was cut: with the bit restored, all records can be read.
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(Log::open(folder.path(), synced.clone()).unwrap().last(), 5);
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(Log::open(folder.path(), synced), Err(LogError::Missing { synced: 5, .. })));
}

#[test]
fn damage_in_an_older_segment_is_reported_with_file_and_offset() {
    let folder = filled(60, SMALL);
    let path = segment_paths(folder.path()).remove(2);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = HEADER_BYTES as usize + segment::RECORD_HEADER_BYTES as usize;
    bytes[at] ^= 0x10;
    std::fs::write(&path, &bytes).unwrap();
    let log = open(&folder);
    assert_eq!(log.last(), 60);
    let read: Vec<_> = log.read_from(1).unwrap().collect();
    let LogError::Corrupt { file, offset, .. } = read.last().unwrap().as_ref().unwrap_err() else { panic!() };
    assert_eq!((file, *offset), (&path, HEADER_BYTES));
    assert!(log.verify().is_err());
    // Later segments can still be read.
    assert_eq!(log.read_from(50).unwrap().count(), 11);
}

#[test]
fn records_of_another_file_are_not_accepted() {
    let options = LogOptions { first_segment_bytes: 1024, ..SMALL };
    let old = filled(6, options.clone());
    let new = filled(3, options.clone());
    let old_bytes = std::fs::read(segment_paths(old.path()).remove(0)).unwrap();
    let path = segment_paths(new.path()).remove(0);
    let mut bytes = std::fs::read(&path).unwrap();
    // Copy records 4 to 6 of the old file to the positions that they would have in the new one.
    let from = find(&old_bytes, b"payload of 4") - segment::RECORD_HEADER_BYTES as usize;
    bytes[from..].copy_from_slice(&old_bytes[from..]);
    std::fs::write(&path, &bytes).unwrap();
    let log = Log::open(new.path(), options).unwrap();
    assert_eq!(records(&log), expected(1..=3));
}

#[test]
fn nothing_is_written_after_a_failed_write_or_sync() {
    for step in [Step::Write, Step::Sync] {
        let folder = filled(3, SMALL);
        let mut log = open(&folder);
        log.fail_next = Some(InjectedFailure(step));
        let failed = log.append(b"four").and_then(|_| log.sync());
        assert!(matches!(failed, Err(LogError::Io { .. })), "{step:?}");
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
    log.fail_next = Some(InjectedFailure(Step::Sync));
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

fn find(bytes: &[u8], needle: &[u8]) -> usize {
    bytes.windows(needle.len()).position(|window| window == needle).unwrap()
}
