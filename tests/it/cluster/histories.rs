//! Three nodes over object storage while everything fails: the storage's answers, the storage itself, the nodes, their
//! folders. Clients talk to any node. Afterwards, nothing that was acknowledged is lost, nothing is applied twice, each
//! resource and each unique value has one order of operations, and all nodes give the same answers.
//!
//! A few histories with fixed seeds are part of every test run. `BINDERY_HISTORIES=200 cargo test --test it histories --
//! --nocapture` runs so many, each of `BINDERY_HISTORY_SECONDS` (7), from the seed `BINDERY_HISTORY_SEED` (1) on. Long runs,
//! of 10 histories or more, also fail if a kind of fault never happened. A failed history prints its seed, and keeps the
//! folders and logs of its nodes. The seed decides the faults and the requests, but not how threads interleave.

mod afterwards;
mod nemesis;
mod worker;
mod world;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use super::s3::Fault;
use world::World;

/// The clients of one history.
const WORKERS: u64 = 6;
/// The largest share of writes whose outcome the client does not learn.
const MAX_UNKNOWN: f64 = 0.25;
/// The share of requests to the storage that fail.
const FAULT_RATE: f64 = 0.04;
/// From so many histories on, every kind of fault must have happened.
const LONG: u64 = 10;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn nothing_acknowledged_is_lost_whatever_fails() {
    let (count, first) = (setting("BINDERY_HISTORIES", 3), setting("BINDERY_HISTORY_SEED", 1));
    let time = Duration::from_secs(setting("BINDERY_HISTORY_SECONDS", 7));
    let mut fired: BTreeMap<Fault, u64> = Fault::all().map(|fault| (fault, 0)).collect();
    for seed in first..first + count {
        for (fault, times) in run(seed, time) {
            *fired.entry(fault).or_default() += times;
        }
    }
    report(&format!("faults: {fired:?}"));
    let missing: Vec<_> = fired.iter().filter(|(_, times)| **times == 0).collect();
    assert!(count < LONG || missing.is_empty(), "never happened: {missing:?}");
}

fn report(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Runs one history. Panics if a check fails. Returns how often each fault happened.
fn run(seed: u64, time: Duration) -> BTreeMap<Fault, u64> {
    let began = Instant::now();
    let world = World::start(seed);
    world.s3.set_rate(FAULT_RATE);
    let set_up = began.elapsed();
    std::thread::scope(|scope| {
        let world = &world;
        let workers: Vec<_> = (0..WORKERS).map(|number| scope.spawn(move || worker::run(world, number))).collect();
        nemesis::run(world, time);
        world.end();
        // Their panics are reported by the scope.
        workers.into_iter().for_each(|worker| drop(worker.join()));
    });
    nemesis::repair(&world);
    let mut errors = afterwards::check(&world);
    let ledger = world.ledger();
    let unknown = ledger.unknown as f64 / ledger.writes.max(1) as f64;
    errors.extend(ledger.errors.iter().cloned());
    if unknown > MAX_UNKNOWN {
        errors.push(format!("{unknown:.2} of the writes have an unknown outcome"));
    }
    report(&format!(
        "history {seed}: {} writes, {:.1} % unknown, {} reads, {} not applied, {} requests to the storage, start {:.1} s, in all \
         {:.1} s; {:?}",
        ledger.writes,
        100.0 * unknown,
        ledger.reads,
        ledger.not_applied,
        world.s3.requests(),
        set_up.as_secs_f64(),
        began.elapsed().as_secs_f64(),
        ledger.done,
    ));
    drop(ledger);
    let fired = world.s3.fired();
    if !errors.is_empty() {
        let place = world.keep();
        panic!("history {seed} ({}):\n{}", place.display(), errors.join("\n"));
    }
    fired
}
