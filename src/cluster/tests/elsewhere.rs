//! Everything once, on a store of your choice:
//!
//! ```sh
//! BINDERY_TEST_STORE=s3://bucket/prefix cargo test -p bindery-cluster elsewhere -- --ignored --nocapture
//! ```

use std::time::{Duration, Instant};

use super::bases::write_file;
use super::{append_groups, races};
use crate::{Found, Position, Store};

#[test]
#[ignore = "needs a store, named by BINDERY_TEST_STORE"]
fn a_store_can_hold_a_cluster() {
    let address = std::env::var("BINDERY_TEST_STORE").unwrap();
    let store = Store::open(&format!("{address}/{}", crate::id::random_id().unwrap())).unwrap();
    let start = Instant::now();
    store.probe().unwrap();
    let probed = start.elapsed();
    races::race(&store);
    let raced = start.elapsed() - probed;

    let base = tempfile::NamedTempFile::new().unwrap();
    let prepared = store.prepare_next_history(&store.cluster().unwrap().history, base.path(), 100).unwrap();
    let next = store.begin_history(prepared).unwrap();
    let log = store.log(&next, "a").unwrap();
    let begin = Position::start(next.id, 100);
    let start = Instant::now();
    let positions = append_groups(&log, begin, 100);
    let appended = start.elapsed() / 100;

    let file = write_file(20_000_000);
    let base = log.upload_base(file.path(), &positions[100], &|| true).unwrap();
    assert_eq!(log.newest_bases(1).unwrap(), std::slice::from_ref(&base));
    let copy = tempfile::NamedTempFile::new().unwrap();
    log.download_base(&base, copy.path(), &|_, _| {}).unwrap();
    assert!(std::fs::read(copy.path()).unwrap() == std::fs::read(file.path()).unwrap());
    log.remove_bases(Duration::ZERO).unwrap();

    assert_eq!(log.remove_before(50, Duration::ZERO).unwrap(), 49);
    assert_eq!(log.read(&begin).unwrap(), Found::Removed);
    assert_eq!(log.missing_names(1, 100).unwrap(), Vec::<u64>::new());
    assert!(log.confirm(&positions[100]).unwrap());
    eprintln!("probe {probed:?}, 90 appends of three logs {raced:?}, one append {appended:?}, {:?}", store.date());
}
