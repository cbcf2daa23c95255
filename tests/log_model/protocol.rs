//! The steps of nodes, clients and the store, and the variants of the protocol that are broken on purpose.

use crate::properties;
use crate::state::{Chain, Command, Node, Object, Phase, Put, State};
use stateright::{Model, Property};

/// The protocol with the bounds of its model. Crashes, bases and removals are not bounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Protocol {
    pub(crate) nodes: usize,
    /// How many commands arrive; at most 5. This bounds the length of the log.
    pub(crate) commands: u8,
    /// How many puts can be in flight at a time, including late ones and several copies of one.
    pub(crate) in_flight: usize,
    /// The log may be sealed, and a second history begin.
    pub(crate) seals: bool,
    pub(crate) variant: Variant,
}

/// The protocol, and one rule of it broken at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Variant {
    Correct,
    /// A group of one or two records is named by the number of its last record, not by its sequence number.
    NamesByRecord,
    /// Removed groups are deleted.
    Delete,
    /// Removed groups are deleted. A node whose put was created checks that its name is above what was removed;
    /// otherwise it deletes the name again and joins from the newest base.
    DeleteAndCheck,
    /// A command is acknowledged when its put is sent.
    AcknowledgeEarly,
    /// A command that cannot write at the node's position is refused without a look at the log.
    RefuseWithoutLook,
    /// A look from before the command arrived is enough to refuse it.
    RefuseAfterOldLook,
    /// A node that finds its name empty decides the command again at the new position.
    RetryAfterEmpty,
    /// The seal takes no name of the log: it is beside it, and nodes look at it before each put.
    SealBeside,
}

/// One step. Nodes are named by their index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    /// A client sends a command that writes whatever the register holds.
    SendSet(usize),
    /// A client that knows the register's newest value sends a command that expects it.
    SendReplace(usize),
    /// The node puts its command's group.
    Put(usize),
    /// The store receives a put. Its answer reaches the node if the node still waits for it. A lost answer is a
    /// `TimeOut` before this step.
    Receive(Put),
    /// The node stops waiting for the answer to its put, which stays in flight.
    TimeOut(usize),
    /// The node reads the name behind its position.
    Read(usize),
    /// The node answers that its command cannot write.
    Refuse(usize),
    /// The node crashes and restarts at a position.
    Crash(usize, Chain),
    /// The node writes a base at its position.
    WriteBase(usize),
    /// Some node removes the group under a name.
    Remove(usize),
    /// Somebody who restores the cluster appends the seal behind the last group.
    Seal,
    /// The second history begins, with a base of everything before the seal.
    Begin,
}

/// The steps of a node.
impl Protocol {
    /// Part 1 of the protocol: decides the command and puts its group.
    fn put(&self, state: &mut State, node: usize, command: Command) {
        let group = state.nodes[node].position.then(command.number);
        self.send(state, (state.nodes[node].history, group));
        state.nodes[node].phase = Phase::Putting(command);
        if self.variant == Variant::AcknowledgeEarly {
            state.acknowledge(group);
        }
    }

    /// Part 2: the node knows that its group was created.
    fn confirm(&self, state: &mut State, node: usize, group: Chain) {
        state.nodes[node].phase = Phase::Idle;
        if self.variant == Variant::DeleteAndCheck && self.name(group) <= self.name(state.bases[0]) {
            *self.object_mut(state, (0, group)) = Object::Missing;
            state.nodes[node].position = state.bases[1];
        } else {
            state.nodes[node].position = group;
            state.acknowledge(group);
        }
    }

    /// Parts 3 and 4: reads the name behind the node's position. Idle nodes follow the log by the same step.
    fn read(&self, state: &mut State, node: usize) {
        let Node { history, position, phase, .. } = state.nodes[node];
        match (self.object_behind(state, history, position), phase) {
            (Object::Group(group), Phase::Unknown(command)) if group == position.then(command.number) => {
                self.confirm(state, node, group);
            }
            (Object::Group(group), _) if group.parent() != position => state.nodes[node].phase = Phase::Stopped,
            (Object::Group(group), _) => {
                state.nodes[node].position = group;
                state.nodes[node].phase = decide_again(phase);
            }
            (Object::Seal, _) => {
                // The name of an unknown put is taken for good, so the command was not written.
                state.nodes[node].phase = decide_again(phase);
                if state.begun {
                    state.nodes[node].history = 1;
                    state.nodes[node].position = state.bases[1];
                }
            }
            (Object::Empty, _) => {
                state.nodes[node].history = state.newest();
                state.nodes[node].position = state.bases[1];
                state.nodes[node].phase = match phase {
                    // The command may have been written. This is the answer `OUTCOME_UNKNOWN`.
                    Phase::Unknown(_) if self.variant != Variant::RetryAfterEmpty => Phase::Idle,
                    _ => decide_again(phase),
                };
            }
            (Object::Missing, Phase::Unknown(command)) => {
                self.send(state, (history, position.then(command.number)));
                state.nodes[node].phase = Phase::Putting(command);
            }
            (Object::Missing, Phase::Waiting(command)) => state.nodes[node].phase = Phase::Looked(command),
            (Object::Missing, _) => state.nodes[node].old_look = self.variant == Variant::RefuseAfterOldLook,
        }
        if state.nodes[node].position != position {
            state.nodes[node].old_look = false;
        }
    }

    fn refuse(&self, state: &mut State, node: usize, command: Command) {
        // A value never comes back once it was overwritten. So a refusal was true at some moment since the command
        // arrived exactly if it is true now.
        state.wrongly_refused |= command.may_write_at(self.tail(state));
        state.nodes[node].phase = Phase::Idle;
    }

    /// Whether the node may answer that this waiting command cannot write, without another look.
    fn may_refuse_unseen(&self, node: &Node) -> bool {
        match self.variant {
            Variant::RefuseWithoutLook => true,
            Variant::RefuseAfterOldLook => node.old_look,
            _ => false,
        }
    }
}

/// The command goes back to the beginning of the protocol.
fn decide_again(phase: Phase) -> Phase {
    match phase {
        Phase::Unknown(command) | Phase::Waiting(command) => Phase::Waiting(command),
        _ => Phase::Idle,
    }
}

/// The store and the names in it.
impl Protocol {
    /// The number of records in the groups of a chain. Groups hold one record, except that names by record number are
    /// wrong only if sizes differ.
    fn records(&self, chain: Chain) -> usize {
        match self.variant {
            Variant::NamesByRecord => chain.iter().map(|command| if command % 2 == 1 { 2 } else { 1 }).sum(),
            _ => chain.len(),
        }
    }

    /// The numbers of the records in the last group of a chain.
    pub(crate) fn numbers(&self, group: Chain) -> std::ops::Range<usize> {
        self.records(group.parent())..self.records(group)
    }

    /// The name of a group, or of the last name that a position covers.
    fn name(&self, chain: Chain) -> usize {
        match self.variant {
            Variant::NamesByRecord => self.records(chain),
            _ => chain.len(),
        }
    }

    pub(crate) fn object(&self, state: &State, (history, group): Put) -> Object {
        state.logs[history][self.name(group) - 1]
    }

    fn object_mut<'a>(&self, state: &'a mut State, (history, group): Put) -> &'a mut Object {
        &mut state.logs[history][self.name(group) - 1]
    }

    /// What a node at this position finds when it reads on.
    pub(crate) fn object_behind(&self, state: &State, history: usize, position: Chain) -> Object {
        let behind = state.logs[history].iter().skip(self.name(position));
        match self.variant {
            Variant::SealBeside if history == 0 && state.sealed == Some(position) => Object::Seal,
            // The size of the next group is not known, so its name is found by listing.
            Variant::NamesByRecord => behind.copied().find(|object| *object != Object::Missing).unwrap_or_default(),
            _ => behind.copied().next().unwrap_or_default(),
        }
    }

    /// The end of the log, as a node finds it that joins from the newest base.
    pub(crate) fn tail(&self, state: &State) -> Chain {
        let mut tail = state.bases[1];
        while let Object::Group(group) = self.object_behind(state, state.newest(), tail)
            && group.parent() == tail
        {
            tail = group;
        }
        tail
    }

    /// Gives a put to the network, which loses it if it is full.
    fn send(&self, state: &mut State, put: Put) {
        if state.in_flight.len() < self.in_flight {
            state.in_flight.push(put);
            state.in_flight.sort_unstable();
        }
    }

    /// Creates the name of a group unless it exists, and answers the node that waits for it.
    fn receive(&self, state: &mut State, put: Put) {
        let (to, group) = put;
        let copy = state.in_flight.iter().position(|other| *other == put).unwrap();
        state.in_flight.remove(copy);
        let is_free = self.object(state, put) == Object::Missing;
        if is_free {
            let is_over = to == 0 && state.sealed.is_some();
            state.misplaced |= is_over || self.tail(state) != group.parent();
            *self.object_mut(state, put) = Object::Group(group);
            state.created.push(group);
            state.created.sort_unstable();
            state.created.dedup();
        }
        for node in 0..state.nodes.len() {
            let Node { history, position, phase, .. } = state.nodes[node];
            match phase {
                Phase::Putting(command) if history == to && position.then(command.number) == group => match is_free {
                    true => self.confirm(state, node, group),
                    false => state.nodes[node].phase = Phase::Unknown(command),
                },
                _ => {}
            }
        }
    }

    /// Part 5: keeps the two newest bases.
    fn write_base(&self, state: &mut State, position: Chain) {
        state.bases[0] = position;
        state.bases.sort_unstable_by_key(|base| base.len());
    }

    /// Returns whether a node sees that the log is sealed without reading a name of it.
    fn sees_seal(&self, state: &State, node: &Node) -> bool {
        self.variant == Variant::SealBeside && state.sealed.is_some() && node.history == 0
    }

    /// Ends the first history.
    fn seal(&self, state: &mut State) {
        let tail = self.tail(state);
        state.sealed = Some(tail);
        if self.variant != Variant::SealBeside {
            state.logs[0][tail.len()] = Object::Seal;
        }
    }

    fn remove(&self, state: &mut State, name: usize) {
        let newest = state.newest();
        state.logs[newest][name - 1] = match self.variant {
            Variant::Delete | Variant::DeleteAndCheck => Object::Missing,
            _ => Object::Empty,
        };
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let names = usize::from(self.commands) * if self.variant == Variant::NamesByRecord { 2 } else { 1 };
        // The seal needs a name as well.
        let log = |exists: bool| vec![Object::Missing; if exists { names + usize::from(self.seals) } else { 0 }];
        let logs = [log(true), log(self.seals)];
        vec![State { logs, nodes: vec![Node::default(); self.nodes], ..State::default() }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (index, node) in state.nodes.iter().enumerate() {
            self.actions_of(state, index, node, actions);
        }
        let mut puts = state.in_flight.clone();
        puts.dedup();
        actions.extend(puts.into_iter().map(Action::Receive));
        let removable = 1..=self.name(state.bases[0]);
        let holds_group = |name: &usize| matches!(state.logs[state.newest()][name - 1], Object::Group(_));
        actions.extend(removable.filter(holds_group).map(Action::Remove));
        if self.seals && state.sealed.is_none() {
            actions.push(Action::Seal);
        }
        if state.sealed.is_some() && !state.begun {
            actions.push(Action::Begin);
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        self.step(&mut next, action);
        // Nodes are alike, so states that differ only in the order of nodes are one state. The steps of a
        // counterexample name nodes by their index, which must not change in between.
        if self.variant == Variant::Correct {
            next.nodes.sort_unstable();
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self.seals)
    }
}

impl Protocol {
    /// The steps that a node can take, and what can happen to it.
    fn actions_of(&self, state: &State, index: usize, node: &Node, actions: &mut Vec<Action>) {
        match node.phase {
            Phase::Idle if state.arrived < self.commands => {
                actions.extend([Action::SendSet(index), Action::SendReplace(index), Action::Read(index)]);
            }
            Phase::Idle | Phase::Unknown(_) => actions.push(Action::Read(index)),
            Phase::Waiting(command) if command.may_write_at(node.position) && !self.sees_seal(state, node) => {
                actions.push(Action::Put(index));
            }
            Phase::Waiting(_) => {
                actions.push(Action::Read(index));
                if self.may_refuse_unseen(node) {
                    actions.push(Action::Refuse(index));
                }
            }
            Phase::Putting(_) => actions.push(Action::TimeOut(index)),
            Phase::Looked(_) => actions.push(Action::Refuse(index)),
            Phase::Stopped => return,
        }
        // A crash may lose every group since the last checkpoint, or the whole folder.
        actions.push(Action::Crash(index, state.bases[1]));
        // A node cannot use its groups of an earlier history any more.
        if node.history == state.newest() {
            actions.push(Action::Crash(index, node.position));
            let first = state.sealed.filter(|_| state.begun).unwrap_or_default();
            let mut position = node.position;
            while position.len() > first.len() {
                position = position.parent();
                actions.push(Action::Crash(index, position));
            }
        }
        if node.history == state.newest() && node.position.len() >= state.bases[0].len() {
            actions.push(Action::WriteBase(index));
        }
    }

    fn step(&self, state: &mut State, action: Action) {
        match action {
            Action::SendSet(node) => send_command(state, node, None),
            Action::SendReplace(node) => send_command(state, node, Some(self.tail(state).value())),
            Action::Put(node) => self.put(state, node, command_of(state, node)),
            Action::Receive(group) => self.receive(state, group),
            Action::TimeOut(node) => state.nodes[node].phase = Phase::Unknown(command_of(state, node)),
            Action::Read(node) => self.read(state, node),
            Action::Refuse(node) => self.refuse(state, node, command_of(state, node)),
            Action::Crash(node, position) => {
                state.nodes[node] = Node { history: state.newest(), position, ..Node::default() };
            }
            Action::WriteBase(node) => self.write_base(state, state.nodes[node].position),
            Action::Remove(name) => self.remove(state, name),
            Action::Seal => self.seal(state),
            Action::Begin => {
                state.begun = true;
                state.bases = [state.sealed.unwrap_or_default(); 2];
            }
        }
    }
}

fn send_command(state: &mut State, node: usize, expected: Option<u8>) {
    state.arrived += 1;
    state.nodes[node].phase = Phase::Waiting(Command { number: state.arrived, expected });
}

fn command_of(state: &State, node: usize) -> Command {
    match state.nodes[node].phase {
        Phase::Waiting(command) | Phase::Putting(command) | Phase::Unknown(command) | Phase::Looked(command) => command,
        Phase::Idle | Phase::Stopped => unreachable!("the node has no command"),
    }
}
