//! A client: it writes and reads on random nodes, and notes each operation with what it was answered.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::checker::{ClaimOperation, Event, RegisterOperation};
use super::super::node::{Client, Node, Unanswered, number_of};
use super::world::{CLAIMS, LASTING, REGISTERS, World};
use crate::oracle::random::Random;
use crate::support::Reply;

/// The longest wait for an answer. That of some clients is longer than the servers wait for the storage. The others do
/// not wait for a node that was stopped.
const PATIENCE: Duration = Duration::from_secs(7);
const IMPATIENCE: Duration = Duration::from_millis(800);
/// How often a request is repeated whose outcome is unknown.
const REPEATS: usize = 2;

/// Works until the history is over.
pub(super) fn run(world: &World, number: u64) {
    let mut worker = Worker {
        world,
        random: Random::new(world.seed * 1000 + number),
        client: Client::new(if number.is_multiple_of(3) { PATIENCE } else { IMPATIENCE }),
        counter: &world.counters[number as usize],
        next: number * 1_000_000,
        known: vec![None; REGISTERS],
        tag: None,
        session: world.created,
        sent: 0,
        seen: 0,
    };
    while !world.is_over() {
        match worker.random.below(10) {
            0..=3 => worker.use_register(),
            4 | 5 => worker.use_claim(),
            6 => worker.create_note(),
            7 => worker.count(),
            _ => worker.read_in_session(),
        }
        std::thread::sleep(Duration::from_millis(worker.random.below(15) as u64));
    }
}

struct Worker<'a> {
    world: &'a World,
    random: Random,
    client: Client,
    /// The id of the resource that only this client writes.
    counter: &'a str,
    /// A number that no client has used.
    next: u64,
    /// The last value of each register that this client knows, with its entity tag.
    known: Vec<Option<(u64, String)>>,
    /// The entity tag of the counter, if it is known.
    tag: Option<String>,
    /// The newest number that an answer had.
    session: u64,
    /// The last value of the counter that was sent, and the highest that was acknowledged or read.
    sent: u64,
    seen: u64,
}

/// The outcome of a request.
enum Outcome {
    Answered(Reply),
    Unknown,
    /// Nothing was applied, and nothing will be.
    NotApplied,
}

/// A write that was answered, or may be applied.
struct Sent {
    called: u64,
    returned: Option<u64>,
    reply: Option<Reply>,
}

impl Sent {
    fn event<O>(&self, operation: O) -> Event<O> {
        Event { operation, called: self.called, returned: self.returned }
    }

    fn is(&self, status: u16) -> bool {
        self.reply.as_ref().is_some_and(|reply| reply.status == status)
    }

    fn id(&self) -> Option<String> {
        Some(self.reply.as_ref()?.data()["id"].as_str()?.to_owned())
    }
}

/// Returns a number attribute of a resource.
pub(super) fn attribute(resource: &Value, name: &str) -> Option<u64> {
    resource["attributes"][name].as_f64().map(|number| number as u64)
}

impl<'a> Worker<'a> {
    fn node(&mut self) -> &'a Node {
        self.random.pick(&self.world.nodes)
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Returns what became of a request.
    fn outcome(&self, what: &str, sent: Result<Reply, Unanswered>) -> Outcome {
        match sent {
            Err(Unanswered::NotSent) => Outcome::NotApplied,
            Err(Unanswered::Cut | Unanswered::TooLate) => Outcome::Unknown,
            Ok(reply) if reply.status == 503 && reply.text.contains("OUTCOME_UNKNOWN") => Outcome::Unknown,
            Ok(reply) if reply.status == 503 => Outcome::NotApplied,
            Ok(reply) if reply.status >= 500 || reply.status == 421 => {
                self.world.error(format!("{what}: {} {}", reply.status, reply.text));
                Outcome::Unknown
            }
            Ok(reply) => Outcome::Answered(reply),
        }
    }

    /// Sends a write to a random node. `None` if it is not applied. Any answer but these statuses is an error.
    fn write(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
        statuses: &[u16],
    ) -> Option<Sent> {
        let (node, called) = (self.node(), self.world.now());
        let sent = self.client.send(node, method, path, headers, body);
        let returned = self.world.now();
        let why_unknown = match &sent {
            Err(Unanswered::Cut) => "unknown: cut",
            Err(Unanswered::TooLate) => "unknown: no answer in time",
            _ => "unknown: said so",
        };
        let outcome = self.outcome(&format!("{method} {path}"), sent);
        let mut ledger = self.world.ledger();
        ledger.writes += 1;
        match outcome {
            Outcome::NotApplied => {
                ledger.not_applied += 1;
                None
            }
            Outcome::Unknown => {
                ledger.unknown += 1;
                *ledger.done.entry(why_unknown).or_default() += 1;
                Some(Sent { called, returned: None, reply: None })
            }
            Outcome::Answered(reply) => {
                drop(ledger);
                if !statuses.contains(&reply.status) {
                    self.world.error(format!("{method} {path}: {} {}", reply.status, reply.text));
                    return None;
                }
                Some(Sent { called, returned: Some(returned), reply: Some(reply) })
            }
        }
    }

    /// Reads from a random node. `None` if that fails, which is no error.
    fn read(&mut self, path: &str, after: &str) -> Option<(u64, u64, Reply)> {
        let (node, called) = (self.node(), self.world.now());
        let sent = self.client.get(node, path, &[("bindery-after", after)]);
        let returned = self.world.now();
        let Outcome::Answered(reply) = self.outcome(path, sent) else { return None };
        self.world.ledger().reads += 1;
        Some((called, returned, reply))
    }

    fn use_register(&mut self) {
        let index = self.random.below(REGISTERS);
        let path = format!("/v2/resources/registers/{}", self.world.registers[index]);
        let value = self.number();
        let body = json!({ "attributes": { "value": value } });
        let known = self.known[index].clone();
        use RegisterOperation::{Delete, Mismatch, Missing, Read, Set, Write};
        let (sent, operation, is_deletion) = match (self.random.below(20), known) {
            (0, _) if index >= LASTING => (self.write("DELETE", &path, &[], None, &[204, 404]), Delete, true),
            (1..=2, _) => (self.write("PATCH", &path, &[], Some(&body), &[200, 404]), Write(value), false),
            (3..=11, Some((expected, tag))) => {
                let sent = self.write("PATCH", &path, &[("if-match", &tag)], Some(&body), &[200, 404, 412]);
                match &sent {
                    Some(sent) if sent.is(412) => {
                        self.known[index] = None;
                        (
                            Some(Sent { called: sent.called, returned: sent.returned, reply: None }),
                            Mismatch { expected },
                            true,
                        )
                    }
                    _ => (sent, Set { expected, new: value }, false),
                }
            }
            _ => {
                let Some((called, returned, reply)) = self.read(&path, self.world.latest) else { return };
                let read = (reply.status == 200).then(|| attribute(&reply.data(), "value")).flatten();
                self.known[index] = read.zip(reply.header("etag").map(str::to_owned));
                let event = Event { operation: Read(read), called, returned: Some(returned) };
                self.world.ledger().registers[index].push(event);
                return;
            }
        };
        let Some(sent) = sent else { return };
        let operation = if sent.is(404) { Missing } else { operation };
        if let (false, true, Some(reply)) = (is_deletion, sent.is(200), &sent.reply) {
            self.known[index] = reply.header("etag").map(|tag| (value, tag.to_owned()));
        }
        self.world.ledger().registers[index].push(sent.event(operation));
    }

    fn use_claim(&mut self) {
        let index = self.random.below(CLAIMS);
        let path = format!("/v2/resources/claims?filter[key]=claim-{index}");
        match self.random.below(3) {
            0 => self.claim(index),
            deletes => {
                let Some((called, returned, reply)) = self.read(&path, self.world.latest) else { return };
                let list = reply.data();
                let holders: Vec<_> = list.as_array().into_iter().flatten().collect();
                if holders.len() > 1 {
                    self.world.error(format!("claim-{index} has several holders: {list}"));
                }
                let owner = holders.first().and_then(|holder| attribute(holder, "owner"));
                let event = Event { operation: ClaimOperation::Look(owner), called, returned: Some(returned) };
                self.world.ledger().claims[index].push(event);
                let Some((owner, holder)) = owner.zip(holders.first()) else { return };
                let id = holder["id"].as_str().unwrap_or_default().to_owned();
                self.check_owner(owner, &id);
                if deletes == 1 {
                    self.release(index, owner, &id);
                }
            }
        }
    }

    fn release(&mut self, index: usize, owner: u64, id: &str) {
        let path = format!("/v2/resources/claims/{id}");
        let Some(sent) = self.write("DELETE", &path, &[], None, &[204, 404]) else { return };
        let operation = match sent.is(404) {
            true => ClaimOperation::Missing(owner),
            false => ClaimOperation::Delete(owner),
        };
        self.world.ledger().claims[index].push(sent.event(operation));
    }

    /// Checks that all answers name the same resource of an owner.
    fn check_owner(&self, owner: u64, id: &str) {
        let mut ledger = self.world.ledger();
        let before = ledger.owners.entry(owner).or_insert_with(|| id.to_owned()).clone();
        drop(ledger);
        if before != id {
            self.world.error(format!("the request of owner {owner} created {before} and {id}"));
        }
    }

    fn claim(&mut self, index: usize) {
        let owner = self.number();
        let body = json!({ "attributes": { "key": format!("claim-{index}"), "owner": owner },
            "published_at": "2026-01-01T00:00:00Z" });
        let key = format!("claim-{owner}");
        for _ in 0..=REPEATS {
            let headers = [("idempotency-key", key.as_str())];
            let sent = self.write("POST", "/v2/resources/claims", &headers, Some(&body), &[201, 422]);
            let Some(sent) = sent else { continue };
            let operation = match sent.is(422) {
                true => ClaimOperation::Refused(owner),
                false => ClaimOperation::Create(owner),
            };
            if let (true, Some(id)) = (sent.is(201), sent.id()) {
                self.check_owner(owner, &id);
            }
            self.world.ledger().claims[index].push(sent.event(operation));
            if sent.returned.is_some() && self.random.chance(80) {
                return;
            }
        }
    }

    /// Creates a note, and repeats the request now and then although it was answered.
    fn create_note(&mut self) {
        let owner = self.number();
        let title = format!("note {} of {owner}", ["red", "green", "blue"][self.random.below(3)]);
        let attributes = json!({ "title": title, "owner": owner, "kind": self.random.text(&["a", "b", "c"]) });
        let body = json!({ "attributes": attributes, "published_at": "2026-01-01T00:00:00Z" });
        self.world.ledger().notes.insert(owner, None);
        let key = format!("note-{owner}");
        for _ in 0..=REPEATS {
            let headers = [("idempotency-key", key.as_str())];
            let sent = self.write("POST", "/v2/resources/notes", &headers, Some(&body), &[201]);
            let Some(id) = sent.and_then(|sent| sent.id()) else { continue };
            let before = self.world.ledger().notes.insert(owner, Some(id.clone())).flatten();
            if before.is_some_and(|before| before != id) {
                self.world.error(format!("a repeated request was carried out twice: note {owner}"));
            }
            if self.random.chance(70) {
                return;
            }
        }
    }

    /// Writes the counter of this client, with `If-Match`: an earlier write whose outcome is unknown may arrive later,
    /// and must not set the counter back then.
    fn count(&mut self) {
        let path = format!("/v2/resources/registers/{}", self.counter);
        let Some(tag) = self.tag.take() else {
            let read = self.read(&path, "latest");
            self.tag = read.and_then(|(_, _, reply)| reply.header("etag").map(str::to_owned));
            return;
        };
        self.sent += 1;
        let body = json!({ "attributes": { "value": self.sent } });
        let sent = self.write("PATCH", &path, &[("if-match", &tag)], Some(&body), &[200, 412]);
        if let Some(reply) = sent.and_then(|sent| sent.reply).filter(|reply| reply.status == 200) {
            self.tag = reply.header("etag").map(str::to_owned);
            self.seen = self.sent;
            let number = number_of(&reply);
            self.check_number(number);
        }
    }

    /// The number of an acknowledged write, or of a read that asked for the session's, is never below the session's.
    fn check_number(&mut self, number: Option<u64>) {
        match number {
            Some(number) => self.session = self.session.max(number),
            None => self.world.error("an answer without a number".to_owned()),
        }
    }

    /// Reads the counter on any node, at the state that this client has seen.
    fn read_in_session(&mut self) {
        let path = format!("/v2/resources/registers/{}", self.counter);
        let after = self.session.to_string();
        let Some((_, _, reply)) = self.read(&path, &after) else { return };
        if reply.status != 200 {
            return self.world.error(format!("{path} after {after}: {} {}", reply.status, reply.text));
        }
        let (value, number) = (attribute(&reply.data(), "value").unwrap_or(0), number_of(&reply));
        if value < self.seen || value > self.sent || number.is_none_or(|number| number < self.session) {
            let (seen, sent) = (self.seen, self.sent);
            let text = format!("a read after {after} has {value} at {number:?}; seen {seen}, sent {sent}");
            self.world.error(text);
        }
        self.seen = self.seen.max(value);
        self.check_number(number);
    }
}
