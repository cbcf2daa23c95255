#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bindery_log::{Log, LogError, LogOptions};
use bindery_model::id::ResourceId;
use bindery_store::{Key, Prefix, Store, StoreOptions, StoreWrite, WriteOp, encode_transaction};
use tempfile::TempDir;

use super::files::list;
use super::*;

fn options() -> RecoverOptions {
    RecoverOptions {
        log: LogOptions { first_segment_bytes: 4 << 10, segment_bytes: 16 << 10, synced_through: 0 },
        store: StoreOptions { cache_bytes: 8 << 20 },
    }
}

fn start(folder: &Path) -> (Log, Store, RecoveryReport) {
    recover(folder, &options()).unwrap()
}

fn key(id: u64) -> Key {
    Key::Resource { blueprint: 1, id: ResourceId::from_u128(id.into()) }
}

/// Returns the writes of record `number`: two puts, sometimes of values long enough for chunks, and one delete.
fn writes(number: u64) -> Vec<StoreWrite> {
    let length = if number.is_multiple_of(17) { 100_000 } else { 100 + number as usize % 400 };
    let mut value = vec![0; length];
    blake3::Hasher::new().update(&number.to_le_bytes()).finalize_xof().fill(&mut value);
    let keys = 200;
    let unique = |at: u64| Key::Unique { blueprint: 1, claims: 1, variant: 0, value: format!("{at}").into() };
    vec![
        StoreWrite::put(unique(number * 17 % keys), number.to_le_bytes()),
        StoreWrite::delete(unique(number * 19 % keys)),
        StoreWrite::put(key(number * 7 % keys), value.clone()),
        StoreWrite::put(key(number * 13 % keys + 1), value),
        StoreWrite::delete(key(number * 11 % keys + 2)),
    ]
}

/// Returns the record of a transaction that fits into one.
fn record(writes: &[StoreWrite]) -> Vec<u8> {
    encode_transaction(1, writes).concat()
}

fn state_at(number: u64) -> BTreeMap<Key, Vec<u8>> {
    let mut state = BTreeMap::new();
    for write in (1..=number).flat_map(writes) {
        match write.op {
            WriteOp::Put(value) => drop(state.insert(write.key, value)),
            WriteOp::Delete => drop(state.remove(&write.key)),
            WriteOp::Reindex => {}
        }
    }
    state
}

fn write_through(log: &mut Log, store: &Store, number: u64) {
    while log.last() < number {
        let writes = writes(log.last() + 1);
        let number = log.append(&record(&writes)).unwrap();
        log.sync().unwrap();
        store.apply(number, &writes).unwrap();
    }
}

fn all(store: &Store) -> BTreeMap<Key, Vec<u8>> {
    store.scan(Prefix::All).collect::<Result<_, _>>().unwrap()
}

/// Makes a closed data folder at this log number.
fn filled(number: u64) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, store, _) = start(folder.path());
    write_through(&mut log, &store, number);
    store.checkpoint().unwrap();
    folder
}

/// Copies a folder as a kill at this moment would leave it, except that the files are read one after another.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => copy(&entry.path(), &target),
            Ok(_) => drop(fs::copy(entry.path(), target)),
            Err(_) => {}
        }
    }
}

#[test]
fn a_base_survives_a_round_trip_with_everything_the_store_held() {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, store, _) = start(folder.path());
    write_through(&mut log, &store, 300);
    let path = folder.path().join("backup");
    let header = write(&store, &log.reader(), &path).unwrap();
    assert_eq!((header.number, header.records), (300, 0));
    assert_eq!(header.entries as usize, state_at(300).len());
    assert_eq!(verify(&path).unwrap(), header);
    let other = tempfile::tempdir().unwrap();
    let restored = Store::open(other.path(), &options().store).unwrap();
    assert_eq!(restore(&path, &restored).unwrap(), header);
    assert_eq!(restored.applied(), 300);
    assert_eq!(all(&restored), state_at(300));
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn a_base_written_during_writes_is_exact() {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, store, _) = start(folder.path());
    write_through(&mut log, &store, 100);
    let reader = log.reader();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let next = log.last() + 1;
                write_through(&mut log, &store, next);
            }
        });
        // Some scans end before the next record is applied. Test five that contain records applied meanwhile.
        let mut n_tested = 0;
        for n in 0.. {
            let path = folder.path().join(format!("backup-{n}"));
            let header = write(&store, &reader, &path).unwrap();
            if header.records == 0 {
                continue;
            }
            let other = tempfile::tempdir().unwrap();
            let restored = Store::open(other.path(), &options().store).unwrap();
            restore(&path, &restored).unwrap();
            assert_eq!(all(&restored), state_at(header.number), "at {}", header.number);
            n_tested += 1;
            if n_tested == 5 {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn damage_at_any_byte_of_a_base_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, store, _) = start(folder.path());
    write_through(&mut log, &store, 12);
    let path = folder.path().join("backup");
    write(&store, &log.reader(), &path).unwrap();
    let bytes = fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&path, &flipped).unwrap();
        assert!(verify(&path).is_err(), "byte {at}");
    }
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        assert!(verify(&path).is_err(), "truncated to {length}");
    }
    fs::write(&path, [&bytes[..], b"x"].concat()).unwrap();
    assert!(verify(&path).is_err());
    fs::write(&path, &bytes).unwrap();
    verify(&path).unwrap();
}

#[test]
fn a_new_folder_is_empty_and_reports_no_rebuild() {
    let folder = tempfile::tempdir().unwrap();
    let (log, store, recovered) = start(folder.path());
    assert_eq!((log.last(), store.applied(), &recovered), (0, 0, &RecoveryReport::default()));
    drop((log, store));
    assert_eq!(start(folder.path()).2, RecoveryReport::default());
}

#[test]
fn records_after_the_checkpoint_are_replayed() {
    let folder = filled(50);
    let (mut log, store, recovered) = start(folder.path());
    assert_eq!(recovered, RecoveryReport { number: 50, ..RecoveryReport::default() });
    write_through(&mut log, &store, 80);
    // This record is in the log, but never applied.
    log.append(&record(&writes(81))).unwrap();
    drop((log, store));
    let (log, store, recovered) = start(folder.path());
    assert_eq!((recovered.number, recovered.replayed, recovered.rebuilt), (81, 31, None));
    assert_eq!(all(&store), state_at(81));
    drop((log, store));
    assert_eq!(start(folder.path()).2.replayed, 0);
}

#[test]
fn a_folder_copied_during_writes_recovers_every_acknowledged_write() {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, store, _) = start(folder.path());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (stop, store) = (&stop, &store);
        let log = &mut log;
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let next = log.last() + 1;
                write_through(log, store, next);
                if next.is_multiple_of(100) {
                    store.checkpoint().unwrap();
                }
            }
        });
        for _ in 0..8 {
            std::thread::sleep(Duration::from_millis(60));
            let killed = tempfile::tempdir().unwrap();
            // Copy the store first and the log last, so that the log of the copy reaches at least as far as the
            // checkpoint of its store.
            let acknowledged = store.applied();
            copy(&folder.path().join("store"), &killed.path().join("store"));
            copy(&folder.path().join("log"), &killed.path().join("log"));
            let (log, store, recovered) = start(killed.path());
            assert!(recovered.number >= acknowledged);
            assert_eq!(log.last(), recovered.number);
            assert!(all(&store) == state_at(recovered.number), "{recovered:?}");
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn an_unusable_store_is_rebuilt() {
    type Damage = fn(&Path);
    let cases: [(&str, Damage); 7] = [
        ("removed", |store| fs::remove_dir_all(store).unwrap()),
        ("without its scattered keys", |store| fs::remove_dir_all(store.join("scattered")).unwrap()),
        ("no checkpoint", |store| fs::remove_file(store.join("CHECKPOINT")).unwrap()),
        ("condemned", |store| fs::write(store.join("CONDEMNED"), "for a test").unwrap()),
        ("an empty data file", |store| {
            fs::write(store.join("sled/db"), b"").unwrap();
            for entry in fs::read_dir(store.join("sled")).unwrap() {
                let path = entry.unwrap().path();
                if path.to_string_lossy().contains("snap.") {
                    fs::remove_file(path).unwrap();
                }
            }
        }),
        ("garbage in the data file", |store| {
            let path = store.join("sled/db");
            let length = fs::metadata(&path).unwrap().len() as usize;
            fs::write(path, b"garbage ".iter().copied().cycle().take(length).collect::<Vec<u8>>()).unwrap();
        }),
        ("another store's settings", |store| fs::write(store.join("sled/conf"), b"x".repeat(40)).unwrap()),
    ];
    for with_base in [false, true] {
        for (what, damage) in cases {
            let folder = filled(60);
            if with_base {
                let (mut log, store, _) = start(folder.path());
                let header = write_next(folder.path(), &store, &log.reader(), &|| true).unwrap();
                assert!(log.remove_before(header.number + 1).unwrap() > 0);
                write_through(&mut log, &store, 90);
                store.checkpoint().unwrap();
            }
            damage(&folder.path().join("store"));
            let (log, store, recovered) = start(folder.path());
            let number = if with_base { 90 } else { 60 };
            assert_eq!((log.last(), store.applied()), (number, number), "{what}");
            assert!(all(&store) == state_at(number), "{what}, {recovered:?}");
            assert_eq!(recovered.base, with_base.then_some(60), "{what}: {recovered:?}");
            assert_eq!(recovered.moved_to.is_some(), what != "removed", "{what}: {recovered:?}");
            drop((log, store));
            let recovered = start(folder.path()).2;
            assert_eq!(recovered, RecoveryReport { number, ..RecoveryReport::default() }, "{what}");
        }
    }
}

#[test]
fn a_partly_built_store_is_discarded_and_rebuilt() {
    let folder = filled(60);
    let store = folder.path().join("store");
    fs::remove_dir_all(&store).unwrap();
    fs::create_dir_all(store.join("sled")).unwrap();
    fs::write(store.join("BUILDING"), b"").unwrap();
    let (_log, store, recovered) = start(folder.path());
    assert_eq!(recovered, RecoveryReport { number: 60, replayed: 60, ..RecoveryReport::default() });
    assert!(all(&store) == state_at(60));
}

#[test]
fn a_folder_with_only_a_base_is_restored_from_it() {
    let folder = filled(60);
    let (log, store, _) = start(folder.path());
    write_next(folder.path(), &store, &log.reader(), &|| true).unwrap();
    let target = tempfile::tempdir().unwrap();
    copy(&folder.path().join("base"), &target.path().join("base"));
    let (mut log, store, recovered) = start(target.path());
    assert_eq!(recovered, RecoveryReport { number: 60, base: Some(60), ..RecoveryReport::default() });
    assert_eq!((log.first(), log.last()), (61, 60));
    write_through(&mut log, &store, 70);
    drop((log, store));
    let (_log, store, _) = start(target.path());
    assert!(all(&store) == state_at(70));
}

#[test]
fn a_base_with_the_name_of_another_is_refused() {
    let folder = filled(60);
    let (log, store, _) = start(folder.path());
    write_next(folder.path(), &store, &log.reader(), &|| true).unwrap();
    let (_, file) = list(folder.path()).unwrap().pop().unwrap();
    let target = tempfile::tempdir().unwrap();
    place(&file, target.path(), 75).unwrap();
    let error = recover(target.path(), &RecoverOptions::default()).unwrap_err();
    assert!(error.to_string().ends_with("it ends at record 60, and its name says record 75"), "{error}");
    assert!(!target.path().join("store").exists());
}

#[test]
fn a_newer_base_replaces_the_older_one() {
    let folder = filled(60);
    let (mut log, store, _) = start(folder.path());
    assert_eq!(newest(folder.path()).unwrap(), None);
    for number in [60, 75] {
        write_through(&mut log, &store, number);
        let header = write_next(folder.path(), &store, &log.reader(), &|| true).unwrap();
        assert_eq!(newest(folder.path()).unwrap(), Some((number, header.bytes)));
        assert_eq!(fs::read_dir(folder.path().join("base")).unwrap().count(), 1);
    }
}

#[test]
fn a_base_that_is_given_up_leaves_the_older_one_alone() {
    let folder = filled(60);
    let (mut log, store, _) = start(folder.path());
    write_next(folder.path(), &store, &log.reader(), &|| true).unwrap();
    write_through(&mut log, &store, 75);
    let try_for = |steps: usize| {
        let left = std::cell::Cell::new(steps);
        let is_wanted = || left.replace(left.get().saturating_sub(1)) > 0;
        write_next(folder.path(), &store, &log.reader(), &is_wanted)
    };
    let mut steps = 0;
    while let Err(error) = try_for(steps) {
        assert!(matches!(error, BaseError::NotWanted), "{error}");
        assert_eq!(newest(folder.path()).unwrap().map(|(number, _)| number), Some(60));
        assert_eq!(fs::read_dir(folder.path().join("base")).unwrap().count(), 1, "after {steps} steps");
        steps += 1;
    }
    assert!(steps > 30, "{steps}");
    assert_eq!(newest(folder.path()).unwrap().map(|(number, _)| number), Some(75));
}

#[test]
fn recovery_fails_if_acknowledged_records_are_lost() {
    let without_old_log = || {
        let folder = filled(60);
        let (mut log, store, _) = start(folder.path());
        write_next(folder.path(), &store, &log.reader(), &|| true).unwrap();
        log.remove_before(61).unwrap();
        folder
    };
    // Neither the store nor the base is intact: an error is returned and the store is left as it is.
    let folder = without_old_log();
    let base = list(folder.path()).unwrap().remove(0).1;
    let mut bytes = fs::read(&base).unwrap();
    bytes[40] ^= 1;
    fs::write(&base, bytes).unwrap();
    fs::write(folder.path().join("store/CONDEMNED"), "for a test").unwrap();
    assert!(matches!(recover(folder.path(), &options()), Err(BaseError::NothingToBuildFrom { .. })));
    assert!(folder.path().join("store/sled/db").exists());
    // The log is missing: acknowledged records must not be dropped silently.
    let folder = without_old_log();
    fs::remove_dir_all(folder.path().join("log")).unwrap();
    let error = recover(folder.path(), &options()).unwrap_err();
    assert!(matches!(error, BaseError::Log(LogError::Missing { synced: 60, .. })), "{error}");
}
