//! Three nodes over object storage, in memory or in Ceph, or over PostgreSQL, while everything fails: the storage's
//! answers, the storage itself, the nodes, their folders. Clients talk to any node. Afterwards, nothing that was
//! acknowledged is lost, nothing is applied twice, each resource and each unique value has one order of operations, and
//! all nodes give the same answers.
//!
//! A few histories with fixed seeds are part of every test run.
//! `BINDERY_HISTORIES=200 cargo test --test it histories -- --nocapture` runs so many, each of
//! `BINDERY_HISTORY_SECONDS` (7), from the seed `BINDERY_HISTORY_SEED` (1) on. Long runs, of 10 histories or more, also
//! fail if a kind of fault never happened, or if too many outcomes are unknown. A failed history prints its seed, and
//! keeps the folders and logs of its nodes. The seed decides the faults and the requests, but not how threads
//! interleave.

mod afterwards;
mod nemesis;
mod worker;
mod world;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ceph::Ceph;
use super::faults::Fault;
use super::storage::Kind;
use super::stores;
use crate::support::setting;
use world::World;

/// The clients of one history.
const WORKERS: u64 = 10;
/// The largest share of the writes of one history whose outcome the client does not learn.
const MAX_UNKNOWN: f64 = 0.35;
/// The largest such share of all histories of a long run together. Clients give up early and nodes are killed all the
/// time, so some are never known; more than this means that nodes leave clients without an answer that they could have.
const MAX_UNKNOWN_OF_ALL: f64 = 0.05;
/// The share of requests to the storage that fail.
const FAULT_RATE: f64 = 0.04;
/// The time of a history in which nothing fails.
const CONTROL_TIME: Duration = Duration::from_secs(3);
/// The number of attempts of a control whose success depends on chance.
const CONTROLS: u64 = 6;
/// Histories of so long also have nodes that stop for up to 90 seconds, and puts that come so late.
const LONG_TIME: Duration = Duration::from_secs(60);
/// From so many histories on, every kind of fault must have happened.
const LONG: u64 = 10;

#[test]
fn nothing_acknowledged_is_lost_whatever_fails() {
    run_histories(&Kind::S3, 3);
}

#[test]
fn nothing_acknowledged_is_lost_in_postgresql_either() {
    run_histories(&Kind::Postgres, 2);
}

#[test]
fn nothing_acknowledged_is_lost_in_ceph_either() {
    let Some(ceph) = Ceph::start() else { return };
    // Ceph takes as long to start as a history, so other tests over it are part of this one.
    stores::share_a_log_in_ceph(&ceph);
    run_histories(&Kind::Ceph(Arc::new(ceph)), 2);
}

/// Runs `count` histories, unless the environment says how many.
fn run_histories(kind: &Kind, count: u64) {
    let (count, first) = (setting("BINDERY_HISTORIES", count), setting("BINDERY_HISTORY_SEED", 1));
    let time = Duration::from_secs(setting("BINDERY_HISTORY_SECONDS", 7));
    let mut fired: BTreeMap<Fault, u64> = BTreeMap::new();
    let mut total = Totals::default();
    for seed in first..first + count {
        let Some(world) = World::start(kind, seed) else { return };
        world.storage.kinds_of_faults().into_iter().for_each(|fault| *fired.entry(fault).or_default() += 0);
        nemesis::names(kind).for_each(|name| *total.done.entry(name).or_default() += 0);
        for (fault, times) in run(world, time, &mut total) {
            *fired.entry(fault).or_default() += times;
        }
    }
    let unknown = total.unknown as f64 / total.writes.max(1) as f64;
    let Totals { writes, reads, not_applied, done, .. } = total;
    report(&format!(
        "{count} histories: {writes} writes, {:.2} % unknown, {reads} reads, {not_applied} not applied",
        100.0 * unknown
    ));
    report(&format!("faults: {fired:?}"));
    report(&format!("events: {done:?}"));
    if count < LONG {
        return;
    }
    let missing: Vec<_> = fired.iter().filter(|(_, times)| **times == 0).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
    let missing: Vec<_> = done.iter().filter(|(_, times)| **times == 0).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
    assert!(unknown <= MAX_UNKNOWN_OF_ALL, "{unknown:.3} of the writes of all histories have an unknown outcome");
}

/// The sums over all histories.
#[derive(Default)]
struct Totals {
    writes: u64,
    unknown: u64,
    reads: u64,
    not_applied: u64,
    done: BTreeMap<&'static str, u64>,
}

/// If this does not fail, the histories prove nothing.
#[test]
fn a_storage_that_ignores_the_condition_of_puts_loses_writes() {
    // Nodes stop soon after they lost the first write, so one history may end before a client reads what shows it.
    let is_found = (1..=CONTROLS).any(|seed| {
        let world = World::start(&Kind::S3, 2 * seed).unwrap();
        world.storage.ignore_conditions();
        !run_control(&world).is_empty()
    });
    assert!(is_found, "no check has found that writes were lost");
}

/// If this does not fail, the histories do not notice stale answers.
#[test]
fn reads_that_are_not_confirmed_are_stale() {
    let mut world = World::start(&Kind::S3, 2).unwrap();
    world.latest = "0";
    let errors = run_control(&world);
    assert!(!errors.is_empty(), "no check has found a stale read");
}

/// Runs a history in which nothing fails. Returns what the clients and the checks of orders found.
fn run_control(world: &World) -> Vec<String> {
    let mut errors = Vec::new();
    work_while(world, || std::thread::sleep(CONTROL_TIME));
    afterwards::check_orders(world, &mut errors);
    errors.append(&mut world.ledger().errors);
    errors
}

/// Lets all clients work for as long as a function runs.
fn work_while(world: &World, happening: impl FnOnce()) {
    std::thread::scope(|scope| {
        for number in 0..WORKERS {
            scope.spawn(move || worker::run(world, number));
        }
        happening();
        world.end();
    });
}

fn report(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Runs one history, and adds its figures to the sums. Panics if a check fails. Returns how often each fault happened.
fn run(world: World, time: Duration, total: &mut Totals) -> BTreeMap<Fault, u64> {
    let (began, seed) = (Instant::now(), world.seed);
    world.storage.faults().rate = FAULT_RATE;
    world.storage.faults().are_some_very_late = time >= LONG_TIME;
    work_while(&world, || nemesis::run(&world, time));
    nemesis::repair(&world);
    nemesis::count_logged(&world);
    let mut errors = afterwards::check(&world);
    let ledger = world.ledger();
    let unknown = ledger.unknown as f64 / ledger.writes.max(1) as f64;
    errors.extend(ledger.errors.iter().cloned());
    if unknown > MAX_UNKNOWN {
        errors.push(format!("{unknown:.2} of the writes have an unknown outcome"));
    }
    report(&format!(
        "history {seed}: {} writes, {:.1} % unknown, {} reads, {} not applied, {} requests to the storage, {:.1} s; {:?}",
        ledger.writes,
        100.0 * unknown,
        ledger.reads,
        ledger.not_applied,
        world.storage.faults().requests,
        began.elapsed().as_secs_f64(),
        ledger.done,
    ));
    total.writes += ledger.writes;
    total.unknown += ledger.unknown;
    total.reads += ledger.reads;
    total.not_applied += ledger.not_applied;
    ledger.done.iter().for_each(|(name, times)| *total.done.entry(name).or_default() += times);
    drop(ledger);
    let fired = world.storage.faults().fired.clone();
    if !errors.is_empty() {
        let place = world.keep();
        panic!("history {seed} ({}):\n{}", place.display(), errors.join("\n"));
    }
    fired
}
