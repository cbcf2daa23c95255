//! What happens to nodes and to the storage as a whole.

use std::time::{Duration, Instant};

use super::super::links::Cut;
use super::super::storage::{Kind, Storage, key};
use super::LONG_TIME;
use super::world::World;
use crate::oracle::random::Random;

/// The steps at which a node is killed, or its thread stops. The last two are those of a node whose folder is empty.
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

/// The events, by the names under which they are counted.
const KILLED: &str = "killed";
const KILLED_AT_STEP: &str = "killed at a step";
const STOPPED_AT_STEP: &str = "stopped at a step";
const KILLED_JOINING: &str = "killed while it joined";
const EMPTIED: &str = "emptied";
const STOPPED: &str = "stopped";
const CUT_OFF: &str = "cut off";
const ALL_CUT_OFF: &str = "all cut off";
const ONE_DIRECTION: &str = "one direction cut";
const PAIR: &str = "two nodes cut off from each other";
const ALL_LINKS: &str = "all nodes cut off from each other";
const OFF_NODES: &str = "cut off from nodes";
const LEADER_OFF_NODES: &str = "leader cut off from nodes";
const CLOCK: &str = "clock moved";
const STORE_CLOCK: &str = "clock of the storage moved";

/// The work of the leader that its log tells of, in the words of the log: histories must have had it.
const LOGGED: [&str; 2] = ["base uploaded", "groups removed"];

/// The seconds by which clocks are wrong.
const CLOCK_ERRORS: [i64; 3] = [3_600, -3_600, 0];

/// Returns the names of everything that happens.
pub(super) fn names(kind: &Kind) -> impl Iterator<Item = &'static str> {
    let of_nodes =
        [KILLED, KILLED_AT_STEP, STOPPED_AT_STEP, KILLED_JOINING, EMPTIED, STOPPED, CUT_OFF, ALL_CUT_OFF, CLOCK];
    let of_links = [ONE_DIRECTION, PAIR, ALL_LINKS, OFF_NODES, LEADER_OFF_NODES];
    of_nodes.into_iter().chain(of_links).chain(LOGGED).chain((!matches!(kind, Kind::Postgres)).then_some(STORE_CLOCK))
}

/// A node that is stopped while other things happen, and until when.
type StoppedForLong = Option<(usize, Instant)>;

/// Lets things happen for some time. One node at most is down or stopped at a time, and another one for long.
pub(super) fn run(world: &World, time: Duration) {
    let mut random = Random::new(world.seed ^ 0xFA11);
    let end = Instant::now() + time;
    let left = || end.saturating_duration_since(Instant::now());
    let mut stopped: StoppedForLong = None;
    while !left().is_zero() {
        let pause = random.within(200, 900);
        std::thread::sleep(millis(pause).min(left()));
        stopped = stopped.filter(|&(node, until)| {
            let is_stopped = Instant::now() < until;
            if !is_stopped {
                world.nodes[node].signal("-CONT");
            }
            is_stopped
        });
        if time >= LONG_TIME && stopped.is_none() && random.chance(2) {
            let node = random.below(world.nodes.len());
            world.nodes[node].signal("-STOP");
            stopped = Some((node, Instant::now() + millis(random.within(5_000, 90_000))));
            *world.ledger().done.entry(STOPPED).or_default() += 1;
        }
        for node in &world.nodes {
            if node.has_ended() {
                node.start();
            }
        }
        let what = happen(world, &mut random, left(), time >= LONG_TIME);
        *world.ledger().done.entry(what).or_default() += 1;
    }
}

/// Counts what the nodes have done by themselves.
pub(super) fn count_logged(world: &World) {
    for logged in world.nodes.iter().map(|node| node.logged()) {
        for what in LOGGED {
            *world.ledger().done.entry(what).or_default() += logged.matches(what).count() as u64;
        }
    }
}

fn millis(time: usize) -> Duration {
    Duration::from_millis(time as u64)
}

/// Lets one thing happen. Returns its name.
fn happen(world: &World, random: &mut Random, left: Duration, is_long: bool) -> &'static str {
    let index = random.below(world.nodes.len());
    let node = &world.nodes[index];
    let time = millis(random.within(1000, 3000));
    match random.below(if world.forwards { 19 } else { 15 }) {
        10 => {
            node.kill();
            let step = random.pick(&STEPS[..STEPS.len() - OF_JOIN]);
            let stop =
                if is_long && random.chance(10) { random.within(5_000, 90_000) } else { random.within(1_000, 3_000) };
            node.start_failing(&format!("{step}={}*off->1*sleep({stop})", random.below(6)));
            STOPPED_AT_STEP
        }
        11 => {
            node.kill();
            let step = random.pick(&STEPS[..STEPS.len() - OF_JOIN]);
            node.start_failing(&format!("{step}={}*off->return(kill)", random.below(6)));
            KILLED_AT_STEP
        }
        12 => {
            node.kill();
            node.empty();
            let step = random.pick(&STEPS[STEPS.len() - OF_JOIN..]);
            node.start_failing(&format!("{step}=return(kill)"));
            KILLED_JOINING
        }
        0..=2 => {
            node.kill();
            std::thread::sleep(millis(random.within(0, 800)).min(left));
            node.start();
            KILLED
        }
        3 => {
            node.kill();
            node.empty();
            node.start();
            EMPTIED
        }
        4..=6 => {
            node.signal("-STOP");
            std::thread::sleep(time.min(left));
            node.signal("-CONT");
            STOPPED
        }
        7 | 8 => {
            world.storage.faults().cut_off(Some(key(index)), time);
            CUT_OFF
        }
        9 => {
            world.storage.faults().cut_off(None, time.min(millis(1500)));
            ALL_CUT_OFF
        }
        13 => {
            node.kill();
            let seconds = random.pick(&CLOCK_ERRORS[..2]);
            node.start_failing(&format!("clock::ahead=return({seconds})"));
            CLOCK
        }
        14 => match &world.storage {
            Storage::S3(s3) => {
                s3.set_clock_ahead(*random.pick(&CLOCK_ERRORS));
                STORE_CLOCK
            }
            Storage::Postgres(_) => happen(world, random, left, is_long),
        },
        _ => cut_links(world, random, index),
    }
}

/// Cuts nodes off from each other, but not from the storage. Returns what was cut.
fn cut_links(world: &World, random: &mut Random, index: usize) -> &'static str {
    let time = millis(random.within(200, 5000));
    let cut = *random.pick(&[Cut::Refused, Cut::Silent, Cut::Silent, Cut::Unanswered]);
    let (links, other) = (&world.links, (index + 1) % world.nodes.len());
    match random.below(5) {
        0 => {
            links.cut(Some(index), other, cut, time);
            ONE_DIRECTION
        }
        1 => {
            links.cut(Some(index), other, cut, time);
            links.cut(Some(other), index, cut, time);
            PAIR
        }
        2 => {
            (0..world.nodes.len()).for_each(|node| links.cut(None, node, cut, time));
            ALL_LINKS
        }
        3 => {
            cut_off_from_nodes(world, index, cut, time);
            OFF_NODES
        }
        _ => {
            cut_off_from_nodes(world, world.leader().unwrap_or(index), cut, time);
            LEADER_OFF_NODES
        }
    }
}

/// Cuts a node off from all others, in both directions.
fn cut_off_from_nodes(world: &World, node: usize, cut: Cut, time: Duration) {
    world.links.cut(None, node, cut, time);
    for other in (0..world.nodes.len()).filter(|&other| other != node) {
        world.links.cut(Some(node), other, cut, time);
    }
}

/// Ends all faults and waits until all nodes are ready.
pub(super) fn repair(world: &World) {
    world.storage.faults().heal();
    world.links.heal();
    if let Storage::S3(s3) = &world.storage {
        s3.set_clock_ahead(0);
    }
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
