//! The checks at the end of a history, when nothing fails any more.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::super::checker::{
    Claim, ClaimOperation, ClaimState, Event, Register, RegisterOperation, check as is_linearizable,
};
use super::super::node::{Client, Node};
use super::worker::attribute;
use super::world::{CLAIMS, REGISTERS, World};

/// The lists that all nodes must answer with the same bytes.
const LISTS: [&str; 13] = [
    "registers?sort=-value",
    "registers?filter[value][gt]=1000000&sort=value",
    "claims?sort=key",
    "claims?filter[key][in]=claim-0,claim-3",
    "notes",
    "notes?sort=title&per_page=7",
    "notes?sort=kind,-owner&per_page=5&cursor=",
    "notes?filter[owner][gte]=2000000&facets=kind",
    "notes?filter[title][contains]=red&stats=owner",
    "notes?search=green",
    "notes?q=blue+note",
    "notes?q=blue+note&per_page=3&page=2",
    "notes?per_page=1&facets=kind,owner",
];

/// The longest walk with cursors.
const MAX_PAGES: usize = 1000;

/// Returns what is wrong.
pub(super) fn check(world: &World) -> Vec<String> {
    let client = Client::new(Duration::from_secs(20));
    let mut errors = Vec::new();
    for node in &world.nodes {
        if let Err(error) = note_last_reads(world, &client, node) {
            errors.push(error);
        }
    }
    check_orders(world, &mut errors);
    check_notes(world, &client, &mut errors);
    check_changes(world, &client, &mut errors);
    let before = answers(world, &client, 0, &mut errors);
    for index in 1..world.nodes.len() {
        compare(&before, &answers(world, &client, index, &mut errors), index, &mut errors);
    }
    let emptied = (world.seed % world.nodes.len() as u64) as usize;
    let node = &world.nodes[emptied];
    node.kill();
    node.empty();
    node.start();
    errors.extend(node.wait_ready(Duration::from_secs(60)).err());
    compare(&before, &answers(world, &client, emptied, &mut errors), emptied, &mut errors);
    errors
}

/// Reads each register and claim, which also shows what became of the last writes.
fn note_last_reads(world: &World, client: &Client, node: &Node) -> Result<(), String> {
    let read = |path: &str| {
        let called = world.now();
        let reply = client.latest(node, path).map_err(|error| format!("{path}: {error:?}"))?;
        if reply.status >= 500 {
            return Err(format!("{path}: {} {}", reply.status, reply.text));
        }
        Ok((called, Some(world.now()), reply))
    };
    for index in 0..REGISTERS {
        let (called, returned, reply) = read(&format!("/v2/resources/registers/{}", world.registers[index]))?;
        let value = (reply.status == 200).then(|| attribute(&reply.data(), "value")).flatten();
        let operation = RegisterOperation::Read(value);
        world.ledger().registers[index].push(Event { operation, called, returned });
    }
    for index in 0..CLAIMS {
        let (called, returned, reply) = read(&format!("/v2/resources/claims?filter[key]=claim-{index}"))?;
        let operation = ClaimOperation::Look(attribute(&reply.data()[0], "owner"));
        world.ledger().claims[index].push(Event { operation, called, returned });
    }
    Ok(())
}

/// Checks that each register and each claim has one order of operations.
pub(super) fn check_orders(world: &World, errors: &mut Vec<String>) {
    let ledger = world.ledger();
    for (index, history) in ledger.registers.iter().enumerate() {
        if let Err(error) = is_linearizable::<Register>(Some(0), history) {
            errors.push(format!("register {index} is not linearizable: {error}\n{}", around(history)));
        }
    }
    for (index, history) in ledger.claims.iter().enumerate() {
        if let Err(error) = is_linearizable::<Claim>(ClaimState::default(), history) {
            errors.push(format!("claim-{index} is not linearizable: {error}\n{}", around(history)));
        }
    }
}

/// Returns a history as text, one operation a line, in milliseconds.
fn around<O: std::fmt::Debug>(history: &[Event<O>]) -> String {
    let mut events: Vec<_> = history.iter().collect();
    events.sort_by_key(|event| event.called);
    let millis = |nanos: u64| nanos as f64 / 1e6;
    let line = |event: &&Event<O>| {
        let returned = event.returned.map_or("unknown".to_owned(), |at| format!("{:.1}", millis(at)));
        format!("  {:.1} .. {returned}: {:?}", millis(event.called), event.operation)
    };
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Every acknowledged note exists once, with its id; every other one at most once.
fn check_notes(world: &World, client: &Client, errors: &mut Vec<String>) {
    let mut found: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut path = "/v2/resources/notes?per_page=50&sort=owner&cursor=".to_owned();
    // The walk goes over all nodes in turn.
    for page in 0..MAX_PAGES {
        let Ok(reply) = client.latest(&world.nodes[page % world.nodes.len()], &path) else {
            return errors.push(format!("{path}: no answer"));
        };
        if reply.status != 200 {
            return errors.push(format!("{path}: {} {}", reply.status, reply.text));
        }
        let body = reply.json();
        for note in body["data"].as_array().into_iter().flatten() {
            let id = note["id"].as_str().unwrap_or_default().to_owned();
            found.entry(attribute(note, "owner").unwrap_or(0)).or_default().push(id);
        }
        let Some(next) = body["links"]["next"].as_str() else { break };
        path = next.split_once("/v2/").map(|(_, path)| format!("/v2/{path}")).unwrap_or_default();
    }
    let ledger = world.ledger();
    for (owner, id) in &ledger.notes {
        match (id, found.remove(owner).unwrap_or_default().as_slice()) {
            (_, [_, _, ..]) => errors.push(format!("note {owner} exists more than once")),
            (Some(id), [found]) if found == id => {}
            (Some(id), found) => errors.push(format!("note {owner} was acknowledged as {id}; found {found:?}")),
            (None, _) => {}
        }
    }
    if !found.is_empty() {
        errors.push(format!("notes that nobody sent: {found:?}"));
    }
}

/// The numbers of changes go up, and their times never go back, whatever the clocks of the nodes were.
fn check_changes(world: &World, client: &Client, errors: &mut Vec<String>) {
    let mut last = (0, String::new());
    for page in 0..MAX_PAGES {
        let path = format!("/v2/changes?since={}&limit=1000", last.0);
        let Ok(reply) = client.latest(&world.nodes[page % world.nodes.len()], &path) else {
            return errors.push(format!("{path}: no answer"));
        };
        if reply.status != 200 {
            return errors.push(format!("{path}: {} {}", reply.status, reply.text));
        }
        if reply.text.is_empty() {
            return;
        }
        for line in reply.text.lines() {
            let change: Value = serde_json::from_str(line).unwrap();
            let next = (change["number"].as_u64().unwrap(), change["at"].as_str().unwrap().to_owned());
            // All times have one form, so that they compare as texts.
            if next.0 <= last.0 || next.1 < last.1 {
                errors.push(format!("the change {next:?} follows {last:?}"));
            }
            last = next;
        }
    }
}

type Answers = BTreeMap<String, (u16, Option<String>, String)>;

/// Returns what a node answers to all lists, and to a walk with cursors.
fn answers(world: &World, client: &Client, index: usize, errors: &mut Vec<String>) -> Answers {
    let mut answers = Answers::new();
    let mut paths: Vec<String> = LISTS.iter().rev().map(|list| format!("/v2/resources/{list}")).collect();
    while let Some(path) = paths.pop() {
        let Ok(reply) = client.latest(&world.nodes[index], &path) else {
            errors.push(format!("node {index}: {path}: no answer"));
            continue;
        };
        if reply.status != 200 {
            errors.push(format!("node {index}: {path}: {} {}", reply.status, reply.text));
        }
        let next = (path.contains("cursor=") && reply.status == 200).then(|| reply.json()["links"]["next"].take());
        if let Some(next) = next.as_ref().and_then(|next| next.as_str()?.split_once("/v2/")) {
            paths.push(format!("/v2/{}", next.1));
        }
        answers.insert(path, (reply.status, reply.header("etag").map(str::to_owned), reply.text));
    }
    answers
}

fn compare(expected: &Answers, got: &Answers, index: usize, errors: &mut Vec<String>) {
    if expected.keys().ne(got.keys()) {
        errors.push(format!("node {index} walks over other pages: {:?}", got.keys()));
    }
    for (path, expected) in expected {
        if let Some(got) = got.get(path).filter(|got| *got != expected) {
            errors.push(format!("node {index} answers {path} with\n{got:?}\ninstead of\n{expected:?}"));
        }
    }
}
