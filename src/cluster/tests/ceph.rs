//! The log in a real Ceph: it does what logs in memory do.

#[path = "../../../tests/it/cluster/ceph.rs"]
#[allow(dead_code)]
mod server;

use std::sync::Arc;

use super::over_http::store_at;
use super::{BASE_NUMBER, bases, create, races, removal};
use crate::{ClusterError, Log, Position, Store};
use server::{ACCESS_KEYS, BUCKET, Ceph, SECRET};

fn store(ceph: &Ceph) -> Store {
    store_at(ceph.port(), [BUCKET, &ceph.new_prefix()], [ACCESS_KEYS[0], SECRET])
}

/// A log of its own, and the position at which it begins.
fn new_log(ceph: &Ceph) -> (Store, Log, Position) {
    let mut store = store(ceph);
    // Ceph states its time in whole seconds, and tests remove groups that are younger than that.
    Arc::get_mut(&mut store.objects).unwrap().date = None;
    let info = create(&store);
    let log = store.log(&info.history, "a").unwrap();
    (store, log, Position::start(info.history.id, BASE_NUMBER))
}

#[test]
fn a_log_in_ceph_does_what_others_do() {
    let Some(ceph) = Ceph::start() else { return };
    let empty = store(&ceph);
    assert!(matches!(empty.cluster(), Err(ClusterError::NoCluster { .. })));
    empty.probe().unwrap();
    races::race(&empty);
    removal::removed_groups_are_known(new_log(&ceph));
    removal::what_follows_removed_groups_is_appended(new_log(&ceph));
    bases::a_large_base_comes_back(new_log(&ceph));
    let elsewhere = store_at(ceph.port(), ["missing", "prefix"], [ACCESS_KEYS[0], SECRET]);
    assert!(matches!(elsewhere.cluster(), Err(ClusterError::NoBucket { .. })));
    let stranger = store_at(ceph.port(), [BUCKET, "prefix"], [ACCESS_KEYS[0], "another secret"]);
    assert!(matches!(stranger.cluster(), Err(ClusterError::Denied { .. })));
}
