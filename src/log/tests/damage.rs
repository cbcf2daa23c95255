//! Tests of opening a damaged or torn log: never without a record that was synced.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::super::segment::RECORD_HEADER_BYTES;
use super::*;

const LARGE: LogOptions = LogOptions { first_segment_bytes: 16 << 10, segment_bytes: 64 << 10, synced_through: 0 };
const SECTOR: usize = 512;

fn only_segment(folder: &TempDir) -> PathBuf {
    let mut paths = segment_paths(folder.path());
    assert_eq!(paths.len(), 1);
    paths.remove(0)
}

/// Makes a closed log that was synced after each of these groups of records, and was not synced after the last ones.
fn grouped(groups: &[u64], unsynced: u64) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::open(folder.path(), LARGE).unwrap();
    for size in groups {
        (0..*size).for_each(|_| append_next(&mut log));
        log.sync().unwrap();
    }
    (0..unsynced).for_each(|_| append_next(&mut log));
    folder
}

fn append_next(log: &mut Log) {
    log.append(&payload(log.last() + 1)).unwrap();
}

/// Returns the beginning of each of the records `1..=count` of the first segment, and the end of the last one.
fn positions(count: u64) -> Vec<usize> {
    let mut at = HEADER_BYTES as usize;
    let mut positions = vec![at];
    for number in 1..=count {
        at += RECORD_HEADER_BYTES as usize + payload(number).len();
        positions.push(at);
    }
    positions
}

fn torn_files(folder: &TempDir) -> Vec<PathBuf> {
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    names.filter(|path| path.to_str().unwrap().contains("torn-")).collect()
}

/// Returns the image of the log when its power was cut: a segment with these bytes.
fn image(path: &Path, bytes: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(path.file_name().unwrap()), bytes).unwrap();
    folder
}

#[test]
fn a_log_torn_at_any_byte_keeps_the_records_before_it_and_accepts_new_ones() {
    const COUNT: u64 = 6;
    let whole = grouped(&[], COUNT);
    let path = only_segment(&whole);
    let bytes = std::fs::read(&path).unwrap();
    let positions = positions(COUNT);
    for torn_at in (HEADER_BYTES as usize..positions[COUNT as usize]).step_by(3) {
        let mut torn = bytes.clone();
        torn[torn_at..].fill(0);
        let folder = image(&path, &torn);
        let mut log = Log::open(folder.path(), LARGE).unwrap();
        let last = positions[1..].iter().filter(|end| **end <= torn_at).count() as u64;
        // The count is exact because no payload ends with zeros: the cut would not change those.
        assert_eq!(log.last(), last, "torn at {torn_at}");
        while log.last() < COUNT {
            append_next(&mut log);
        }
        log.sync().unwrap();
        drop(log);
        let log = Log::open(folder.path(), LARGE).unwrap();
        assert_eq!(records(&log), expected(1..=COUNT), "torn at {torn_at}");
    }
}

#[test]
fn complete_records_behind_a_torn_one_never_become_valid_again_and_are_kept_aside() {
    let folder = grouped(&[3], 3);
    let path = only_segment(&folder);
    let mut bytes = std::fs::read(&path).unwrap();
    // The page of record 4 never reached the disk, the pages of records 5 and 6 did.
    let at = positions(3)[3];
    bytes[at..at + 30].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let mut log = Log::open(folder.path(), LARGE).unwrap();
    assert_eq!(log.last(), 3);
    // The gap is filled by a record of the same length.
    append_next(&mut log);
    log.sync().unwrap();
    drop(log);
    let log = Log::open(folder.path(), LARGE).unwrap();
    assert_eq!(records(&log), expected(1..=4));
    let torn = torn_files(&folder);
    assert_eq!(torn.len(), 1);
    let kept = std::fs::read(&torn[0]).unwrap();
    assert!(kept.ends_with(&payload(6)) && kept[..HEADER_BYTES as usize] == bytes[..HEADER_BYTES as usize]);
}

#[test]
fn only_the_newest_torn_tails_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..6 {
        let mut log = Log::open(folder.path(), LARGE).unwrap();
        append_next(&mut log);
        log.sync().unwrap();
        append_next(&mut log);
        let (path, end) = (log.active.path.clone(), log.active.offset as usize);
        drop(log);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[end - 1] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
    }
    let log = Log::open(folder.path(), LARGE).unwrap();
    assert_eq!((log.last(), torn_files(&folder).len()), (6, 3));
}

#[test]
fn every_flipped_bit_of_a_synced_record_is_refused_and_nothing_is_changed() {
    // The groups have one record or several. Behind the last group there is only its mark.
    for groups in [&[1, 2, 1][..], &[1, 3], &[4]] {
        let folder = grouped(groups, 0);
        let path = only_segment(&folder);
        let bytes = std::fs::read(&path).unwrap();
        let end = positions(4)[4];
        for bit in (0..(end + RECORD_HEADER_BYTES as usize) * 8).step_by(7) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let folder = image(&path, &flipped);
            let opened = Log::open(folder.path(), LARGE);
            if bit / 8 < end {
                let error = opened.unwrap_err();
                let LogError::Corrupt { file, offset, what } = &error else { panic!("{error}") };
                let record = positions(4).iter().rposition(|at| *at <= bit / 8);
                let position = record.map_or(0, |record| positions(4)[record]);
                assert_eq!((file.file_name(), *offset), (path.file_name(), position as u64), "bit {bit}: {what}");
                assert_eq!(std::fs::read(file).unwrap(), flipped, "bit {bit}");
                assert!(torn_files(&folder).is_empty());
            } else {
                // The mark itself is damaged. Nothing else is lost with it.
                assert_eq!(records(&opened.unwrap()), expected(1..=4), "bit {bit}");
            }
        }
    }
}

#[test]
fn a_record_that_is_known_to_be_synced_is_never_cut() {
    let whole = grouped(&[], 5);
    let path = only_segment(&whole);
    let bytes = std::fs::read(&path).unwrap();
    let at = positions(5)[3];
    let mut flipped = bytes.clone();
    flipped[at + 30] ^= 1;
    for (synced_through, expected_last) in [(0, Some(3)), (3, Some(3)), (4, None), (5, None)] {
        let folder = image(&path, &flipped);
        let opened = Log::open(folder.path(), LogOptions { synced_through, ..LARGE });
        assert_eq!(opened.as_ref().ok().map(Log::last), expected_last, "synced through {synced_through}");
        if let Err(error) = opened {
            assert!(matches!(error, LogError::Corrupt { offset, .. } if offset == at as u64), "{error}");
        }
    }
    let folder = image(&path, &bytes);
    let synced = LogOptions { synced_through: 6, ..LARGE };
    let error = Log::open(folder.path(), synced.clone()).unwrap_err().to_string();
    assert!(error.contains("ends at record 5, but record 6 was synced"), "{error}");
    std::fs::remove_file(only_segment(&folder)).unwrap();
    assert!(matches!(Log::open(folder.path(), synced), Err(LogError::Missing { synced: 6, .. })));
}

#[test]
fn records_without_proof_of_a_sync_are_written_again_before_they_are_trusted() {
    for (groups, unsynced, segments) in [(&[2][..], 0, 1), (&[2], 3, 2), (&[], 3, 1), (&[5], 1, 2)] {
        let folder = grouped(groups, unsynced);
        let before = std::fs::read(only_segment(&folder)).unwrap();
        let count = groups.iter().sum::<u64>() + unsynced;
        let mut log = Log::open(folder.path(), LARGE).unwrap();
        assert_eq!(records(&log), expected(1..=count));
        assert_eq!(segment_paths(folder.path()).len(), segments);
        append_next(&mut log);
        log.sync().unwrap();
        drop(log);
        // After the rewrite, the old copies of the rewritten records are no longer needed and may be lost.
        if segments == 2 {
            let first = segment_paths(folder.path()).remove(0);
            let synced = positions(count)[groups.iter().sum::<u64>() as usize];
            let mut lost = before.clone();
            lost[synced..].fill(0);
            std::fs::write(&first, lost).unwrap();
        }
        let log = Log::open(folder.path(), LARGE).unwrap();
        assert_eq!(records(&log), expected(1..=count + 1));
    }
}

#[test]
fn damage_in_an_older_segment_is_reported_with_file_and_offset() {
    let folder = filled(60, SMALL);
    let path = segment_paths(folder.path()).remove(2);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[(HEADER_BYTES + RECORD_HEADER_BYTES) as usize] ^= 0x10;
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
    let (old, new) = (grouped(&[6], 0), grouped(&[3], 0));
    let old_bytes = std::fs::read(only_segment(&old)).unwrap();
    let path = only_segment(&new);
    let mut bytes = std::fs::read(&path).unwrap();
    // Copy records 4 to 6 of the old file, and its mark, to the positions that they would have in the new one.
    let from = positions(3)[3];
    bytes[from..].copy_from_slice(&old_bytes[from..]);
    std::fs::write(&path, &bytes).unwrap();
    let log = Log::open(new.path(), LARGE).unwrap();
    assert_eq!(records(&log), expected(1..=3));
}

#[test]
fn a_look_at_a_damaged_log_shows_every_valid_record_and_every_damage_and_changes_nothing() {
    let folder = filled(60, SMALL);
    let mut segments = folder::list(folder.path()).unwrap();
    let newest = segments.pop().unwrap();
    let mut lost: BTreeSet<u64> = BTreeSet::new();
    // The second record of one segment, the header of another, and the first record of the last one.
    let second = segments[2].clone();
    flip(&second.path, HEADER_BYTES + 2 * RECORD_HEADER_BYTES + payload(second.first).len() as u64 + 3);
    lost.insert(second.first + 1);
    flip(&segments[3].path, 20);
    flip(&newest.path, HEADER_BYTES + 14);
    lost.insert(newest.first);
    let before: Vec<_> = segment_paths(folder.path()).iter().map(|path| std::fs::read(path).unwrap()).collect();
    let mut seen = Vec::new();
    let inspection = inspect(folder.path(), 0, |number, payload| seen.push((number, payload))).unwrap();
    let whole: Vec<_> = expected(1..=60).into_iter().filter(|(number, _)| !lost.contains(number)).collect();
    assert_eq!(seen, whole);
    let damaged: Vec<_> =
        inspection.damage.iter().map(|damage| (damage.file.clone(), damage.records.clone())).collect();
    let single = |number| number..=number;
    let header = segments[3].path.clone();
    let mut wanted = vec![(second.path, single(second.first + 1)), (header, RangeInclusive::new(1, 0))];
    wanted.push((newest.path, single(newest.first)));
    assert_eq!(damaged, wanted);
    assert_eq!((inspection.first, inspection.last, inspection.count()), (1, 60, 58));
    assert_eq!((inspection.synced_through, inspection.torn_bytes), (60, 0));
    let after: Vec<_> = segment_paths(folder.path()).iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert_eq!(before, after);
}

#[test]
fn a_look_at_a_log_tells_a_torn_tail_from_damage_and_misses_no_segment() {
    let folder = grouped(&[2, 2], 2);
    let look = |folder: &TempDir, synced| {
        let found = inspect(folder.path(), synced, |_, _| ()).unwrap();
        let lost: Vec<_> = found.damage.into_iter().map(|damage| damage.records).collect();
        (found.last, found.torn_bytes > 0, lost)
    };
    assert_eq!(look(&folder, 0), (6, false, vec![]));
    flip(&only_segment(&folder), positions(6)[4] as u64 + 3);
    assert_eq!(look(&folder, 0), (4, true, vec![]));
    // The caller knows that record 5 was synced, so it is lost.
    assert_eq!(look(&folder, 6), (6, false, vec![5..=5]));
    assert_eq!(look(&folder, 8).2, vec![5..=5, 7..=8]);
    let folder = filled(60, SMALL);
    let segments = folder::list(folder.path()).unwrap();
    std::fs::remove_file(&segments[2].path).unwrap();
    assert_eq!(look(&folder, 0), (60, false, vec![segments[2].first..=segments[3].first - 1]));
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(look(&empty, 0), (0, false, vec![]));
    assert_eq!(look(&empty, 3).2, vec![1..=3]);
}

#[test]
fn a_segment_of_another_format_is_refused_by_name() {
    for other in [1, 3] {
        let folder = grouped(&[2], 0);
        let path = only_segment(&folder);
        let mut bytes = std::fs::read(&path).unwrap();
        let epoch = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
        bytes[..HEADER_BYTES as usize].copy_from_slice(&segment::encode_header_of(other, epoch, 1));
        std::fs::write(&path, &bytes).unwrap();
        for result in [Log::open(folder.path(), LARGE).map(|_| ()), inspect(folder.path(), 0, |_, _| ()).map(|_| ())] {
            assert!(matches!(result, Err(LogError::Version { version, .. }) if version == other), "{result:?}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}

fn flip(path: &Path, at: u64) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at as usize] ^= 4;
    std::fs::write(path, &bytes).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// The power is cut while the last group is being written. Each sector of the disk has its old contents or the new
    /// ones, in any combination.
    #[test]
    fn a_power_cut_keeps_all_that_was_synced_and_of_the_rest_what_is_complete(
        groups in prop::collection::vec(1..6u64, 0..5),
        unsynced in prop::collection::vec(0..2000usize, 1..6),
        reached in prop::collection::vec(any::<bool>(), 32),
        has_mark in any::<bool>(),
    ) {
        let folder = grouped(&groups, 0);
        let synced: u64 = groups.iter().sum();
        let path = only_segment(&folder);
        let mut before = std::fs::read(&path).unwrap();
        let mut log = Log::open(folder.path(), LARGE).unwrap();
        let start = log.active.offset as usize;
        if !has_mark {
            before[start..].fill(0);
        }
        let mut end = start;
        let mut ends = Vec::new();
        let payloads: Vec<Vec<u8>> = unsynced.iter().map(|length| vec![b'a'; *length]).collect();
        for payload in &payloads {
            log.append(payload).unwrap();
            end += RECORD_HEADER_BYTES as usize + payload.len();
            ends.push(end);
        }
        let after = std::fs::read(&path).unwrap();
        drop(log);
        let mut bytes = before.clone();
        let keeps = |sector: usize| reached[(sector - start / SECTOR).min(31)];
        for at in start..end {
            if keeps(at / SECTOR) {
                bytes[at] = after[at];
            }
        }
        let is_complete = |from: usize, end: usize| bytes[from..end] == after[from..end];
        let complete = ends.iter().take_while(|end| is_complete(start, **end)).count();
        let folder = image(&path, &bytes);
        let mut log = Log::open(folder.path(), LARGE).unwrap();
        prop_assert_eq!(log.last(), synced + complete as u64);
        let whole: Vec<_> = payloads.into_iter().take(complete).collect();
        let read: Vec<_> = records(&log).into_iter().skip(synced as usize).map(|(_, payload)| payload).collect();
        prop_assert_eq!(&read, &whole);
        log.append(b"next").unwrap();
        log.sync().unwrap();
        drop(log);
        let log = Log::open(folder.path(), LARGE).unwrap();
        prop_assert_eq!(log.last(), synced + complete as u64 + 1);
        prop_assert_eq!(log.verify().unwrap(), log.last());
    }

    #[test]
    fn a_flipped_bit_in_a_synced_record_is_refused_whatever_comes_behind_it(
        groups in prop::collection::vec(1..6u64, 1..6),
        unsynced in 0..4u64,
        at in any::<prop::sample::Index>(),
        bit in 0..8u32,
    ) {
        let folder = grouped(&groups, unsynced);
        let synced: u64 = groups.iter().sum();
        let path = only_segment(&folder);
        let mut bytes = std::fs::read(&path).unwrap();
        let end = positions(synced)[synced as usize];
        bytes[at.index(end)] ^= 1 << bit;
        std::fs::write(&path, &bytes).unwrap();
        // The only proof for the last synced group is the record behind it, or its mark.
        let is_refused = matches!(Log::open(folder.path(), LARGE), Err(LogError::Corrupt { .. }));
        prop_assert!(is_refused);
        prop_assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}
