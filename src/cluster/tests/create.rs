//! Creating clusters and histories, also if that is interrupted.

use std::sync::Arc;

use object_store::memory::InMemory;

use super::faulty::{Death, FaultyStore};
use super::{BASE_NUMBER, create, folder_store, memory_store};
use crate::{ClusterError, History, Position, Store};

#[test]
fn a_cluster_is_created_once() {
    let store = memory_store();
    let error = store.cluster().unwrap_err();
    assert!(matches!(error, ClusterError::NoCluster { .. }), "{error}");
    assert!(error.to_string().contains("bindery cluster create"), "{error}");
    let info = create(&store);
    assert_eq!(info.history.number, 1);
    assert_eq!(store.cluster().unwrap(), info);

    let base = tempfile::NamedTempFile::new().unwrap();
    let error = store.create_cluster(base.path(), 1).unwrap_err();
    assert!(matches!(error, ClusterError::Exists { .. }), "{error}");
    let bases = store.log(&info.history, "a").unwrap().newest_bases(5).unwrap();
    assert_eq!(bases.len(), 1);
    assert_eq!(bases[0].position, Position::start(info.history.id, BASE_NUMBER));
}

#[test]
fn a_creation_that_was_interrupted_is_completed_under_the_same_id() {
    let base = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(base.path(), "content").unwrap();
    // The changes are: cluster.json, the base, the history.
    for at in 0..3 {
        for is_made in [false, true] {
            let inner = Arc::new(InMemory::new());
            let dying = Store::of(Arc::new(FaultyStore::dying(Arc::clone(&inner), Death { at, is_made })));
            dying.create_cluster(base.path(), 3).unwrap_err();

            let store = Store::of(inner);
            let id = match store.cluster() {
                Err(ClusterError::NoCluster { .. }) => None,
                Err(ClusterError::Incomplete { .. }) => {
                    let file = crate::objects::block(store.objects.get("cluster.json", 1000)).unwrap().unwrap();
                    Some(serde_json::from_slice::<serde_json::Value>(&file).unwrap()["id"].as_str().unwrap().to_owned())
                }
                Ok(info) => {
                    // The last answer was lost.
                    assert!((at, is_made) == (2, true));
                    let error = store.create_cluster(base.path(), 3).unwrap_err();
                    assert!(matches!(error, ClusterError::Exists { .. }), "{error}");
                    assert_eq!(store.cluster().unwrap(), info);
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            assert_eq!(id.is_some(), at > 0 || is_made, "after change {at}");
            let info = store.create_cluster(base.path(), 3).unwrap();
            if let Some(id) = id {
                assert_eq!(info.id.to_string(), id);
            }
            assert_eq!(store.cluster().unwrap(), info);
            let bases = store.log(&info.history, "a").unwrap().newest_bases(5).unwrap();
            assert_eq!(bases.len(), 1, "a base of the interrupted creation counts");
        }
    }
}

#[test]
fn creators_that_race_create_one_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let base = tempfile::NamedTempFile::new().unwrap();
                    folder_store(folder.path()).create_cluster(base.path(), 1)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let created: Vec<_> = results.iter().filter_map(|result| result.as_ref().ok()).collect();
    assert_eq!(created.len(), 1, "{results:?}");
    assert_eq!(&folder_store(folder.path()).cluster().unwrap(), created[0]);
}

fn next_history(store: &Store, after: &History, base: &std::path::Path) -> Result<History, ClusterError> {
    store.begin_history(store.prepare_next_history(after, base, 40).unwrap())
}

#[test]
fn behind_the_seal_nobody_appends_and_nobody_reads() {
    let store = memory_store();
    let info = create(&store);
    let log = store.log(&info.history, "a").unwrap();
    let mut waiting = |_: crate::Wait| std::ops::ControlFlow::Continue(());
    let start = log.newest_bases(1).unwrap()[0].position;
    let end = log.append(&start, &[b"one".to_vec()], 0, &mut waiting).unwrap();
    let other = store.log(&info.history, "b").unwrap();
    other.seal(&end, &mut waiting).unwrap();
    assert!(matches!(
        log.append(&end, &[b"two".to_vec()], 0, &mut waiting),
        Err(crate::AppendError::Conflict { seq: 2 })
    ));
    assert!(matches!(log.read(&end), Err(ClusterError::Sealed { seq: 2 })));
    let follower = log.follow(start, || ()).unwrap();
    while follower.status().error.is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(follower.take().len(), 1);
    assert!(matches!(*follower.status().error.unwrap(), ClusterError::Sealed { seq: 2 }));
    // An append of nothing seals nothing.
    let next = next_history(&store, &info.history, tempfile::NamedTempFile::new().unwrap().path()).unwrap();
    let log = store.log(&next, "a").unwrap();
    let start = log.newest_bases(1).unwrap()[0].position;
    assert_eq!(log.append(&start, &[], 0, &mut waiting).unwrap(), start);
    assert!(matches!(log.read(&start).unwrap(), crate::Found::Missing));
}

#[test]
fn the_next_history_counts() {
    let store = memory_store();
    let info = create(&store);
    let base = tempfile::NamedTempFile::new().unwrap();
    let next = next_history(&store, &info.history, base.path()).unwrap();
    assert_eq!((next.number, store.cluster().unwrap().history), (2, next));
    let error = next_history(&store, &info.history, base.path()).unwrap_err();
    assert!(matches!(error, ClusterError::HistoryExists { number: 2 }), "{error}");
    assert_eq!(store.log(&next, "a").unwrap().newest_bases(9).unwrap().len(), 1);
    // The old one stays.
    assert_eq!(store.log(&info.history, "a").unwrap().newest_bases(9).unwrap().len(), 1);
}

#[test]
fn addresses_that_cannot_be_used_say_why() {
    for address in ["content", "ftp://bucket/x", "s3:///x", "s3://key:secret@bucket/x", "file://relative/x"] {
        let error = Store::open(address).unwrap_err();
        assert!(matches!(error, ClusterError::Address { .. }), "{address}: {error}");
        assert!(error.to_string().contains("s3://BUCKET"), "{address}: {error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let error = folder_store(&folder.path().join("missing")).cluster().unwrap_err();
    assert!(matches!(error, ClusterError::NoBucket { .. }), "{error}");
}
