//! What a node knows about itself, for readiness, headers and metrics.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bindery_cluster::{Follower, Position};
use parking_lot::Mutex;

/// The state of a node, as of now.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The position behind the last group that the node has applied.
    pub position: Position,
    /// The time since the node last saw that it has everything.
    pub lag: Duration,
    /// True once the node has had everything since it was started.
    pub has_caught_up: bool,
    /// The reason why the node stopped following, if it has.
    pub fault: Option<String>,
    /// The groups that are missing in the log, if the node has found that some are.
    pub gap: Option<String>,
    /// True if the node has to begin again from a base.
    pub must_rejoin: bool,
}

/// The shared state of a node. Clones are the same.
#[derive(Clone)]
pub struct Status(Arc<Inner>);

struct Inner {
    known: Mutex<Known>,
    /// Reads the log ahead, once the node is attached.
    follower: OnceLock<Arc<Follower>>,
}

/// What helps a node that has stopped following the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Remedy {
    /// Nothing that it could do by itself.
    None,
    /// The history that comes after this one.
    NextHistory,
    /// Beginning again from a base.
    Rejoin,
}

/// Groups that are missing in the log, although this node has had them.
struct Gap {
    description: String,
    /// The number of the last record at the time at which they were missed. A base with it makes them superfluous.
    number: u64,
}

struct Known {
    position: Position,
    at_tail: Instant,
    has_caught_up: bool,
    fault: Option<String>,
    gap: Option<Gap>,
    remedy: Remedy,
    /// How often the storage is asked, if that was set.
    poll: Option<Duration>,
}

impl Status {
    pub(crate) fn new(position: Position) -> Status {
        let known = Known {
            position,
            at_tail: Instant::now(),
            has_caught_up: false,
            fault: None,
            gap: None,
            remedy: Remedy::None,
            poll: None,
        };
        Status(Arc::new(Inner { known: Mutex::new(known), follower: OnceLock::new() }))
    }

    /// Returns the state as of now.
    #[must_use]
    pub fn get(&self) -> Standing {
        let seen = self.0.follower.get().map(|follower| follower.status()).filter(|status| status.is_at_tail);
        let mut known = self.0.known.lock();
        if let Some(seen) = seen.filter(|seen| seen.position == known.position)
            && let Some(at) = seen.last_look
        {
            known.note_tail(at);
        }
        Standing {
            position: known.position,
            lag: known.at_tail.elapsed(),
            has_caught_up: known.has_caught_up,
            fault: known.fault.clone(),
            gap: known.gap.as_ref().map(|gap| gap.description.clone()),
            must_rejoin: known.remedy == Remedy::Rejoin,
        }
    }

    pub(crate) fn set_position(&self, position: Position) {
        self.0.known.lock().position = position;
    }

    /// Notes that the node had everything at this moment.
    pub(crate) fn was_at_tail(&self, at: Instant) {
        self.0.known.lock().note_tail(at);
    }

    /// Takes the follower, once the node is attached.
    pub(crate) fn follow_with(&self, follower: &Arc<Follower>) {
        let _ = self.0.follower.set(Arc::clone(follower));
    }

    /// Sets how often the storage is asked for new groups.
    pub(crate) fn poll_every(&self, poll: Duration) {
        let mut known = self.0.known.lock();
        if known.poll == Some(poll) {
            return;
        }
        if let Some(follower) = self.0.follower.get() {
            follower.set_poll(poll);
            known.poll = Some(poll);
        }
    }

    /// Says that a group with this sequence number exists, and none behind it did a moment ago.
    pub(crate) fn hint(&self, seq: u64) {
        let mut known = self.0.known.lock();
        if known.position.seq >= seq {
            known.note_tail(Instant::now());
        }
        drop(known);
        if let Some(follower) = self.0.follower.get() {
            follower.hint(seq);
        }
    }

    /// Notes that this node cannot apply what is in the log, so that it follows no more.
    pub fn stop_following(&self, fault: String) {
        self.fail(fault, Remedy::None);
    }

    pub(crate) fn fail(&self, fault: String, remedy: Remedy) {
        let mut known = self.0.known.lock();
        if known.fault.is_none() {
            tracing::error!(fault, "this node no longer follows the log of its cluster");
        }
        known.fault.get_or_insert(fault);
        known.remedy = known.remedy.max(remedy);
    }

    /// Notes the sequence numbers of groups that are missing in the log behind a base, or that none are.
    pub(crate) fn note_missing(&self, missing: &[u64]) {
        let mut known = self.0.known.lock();
        let (Some(first), Some(last)) = (missing.first(), missing.last()) else {
            known.gap = None;
            return;
        };
        let groups =
            if first == last { format!("group {first}") } else { format!("groups between {first} and {last}") };
        let description = format!(
            "the log has lost {groups}: something else than Bindery deleted objects, such as a lifecycle rule of the bucket; end that; \
             no content is lost, since the nodes have it, and a base that is made now replaces what is gone"
        );
        tracing::error!("{description}");
        known.gap = Some(Gap { description, number: known.position.number });
    }

    /// Returns whether a base that ends at this record leaves out what is missing in the log.
    pub(crate) fn needs_base(&self, base: u64) -> bool {
        self.0.known.lock().gap.as_ref().is_some_and(|gap| base < gap.number)
    }

    /// Returns whether the history has ended, so that the node moves to the next one as soon as there is one.
    pub(crate) fn awaits_next_history(&self) -> bool {
        self.0.known.lock().remedy == Remedy::NextHistory
    }

    /// Says that the next history has begun.
    pub(crate) fn next_history_began(&self) {
        self.0.known.lock().remedy = Remedy::Rejoin;
    }
}

impl Known {
    fn note_tail(&mut self, at: Instant) {
        self.at_tail = self.at_tail.max(at);
        self.has_caught_up = true;
    }
}

impl std::fmt::Debug for Status {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(formatter)
    }
}
