//! Bases.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::memory::InMemory;

use super::faulty::{Death, FaultyStore};
use super::{append_groups, create, memory_log};
use crate::objects::block;
use crate::{ClusterError, Log, Position, Store};

/// Writes a file whose bytes do not repeat.
pub(super) fn write_file(bytes: usize) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut content = vec![0; bytes];
    blake3::Hasher::new().finalize_xof().fill(&mut content);
    std::fs::write(file.path(), content).unwrap();
    file
}

#[test]
fn a_base_of_20_mb_comes_back() {
    a_large_base_comes_back(memory_log());
}

pub(super) fn a_large_base_comes_back((_store, log, start): (Store, Log, Position)) {
    let position = append_groups(&log, start, 2)[2];
    let file = write_file(20_000_001);
    let base = log.upload_base(file.path(), &position, &|| true).unwrap();
    let newest = log.newest_bases(1).unwrap();
    assert_eq!(newest, std::slice::from_ref(&base));
    assert_eq!((base.position, base.bytes), (position, 20_000_001));

    let copy = tempfile::NamedTempFile::new().unwrap();
    let seen = Cell::new((0, 0));
    log.download_base(&base, copy.path(), &|done, all| seen.set((done, all))).unwrap();
    assert_eq!(seen.get(), (20_000_001, 20_000_001));
    assert!(std::fs::read(copy.path()).unwrap() == std::fs::read(file.path()).unwrap());
}

#[test]
fn a_base_in_a_folder_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = super::folder_store(folder.path());
    let log = store.log(&create(&store).history, "a").unwrap();
    let base = log.newest_bases(2).unwrap().remove(0);
    let copy = folder.path().join("copy");
    log.download_base(&base, &copy, &|_, _| {}).unwrap();
    assert_eq!(std::fs::read(copy).unwrap(), b"the first base");
}

#[test]
fn a_base_that_was_cut_is_not_listed() {
    let inner = Arc::new(InMemory::new());
    let store = Store::of(Arc::clone(&inner) as Arc<_>);
    let log = store.log(&create(&store).history, "a").unwrap();
    let position = log.newest_bases(1).unwrap()[0].position;
    let file = write_file(20_000_000);

    // The upload fails.
    for is_made in [false, true] {
        let dying = Store::of(Arc::new(FaultyStore::dying(Arc::clone(&inner), Death { at: 0, is_made })));
        dying.log(&log.history(), "a").unwrap().upload_base(file.path(), &position, &|| true).unwrap_err();
        assert_eq!(log.newest_bases(9).unwrap().len(), 1);
    }
    // It is given up while it is read, sent, or read back: then it is complete already.
    for (parts, listed) in [(1, 1), (30, 1), (42, 2)] {
        let left = Cell::new(parts);
        let is_wanted = || left.replace(left.get() - 1) > 0;
        let error = log.upload_base(file.path(), &position, &is_wanted).unwrap_err();
        assert!(matches!(error, ClusterError::NotWanted), "{error}");
        assert_eq!(log.newest_bases(9).unwrap().len(), listed, "after {parts} parts");
    }
    block(store.objects.remove(&crate::bases::path(&log.history(), &log.newest_bases(1).unwrap()[0].name))).unwrap();
    // The store has only a part of it.
    let base = log.upload_base(file.path(), &position, &|| true).unwrap();
    let name = crate::bases::path(&log.history(), &base.name);
    let whole = block(store.objects.get(&name, u64::MAX)).unwrap().unwrap();
    for cut in [0, 100, 1_000_000, whole.len() - 1] {
        block(store.objects.overwrite(&name, whole.slice(..cut))).unwrap();
        assert_eq!(log.newest_bases(9).unwrap().len(), 1, "{cut}");
    }
    // It has other bytes.
    let mut damaged = whole.to_vec();
    damaged[15_000_000] ^= 1;
    block(store.objects.overwrite(&name, Bytes::from(damaged))).unwrap();
    let copy = tempfile::NamedTempFile::new().unwrap();
    let error = log.download_base(&base, copy.path(), &|_, _| {}).unwrap_err();
    assert!(matches!(error, ClusterError::Damaged { .. }), "{error}");
    block(store.objects.remove(&name)).unwrap();
    let error = log.download_base(&base, copy.path(), &|_, _| {}).unwrap_err();
    assert!(matches!(error, ClusterError::NoBase { .. }), "{error}");
}

#[test]
fn the_two_newest_bases_stay() {
    let (_store, log, start) = memory_log();
    let positions = append_groups(&log, start, 4);
    let file = write_file(1000);
    for position in &positions[1..] {
        log.upload_base(file.path(), position, &|| true).unwrap();
    }
    assert_eq!(log.newest_bases(9).unwrap().len(), 5);
    assert_eq!(log.remove_bases(Duration::from_secs(3600)).unwrap(), 0);
    assert_eq!(log.remove_bases(Duration::ZERO).unwrap(), 3);
    assert_eq!(log.remove_bases(Duration::ZERO).unwrap(), 0);
    let left: Vec<_> = log.newest_bases(9).unwrap().into_iter().map(|base| base.position).collect();
    assert_eq!(left, [positions[4], positions[3]]);
}
