//! Tests of the two databases: the contents of each, and a database that was exchanged for another one.

use super::*;
use crate::databases::is_scattered;
use crate::key::SCATTERED;

fn unique(value: u64) -> Key {
    Key::Unique { blueprint: 1, claims: 1, variant: 0, value: format!("value {value}").into() }
}

fn idempotency(key: &str) -> Key {
    Key::Idempotency { token: "token".into(), key: key.into() }
}

fn import_key(key: &str) -> Key {
    Key::ImportKey { blueprint: 1, key: key.into() }
}

/// Values of both databases; one of the scattered ones has chunks.
fn contents() -> BTreeMap<Key, Vec<u8>> {
    let mut contents = BTreeMap::new();
    for at in 0..200 {
        contents.insert(resource(at.into()), noise(50, at));
        contents.insert(unique(at), noise(16, at));
    }
    contents.insert(idempotency("small"), noise(100, 1));
    contents.insert(idempotency("large"), noise(4 * CHUNK_BYTES, 2));
    contents.insert(import_key("a"), noise(16, 3));
    contents.insert(Key::Changes(1), noise(16, 4));
    contents.insert(Key::Webhook("w".into()), noise(16, 5));
    contents
}

fn filled(folder: &Path) -> Store {
    let store = open(folder);
    let writes: Vec<StoreWrite> = contents().into_iter().map(|(key, value)| StoreWrite::put(key, value)).collect();
    store.apply(5, &writes).unwrap();
    store
}

/// Counts the keys of scattered tables, and of their chunks.
fn scattered_in(database: &sled::Db) -> usize {
    let table = |key: &[u8]| if key[0] == CHUNK { key[1] } else { key[0] };
    database.iter().keys().filter(|key| SCATTERED.contains(&table(key.as_ref().unwrap()))).count()
}

fn check(store: &Store, what: &str) {
    assert_eq!(all(store), contents(), "{what}");
    let keys: Vec<Key> = store.scan(Prefix::All).map(|entry| entry.unwrap().0).collect();
    assert!(keys.is_sorted_by_key(Key::encode), "{what}");
    let databases = &store.0.databases;
    assert_eq!(scattered_in(databases.ordered.sled()), 0, "{what}");
    assert_eq!(scattered_in(databases.scattered.sled()), 200 + 2 + 4 + 1, "{what}");
    let mut read = BTreeMap::new();
    let orphans = store.read_all(|entry| entry.map(|entry| drop(read.insert(entry.key, entry.value)))).unwrap();
    assert_eq!((read.len(), orphans), (contents().len(), 0), "{what}");
    let last = store.last(Prefix::Uniques(1)).unwrap().unwrap().0;
    assert_eq!(Some(&last), keys.iter().rfind(|key| matches!(key, Key::Unique { .. })), "{what}");
    assert_eq!(store.last(Prefix::All).unwrap().unwrap().0, Key::Webhook("w".into()), "{what}");
}

#[test]
fn keys_that_arrive_in_no_order_have_a_database_of_their_own_and_are_scanned_with_the_others() {
    let folder = tempfile::tempdir().unwrap();
    check(&filled(folder.path()), "as written");
    check(&open(folder.path()), "opened again");
}

#[test]
fn a_database_that_lacks_what_a_checkpoint_saw_is_damage() {
    type Damage = fn(&Path);
    let cases: [(&str, Damage); 2] = [
        ("it is gone", |scattered| fs::remove_dir_all(scattered).unwrap()),
        ("an older one is in its place", |scattered| {
            let folder = tempfile::tempdir().unwrap();
            let store = open(folder.path());
            store.apply(4, &[]).unwrap();
            store.checkpoint().unwrap();
            drop(store);
            fs::remove_dir_all(scattered).unwrap();
            fs::rename(folder.path().join("scattered"), scattered).unwrap();
        }),
    ];
    for (what, damage) in cases {
        let folder = tempfile::tempdir().unwrap();
        let store = filled(folder.path());
        store.checkpoint().unwrap();
        drop(store);
        damage(&folder.path().join("scattered"));
        let error = Store::open(folder.path(), &StoreOptions::default()).unwrap_err();
        assert!(
            error.is_damage() && error.to_string().contains("before its checkpoint at record 5"),
            "{what}: {error}"
        );
    }
}

#[test]
fn of_a_damaged_database_of_scattered_keys_the_other_one_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path());
    store.checkpoint().unwrap();
    drop(store);
    let path = folder.path().join("scattered/db");
    let length = fs::metadata(&path).unwrap().len() as usize;
    fs::write(path, noise(length, 9)).unwrap();
    assert!(Store::open(folder.path(), &StoreOptions::default()).unwrap_err().is_damage());
    let store = Store::open_damaged(folder.path(), &StoreOptions::default()).unwrap();
    let left: BTreeMap<_, _> = contents().into_iter().filter(|(key, _)| !is_scattered(&key.encode())).collect();
    assert!(left.len() > 200 && all(&store) == left);
}
