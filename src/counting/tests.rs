//! Tests of what a server counts that goes on from what another one shared, and of nodes over one storage.

#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bindery_analytics::{
    Analytics, AnalyticsOptions, Assembly, Batch, Event, Hit, PageUrl, Period, Shared, TrackedSearch,
};
use bindery_cluster::Store;
use bindery_model::error::Code;
use bindery_model::time::day_number;

use crate::entry::MAX_ENTRY_BYTES;
use crate::outbox::SentBatch;
use crate::shared_store::{entry_name, newest};
use crate::{NodeOptions, ServerAnalytics};

const START: i64 = 1_790_000_000_000;
const SITE: &str = "a.example";
const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0";
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

fn options(folder: &Path, clock: &Arc<AtomicI64>) -> AnalyticsOptions {
    let clock = Arc::clone(clock);
    let clock = Arc::new(move || clock.load(Ordering::SeqCst));
    AnalyticsOptions { sites: vec![SITE.to_owned()], clock, ..AnalyticsOptions::in_folder(folder) }
}

fn open(folder: &Path, clock: &Arc<AtomicI64>) -> Analytics {
    Analytics::open(&options(folder, clock)).unwrap()
}

/// A storage in memory that no other test uses.
fn storage(test: &str) -> Store {
    Store::open(&format!("memory://{test}/prefix")).unwrap()
}

/// A node of the cluster in a storage, whose clock stands still.
fn node(store: &Store, folder: &Path) -> ServerAnalytics {
    let analytics = options(folder, &Arc::new(AtomicI64::new(START)));
    let (secret, node) = ("a key that only nodes have".to_owned(), "node".to_owned());
    ServerAnalytics::of_node(NodeOptions { analytics, store: store.clone(), secret, node }).unwrap()
}

/// Returns a batch of a pageview and a search.
fn batch(number: u64) -> Batch {
    let url = PageUrl::parse(&format!("https://{SITE}/")).unwrap();
    let event = Event { url, referrer: None, screen_width: None, custom: None };
    let view = Hit { event, address: ADDRESS, user_agent: AGENT.to_owned(), country: None };
    let search = TrackedSearch {
        number,
        site: SITE.to_owned(),
        question: format!("question {number}"),
        found: true,
        blueprints: Vec::new(),
        is_public: true,
        address: ADDRESS,
        user_agent: AGENT.to_owned(),
    };
    Batch { sender: "b".to_owned(), number, items: vec![(START, view.into()), (START, search.into())] }
}

/// Opens a copy of what was shared.
fn continued(shared: &Shared, folder: &Path, clock: &Arc<AtomicI64>) -> Analytics {
    let mut assembly = Assembly::begin(&folder.join("analytics")).unwrap();
    for (name, path) in shared.files.as_ref().unwrap().list().unwrap() {
        std::fs::copy(path, assembly.file(&name).unwrap()).unwrap();
    }
    for (number, record) in &shared.records {
        assembly.record(*number, record).unwrap();
    }
    assembly.finish().unwrap();
    open(folder, clock)
}

fn pageviews(analytics: &Analytics) -> u64 {
    let today = day_number(START);
    analytics.figures(None).unwrap().totals(Period::new(today, today).unwrap()).unwrap().pageviews
}

#[test]
fn a_batch_whose_search_rested_is_sent_again_and_counts_once() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let clock = Arc::new(AtomicI64::new(START));
    let first = open(folders[0].path(), &clock);
    first.count_batch(batch(1)).unwrap();
    let shared = first.share(None).unwrap();
    assert_eq!(shared.batches.get("b"), Some(&0), "its search has not rested");
    let next = continued(&shared, folders[1].path(), &clock);
    assert_eq!(next.last_batch("b"), None);
    (0..2).for_each(|_| next.count_batch(batch(1)).unwrap());
    clock.fetch_add(2_000, Ordering::SeqCst);
    assert_eq!((pageviews(&next), next.searches_and_clicks().0, next.last_batch("b")), (1, 1, Some(1)));

    // Once it has rested, the batch is confirmed, and a server that gets it all the same does not count it again.
    assert_eq!(pageviews(&first), 1);
    let shared = first.share(None).unwrap();
    assert_eq!(shared.batches.get("b"), Some(&1));
    let last = continued(&shared, folders[2].path(), &clock);
    last.count_batch(batch(1)).unwrap();
    clock.fetch_add(2_000, Ordering::SeqCst);
    assert_eq!((pageviews(&last), last.searches_and_clicks().0), (1, 0));
}

#[test]
fn a_server_that_ends_to_count_shares_the_searches_of_the_last_second() {
    let folder = tempfile::tempdir().unwrap();
    let analytics = open(folder.path(), &Arc::new(AtomicI64::new(START)));
    analytics.count_batch(batch(1)).unwrap();
    analytics.settle().unwrap();
    assert_eq!(analytics.searches_and_clicks().0, 0);
    analytics.settle_last().unwrap();
    assert_eq!(analytics.searches_and_clicks().0, 1);
    assert_eq!(analytics.share(None).unwrap().batches.get("b"), Some(&1));
}

#[test]
fn an_import_or_a_deletion_that_ends_after_its_node_stopped_to_count_is_not_confirmed() {
    let (store, folder) = (storage("imports"), tempfile::tempdir().unwrap());
    let node = node(&store, folder.path());
    node.tend(true);
    let counting = node.counting().unwrap();
    let line = format!("192.0.2.9 - - [02/Oct/2024:10:00:00 +0000] \"GET /old HTTP/1.1\" 200 1 \"-\" \"{AGENT}\"\n");
    let [mut early, mut late] = [(); 2].map(|()| counting.import(SITE).unwrap());
    early.push(line.as_bytes());
    late.push(line.repeat(2).as_bytes());
    assert_eq!(early.finish().unwrap().added, 1);
    node.publish(&counting).unwrap();
    node.stop_counting();
    assert_eq!(late.finish().unwrap_err().code, Code::Overloaded);
    let error = node.publish(&counting).unwrap_err();
    assert_eq!(error.code, Code::OutcomeUnknown, "{}", error.message);
}

/// The number of its next entry is free again then.
#[test]
fn a_node_that_slept_while_others_counted_and_removed_entries_confirms_nothing() {
    let (store, folders) = (storage("numbers"), [(); 3].map(|()| tempfile::tempdir().unwrap()));
    let [first, second, third] = folders.each_ref().map(|folder| node(&store, folder.path()));
    first.tend(true);
    let counting = first.counting().unwrap();
    let mut import = counting.import(SITE).unwrap();
    let line = format!("192.0.2.9 - - [02/Oct/2024:10:00:00 +0000] \"GET /old HTTP/1.1\" 200 1 \"-\" \"{AGENT}\"\n");
    import.push(line.as_bytes());
    assert_eq!(import.finish().unwrap().added, 1);
    let next = newest(&store).unwrap().unwrap() + 1;
    // Each begins with an entry that has everything, and removes those before.
    [&second, &third].into_iter().for_each(|node| node.tend(true));
    assert_eq!(store.object(&entry_name(next), MAX_ENTRY_BYTES).unwrap(), None);
    let error = first.publish(&counting).unwrap_err();
    assert_eq!(error.code, Code::OutcomeUnknown, "{}", error.message);
    assert!(first.counting().is_err());
}

#[test]
fn a_server_counts_no_batch_before_those_that_it_lacks() {
    let (store, folder) = (storage("gaps"), tempfile::tempdir().unwrap());
    let node = node(&store, folder.path());
    node.tend(true);
    let counted = |first: u64, number: u64| node.receive(&sent_of(first, number)).unwrap().counted;
    // The sender takes this server for one that has counted the first batch.
    assert_eq!(counted(1, 2), 0);
    assert_eq!((counted(1, 1), counted(1, 2)), (1, 2));
    assert_eq!(counted(1, 4), 2);
    assert_eq!(pageviews(&node.counting().unwrap()), 2);
    // Those before the sixth are in the storage.
    assert_eq!((counted(6, 7), counted(6, 6), counted(6, 7)), (2, 6, 7));
}

#[test]
fn a_node_keeps_its_copy_until_another_one_counts() {
    let (store, folders) = (storage("copies"), [(); 2].map(|()| tempfile::tempdir().unwrap()));
    let copy = folders[0].path().join("analytics");
    let old = folders[0].path().join("analytics.old");
    let first = node(&store, folders[0].path());
    first.tend(true);
    assert_eq!(first.receive(&sent(1)).unwrap().counted, 1);
    first.stop_counting();
    // It is started again, and was killed while it removed an earlier copy.
    std::fs::create_dir(&old).unwrap();
    let first = node(&store, folders[0].path());
    first.tend(false);
    assert!(copy.exists());
    let second = node(&store, folders[1].path());
    second.tend(true);
    first.tend(false);
    assert!(!copy.exists() && !old.exists());
    assert!(folders[1].path().join("analytics").exists());
    // It gets everything from the storage when it leads again.
    second.stop_counting();
    first.tend(true);
    assert_eq!(pageviews(&first.counting().unwrap()), 1);
}

#[test]
fn what_is_left_of_a_removed_copy_is_removed() {
    let (store, folders) = (storage("left"), [(); 2].map(|()| tempfile::tempdir().unwrap()));
    node(&store, folders[0].path()).tend(true);
    let old = folders[1].path().join("analytics.old");
    std::fs::create_dir(&old).unwrap();
    node(&store, folders[1].path()).tend(false);
    assert!(!old.exists());
}

#[test]
fn a_server_that_becomes_a_node_destroys_its_own_salts() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path(), &Arc::new(AtomicI64::new(START))).close();
    let aside = folder.path().join("analytics.own-1/salts");
    std::fs::create_dir_all(&aside).unwrap();
    std::fs::write(aside.join("2026-01-01"), [7; 36]).unwrap();
    let folders = [folder.path().join("analytics/salts"), aside];
    let salts = || folders.each_ref().map(|folder| std::fs::read_dir(folder).unwrap().count());
    assert_eq!(salts(), [1, 1]);
    node(&storage("salts"), folder.path());
    assert_eq!(salts(), [0, 0]);
}

/// A batch of a pageview, as another node sends it that keeps no other.
fn sent(number: u64) -> Vec<u8> {
    sent_of(number, number)
}

/// A batch of a pageview, as another node sends it that keeps the batches from `first` on.
fn sent_of(first: u64, number: u64) -> Vec<u8> {
    let Batch { sender, items, .. } = batch(number);
    serde_json::to_vec(&SentBatch { sender, number, first: Some(first), now: START, items }).unwrap()
}
