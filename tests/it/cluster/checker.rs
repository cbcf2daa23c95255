//! Decides whether a history of operations is linearizable: whether each of them can have taken effect at one moment
//! between its call and its answer. The algorithm is that of Wing and Gong, with the memoization of Lowe.
//!
//! An operation whose outcome is unknown may take effect at any time after its call, or never. Must not know servers.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

/// What an object may do.
pub(super) trait Model {
    type State: Clone + Eq + Hash + Debug;
    type Operation: Debug;

    /// Returns the state after an operation with this answer; `None` if the state does not permit that answer.
    fn apply(state: &Self::State, operation: &Self::Operation) -> Option<Self::State>;
}

/// An operation, with its times in nanoseconds since any moment.
#[derive(Debug, Clone)]
pub(super) struct Event<O> {
    pub(super) operation: O,
    pub(super) called: u64,
    /// `None` if the outcome is unknown.
    pub(super) returned: Option<u64>,
}

/// The operations that have taken effect, as bits, and the state that they leave.
type Node<S> = (Vec<u64>, S);

fn has(set: &[u64], index: usize) -> bool {
    set[index / 64] >> (index % 64) & 1 == 1
}

/// Checks a history of one object.
///
/// # Errors
/// The text shows how far the best order got, and what nothing can follow.
pub(super) fn check<M: Model>(initial: M::State, history: &[Event<M::Operation>]) -> Result<(), String> {
    let mut events: Vec<_> = history.iter().collect();
    events.sort_by_key(|event| event.called);
    let n_known = events.iter().filter(|event| event.returned.is_some()).count();
    let mut open: Vec<Node<M::State>> = vec![(vec![0; events.len() / 64 + 1], initial)];
    let mut seen: HashSet<Node<M::State>> = HashSet::new();
    let mut best = (0, String::new());
    while let Some((done, state)) = open.pop() {
        let pending = || events.iter().enumerate().filter(|(index, _)| !has(&done, *index));
        let limit = pending().filter_map(|(_, event)| event.returned).min().unwrap_or(0);
        let possible = || pending().take_while(|(_, event)| event.called <= limit);
        let n_done = n_known - pending().filter(|(_, event)| event.returned.is_some()).count();
        if n_done == n_known {
            return Ok(());
        }
        if n_done >= best.0 {
            let next: Vec<_> = possible().filter(|(_, event)| event.returned.is_some()).map(|(_, e)| e).collect();
            best = (n_done, format!("{n_done} of {n_known} fit; then, in the state {state:?}, none of {next:#?}"));
        }
        // Those whose outcome is known are tried first, because they are pushed last.
        for must_be_known in [false, true] {
            for (index, event) in possible().filter(|(_, event)| event.returned.is_some() == must_be_known) {
                let Some(after) = M::apply(&state, &event.operation) else { continue };
                if after == state && !must_be_known {
                    continue;
                }
                let mut done = done.clone();
                done[index / 64] |= 1 << (index % 64);
                if seen.insert((done.clone(), after.clone())) {
                    open.push((done, after));
                }
            }
        }
    }
    Err(best.1)
}

/// A number that is written, compared and set, read, and deleted.
pub(super) struct Register;

/// An operation on a [`Register`], with its answer. Those that were answered with an error have changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RegisterOperation {
    /// A read; `None` is 404.
    Read(Option<u64>),
    Write(u64),
    /// A write with `If-Match`.
    Set {
        expected: u64,
        new: u64,
    },
    /// 412.
    Mismatch {
        expected: u64,
    },
    Delete,
    /// A write or deletion that was answered with 404.
    Missing,
}

impl Model for Register {
    type State = Option<u64>;
    type Operation = RegisterOperation;

    fn apply(state: &Option<u64>, operation: &RegisterOperation) -> Option<Option<u64>> {
        use RegisterOperation::{Delete, Mismatch, Missing, Read, Set, Write};
        match *operation {
            Read(read) => (*state == read).then_some(*state),
            Write(new) => state.map(|_| Some(new)),
            Set { expected, new } => (*state == Some(expected)).then_some(Some(new)),
            Mismatch { expected } => (state.is_some() && *state != Some(expected)).then_some(*state),
            Delete => state.map(|_| None),
            Missing => state.is_none().then_some(None),
        }
    }
}

/// A unique value, which at most one resource holds. Owners are the requests that create a resource; one that is
/// repeated with the same idempotency key has the same owner.
pub(super) struct Claim;

/// The state of a [`Claim`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct ClaimState {
    holder: Option<u64>,
    /// The owners whose request was carried out. It is not carried out again.
    created: BTreeSet<u64>,
}

/// An operation on a [`Claim`], with its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClaimOperation {
    /// A resource was created, now or by an earlier request of the same owner.
    Create(u64),
    /// 422, because another resource holds the value.
    Refused(u64),
    /// The resource of an owner was deleted.
    Delete(u64),
    /// The resource of an owner was to be deleted, and did not exist: 404.
    Missing(u64),
    /// A list; `None` if it was empty.
    Look(Option<u64>),
}

impl Model for Claim {
    type State = ClaimState;
    type Operation = ClaimOperation;

    fn apply(state: &ClaimState, operation: &ClaimOperation) -> Option<ClaimState> {
        use ClaimOperation::{Create, Delete, Look, Missing, Refused};
        let same = |fits: bool| fits.then(|| state.clone());
        match *operation {
            Create(owner) if state.created.contains(&owner) => Some(state.clone()),
            Create(owner) if state.holder.is_none() => {
                let mut created = state.created.clone();
                created.insert(owner);
                Some(ClaimState { holder: Some(owner), created })
            }
            Create(_) => None,
            Refused(owner) => same(state.holder.is_some() && !state.created.contains(&owner)),
            Delete(owner) if state.holder == Some(owner) => {
                Some(ClaimState { holder: None, created: state.created.clone() })
            }
            Delete(_) => None,
            Missing(owner) => same(state.holder != Some(owner)),
            Look(seen) => same(state.holder == seen),
        }
    }
}

mod tests {
    use super::ClaimOperation as C;
    use super::RegisterOperation::{Delete, Mismatch, Missing, Read, Set, Write};
    use super::{Claim, ClaimState, Event, Model, Register, RegisterOperation, check};

    fn events<O: Clone>(history: &[(O, u64, u64)]) -> Vec<Event<O>> {
        let event = |(operation, called, returned): &(O, u64, u64)| Event {
            operation: operation.clone(),
            called: *called,
            returned: (*returned > 0).then_some(*returned),
        };
        history.iter().map(event).collect()
    }

    fn fits(history: &[(RegisterOperation, u64, u64)]) -> bool {
        check::<Register>(Some(0), &events(history)).is_ok()
    }

    fn claims(history: &[(C, u64, u64)]) -> bool {
        check::<Claim>(ClaimState::default(), &events(history)).is_ok()
    }

    #[test]
    fn right_histories_are_accepted() {
        assert!(fits(&[]));
        assert!(fits(&[(Read(Some(0)), 1, 2), (Write(1), 3, 4), (Read(Some(1)), 5, 6)]));
        // A read during a write may see it or not, but not first the new value and then the old one.
        assert!(fits(&[(Write(1), 1, 9), (Read(Some(0)), 2, 3), (Read(Some(1)), 4, 5)]));
        assert!(!fits(&[(Write(1), 1, 9), (Read(Some(1)), 2, 3), (Read(Some(0)), 4, 5)]));
        let set = |expected, new| Set { expected, new };
        assert!(fits(&[(set(0, 1), 1, 4), (Mismatch { expected: 0 }, 2, 3), (Delete, 5, 6), (Missing, 7, 8)]));
    }

    #[test]
    fn unknown_outcomes_take_effect_late_or_never() {
        let read = |value, at| (Read(Some(value)), at, at);
        assert!(fits(&[(Write(1), 1, 0), read(0, 5), read(0, 9)]));
        assert!(fits(&[(Write(1), 1, 0), read(0, 5), read(1, 9)]));
        assert!(!fits(&[(Write(1), 1, 0), read(1, 5), read(0, 9)]));
        assert!(!fits(&[(Write(1), 7, 0), read(1, 5)]));
        assert!(!fits(&[(Set { expected: 7, new: 1 }, 1, 0), read(1, 5)]));
    }

    #[test]
    fn stale_reads_are_rejected() {
        assert!(!fits(&[(Write(1), 1, 2), (Read(Some(0)), 3, 4)]));
        assert!(!fits(&[(Delete, 1, 2), (Read(Some(0)), 3, 4)]));
        assert!(!fits(&[(Write(1), 1, 2), (Mismatch { expected: 1 }, 3, 4)]));
        assert!(!fits(&[(Missing, 1, 2)]));
    }

    #[test]
    fn lost_writes_are_rejected() {
        assert!(!fits(&[(Write(1), 1, 2), (Write(2), 3, 4), (Read(Some(1)), 5, 6)]));
        let both = [(Set { expected: 0, new: 1 }, 1, 5), (Set { expected: 0, new: 2 }, 2, 6)];
        assert!(!fits(&both));
    }

    #[test]
    fn writes_that_are_applied_twice_are_rejected() {
        let read = |value, at| (Read(Some(value)), at, at);
        assert!(!fits(&[(Write(1), 1, 0), read(1, 3), (Write(2), 4, 5), read(2, 6), read(1, 7)]));
        assert!(!claims(&[(C::Create(1), 1, 2), (C::Delete(1), 3, 4), (C::Create(1), 5, 6), (C::Look(Some(1)), 7, 8)]));
    }

    #[test]
    fn claims_have_one_holder() {
        assert!(claims(&[(C::Create(1), 1, 5), (C::Refused(2), 2, 6), (C::Look(Some(1)), 7, 8)]));
        assert!(!claims(&[(C::Create(1), 1, 5), (C::Create(2), 2, 6)]));
        assert!(!claims(&[(C::Refused(2), 2, 6)]));
        assert!(claims(&[(C::Create(1), 1, 2), (C::Delete(1), 3, 4), (C::Missing(1), 5, 6), (C::Create(2), 7, 8)]));
        // The answer to a repeated request is kept.
        assert!(claims(&[(C::Create(1), 1, 0), (C::Create(1), 2, 3), (C::Delete(1), 4, 5), (C::Create(1), 6, 7)]));
        assert!(!claims(&[(C::Create(1), 1, 2), (C::Missing(1), 3, 4)]));
    }

    #[test]
    fn thousands_of_operations_are_checked_quickly() {
        // Four clients, whose operations overlap.
        let mut history = Vec::new();
        let mut state = Some(0);
        for step in 0..5000_u64 {
            let operation = match step % 3 {
                0 => Write(step),
                _ => Read(state),
            };
            state = Register::apply(&state, &operation).unwrap();
            let known = step % 97 != 0;
            history.push((operation, 10 * step + 1, if known { 10 * step + 40 } else { 0 }));
        }
        let start = std::time::Instant::now();
        assert!(fits(&history));
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}
