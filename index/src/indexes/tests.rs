//! Checkpoints interrupted at every step, and damaged files.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::index_folder::{MergeOutcome, MergePace, largest_to_merge};
use super::*;
use crate::interrupt::StopSign;
use crate::query::{Anchor, Filter, Predicate, Query, SortBy, SortKey};
use crate::run::{NumberedRun, Run};
use crate::schema::{Column, Copy, IndexOp, Kind, Stamps, Value, Variant};

const TEXT: u32 = 1;
const LIST: u32 = 2;
pub(super) const NEVER: Duration = Duration::from_secs(1_000_000);

fn schema() -> Schema {
    Schema {
        columns: vec![Column { id: TEXT, kind: Kind::Text }, Column { id: LIST, kind: Kind::List }],
        variants: vec![Variant { number: 0, locale: None }],
    }
}

/// Options without merges, so that only checkpoints write files.
fn options() -> Options {
    Options { memory_run_entries: 10, merge_fan_in: 1_000, quiet_after: NEVER, ..Options::tiny() }
}

fn put(id: u128, text: &str) -> IndexOp {
    let values =
        vec![(TEXT, Value::Text(text.into())), (LIST, Value::List(vec!["one".into(), format!("{id}").into()]))];
    let stamps = Stamps { version: 1, created: id as i64, updated: 0, published: None };
    IndexOp::Put { id, stamps, copies: vec![(0, Some(Copy { number: id as u64, values }))] }
}

/// Returns the ids of the resources whose text contains `needle`, sorted by text.
fn find(index: &Index, needle: &str) -> Vec<u128> {
    let filter = Filter::Column(TEXT, Predicate::Substring(Anchor::Anywhere, needle.to_owned()));
    let sort = vec![SortKey { by: SortBy::Column(TEXT), descending: false }];
    let hits = index.snapshot().search(&Query { variant: 0, filter, sort }, 0, usize::MAX).unwrap();
    hits.hits.iter().map(|hit| hit.id).collect()
}

fn ids(from: u128, to: u128) -> Vec<u128> {
    (from..to).collect()
}

/// Puts resources whose texts sort as their ids do.
fn fill(index: &Index, ids: impl Iterator<Item = u128>, word: &str) {
    for id in ids {
        index.apply(vec![put(id, &format!("{id:04} {word}"))]);
    }
}

pub(super) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => files.extend(self::files(&entry.path())),
            false => files.push(entry.path()),
        }
    }
    files.sort();
    files
}

/// Waits until the index's runs satisfy the condition; fails after a minute.
#[track_caller]
fn wait_until(index: &Index, holds: fn(&[NumberedRun]) -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    let runs = || Arc::clone(&index.version().copy_sets[0].runs);
    while !holds(&runs()) {
        assert!(Instant::now() < end, "{:?}", runs());
        thread::sleep(Duration::from_millis(5));
    }
}

/// Makes two copies of a folder: after a checkpoint (number 5) of two indexes with 40 resources each, and after a
/// second one (number 9) that changes half of the first index.
fn two_checkpoints() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (live, first, second) = (folder.path().join("live"), folder.path().join("1"), folder.path().join("2"));
    let indexes = Indexes::open(&live, options()).unwrap();
    let (one, two) = (indexes.create(1, schema()), indexes.create(2, schema()));
    fill(&one, 0..40, "before");
    fill(&two, 0..40, "before");
    indexes.freeze(5).write().unwrap();
    copy_folder(&live, &first);
    fill(&one, 20..60, "after");
    indexes.freeze(9).write().unwrap();
    copy_folder(&live, &second);
    (folder, first, second)
}

fn check_first(dir: &Path) {
    let indexes = Indexes::open(dir, options()).unwrap();
    assert_eq!((indexes.number(), indexes.names()), (5, vec![1, 2]));
    for name in [1, 2] {
        let index = indexes.get(name).unwrap();
        index.verify().unwrap();
        assert_eq!(find(&index, "BEFORE"), ids(0, 40));
        assert_eq!(find(&index, "after"), []);
    }
}

fn check_second(dir: &Path) {
    let indexes = Indexes::open(dir, options()).unwrap();
    assert_eq!((indexes.number(), indexes.names()), (9, vec![1, 2]));
    let index = indexes.get(1).unwrap();
    assert_eq!(find(&index, "before"), ids(0, 20));
    assert_eq!(find(&index, "after"), ids(20, 60));
    assert_eq!(find(&indexes.get(2).unwrap(), "before"), ids(0, 40));
}

#[test]
fn a_checkpoint_interrupted_before_its_manifest_leaves_the_previous_one() {
    let (_folder, first, second) = two_checkpoints();
    check_first(&first);
    check_second(&second);

    // Any number of the second checkpoint's files may exist, the last one incomplete; the manifest is not renamed yet.
    let new: Vec<PathBuf> = files(&second)
        .into_iter()
        .map(|path| path.strip_prefix(&second).unwrap().to_owned())
        .filter(|path| !first.join(path).exists())
        .collect();
    assert!(new.len() >= 4, "{new:?}");
    for count in 0..=new.len() {
        let interrupted = tempfile::tempdir().unwrap();
        copy_folder(&first, interrupted.path());
        for (index, path) in new.iter().take(count).enumerate() {
            let bytes = fs::read(second.join(path)).unwrap();
            let length = if index + 1 == count { bytes.len() / 2 } else { bytes.len() };
            fs::create_dir_all(interrupted.path().join(path).parent().unwrap()).unwrap();
            fs::write(interrupted.path().join(path), &bytes[..length]).unwrap();
        }
        let manifest = fs::read(second.join("MANIFEST")).unwrap();
        fs::write(interrupted.path().join("MANIFEST.new"), &manifest[..manifest.len() / 2]).unwrap();
        check_first(interrupted.path());
        let left: Vec<_> = files(interrupted.path());
        assert_eq!(left.len(), files(&first).len(), "{left:?}");
    }
}

#[test]
fn a_checkpoint_interrupted_after_its_manifest_is_durable() {
    let (_folder, first, second) = two_checkpoints();
    let interrupted = tempfile::tempdir().unwrap();
    copy_folder(&first, interrupted.path());
    copy_folder(&second, interrupted.path());
    check_second(interrupted.path());
}

#[test]
fn only_an_index_with_a_missing_or_truncated_file_is_dropped() {
    let (_folder, first, _) = two_checkpoints();
    for path in files(&first.join("1.0")) {
        let path = path.strip_prefix(&first).unwrap();
        for part in [None, Some(0), Some(1), Some(2)] {
            let bad = tempfile::tempdir().unwrap();
            copy_folder(&first, bad.path());
            let bytes = fs::read(first.join(path)).unwrap();
            fs::remove_file(bad.path().join(path)).unwrap();
            if let Some(part) = part {
                fs::write(bad.path().join(path), &bytes[..bytes.len() * part / 3]).unwrap();
            }
            let indexes = Indexes::open(bad.path(), options()).unwrap();
            assert_eq!((indexes.number(), indexes.names()), (5, vec![2]), "{path:?} {part:?}");
            assert_eq!(find(&indexes.get(2).unwrap(), "before"), ids(0, 40));
            // The owner of the indexes rebuilds it, so the test does too.
            let index = indexes.create(1, schema());
            fill(&index, 0..12, "again");
            indexes.freeze(6).write().unwrap();
            drop(indexes);
            let indexes = Indexes::open(bad.path(), options()).unwrap();
            assert_eq!(find(&indexes.get(1).unwrap(), "again"), ids(0, 12));
        }
    }
}

#[test]
fn without_a_readable_manifest_the_folder_is_emptied() {
    let (_folder, first, _) = two_checkpoints();
    let manifest = fs::read(first.join("MANIFEST")).unwrap();
    for bytes in [None, Some(&manifest[..manifest.len() - 1]), Some(&[][..])] {
        let bad = tempfile::tempdir().unwrap();
        copy_folder(&first, bad.path());
        fs::remove_file(bad.path().join("MANIFEST")).unwrap();
        if let Some(bytes) = bytes {
            fs::write(bad.path().join("MANIFEST"), bytes).unwrap();
        }
        let indexes = Indexes::open(bad.path(), options()).unwrap();
        assert_eq!((indexes.number(), indexes.names()), (0, vec![]));
        assert!(files(bad.path()).iter().all(|path| path.ends_with("MANIFEST")));
    }
}

#[test]
fn runs_are_written_and_merged_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let indexes = Indexes::open(folder.path(), Options { merge_fan_in: 3, ..options() }).unwrap();
    let index = indexes.create(1, schema());
    fill(&index, 0..400, "many");
    // There are 40 runs of 10 documents. Merging them three at a time leaves far fewer.
    wait_until(&index, |runs| runs.len() <= 12);
    assert_eq!(find(&index, "many"), ids(0, 400));

    indexes.freeze(1).write().unwrap();
    for id in 0..400 {
        index.apply(vec![IndexOp::Delete { id }]);
    }
    fill(&index, 1000..1011, "few");
    // Runs without live documents are removed.
    wait_until(&index, |runs| runs.len() <= 3);
    assert_eq!(find(&index, "few"), ids(1000, 1011));
    indexes.freeze(2).write().unwrap();
    let named = indexes.registry.manifest.lock().indexes[0].runs[0].1.len();
    let folders = fs::read_dir(folder.path().join("1.0")).unwrap().flatten();
    let folders = folders.filter(|entry| entry.file_name().to_string_lossy().starts_with("run-")).count();
    assert!(folders <= named + 3, "{folders} folders for {named} runs");
}

#[test]
fn while_no_run_is_written_runs_are_merged_until_each_is_larger_than_the_smaller_ones_together() {
    let folder = tempfile::tempdir().unwrap();
    let indexes =
        Indexes::open(folder.path(), Options { quiet_after: Duration::from_millis(20), ..options() }).unwrap();
    let index = indexes.create(1, schema());
    for batch in 0..6 {
        fill(&index, batch * 100..batch * 100 + 70, "kept");
        fill(&index, batch * 100..batch * 100 + 15, "replaced");
        wait_until(&index, |runs| {
            let disk = |run: &NumberedRun| match &run.run {
                Run::Disk(run) => Some(run.bytes()),
                Run::Memory(_) => None,
            };
            let mut bytes: Vec<u64> = runs.iter().filter_map(disk).collect();
            bytes.sort_unstable();
            let are_written = runs.len() - bytes.len() <= 1;
            are_written && (1..bytes.len()).all(|end| bytes[end] > bytes[..end].iter().sum())
        });
    }
    let kept: Vec<u128> = (0..6).flat_map(|batch| batch * 100 + 15..batch * 100 + 70).collect();
    assert_eq!(find(&index, "kept"), kept);
    assert_eq!(find(&index, "replaced").len(), 6 * 15);
    indexes.freeze(1).write().unwrap();
    drop(indexes);
    let indexes = Indexes::open(folder.path(), options()).unwrap();
    assert_eq!(find(&indexes.get(1).unwrap(), "kept"), kept);
}

#[test]
fn merges_that_are_not_necessary_leave_larger_runs_and_half_of_the_free_space() {
    let much = 1 << 40;
    let cases: [(&[u64], u64, Option<u64>); 9] = [
        (&[], much, None),
        (&[5], much, None),
        (&[5, 6], much, None),
        (&[5, 5], much, Some(5)),
        (&[5, 3, 8, 100], much, Some(8)),
        (&[100, 60, 40, 7], much, Some(100)),
        (&[1, 2, 4, 8, 16], much, None),
        (&[100, 60, 40, 40], 400, Some(60)),
        (&[100, 60, 40, 40], 100, None),
    ];
    for (sizes, room, expected) in cases {
        assert_eq!(largest_to_merge(sizes.to_vec(), room), expected, "{sizes:?} with room for {room}");
    }
}

#[test]
fn a_merge_that_is_stopped_leaves_the_index_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::in_memory(schema(), options());
    let in_folder = IndexFolder::create(folder.path(), 1, 0, index.clone());
    fill(&index, 0..40, "kept");
    in_folder.write_all_frozen().unwrap();
    let numbers = || index.version().copy_sets[0].runs.iter().map(|run| run.number).collect::<Vec<_>>();
    let before = numbers();
    let stop = StopSign::default();
    stop.set();
    assert!(matches!(in_folder.merge_once(MergePace::Quiet, &stop), Ok(MergeOutcome::Stopped)));
    assert_eq!(numbers(), before);
    assert_eq!(in_folder.runs_in_use(), before.iter().copied().collect());
    assert!(matches!(in_folder.merge_once(MergePace::Quiet, &StopSign::default()), Ok(MergeOutcome::Merged)));
    assert!(numbers().len() < before.len());
    assert_eq!(find(&index, "kept"), ids(0, 40));
}

#[test]
fn a_late_checkpoint_writes_what_it_froze_unless_a_later_one_is_durable() {
    let folder = tempfile::tempdir().unwrap();
    let indexes = Indexes::open(folder.path(), options()).unwrap();
    let index = indexes.create(1, schema());
    fill(&index, 0..25, "early");
    let early = indexes.freeze(3);
    let earlier = indexes.freeze(2);
    fill(&index, 0..25, "late");
    indexes.remove(1);
    indexes.create(1, schema());
    early.write().unwrap();
    earlier.write().unwrap();
    assert_eq!(indexes.number(), 3);
    drop(indexes);
    let indexes = Indexes::open(folder.path(), options()).unwrap();
    assert_eq!((indexes.number(), find(&indexes.get(1).unwrap(), "early")), (3, ids(0, 25)));
}

#[test]
fn runs_of_an_unwritten_checkpoint_survive_merges_and_other_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let indexes = Indexes::open(folder.path(), Options { merge_fan_in: 3, ..options() }).unwrap();
    let index = indexes.create(1, schema());
    let earlier = indexes.freeze(1);
    fill(&index, 0..21, "held");
    wait_until(&index, |runs| runs.iter().filter(|run| matches!(run.run, Run::Disk(_))).count() == 2);
    let held = indexes.freeze(2);
    // Freezing lets the third run be written, and then the three are merged.
    wait_until(&index, |runs| runs.len() == 1);
    earlier.write().unwrap();
    // Another checkpoint names the index with other runs. The index is removed before its first checkpoint is written.
    let other = indexes.freeze(2);
    index.apply((0..21).map(|id| IndexOp::Delete { id }).collect());
    fill(&index, 100..101, "new");
    let last = indexes.freeze(3);
    indexes.remove(1);
    held.write().unwrap();
    let copy = tempfile::tempdir().unwrap();
    copy_folder(folder.path(), copy.path());
    let copied = Indexes::open(copy.path(), options()).unwrap();
    assert_eq!((copied.number(), find(&copied.get(1).unwrap(), "held")), (2, ids(0, 21)));
    other.write().unwrap();
    last.write().unwrap();
    drop(indexes);
    let indexes = Indexes::open(folder.path(), options()).unwrap();
    assert_eq!((indexes.number(), find(&indexes.get(1).unwrap(), "held")), (3, vec![]));
    assert_eq!(find(&indexes.get(1).unwrap(), "new"), ids(100, 101));
}

#[test]
fn only_files_of_changed_slots_are_rewritten() {
    let folder = tempfile::tempdir().unwrap();
    let indexes = Indexes::open(folder.path(), Options::default()).unwrap();
    let index = indexes.create(1, Schema { variants: Vec::new(), ..schema() });
    let many = slot_file::SLOTS as u128 + 10;
    index.apply((0..many).map(|id| put(id, "")).collect());
    indexes.freeze(1).write().unwrap();
    index.apply(vec![put(many - 1, "")]);
    indexes.freeze(2).write().unwrap();
    let names = |indexes: &Indexes| {
        let manifest = indexes.registry.manifest.lock();
        manifest.indexes[0].slot_files.iter().map(|file| file.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&indexes), ["slots-0-1", "slots-1-2"]);
    drop(indexes);
    let indexes = Indexes::open(folder.path(), Options::default()).unwrap();
    assert_eq!(indexes.get(1).unwrap().snapshot().total(), many as u64);
    indexes.freeze(3).write().unwrap();
    assert_eq!(names(&indexes), ["slots-0-1", "slots-1-2"]);
}

#[test]
fn an_index_that_another_one_replaces_never_waits_for_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let indexes = Indexes::open(folder.path(), Options { frozen_runs: 2, ..options() }).unwrap();
    let replaced = indexes.create(1, schema());
    let rebuilt = indexes.create_unfinished(1, schema());
    // The thread that writes runs has just written one of the index that is gone.
    replaced.enable_backpressure();
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for index in [replaced, rebuilt] {
            fill(&index, 0..100, "word");
        }
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(20)).expect("every write finds room");
}
