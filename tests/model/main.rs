//! The protocol of a log that several servers share (`src/cluster`), as a model whose every state is visited.
//!
//! Two nodes append groups to one log in object storage. The log is a row of names 1, 2, 3; the engine can create a name unless
//! it exists, read a name, and empty an object. Everything else may go wrong: an answer is lost, a put arrives long after its
//! sender has given up or crashed, a node forgets what it did not write to disk, old groups are removed.
//!
//! A node that appends decides against what it has applied, `n` groups, and puts its group under the name `n + 1`. If the answer
//! is lost it reads that name: its own group, another one (which it applies, and decides again), nothing (the same bytes are put
//! again), or an empty object (it begins from the newest base). Old groups are removed by emptying them, so a name that was
//! created once is never free again.
//!
//! The properties are those of `API.md` 4.20: one order, nothing acknowledged lost, nothing twice, no refusal from an outdated
//! state. Each control is the same model with one rule broken, and must be found wrong.
//!
//! The long form visits more groups: `cargo test --release --test model -- --ignored`.

#![allow(clippy::unwrap_used)]

use stateright::{Checker, HasDiscoveries, Model, Property};

/// The number of nodes.
const NODES: usize = 2;

/// A group: who wrote it, told apart by a number that no other group has.
type Nonce = u8;

/// The rule that a control breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rules {
    /// All rules are kept.
    Kept,
    /// Removal deletes the name instead of emptying the object.
    RemovalDeletes,
    /// A node acknowledges when it has sent its group.
    AcknowledgesWhatIsSent,
    /// A node says that a group will not be in the log, and decides another one, although its outcome is not known.
    DeniesWhatIsUnknown,
    /// A refusal is answered without a look at the next name.
    RefusesWithoutALook,
    /// The engine ignores the condition of a create.
    CreatesOverwrite,
}

/// The object under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Object {
    Group(Nonce),
    /// The group was removed.
    Empty,
}

/// A put that was sent: the engine may handle it at any time, or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Put {
    name: usize,
    nonce: Nonce,
}

/// What a node knows of its append.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Append {
    None,
    /// It waits for the answer to its put.
    Sent(Nonce),
    /// The answer did not come, so it must read the name.
    Unknown(Nonce),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Node {
    /// The groups that it has applied, in order.
    applied: Vec<Nonce>,
    /// How many of them are on its disk.
    on_disk: usize,
    append: Append,
    /// For a command that will be refused: how many groups the log had when it arrived.
    refusing: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    /// The objects by name, the first at 0. `None`: the name is free.
    objects: Vec<Option<Object>>,
    puts: Vec<Put>,
    nodes: Vec<Node>,
    /// The groups that each base contains, oldest base first.
    bases: Vec<Vec<Nonce>>,
    next_nonce: Nonce,
    /// Seen from outside: the groups in the order in which their names were created.
    history: Vec<Nonce>,
    acknowledged: Vec<Nonce>,
    /// The groups of which a client was told that they are not in the log, and will not be.
    denied: Vec<Nonce>,
    /// A name was given to a second group.
    is_name_reused: bool,
    /// A refusal was answered from a state that was outdated when its command arrived.
    is_refusal_outdated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Action {
    /// A node decides a group and sends it.
    Append(usize),
    /// The engine handles a put, and the answer arrives.
    Answer(usize),
    /// The engine handles a put, and the answer is lost.
    Lose(usize),
    /// A node stops waiting for an answer.
    TimeOut(usize),
    /// A node reads the next name.
    Read(usize),
    Crash(usize),
    /// A node writes what it has applied to its disk.
    Checkpoint(usize),
    /// A node uploads a base.
    Base(usize),
    /// Old groups are removed.
    Remove,
    /// A command arrives that will be refused.
    Ask(usize),
    /// The node answers the refusal.
    Refuse(usize),
}

/// The model: at most `groups` groups are decided.
struct Log {
    rules: Rules,
    groups: Nonce,
}

impl State {
    /// The engine creates a name. Returns whether it did.
    fn create(&mut self, put: Put, rules: Rules) -> bool {
        let index = put.name - 1;
        if self.objects.len() <= index {
            self.objects.resize(index + 1, None);
        }
        if self.objects[index].is_some() && rules != Rules::CreatesOverwrite {
            return false;
        }
        self.objects[index] = Some(Object::Group(put.nonce));
        match self.history.get(index) {
            None => self.history.push(put.nonce),
            Some(first) => self.is_name_reused |= *first != put.nonce,
        }
        true
    }

    fn object(&self, name: usize) -> Option<Object> {
        self.objects.get(name - 1).copied().flatten()
    }

    fn acknowledge(&mut self, nonce: Nonce) {
        if !self.acknowledged.contains(&nonce) {
            self.acknowledged.push(nonce);
        }
    }

    fn send(&mut self, node: usize, nonce: Nonce) {
        let put = Put { name: self.nodes[node].applied.len() + 1, nonce };
        // Another copy of a put that is on its way changes nothing.
        if !self.puts.contains(&put) {
            self.puts.push(put);
            self.puts.sort_unstable();
        }
        self.nodes[node].append = Append::Sent(nonce);
    }

    /// A node applies the group under the next name.
    fn apply(&mut self, node: usize, nonce: Nonce) {
        let own = match self.nodes[node].append {
            Append::Sent(own) | Append::Unknown(own) => Some(own),
            Append::None => None,
        };
        self.nodes[node].applied.push(nonce);
        self.nodes[node].append = Append::None;
        if own == Some(nonce) {
            self.acknowledge(nonce);
        }
    }

    fn read(&mut self, node: usize) {
        let name = self.nodes[node].applied.len() + 1;
        match (self.object(name), self.nodes[node].append) {
            (Some(Object::Group(nonce)), _) => self.apply(node, nonce),
            (Some(Object::Empty), _) => {
                let base = self.bases.last().cloned().unwrap_or_default();
                let refusing = self.nodes[node].refusing;
                self.nodes[node] = Node { on_disk: base.len(), applied: base, append: Append::None, refusing };
            }
            (None, Append::Unknown(nonce)) => self.send(node, nonce),
            (None, _) => {}
        }
    }

    /// Empties what lies below the older of the two newest bases.
    fn remove(&mut self, rules: Rules) {
        let [.., older, _] = self.bases.as_slice() else { return };
        let object = if rules == Rules::RemovalDeletes { None } else { Some(Object::Empty) };
        for name in 0..older.len() {
            self.objects[name] = object;
        }
    }
}

impl Model for Log {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let node = Node { applied: Vec::new(), on_disk: 0, append: Append::None, refusing: None };
        vec![State {
            objects: Vec::new(),
            puts: Vec::new(),
            nodes: vec![node; NODES],
            bases: Vec::new(),
            next_nonce: 1,
            history: Vec::new(),
            acknowledged: Vec::new(),
            denied: Vec::new(),
            is_name_reused: false,
            is_refusal_outdated: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for put in 0..state.puts.len() {
            actions.extend([Action::Answer(put), Action::Lose(put)]);
        }
        for (number, node) in state.nodes.iter().enumerate() {
            let is_free = match node.append {
                Append::None => true,
                Append::Unknown(_) => self.rules == Rules::DeniesWhatIsUnknown,
                Append::Sent(_) => false,
            };
            if is_free && state.next_nonce <= self.groups {
                actions.push(Action::Append(number));
            }
            match node.append {
                Append::Sent(_) => actions.push(Action::TimeOut(number)),
                Append::None | Append::Unknown(_) => actions.push(Action::Read(number)),
            }
            actions.push(Action::Crash(number));
            if node.on_disk < node.applied.len() {
                actions.push(Action::Checkpoint(number));
            }
            if state.bases.last().map_or(0, Vec::len) < node.applied.len() {
                actions.push(Action::Base(number));
            }
            match node.refusing {
                None => actions.push(Action::Ask(number)),
                Some(_) => actions.push(Action::Refuse(number)),
            }
        }
        if state.bases.len() > 1 {
            actions.push(Action::Remove);
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Append(node) => {
                if let Append::Unknown(denied) = state.nodes[node].append {
                    state.denied.push(denied);
                }
                let nonce = state.next_nonce;
                state.next_nonce += 1;
                state.send(node, nonce);
                if self.rules == Rules::AcknowledgesWhatIsSent {
                    state.acknowledge(nonce);
                }
            }
            Action::Answer(put) | Action::Lose(put) => {
                let put = state.puts.remove(put);
                let was_created = state.create(put, self.rules);
                let waits = |node: &Node| node.append == Append::Sent(put.nonce) && node.applied.len() + 1 == put.name;
                if let (Action::Answer(_), Some(node)) = (action, state.nodes.iter().position(waits)) {
                    match was_created {
                        true => state.apply(node, put.nonce),
                        false => state.nodes[node].append = Append::Unknown(put.nonce),
                    }
                }
            }
            Action::TimeOut(node) => {
                let Append::Sent(nonce) = state.nodes[node].append else { return None };
                state.nodes[node].append = Append::Unknown(nonce);
            }
            Action::Read(node) => state.read(node),
            Action::Crash(node) => {
                let node = &mut state.nodes[node];
                node.applied.truncate(node.on_disk);
                (node.append, node.refusing) = (Append::None, None);
            }
            Action::Checkpoint(node) => state.nodes[node].on_disk = state.nodes[node].applied.len(),
            Action::Base(node) => {
                let base = state.nodes[node].applied.clone();
                state.bases.push(base);
                let superfluous = state.bases.len().saturating_sub(2);
                state.bases.drain(..superfluous);
            }
            Action::Remove => state.remove(self.rules),
            Action::Ask(node) => state.nodes[node].refusing = Some(state.history.len()),
            Action::Refuse(number) => {
                let node = &state.nodes[number];
                let is_confirmed = state.object(node.applied.len() + 1).is_none();
                if !is_confirmed && self.rules != Rules::RefusesWithoutALook {
                    return None;
                }
                state.is_refusal_outdated |= node.refusing.is_some_and(|arrived| arrived > node.applied.len());
                state.nodes[number].refusing = None;
            }
        }
        (state != *before).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a name is given to one group", |_, state: &State| !state.is_name_reused),
            Property::always("all nodes and bases have the one order", |_, state: &State| {
                let nodes = state.nodes.iter().map(|node| &node.applied);
                nodes.chain(&state.bases).all(|applied| state.history.starts_with(applied))
            }),
            Property::always("no group is in the log twice", |_, state: &State| {
                let mut seen = state.history.clone();
                seen.sort_unstable();
                seen.windows(2).all(|pair| pair[0] != pair[1])
            }),
            Property::always("what is acknowledged is in the log", |_, state: &State| {
                state.acknowledged.iter().all(|nonce| state.history.contains(nonce))
            }),
            Property::always("what was denied is not in the log", |_, state: &State| {
                state.denied.iter().all(|nonce| !state.history.contains(nonce))
            }),
            Property::always("a refusal was right at some moment after its command arrived", |_, state: &State| {
                !state.is_refusal_outdated
            }),
            // The faults do happen.
            Property::sometimes("a lost answer becomes known", |_, state: &State| {
                state.acknowledged.len() == 2 && state.puts.is_empty()
            }),
            Property::sometimes("old groups are removed", |_, state: &State| {
                state.objects.contains(&Some(Object::Empty))
            }),
            Property::sometimes("a node begins from a base behind removed groups", |_, state: &State| {
                let is_removed = |node: &Node| state.objects.first() == Some(&Some(Object::Empty)) && node.on_disk > 0;
                state.nodes.iter().all(is_removed)
            }),
            Property::sometimes("a put is on its way to a removed name", |_, state: &State| {
                state.puts.iter().any(|put| state.object(put.name) == Some(Object::Empty))
            }),
        ]
    }
}

/// Visits states until all are visited or `until` is reached. Returns their number, and the properties that do not hold.
fn check(rules: Rules, groups: Nonce, until: HasDiscoveries) -> (usize, Vec<&'static str>) {
    let checker = Log { rules, groups }.checker().threads(2).finish_when(until).spawn_bfs().join();
    let discovered = checker.discoveries();
    let of = |property: &Property<Log>| {
        let is_found = discovered.contains_key(property.name);
        let is_wrong = match property.expectation {
            stateright::Expectation::Sometimes => !is_found,
            _ => is_found,
        };
        is_wrong.then_some(property.name)
    };
    (checker.unique_state_count(), checker.model().properties().iter().filter_map(of).collect())
}

#[test]
fn the_protocol_keeps_its_promises_in_every_state() {
    let (states, wrong) = check(Rules::Kept, 3, HasDiscoveries::All);
    assert_eq!(wrong, [""; 0]);
    assert!(states > 900_000, "{states} states");
}

#[test]
#[ignore = "takes minutes"]
fn the_protocol_keeps_its_promises_with_one_more_group() {
    let (states, wrong) = check(Rules::Kept, 4, HasDiscoveries::All);
    assert_eq!(wrong, [""; 0]);
    assert!(states > 10_000_000, "{states} states");
}

#[test]
fn every_broken_rule_is_found() {
    let controls = [
        (Rules::RemovalDeletes, "a name is given to one group"),
        (Rules::AcknowledgesWhatIsSent, "what is acknowledged is in the log"),
        (Rules::DeniesWhatIsUnknown, "what was denied is not in the log"),
        (Rules::RefusesWithoutALook, "a refusal was right at some moment after its command arrived"),
        (Rules::CreatesOverwrite, "a name is given to one group"),
    ];
    for (rules, expected) in controls {
        let (_, wrong) = check(rules, 3, HasDiscoveries::AnyOf([expected].into()));
        assert!(wrong.contains(&expected), "{rules:?}: {wrong:?}");
    }
}
