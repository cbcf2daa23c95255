//! Checks the protocol of the replicated log exhaustively, within small bounds, with the model checker `stateright`.
//!
//! Several nodes share one log in object storage. The store offers one operation that they rely on: create a name
//! unless it exists. The protocol, in the order of a node's work:
//!
//! 1. A node decides a command against its *position*, the last group that it applied. It puts the new group under the
//!    name that follows, `log/<position + 1>`, unless that name exists.
//! 2. If the store reports that it created the name, the node applies the group and acknowledges the command.
//! 3. After any other outcome, including no answer, the node reads the name:
//!    - its own group: the put succeeded; the node acknowledges;
//!    - another group: the node applies it and decides its command again;
//!    - missing: the node puts the same bytes again, and decides nothing else before the outcome is known;
//!    - empty: the group was removed. The node joins from the newest base and reports that the outcome is unknown.
//! 4. A command that writes nothing is refused only after a look at `log/<position + 1>` that began after the command
//!    arrived and found nothing.
//! 5. Any node may write a *base*, the state at its position. Groups up to the older of the two newest bases are
//!    removed: overwritten with an empty object and never deleted, so no name is free twice.
//! 6. A restore ends a history with a *seal*, which takes the name behind the last group, and then begins the next
//!    history from there. A node that finds the seal appends nothing behind it. It moves to the next history, and
//!    decides its command again.
//!
//! The environment is hostile. The store may act and its answer be lost; a put may arrive late, or never, also after
//! its node crashed; a node may crash at any moment and restart at any earlier position or from a base; any node may
//! write bases and remove groups at any time.
//!
//! `state` holds what exists, `protocol` the steps, `properties` what must hold after each step. The tests here choose
//! the bounds, and check that each broken variant of the protocol has a counterexample. Nothing here uses code of the
//! product.
//!
//! The model leaves out: more than one command per group, leaders and forwarding (safety does not depend on them), gaps
//! in the log (only a damaged store has them), restores to an earlier state, and bases that vanish during a download.

#![allow(clippy::unwrap_used)]

mod properties;
mod protocol;
mod state;

use protocol::{Protocol, Variant};
use stateright::{Checker, HasDiscoveries, Model};
use std::collections::BTreeSet;

#[test]
fn two_nodes_with_three_puts_in_flight_break_no_property() {
    check(Protocol { nodes: 2, commands: 3, in_flight: 3, seals: false, variant: Variant::Correct });
}

#[test]
fn three_nodes_with_two_puts_in_flight_break_no_property() {
    check(Protocol { nodes: 3, commands: 3, in_flight: 2, seals: false, variant: Variant::Correct });
}

#[test]
fn a_sealed_log_continues_in_the_next_history() {
    check(Protocol { nodes: 2, commands: 3, in_flight: 2, seals: true, variant: Variant::Correct });
}

#[test]
#[ignore = "long: 9 million states, two minutes; run with `cargo test --test log_model -- --ignored`"]
fn wider_bounds_break_no_property() {
    check(Protocol { nodes: 3, commands: 3, in_flight: 3, seals: false, variant: Variant::Correct });
    check(Protocol { nodes: 2, commands: 4, in_flight: 2, seals: false, variant: Variant::Correct });
}

#[test]
fn names_by_record_number_let_groups_overlap() {
    refute(Variant::NamesByRecord, properties::ONE_GROUP_PER_NUMBER, 6);
    refute(Variant::NamesByRecord, properties::CHAIN_CONTINUES, 7);
}

#[test]
fn deleting_a_name_lets_a_late_put_create_it_again() {
    refute(Variant::Delete, properties::ONE_GROUP_PER_NUMBER, 9);
    refute(Variant::Delete, properties::DECIDED_BEHIND_TAIL, 9);
}

#[test]
fn checking_after_each_put_does_not_make_deletion_safe() {
    refute(Variant::DeleteAndCheck, properties::ONE_ORDER, 11);
}

#[test]
fn acknowledging_before_the_outcome_is_known_loses_groups() {
    refute(Variant::AcknowledgeEarly, properties::ACKNOWLEDGED_IN_LOG, 2);
    refute(Variant::AcknowledgeEarly, properties::ONE_ORDER, 4);
}

#[test]
fn refusing_without_a_look_uses_a_stale_state() {
    refute(Variant::RefuseWithoutLook, properties::TRUE_REFUSALS, 5);
}

#[test]
fn refusing_after_a_look_from_before_the_command_uses_a_stale_state() {
    refute(Variant::RefuseAfterOldLook, properties::TRUE_REFUSALS, 6);
}

#[test]
fn retrying_after_an_emptied_name_applies_a_command_twice() {
    refute(Variant::RetryAfterEmpty, properties::COMMANDS_ONCE, 11);
}

#[test]
fn a_seal_that_takes_no_name_lets_a_late_put_append_behind_it() {
    refute(Variant::SealBeside, properties::ACKNOWLEDGED_IN_LOG, 5);
    refute(Variant::SealBeside, properties::DECIDED_BEHIND_TAIL, 5);
}

/// Visits every state of the protocol within its bounds.
fn check(protocol: Protocol) {
    let checker = protocol.checker().threads(2).spawn_bfs().join();
    eprintln!("{protocol:?}: {} states", checker.unique_state_count());
    checker.assert_properties();
}

/// Requires that the variant breaks the property within this number of steps.
fn refute(variant: Variant, property: &'static str, steps: usize) {
    let found = HasDiscoveries::AnyOf(BTreeSet::from([property]));
    let seals = variant == Variant::SealBeside;
    let protocol = Protocol { nodes: 2, commands: 3, in_flight: 3, seals, variant };
    // The checker counts states, of which the first is at depth 1, and stops before it checks those at the maximum
    // depth.
    let checker = protocol.checker().finish_when(found).target_max_depth(steps + 2).spawn_bfs().join();
    let Some(path) = checker.discovery(property) else {
        panic!("{variant:?} should break \"{property}\" within {steps} steps");
    };
    let actions = path.into_actions();
    eprintln!("{variant:?} breaks \"{property}\" after {} steps: {actions:?}", actions.len());
}
