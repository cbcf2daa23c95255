//! Tests of nodes over a log in a folder: what they append, take in, compare and refuse.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use bindery_base::RecoverOptions;
use bindery_cluster::ClusterError;
use bindery_log::{AppendError, CommitLog, Log, LogOptions};
use tempfile::TempDir;

use crate::{Leaving, NewCluster, NewestHistory, Node, NodeFacts, ReplicaError, ReplicatedLog, Upkeep, append_missing};

/// A cluster in a folder, with the folders of its nodes.
struct Cluster {
    folder: TempDir,
}

impl Cluster {
    /// Makes a cluster without records, and its first node `0`.
    fn new() -> Cluster {
        let cluster = Cluster { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(cluster.shared()).unwrap();
        let first = cluster.node(0);
        std::fs::create_dir(&first).unwrap();
        let (log, store, _) = bindery_base::recover(&first, &RecoverOptions::default()).unwrap();
        let base = cluster.folder.path().join("first.base");
        let header = bindery_base::write(&store, &log.reader(), &base).unwrap();
        NewCluster::prepare(&cluster.address()).unwrap().create(&first, &base, header.number).unwrap();
        cluster
    }

    fn shared(&self) -> PathBuf {
        self.folder.path().join("shared")
    }

    fn address(&self) -> String {
        format!("file://{}", self.shared().display())
    }

    fn node(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("node{number}"))
    }

    fn object(&self, seq: u64) -> PathBuf {
        self.shared().join(format!("0001/log/{seq:020}"))
    }

    /// Has node 0 append groups of one record, and closes it.
    fn append(&self, groups: u8) {
        let mut node = self.open(0).unwrap();
        (1..=groups).for_each(|number| append(&mut node, &[vec![number]]));
    }

    fn open(&self, number: usize) -> Result<ReplicatedLog, ReplicaError> {
        let folder = self.node(number);
        std::fs::create_dir_all(&folder).unwrap();
        let node = Node::prepare(&folder, &self.address(), &|_, _| ())?;
        node.attach(copy_in(&folder))
    }
}

fn copy_in(folder: &Path) -> Log {
    let mut log = Log::open(&folder.join("log"), LogOptions::default()).unwrap();
    // What a start does: the copy continues the base.
    if let Some((number, _)) = bindery_base::newest(folder).unwrap()
        && log.last() < number
    {
        log.reset_to(number + 1).unwrap();
    }
    log
}

fn records(log: &ReplicatedLog) -> Vec<Vec<u8>> {
    log.follow().read(1, log.last()).unwrap().map(|record| record.unwrap().1).collect()
}

/// Takes in what others appended, and applies it as the committer does.
fn take_in(log: &mut ReplicatedLog) -> u64 {
    let last = log.take_in().unwrap();
    log.note_applied(last);
    last
}

/// Appends a group as the committer does: again after an unknown outcome and until the end of the log is known, decided
/// again after a conflict.
fn append(log: &mut ReplicatedLog, group: &[Vec<u8>]) {
    loop {
        let last = take_in(log);
        match log.append(last, group) {
            Ok(number) => {
                log.note_applied(number);
                return assert_eq!(number, last + group.len() as u64);
            }
            Err(AppendError::Conflict | AppendError::Unknown(_)) => {}
            Err(AppendError::Unreachable(_)) => std::thread::sleep(std::time::Duration::from_millis(2)),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Appends a record, and confirms the state without it, until each is refused for good. Returns why.
fn append_until_refused(log: &mut ReplicatedLog) -> String {
    loop {
        let last = log.last();
        let outcomes = [log.append(last, &[b"lost".to_vec()]).map(drop), log.confirm(last)];
        match outcomes {
            [Err(AppendError::Closed(error)), Err(AppendError::Closed(_))] => return error.to_string(),
            outcomes => assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}"),
        }
        // Fails once the node has stopped following.
        let _ = log.take_in();
        log.note_applied(log.last());
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

fn until_equal(one: &mut ReplicatedLog, other: &mut ReplicatedLog) {
    while one.last() != other.last() {
        take_in(one);
        take_in(other);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn nodes_that_append_in_turn_have_the_same_records_also_after_restarts() {
    let cluster = Cluster::new();
    let mut nodes = [Some(cluster.open(0).unwrap()), Some(cluster.open(1).unwrap())];
    let mut expected = 0;
    for round in 0..40u64 {
        let which = (round.wrapping_mul(7) % 3 % 2) as usize;
        let group: Vec<Vec<u8>> =
            (0..=round % 3).map(|part| format!("{round} {part} of {which}").into_bytes()).collect();
        append(nodes[which].as_mut().unwrap(), &group);
        expected += group.len() as u64;
        if round % 9 == 8 {
            // Its process ends, and it starts again.
            let other = 1 - which;
            drop(nodes[other].take());
            nodes[other] = Some(cluster.open(other).unwrap());
        }
    }
    let [mut one, mut other] = nodes.map(Option::unwrap);
    until_equal(&mut one, &mut other);
    assert_eq!(one.last(), expected);
    assert_eq!(records(&one), records(&other));
    assert_eq!(one.status().get().position, other.status().get().position);
}

#[test]
fn a_node_is_as_far_as_it_has_applied_and_not_as_it_has_copied() {
    let cluster = Cluster::new();
    cluster.append(3);
    let mut other = cluster.open(1).unwrap();
    while other.last() < 3 {
        other.take_in().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    // It finds nothing more, and hears that group 3 is the newest.
    other.take_in().unwrap();
    let seen = |log: &ReplicatedLog| {
        log.status().hint(3);
        let standing = log.status().get();
        (standing.position.seq, standing.has_caught_up)
    };
    assert_eq!(seen(&other), (0, false));
    other.note_applied(2);
    assert_eq!(seen(&other), (2, false));
    other.note_applied(3);
    assert_eq!(seen(&other), (3, true));
}

#[test]
fn a_refusal_is_confirmed_only_by_the_newest_state() {
    let cluster = Cluster::new();
    let (mut one, mut other) = (cluster.open(0).unwrap(), cluster.open(1).unwrap());
    while matches!(one.confirm(0), Err(AppendError::Unreachable(_))) {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    one.confirm(0).unwrap();
    append(&mut other, &[b"a".to_vec()]);
    assert!(matches!(one.confirm(0), Err(AppendError::Conflict)));
    assert_eq!(one.take_in().unwrap(), 1);
    one.confirm(1).unwrap();
    std::fs::rename(cluster.shared(), cluster.folder.path().join("away")).unwrap();
    assert!(matches!(one.confirm(1), Err(AppendError::Unreachable(_))));
    assert!(matches!(one.append(1, &[b"b".to_vec()]), Err(AppendError::Unreachable(_))));
    std::fs::rename(cluster.folder.path().join("away"), cluster.shared()).unwrap();
    append(&mut one, &[b"c".to_vec()]);
    assert_eq!(records(&one), [b"a".to_vec(), b"c".to_vec()]);
}

#[test]
fn a_group_of_which_a_crash_left_a_part_in_the_copy_is_completed() {
    let cluster = Cluster::new();
    let mut one = cluster.open(0).unwrap();
    append(&mut one, &[b"a".to_vec(), b"b".to_vec(), b"c".to_vec()]);
    // Another node has the first two records of three.
    drop(cluster.open(1).unwrap());
    let mut copy = copy_in(&cluster.node(1));
    assert_eq!(copy.last(), 0);
    copy.append(b"a").unwrap();
    copy.append(b"b").unwrap();
    copy.sync().unwrap();
    drop(copy);
    let other = cluster.open(1).unwrap();
    assert_eq!(records(&other), records(&one));
}

#[test]
fn a_node_whose_records_differ_from_the_log_or_go_beyond_it_is_refused_and_keeps_them() {
    let cluster = Cluster::new();
    let mut one = cluster.open(0).unwrap();
    append(&mut one, &[b"a".to_vec()]);
    append(&mut one, &[b"b".to_vec()]);
    drop(one);
    let kept = std::fs::read(cluster.object(2)).unwrap();
    std::fs::remove_file(cluster.object(2)).unwrap();
    let error = cluster.open(0).unwrap_err();
    assert!(matches!(error, ReplicaError::Ahead { own: 2, own_seq: 2, .. }), "{error}");
    std::fs::write(cluster.object(2), kept).unwrap();
    drop(cluster.open(0).unwrap());

    drop(cluster.open(1).unwrap());
    let mut copy = copy_in(&cluster.node(1));
    copy.append(b"something else").unwrap();
    copy.sync().unwrap();
    drop(copy);
    let error = cluster.open(1).unwrap_err();
    assert!(matches!(error, ReplicaError::Diverged { number: 1, seq: 1 }), "{error}");
    assert_eq!(copy_in(&cluster.node(1)).last(), 1);
}

#[test]
fn a_start_reads_only_the_newest_groups_again() {
    let cluster = Cluster::new();
    cluster.append(20);
    for seq in 1..=18 {
        std::fs::remove_file(cluster.object(seq)).unwrap();
    }
    let mut one = cluster.open(0).unwrap();
    append(&mut one, &[vec![21]]);
    assert_eq!(one.last(), 21);
    drop(one);
    std::fs::remove_dir_all(cluster.node(0).join("ends")).unwrap();
    let error = cluster.open(0).unwrap_err();
    assert!(matches!(error, ReplicaError::Cluster(ClusterError::Gap { seq: 1 })), "{error}");
}

#[test]
fn a_repair_and_a_restore_append_nothing_behind_a_lost_group() {
    let cluster = Cluster::new();
    cluster.append(6);
    std::fs::remove_file(cluster.object(4)).unwrap();
    let copy = copy_in(&cluster.node(0));
    let repaired = append_missing(&cluster.node(0), &cluster.address(), &copy.reader(), copy.last(), &|_| true);
    let base = cluster.folder.path().join("first.base");
    let restored = NewestHistory::open(&cluster.address()).unwrap().continue_from(&base, 0);
    for error in [repaired.unwrap_err(), restored.unwrap_err()] {
        assert!(matches!(error, ReplicaError::Cluster(ClusterError::Gap { seq: 4 })), "{error}");
    }
    assert!(!cluster.object(4).exists());
}

#[test]
fn a_node_that_has_more_than_the_log_is_refused_although_older_groups_were_removed() {
    let cluster = Cluster::new();
    cluster.append(6);
    // Removal leaves the name with an empty object.
    (1..=3).for_each(|seq| std::fs::write(cluster.object(seq), b"").unwrap());
    drop(cluster.open(0).unwrap());
    std::fs::remove_file(cluster.object(6)).unwrap();
    for _ in 0..2 {
        let error = cluster.open(0).unwrap_err();
        assert!(matches!(error, ReplicaError::Ahead { own: 6, own_seq: 6, .. }), "{error}");
    }
}

#[test]
fn ends_of_groups_that_a_repair_replaced_are_replaced() {
    let cluster = Cluster::new();
    cluster.append(6);
    for lost in [6..=6, 4..=6] {
        lost.for_each(|seq| std::fs::remove_file(cluster.object(seq)).unwrap());
        let copy = copy_in(&cluster.node(0));
        append_missing(&cluster.node(0), &cluster.address(), &copy.reader(), copy.last(), &|_| true).unwrap();
        drop(copy);
        let mut other = cluster.open(1).unwrap();
        while other.last() < 6 {
            take_in(&mut other);
        }
        let (one, expected) = (cluster.open(0).unwrap(), other.status().get().position);
        assert_eq!(one.shared().1.of_group_with(6), Some(expected));
        drop((one, other));
        std::fs::remove_dir_all(cluster.node(1)).unwrap();
    }
}

#[test]
fn groups_that_a_repair_appends_hold_whole_transactions() {
    let cluster = Cluster::new();
    // Two transactions of three records, of which the second does not fit into the group of the first.
    let [inner, last] = [b'.', b'!'].map(|byte| vec![byte; 1 << 20]);
    let transaction = [inner.clone(), inner, last];
    let mut one = cluster.open(0).unwrap();
    append(&mut one, &[transaction.clone(), transaction].concat());
    drop(one);
    std::fs::remove_file(cluster.object(1)).unwrap();
    let copy = copy_in(&cluster.node(0));
    let ends_transaction = |record: &[u8]| record[0] == b'!';
    append_missing(&cluster.node(0), &cluster.address(), &copy.reader(), copy.last(), &ends_transaction).unwrap();
    drop(copy);
    let mut other = cluster.open(1).unwrap();
    while other.last() < 6 {
        take_in(&mut other);
    }
    let ends = [1, 4].map(|number| other.shared().1.of_group_with(number).unwrap().number);
    assert_eq!(ends, [3, 6]);
}

/// A crash can leave an older state of the ends than of the copy, or the reverse, or none.
#[test]
fn ends_of_another_moment_than_the_copy_are_completed_or_ignored() {
    let cluster = Cluster::new();
    let mut one = cluster.open(0).unwrap();
    let moments = [0u8, 1, 2, 5, 9, 30];
    for number in 1..=30 {
        if moments.contains(&(number - 1)) {
            drop(one);
            keep(&cluster, number - 1);
            one = cluster.open(0).unwrap();
        }
        append(&mut one, &[vec![number], vec![number, number]]);
    }
    let expected = records(&one);
    drop(one);
    keep(&cluster, 30);
    for (copy, ends) in moments.iter().flat_map(|copy| moments.map(|ends| (*copy, ends))) {
        for (part, moment) in [("log", copy), ("ends", ends)] {
            let folder = cluster.node(0).join(part);
            std::fs::remove_dir_all(&folder).unwrap();
            copy_files(&cluster.folder.path().join(format!("{part}-{moment}")), &folder);
        }
        for _ in 0..2 {
            let mut one = cluster.open(0).unwrap();
            while one.last() < 60 {
                one.take_in().unwrap();
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            assert!(records(&one) == expected, "the copy of {copy}, the ends of {ends}");
        }
    }
    for broken in [b"".as_slice(), b"something else"] {
        for file in std::fs::read_dir(cluster.node(0).join("ends")).unwrap() {
            std::fs::write(file.unwrap().path(), broken).unwrap();
        }
        assert!(records(&cluster.open(0).unwrap()) == expected);
    }
}

/// Keeps the copy and the ends of node 0 as they are after a group.
fn keep(cluster: &Cluster, moment: u8) {
    for part in ["log", "ends"] {
        copy_files(&cluster.node(0).join(part), &cluster.folder.path().join(format!("{part}-{moment}")));
    }
}

fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for file in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

#[test]
fn a_node_that_is_too_far_behind_begins_from_a_base() {
    let cluster = Cluster::new();
    let mut one = cluster.open(0).unwrap();
    drop(cluster.open(1).unwrap());
    append(&mut one, &[b"a".to_vec()]);
    drop(one);
    let group = std::fs::read(cluster.object(1)).unwrap();
    // Removal leaves the name with an empty object.
    std::fs::write(cluster.object(1), b"").unwrap();
    let folder = cluster.node(1);
    let node = Node::prepare(&folder, &cluster.address(), &|_, _| ()).unwrap();
    let error = node.attach(copy_in(&folder)).unwrap_err();
    assert!(matches!(error, ReplicaError::TooFarBehind { seq: 1 }), "{error}");
    let node = node.begin_anew(&|_, _| ()).unwrap();
    // The only base is that of the beginning, and as a rule what follows a base is there.
    std::fs::write(cluster.object(1), group).unwrap();
    assert_eq!(node.attach(copy_in(&folder)).unwrap().last(), 0);
}

#[test]
fn a_copy_that_ends_where_its_base_does_is_compared_with_the_log() {
    let cluster = Cluster::new();
    let mut one = cluster.open(0).unwrap();
    (1..=3).for_each(|number| append(&mut one, &[vec![number]]));
    let last = one.last();
    one.trim(last + 1).unwrap();
    drop(one);
    let [second, third] = [2, 3].map(|seq| std::fs::read(cluster.object(seq)).unwrap());
    let put = |seq, bytes: Option<&[u8]>| match bytes {
        Some(bytes) => std::fs::write(cluster.object(seq), bytes).unwrap(),
        None => std::fs::remove_file(cluster.object(seq)).unwrap(),
    };
    let error = || cluster.open(0).unwrap_err();
    put(3, None);
    assert!(matches!(error(), ReplicaError::Ahead { own, own_seq: 3, .. } if own == last), "{}", error());
    put(3, Some(&second));
    assert!(matches!(error(), ReplicaError::Diverged { number, seq: 3 } if number == last), "{}", error());
    put(3, Some(&third));
    put(4, Some(b""));
    assert!(matches!(error(), ReplicaError::TooFarBehind { seq: 4 }), "{}", error());
    put(4, None);
    put(6, Some(&second));
    let error = append_until_refused(&mut cluster.open(0).unwrap());
    assert!(error.starts_with("the cluster's log has lost group 4, although it has later ones"), "{error}");
    put(6, None);
    assert_eq!(cluster.open(0).unwrap().last(), last);
}

#[test]
fn a_node_that_reads_on_to_a_gap_names_it_and_appends_and_confirms_nothing() {
    let cluster = Cluster::new();
    cluster.append(5);
    let mut behind = cluster.open(1).unwrap();
    while behind.last() < 5 {
        take_in(&mut behind);
    }
    drop(behind);
    cluster.append(4);
    std::fs::remove_file(cluster.object(7)).unwrap();
    // One was stopped before group 6, and one joins.
    for number in [1, 2] {
        let mut node = cluster.open(number).unwrap();
        let error = append_until_refused(&mut node);
        assert!(error.starts_with("the cluster's log has lost group 7, although it has later ones"), "{error}");
        let standing = node.status().get();
        assert_eq!((standing.position.seq, standing.has_caught_up, standing.fault), (6, false, Some(error)));
        assert!(!cluster.object(7).exists());
    }
    // A node that has passed it goes on.
    cluster.append(1);
}

#[test]
fn a_folder_belongs_to_its_cluster_until_it_leaves() {
    let (cluster, other) = (Cluster::new(), Cluster::new());
    let folder = cluster.node(0);
    let prepare = |address: &str| Node::prepare(&folder, address, &|_, _| ());
    assert!(matches!(prepare(&other.address()), Err(ReplicaError::OtherCluster { .. })));
    let leave = |address: &str| {
        let mut leaving = Leaving::begin(&folder)?;
        leaving.find_cluster(address)?;
        leaving.finish()
    };
    assert!(matches!(leave(&other.address()), Err(ReplicaError::OtherCluster { .. })));
    prepare(&cluster.address()).unwrap();
    leave(&cluster.address()).unwrap();
    assert!(matches!(prepare(&cluster.address()), Err(ReplicaError::NotANode { .. })));
    assert!(matches!(leave(&cluster.address()), Err(ReplicaError::NoNode { .. })));
}

#[test]
fn a_leader_misses_groups_that_something_else_deleted_and_needs_a_base_then() {
    let cluster = Cluster::new();
    let folder = cluster.node(0);
    let node = Node::prepare(&folder, &cluster.address(), &|_, _| ()).unwrap();
    let (name, text) = ("10.0.0.1:7700".to_owned(), String::new);
    let mut log = node.attach(copy_in(&folder)).unwrap();
    let facts = NodeFacts { address: name, version: text(), reads_format: 1, settings_hash: text() };
    let upkeep = Upkeep::new(&node, &log, facts);
    for number in 1..=6 {
        append(&mut log, &[vec![number]]);
    }
    let last = log.last();
    upkeep.look_for_gaps().unwrap();
    assert_eq!((upkeep.status().get().gap, log.needs_base(0)), (None, false));
    for seq in [2, 4] {
        std::fs::remove_file(cluster.object(seq)).unwrap();
    }
    upkeep.look_for_gaps().unwrap();
    let gap = upkeep.status().get().gap.unwrap();
    assert!(
        gap.starts_with("the log has lost groups between 2 and 4: something else than Bindery deleted objects"),
        "{gap}"
    );
    assert!(log.needs_base(last - 1) && !log.needs_base(last));
    upkeep.lead(false);
    assert_eq!(upkeep.status().get().gap, None, "the next leader looks for itself");
    for seq in [2, 4] {
        std::fs::write(cluster.object(seq), b"").unwrap();
    }
    upkeep.look_for_gaps().unwrap();
    assert_eq!(upkeep.status().get().gap, None);
}
