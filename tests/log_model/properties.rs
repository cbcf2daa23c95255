//! What must hold in every state, and what must happen in some state, or else the model would not test what it is for.

use crate::protocol::Protocol;
use crate::state::{Object, Phase, State};
use stateright::Property;

pub(crate) const ONE_GROUP_PER_NUMBER: &str = "a number belongs to one group";
pub(crate) const DECIDED_BEHIND_TAIL: &str = "a group is created behind the one it was decided against";
pub(crate) const ACKNOWLEDGED_IN_LOG: &str = "an acknowledged group stays in the log";
pub(crate) const ONE_ORDER: &str = "nodes, bases and acknowledgements agree on one order";
pub(crate) const COMMANDS_ONCE: &str = "no command is applied twice";
pub(crate) const CHAIN_CONTINUES: &str = "a group that a node reads continues its chain";
pub(crate) const TRUE_REFUSALS: &str = "a refusal was true after its command arrived";

pub(crate) fn all(seals: bool) -> Vec<Property<Protocol>> {
    let mut all = of_logs();
    if seals {
        all.extend([
            Property::sometimes("a late put fails because its name was sealed", put_to_seal),
            Property::sometimes("a node that has put a group finds the seal", unknown_and_sealed),
            Property::sometimes("a node writes in the second history", |_, state: &State| {
                state.begun
                    && state.acknowledged.iter().any(|group| state.sealed.is_some_and(|end| group.len() > end.len()))
            }),
        ]);
    }
    all
}

fn of_logs() -> Vec<Property<Protocol>> {
    vec![
        Property::always(ONE_GROUP_PER_NUMBER, one_group_per_number),
        Property::always(DECIDED_BEHIND_TAIL, |_, state: &State| !state.misplaced),
        Property::always(ACKNOWLEDGED_IN_LOG, acknowledged_in_log),
        Property::always(ONE_ORDER, one_order),
        Property::always(COMMANDS_ONCE, commands_once),
        Property::always(CHAIN_CONTINUES, chain_continues),
        Property::always(TRUE_REFUSALS, |_, state: &State| !state.wrongly_refused),
        Property::sometimes("a put conflicts with another group", conflict),
        Property::sometimes("a put succeeded and its answer was lost", lost_answer),
        Property::sometimes("a put of a crashed node can still succeed", put_outlives_node),
        Property::sometimes("a late put fails because its name was emptied", put_to_emptied_name),
        Property::sometimes("a node that has put a group must join from a base", unknown_and_emptied),
        Property::sometimes("a follower must join from a base", follower_and_emptied),
        Property::sometimes("a command is refused after a look", refused_after_look),
    ]
}

fn one_group_per_number(protocol: &Protocol, state: &State) -> bool {
    let mut ranges: Vec<_> = state.created.iter().map(|group| protocol.numbers(*group)).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.is_sorted_by(|range, next| range.end <= next.start)
}

/// A node that joins now finds every acknowledged group.
fn acknowledged_in_log(protocol: &Protocol, state: &State) -> bool {
    let tail = protocol.tail(state);
    state.acknowledged.iter().all(|group| tail.starts_with(group))
}

fn one_order(_: &Protocol, state: &State) -> bool {
    let applied = state.nodes.iter().map(|node| &node.position);
    let mut chains: Vec<_> = applied.chain(&state.bases).chain(&state.acknowledged).collect();
    chains.sort_unstable_by_key(|chain| chain.len());
    chains.is_sorted_by(|chain, next| next.starts_with(chain))
}

fn commands_once(_: &Protocol, state: &State) -> bool {
    let applied = state.nodes.iter().map(|node| &node.position);
    applied.chain(&state.created).all(|chain| {
        let mut commands = chain.to_vec();
        commands.sort_unstable();
        commands.is_sorted_by(|command, next| command < next)
    })
}

fn chain_continues(_: &Protocol, state: &State) -> bool {
    state.nodes.iter().all(|node| node.phase != Phase::Stopped)
}

fn conflict(protocol: &Protocol, state: &State) -> bool {
    state.in_flight.iter().any(|put| match protocol.object(state, *put) {
        Object::Group(group) => group != put.1,
        Object::Missing | Object::Empty | Object::Seal => false,
    })
}

fn lost_answer(protocol: &Protocol, state: &State) -> bool {
    state.nodes.iter().any(|node| match node.phase {
        Phase::Unknown(command) => {
            let group = node.position.then(command.number);
            protocol.object(state, (node.history, group)) == Object::Group(group)
        }
        _ => false,
    })
}

fn put_outlives_node(protocol: &Protocol, state: &State) -> bool {
    let is_idle = state.nodes.iter().all(|node| node.phase == Phase::Idle);
    is_idle && state.in_flight.iter().any(|put| protocol.object(state, *put) == Object::Missing)
}

fn put_to_emptied_name(protocol: &Protocol, state: &State) -> bool {
    state.in_flight.iter().any(|put| protocol.object(state, *put) == Object::Empty)
}

fn put_to_seal(protocol: &Protocol, state: &State) -> bool {
    state.in_flight.iter().any(|put| protocol.object(state, *put) == Object::Seal)
}

fn unknown_and_sealed(protocol: &Protocol, state: &State) -> bool {
    state.nodes.iter().any(|node| {
        matches!(node.phase, Phase::Unknown(_))
            && protocol.object_behind(state, node.history, node.position) == Object::Seal
    })
}

fn unknown_and_emptied(protocol: &Protocol, state: &State) -> bool {
    state.nodes.iter().any(|node| {
        matches!(node.phase, Phase::Unknown(_))
            && protocol.object_behind(state, node.history, node.position) == Object::Empty
    })
}

fn follower_and_emptied(protocol: &Protocol, state: &State) -> bool {
    state.nodes.iter().any(|node| {
        node.phase == Phase::Idle && protocol.object_behind(state, node.history, node.position) == Object::Empty
    })
}

fn refused_after_look(_: &Protocol, state: &State) -> bool {
    state.nodes.iter().any(|node| matches!(node.phase, Phase::Looked(_)))
}
