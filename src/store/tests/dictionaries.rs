//! Values that are compressed with a dictionary: made while values are written, kept in the store, and part of no base.

use std::time::Duration;

use super::*;
use crate::key::DICTIONARY;

/// Returns the words of which texts are made. The texts share these words, and each text has little repetition.
fn words() -> Vec<String> {
    let letters = noise(24_000, 1);
    letters.chunks(12).map(|word| word.iter().map(|byte| char::from(b'a' + byte % 26)).collect()).collect()
}

fn text(words: &[String], seed: u64) -> Vec<u8> {
    let picks = noise(300, seed);
    let picked =
        picks.chunks(2).map(|pick| words[usize::from(u16::from_le_bytes([pick[0], pick[1]])) % words.len()].as_str());
    picked.collect::<Vec<_>>().join(" ").into_bytes()
}

fn copy(of: u64) -> Key {
    Key::Copy { blueprint: 1, id: ResourceId::from_u128(of.into()), variant: 0, number: 1 }
}

/// Makes a store to which texts of these words were written until it made a dictionary. Also returns the number of
/// texts.
fn with_dictionary() -> (tempfile::TempDir, Store, Vec<String>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let (store, words) = (open(folder.path()), words());
    for number in 1..200_000 {
        store.apply(number, &[StoreWrite::put(copy(number), text(&words, number))]).unwrap();
        if !of_dictionaries(&store).is_empty() {
            return (folder, store, words, number);
        }
    }
    panic!("no dictionary was made");
}

fn of_dictionaries(store: &Store) -> Vec<Vec<u8>> {
    ordered(store).scan_prefix([DICTIONARY]).map(|entry| entry.unwrap().0.to_vec()).collect()
}

fn stored_bytes(store: &Store, number: u64) -> usize {
    ordered(store).get(copy(number).encode()).unwrap().unwrap().len()
}

#[test]
fn values_become_smaller_once_a_dictionary_is_made_and_are_read_by_every_later_start() {
    let (folder, store, words, last) = with_dictionary();
    store.apply(last + 1, &[StoreWrite::put(copy(last + 1), text(&words, last + 1))]).unwrap();
    let (before, after) = (stored_bytes(&store, 1), stored_bytes(&store, last + 1));
    assert!(after * 4 < before * 3, "{before} bytes without, {after} with a dictionary");
    drop(store);

    let store = open(folder.path());
    let wrong = (1..=last + 1).find(|number| store.get(&copy(*number)).unwrap() != Some(text(&words, *number)));
    assert_eq!(wrong, None);
    // New values are compressed with the dictionary as well, and it is not made again.
    store.apply(last + 2, &[StoreWrite::put(copy(last + 2), text(&words, 1))]).unwrap();
    assert!(stored_bytes(&store, last + 2) * 4 < before * 3);
    assert_eq!(of_dictionaries(&store).len(), 1);

    // Neither bases nor checks for damage see a dictionary.
    let keys: Vec<Vec<u8>> = store.entries(Prefix::All, None).map(|entry| entry.unwrap().key).collect();
    assert_eq!(keys, (1..=last + 2).map(|number| copy(number).encode()).collect::<Vec<_>>());
    let mut count = 0;
    let orphans = store.read_all(|entry| {
        count += u64::from(entry.is_ok());
        Ok::<(), ()>(())
    });
    assert_eq!((orphans, count), (Ok(0), last + 2));
}

#[test]
fn a_restored_store_makes_a_dictionary_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let words = words();
    let store = open(folder.path());
    for number in 1..100_000 {
        let entry = Entry { key: copy(number).encode(), number, value: text(&words, number) };
        store.restore_entry(&entry).unwrap();
        if !of_dictionaries(&store).is_empty() {
            return;
        }
    }
    panic!("no dictionary was made");
}

#[test]
fn a_damaged_dictionary_is_damage_of_the_store() {
    let (folder, store, words, last) = with_dictionary();
    store.apply(last + 1, &[StoreWrite::put(copy(last + 1), text(&words, last + 1))]).unwrap();
    let key = of_dictionaries(&store).remove(0);
    let chunk = chunk_key(&key, last, 0);
    assert!(ordered(&store).remove(&chunk).unwrap().is_some());
    assert_eq!(store.get(&copy(last + 1)).unwrap(), Some(text(&words, last + 1)), "it is in memory");
    let mut damage = Vec::new();
    store
        .read_all(|entry| {
            damage.extend(entry.err());
            Ok::<(), ()>(())
        })
        .unwrap();
    assert_eq!(damage.len(), 1, "{damage:?}");
    drop(store);
    let opened = Store::open(folder.path(), &StoreOptions::default());
    assert!(opened.is_err_and(|error| error.is_damage()));
    assert!(condemned(folder.path()).unwrap().is_some());
}

#[test]
fn what_has_nothing_in_common_gets_no_dictionary() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for number in 1..4_000 {
        store.apply(number, &[StoreWrite::put(copy(number), noise(2_000, number))]).unwrap();
    }
    std::thread::sleep(Duration::from_secs(2));
    store.apply(4_000, &[StoreWrite::put(copy(4_000), noise(2_000, 4_000))]).unwrap();
    assert_eq!(of_dictionaries(&store), Vec::<Vec<u8>>::new());
}

#[test]
fn the_database_of_scattered_keys_needs_no_dictionary_of_the_other_one() {
    let (folder, store, words, last) = with_dictionary();
    let answer = Key::Idempotency { token: "token".into(), key: "a".into() };
    store.apply(last + 1, &[StoreWrite::put(answer.clone(), text(&words, 1))]).unwrap();
    for dictionary in of_dictionaries(&store) {
        ordered(&store).remove(dictionary).unwrap();
    }
    drop(store);
    assert_eq!(open(folder.path()).get(&answer).unwrap(), Some(text(&words, 1)));
}
