#![allow(clippy::unwrap_used)]

mod databases;
mod dictionaries;
mod keys;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bindery_model::id::ResourceId;
use proptest::prelude::*;
use tempfile::TempDir;

use super::key::CHUNK;
use super::tree::{CHUNK_BYTES, chunk_key};
use super::*;

fn open(folder: &Path) -> Store {
    Store::open(folder, &StoreOptions { cache_bytes: 8 << 20 }).unwrap()
}

fn resource(id: u128) -> Key {
    Key::Resource { blueprint: 1, id: ResourceId::from_u128(id) }
}

/// Returns incompressible bytes, always the same for the same seed.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

fn all(store: &Store) -> BTreeMap<Key, Vec<u8>> {
    store.scan(Prefix::All).collect::<Result<_, _>>().unwrap()
}

/// Returns the database that holds resources.
fn ordered(store: &Store) -> &sled::Db {
    store.0.databases.ordered.sled()
}

fn raw_keys(store: &Store) -> usize {
    ordered(store).iter().count() + store.0.databases.scattered.sled().iter().count()
}

#[test]
fn values_of_all_sizes_survive_a_round_trip_and_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let lengths = [0, 1, 511, 512, 4096, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES, 1 << 20];
    let mut expected = BTreeMap::new();
    for (at, length) in lengths.into_iter().enumerate() {
        expected.insert(resource(2 * at as u128), noise(length, at as u64));
        expected.insert(resource(2 * at as u128 + 1), b"compresses ".iter().copied().cycle().take(length).collect());
    }
    let writes: Vec<StoreWrite> =
        expected.iter().map(|(key, value)| StoreWrite::put(key.clone(), value.clone())).collect();
    store.apply(7, &writes).unwrap();
    for (key, value) in &expected {
        assert_eq!(store.get(key).unwrap().as_ref(), Some(value), "{key:?}");
    }
    assert_eq!(all(&store), expected);
    assert_eq!(store.get(&resource(999)).unwrap(), None);
    drop(store);
    let store = open(folder.path());
    assert_eq!(store.applied(), 7);
    assert_eq!(all(&store), expected);
}

#[test]
fn replacing_or_deleting_a_value_removes_its_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let key = resource(1);
    for (number, length) in [(1, 5 * CHUNK_BYTES), (2, 2 * CHUNK_BYTES), (3, 10), (4, 3 * CHUNK_BYTES)] {
        store.apply(number, &[StoreWrite::put(key.clone(), noise(length, number))]).unwrap();
        let chunks = if length > CHUNK_BYTES { length / CHUNK_BYTES } else { 0 };
        assert_eq!(raw_keys(&store), 2 + chunks, "{length}");
        assert_eq!(store.get(&key).unwrap(), Some(noise(length, number)));
    }
    store.apply(5, &[StoreWrite::delete(key.clone())]).unwrap();
    assert_eq!((raw_keys(&store), store.get(&key).unwrap()), (1, None));
}

#[test]
fn replay_removes_chunks_that_a_crash_left() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let writes = |number: u64| [StoreWrite::put(resource(1), noise(2 * CHUNK_BYTES, number))];
    store.apply(1, &writes(1)).unwrap();
    // This simulates a kill after the value of record 2 was written, before the chunks of record 1 were removed.
    let old: Vec<_> = ordered(&store).scan_prefix([CHUNK]).map(Result::unwrap).collect();
    store.apply(2, &writes(2)).unwrap();
    for (key, value) in old {
        ordered(&store).insert(key, value).unwrap();
    }
    assert_eq!(raw_keys(&store), 2 + 4);
    store.replay(1, &writes(1)).unwrap();
    store.replay(2, &writes(2)).unwrap();
    assert_eq!(raw_keys(&store), 2 + 2);
    assert_eq!(store.get(&resource(1)).unwrap(), Some(noise(2 * CHUNK_BYTES, 2)));
}

#[test]
fn a_value_can_be_read_while_it_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let incompressible = |number: u64| [number.to_le_bytes().to_vec(), noise(3 * CHUNK_BYTES, number)].concat();
    store.apply(1, &[StoreWrite::put(resource(1), incompressible(1))]).unwrap();
    let writer = store.clone();
    let thread = std::thread::spawn(move || {
        for number in 2..200 {
            writer.apply(number, &[StoreWrite::put(resource(1), incompressible(number))]).unwrap();
        }
    });
    while !thread.is_finished() {
        for read in [store.get(&resource(1)).unwrap().unwrap(), all(&store).remove(&resource(1)).unwrap()] {
            let number = u64::from_le_bytes(read[..8].try_into().unwrap());
            assert!(read == incompressible(number), "the value of record {number} is mixed with another one");
        }
    }
    thread.join().unwrap();
}

#[test]
fn a_scan_returns_one_table_in_key_order() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let id = ResourceId::from_u128;
    let copy = |blueprint, of, variant, number| Key::Copy { blueprint, id: id(of), variant, number };
    let keys = [
        Key::Counter(Counter::Member),
        Key::Blueprint(1),
        Key::Blueprint(256),
        Key::BlueprintChange(1),
        resource(3),
        resource(256),
        Key::Resource { blueprint: 2, id: id(1) },
        Key::Resource { blueprint: u32::MAX, id: id(u128::MAX) },
        copy(1, 3, 0, 9),
        copy(1, 3, 0, 256),
        copy(1, 3, 1, 1),
        copy(1, 4, 0, 1),
        copy(2, 3, 0, 1),
        Key::ImportKey { blueprint: 1, key: "a".into() },
        Key::ImportKey { blueprint: 2, key: "a".into() },
        Key::FormerImportKey { blueprint: 1, id: id(3), number: 4 },
        Key::FormerImportKey { blueprint: 1, id: id(4), number: 1 },
        Key::Token("t".into()),
        Key::Member(1),
        Key::Member(300),
        Key::Password(1),
        Key::Invitation(0),
        Key::Session("s".into()),
        Key::View("v".into()),
        Key::Synonym("s".into()),
        Key::Unique { blueprint: 1, claims: 1, variant: 0, value: "v".into() },
        Key::Unique { blueprint: 1, claims: 2, variant: 0, value: "v".into() },
        Key::Idempotency { token: "t".into(), key: "k".into() },
        Key::Changes(1),
        Key::Changes(256),
        Key::SearchRule("r".into()),
    ];
    let writes: Vec<StoreWrite> = keys.iter().rev().map(|key| StoreWrite::put(key.clone(), noise(50_000, 1))).collect();
    store.apply(1, &writes).unwrap();
    let cases = [
        (Prefix::All, 0..31),
        (Prefix::Counters, 0..1),
        (Prefix::Blueprints, 1..3),
        (Prefix::BlueprintChanges, 3..4),
        (Prefix::Resources(1), 4..6),
        (Prefix::Resources(u32::MAX), 7..8),
        (Prefix::Copies(1), 8..12),
        (Prefix::CopiesOf { blueprint: 1, id: id(3) }, 8..11),
        (Prefix::ImportKeys(1), 13..14),
        (Prefix::FormerImportKeys { blueprint: 1, id: id(3) }, 15..16),
        (Prefix::Tokens, 17..18),
        (Prefix::Members, 18..20),
        (Prefix::Passwords, 20..21),
        (Prefix::Invitations, 21..22),
        (Prefix::Sessions, 22..23),
        (Prefix::Views, 23..24),
        (Prefix::Synonyms, 24..25),
        (Prefix::Uniques(1), 25..27),
        (Prefix::UniquesOf { blueprint: 1, claims: 2 }, 26..27),
        (Prefix::Idempotency, 27..28),
        (Prefix::Changes, 28..30),
        (Prefix::SearchRules, 30..31),
    ];
    for (prefix, range) in cases {
        let found: Vec<Key> = store.scan(prefix).map(|found| found.unwrap().0).collect();
        assert_eq!(found, keys[range.clone()], "{prefix:?}");
        let behind: Vec<Key> = store.scan_after(prefix, &found[0]).map(|found| found.unwrap().0).collect();
        assert_eq!(behind, found[1..], "{prefix:?}");
    }
}

#[test]
fn a_damaged_value_is_an_error_and_condemns_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store
        .apply(1, &[StoreWrite::put(resource(1), noise(100, 1)), StoreWrite::put(resource(2), noise(100, 2))])
        .unwrap();
    let key = resource(1).encode();
    let intact = ordered(&store).get(&key).unwrap().unwrap().to_vec();
    for at in 0..intact.len() {
        let mut flipped = intact.clone();
        flipped[at] ^= 0x20;
        ordered(&store).insert(&key, flipped).unwrap();
        assert!(matches!(store.get(&resource(1)), Err(StoreError::Damaged { .. })), "byte {at}");
    }
    // An intact record under another record's key is damage, too.
    ordered(&store).insert(&key, ordered(&store).get(resource(2).encode()).unwrap().unwrap()).unwrap();
    assert!(store.get(&resource(1)).is_err());
    assert!(store.scan(Prefix::All).any(|entry| entry.is_err()));
    assert!(checkpoint::condemned(folder.path()).unwrap().unwrap().contains("Resource"));
}

#[test]
fn a_value_of_a_newer_format_is_an_error_and_does_not_condemn_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.apply(1, &[StoreWrite::put(resource(1), noise(100, 1))]).unwrap();
    let key = resource(1).encode();
    let mut newer = ordered(&store).get(&key).unwrap().unwrap().to_vec();
    newer[0] += 1;
    let mut hasher = crc32fast::Hasher::new();
    for part in [&(key.len() as u32).to_le_bytes()[..], &key, &newer[..10], &newer[14..]] {
        hasher.update(part);
    }
    newer[10..14].copy_from_slice(&hasher.finalize().to_le_bytes());
    ordered(&store).insert(&key, newer).unwrap();
    let error = store.get(&resource(1)).unwrap_err();
    assert!(error.to_string().contains("has format 2, which this version of the server cannot read"), "{error}");
    assert!(!error.is_damage());
    assert_eq!(checkpoint::condemned(folder.path()).unwrap(), None);
}

#[test]
fn everything_is_read_behind_a_damaged_value_and_chunks_without_a_value_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let writes: Vec<StoreWrite> =
        (1..=5).map(|id| StoreWrite::put(resource(id), noise(3 * CHUNK_BYTES, id as u64))).collect();
    store.apply(1, &writes).unwrap();
    let read = || {
        let (mut values, mut errors) = (0, 0);
        let count = |entry: Result<Entry, StoreError>| {
            if entry.is_ok() {
                values += 1
            } else {
                errors += 1
            };
            Ok::<(), StoreError>(())
        };
        let orphans = store.read_all(count).unwrap();
        (values, errors, orphans)
    };
    assert_eq!(read(), (5, 0, 0));
    ordered(&store).insert(resource(2).encode(), vec![1; 40]).unwrap();
    ordered(&store).remove(chunk_key(&resource(3).encode(), 1, 1)).unwrap();
    ordered(&store).remove(resource(4).encode()).unwrap();
    assert_eq!(read(), (2, 2, 6));
}

#[test]
fn a_missing_chunk_is_reported_as_damage() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.apply(1, &[StoreWrite::put(resource(1), noise(3 * CHUNK_BYTES, 1))]).unwrap();
    ordered(&store).remove(chunk_key(&resource(1).encode(), 1, 1)).unwrap();
    assert!(matches!(store.get(&resource(1)), Err(StoreError::Damaged { .. })));
}

#[test]
fn a_checkpoint_returns_and_records_the_last_applied_number() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    assert_eq!(checkpointed(folder.path()).unwrap(), None);
    for number in [3, 9] {
        store.apply(number, &[]).unwrap();
        assert_eq!(store.checkpoint().unwrap(), number);
        assert_eq!(checkpointed(folder.path()).unwrap(), Some(number));
    }
    let path = folder.path().join("CHECKPOINT");
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(checkpointed(folder.path()).unwrap(), None);
}

/// Returns the folder of a closed store that has a snapshot file and values written after it.
fn with_snapshot(count: u128) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..2 {
        let store = open(folder.path());
        let writes: Vec<StoreWrite> = (0..count).map(|id| StoreWrite::put(resource(id), noise(300, round))).collect();
        store.apply(round + 1, &writes).unwrap();
        store.checkpoint().unwrap();
    }
    folder
}

#[test]
fn a_store_opens_after_a_kill_left_an_unfinished_or_damaged_snapshot() {
    let expected: BTreeMap<Key, Vec<u8>> = (0..500).map(|id| (resource(id), noise(300, 1))).collect();
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder.join("sled")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    type Damage = fn(&Path);
    let cases: [(&str, Damage); 4] = [
        ("an unfinished snapshot", |sled| fs::write(sled.join("snap.FFFFFFFFFFFFFFFF.generating"), b"x").unwrap()),
        ("an empty snapshot", |sled| fs::write(sled.join("snap.FFFFFFFFFFFFFFFF"), b"").unwrap()),
        ("a truncated snapshot", |sled| {
            let path = newest_snapshot(sled);
            let bytes = fs::read(&path).unwrap();
            fs::write(path, &bytes[..bytes.len() - 3]).unwrap();
        }),
        ("a flipped bit in the snapshot", |sled| {
            let path = newest_snapshot(sled);
            let mut bytes = fs::read(&path).unwrap();
            bytes[10] ^= 4;
            fs::write(path, bytes).unwrap();
        }),
    ];
    for (what, damage) in cases {
        let folder = with_snapshot(500);
        damage(&folder.path().join("sled"));
        let store = open(folder.path());
        assert_eq!(all(&store), expected, "{what}");
        assert!(!names(folder.path()).iter().any(|name| name.ends_with(".generating")), "{what}");
    }
}

fn newest_snapshot(sled: &Path) -> PathBuf {
    let entries = fs::read_dir(sled).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains("/snap.")).max().unwrap()
}

#[test]
fn opening_files_that_are_not_a_store_never_panics() {
    let folder = with_snapshot(500);
    let sled = folder.path().join("sled");
    fs::remove_file(newest_snapshot(&sled)).unwrap();
    fs::write(sled.join("conf"), noise(60, 1)).unwrap();
    fs::write(sled.join("db"), noise(8 << 20, 1)).unwrap();
    match Store::open(folder.path(), &StoreOptions::default()) {
        Err(StoreError::DoesNotOpen { .. }) => {}
        Ok(store) => assert_eq!(all(&store), BTreeMap::new()),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn an_open_store_cannot_be_opened_a_second_time() {
    let folder = tempfile::tempdir().unwrap();
    let _store = open(folder.path());
    let second = Store::open(folder.path(), &StoreOptions::default());
    assert!(matches!(second, Err(StoreError::InUse { .. })), "{second:?}");
}

/// No page may be in a blob file: sled writes pages larger than a quarter of a segment to such files, and never syncs
/// them.
#[test]
fn no_page_is_large_enough_for_a_blob_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let mut number = 0;
    let mut apply = |writes: Vec<StoreWrite>| {
        number += 1;
        store.apply(number, &writes).unwrap();
    };
    let count = |database: &str| fs::read_dir(folder.path().join(database).join("blobs")).unwrap().count();
    let blobs = || count("sled") + count("scattered");
    let small = |at: u64| Key::Unique { blueprint: 1, claims: 1, variant: 0, value: format!("{at}{at:0>60}").into() };
    for at in 0..100_000 {
        apply(vec![StoreWrite::put(small(at), at.to_le_bytes())]);
    }
    for at in 0..64 {
        apply(vec![StoreWrite::put(resource(at), noise(1 << 20, at as u64))]);
        // The largest values that are not split into chunks.
        apply(vec![StoreWrite::put(resource(1000 + at), noise(CHUNK_BYTES, at as u64))]);
        let kept = Key::Idempotency { token: "token".into(), key: at.to_string().as_str().into() };
        apply(vec![StoreWrite::put(kept, noise(CHUNK_BYTES, at as u64))]);
    }
    assert_eq!(blobs(), 0);
    for at in 0..64 {
        // The lengths differ from before, so that chunks are added and removed in the middle of leaves.
        apply(vec![StoreWrite::put(resource(at), noise((1 << 20) - at as usize * 9000, at as u64 + 1))]);
    }
    for at in (0..64).step_by(2) {
        apply(vec![StoreWrite::delete(resource(at)), StoreWrite::delete(resource(1000 + at))]);
    }
    for at in (0..100_000).filter(|at| at % 7 != 0) {
        apply(vec![StoreWrite::delete(small(at))]);
    }
    store.checkpoint().unwrap();
    assert_eq!(blobs(), 0);
    assert_eq!(store.get(&resource(63)).unwrap(), Some(noise((1 << 20) - 63 * 9000, 64)));
    assert_eq!(all(&store).len(), 64 + 64 + 100_000_usize.div_ceil(7));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_store_holds_what_was_applied_and_replay_is_idempotent(
        rounds in prop::collection::vec(
            prop::collection::vec((0..30u128, prop::option::weighted(0.7, (0..3 * CHUNK_BYTES, any::<bool>()))), 0..12),
            1..12,
        ),
        reopen in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = open(folder.path());
        let mut expected = BTreeMap::new();
        let mut history = Vec::new();
        for (at, round) in rounds.into_iter().enumerate() {
            let writes: Vec<StoreWrite> = round
                .into_iter()
                .map(|(id, value)| StoreWrite {
                    key: resource(id),
                    op: match value {
                        Some((length, true)) => WriteOp::Put(vec![b'a'; length]),
                        Some((length, false)) => WriteOp::Put(noise(length, at as u64)),
                        None => WriteOp::Delete,
                    },
                })
                .collect();
            for write in &writes {
                match &write.op {
                    WriteOp::Put(value) => drop(expected.insert(write.key.clone(), value.clone())),
                    WriteOp::Delete => drop(expected.remove(&write.key)),
                    WriteOp::Reindex => {}
                }
            }
            store.apply(at as u64 + 1, &writes).unwrap();
            history.push(writes);
        }
        if reopen {
            drop(store);
            store = open(folder.path());
        }
        prop_assert_eq!(&all(&store), &expected);
        let keys = raw_keys(&store);
        // A replay of all rounds, or of the later ones, has no effect.
        for from in [0, history.len() / 2] {
            for (at, writes) in history.iter().enumerate().skip(from) {
                let encoded = encode_writes(writes);
                store.replay(at as u64 + 1, &decode_writes(&encoded).unwrap()).unwrap();
            }
            if from == 0 {
                prop_assert_eq!(&all(&store), &expected);
                prop_assert_eq!(raw_keys(&store), keys);
            }
        }
        prop_assert_eq!(&all(&store), &expected);
    }
}
