//! What happens to nodes and to the storage as a whole.

use std::time::{Duration, Instant};

use super::super::storage::key;
use super::world::World;
use crate::oracle::random::Random;

/// The steps at which a node is killed. The last two are those of a node whose folder is empty.
const STEPS: [&str; 9] = [
    "committer::decided",
    "committer::committed",
    "committer::applied",
    "apply::stored",
    "log::sync",
    "store::flush",
    "start::epoch",
    "join::marked",
    "join::placed",
];
const OF_JOIN: usize = 2;

/// Lets things happen for some time. One node at most is down or stopped at a time.
pub(super) fn run(world: &World, time: Duration) {
    let mut random = Random::new(world.seed ^ 0xFA11);
    let end = Instant::now() + time;
    let left = || end.saturating_duration_since(Instant::now());
    while !left().is_zero() {
        let pause = random.within(200, 900);
        std::thread::sleep(millis(pause).min(left()));
        for node in &world.nodes {
            if node.has_ended() {
                node.start();
            }
        }
        let what = happen(world, &mut random, left());
        *world.ledger().done.entry(what).or_default() += 1;
    }
}

fn millis(time: usize) -> Duration {
    Duration::from_millis(time as u64)
}

/// Lets one thing happen. Returns its name.
fn happen(world: &World, random: &mut Random, left: Duration) -> &'static str {
    let index = random.below(world.nodes.len());
    let node = &world.nodes[index];
    let time = millis(random.within(1000, 3000));
    match random.below(13) {
        10 | 11 => {
            node.kill();
            let step = random.pick(&STEPS[..STEPS.len() - OF_JOIN]);
            node.start_failing(&format!("{step}={}*off->return(kill)", random.below(6)));
            "killed at a step"
        }
        12 => {
            node.kill();
            node.empty();
            let step = random.pick(&STEPS[STEPS.len() - OF_JOIN..]);
            node.start_failing(&format!("{step}=return(kill)"));
            "killed while it joined"
        }
        0..=2 => {
            node.kill();
            std::thread::sleep(millis(random.within(0, 800)).min(left));
            node.start();
            "killed"
        }
        3 => {
            node.kill();
            node.empty();
            node.start();
            "emptied"
        }
        4..=6 => {
            node.signal("-STOP");
            std::thread::sleep(time.min(left));
            node.signal("-CONT");
            "stopped"
        }
        7 | 8 => {
            world.storage.faults().cut_off(Some(&key(index)), time);
            "cut off"
        }
        _ => {
            world.storage.faults().cut_off(None, time.min(millis(1500)));
            "all cut off"
        }
    }
}

/// Ends all faults and waits until all nodes are ready.
pub(super) fn repair(world: &World) {
    world.storage.faults().heal();
    for node in &world.nodes {
        node.signal("-CONT");
        if node.is_armed() {
            node.kill();
        }
        if node.has_ended() {
            node.start();
        }
    }
    world.storage.wait_for_late_puts();
    for node in &world.nodes {
        if let Err(error) = node.wait_ready(Duration::from_secs(60)) {
            world.error(error);
        }
    }
}
