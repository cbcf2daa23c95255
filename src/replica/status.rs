//! What a node knows about itself, for readiness, headers and metrics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_cluster::Position;
use parking_lot::Mutex;

/// The state of a node, as of now.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The position of the node's copy of the log.
    pub position: Position,
    /// The time since the node last saw that it has everything.
    pub lag: Duration,
    /// The reason why the node stopped following, if it has.
    pub fault: Option<String>,
    /// True if the node has to begin again from a base.
    pub must_rejoin: bool,
}

/// The shared state of a node. Clones are the same.
#[derive(Debug, Clone)]
pub struct Status(Arc<Mutex<Known>>);

#[derive(Debug)]
struct Known {
    position: Position,
    at_tail: Instant,
    fault: Option<String>,
    must_rejoin: bool,
}

impl Status {
    pub(crate) fn new(position: Position) -> Status {
        Status(Arc::new(Mutex::new(Known { position, at_tail: Instant::now(), fault: None, must_rejoin: false })))
    }

    /// Returns the state as of now.
    #[must_use]
    pub fn get(&self) -> Standing {
        let known = self.0.lock();
        Standing {
            position: known.position,
            lag: known.at_tail.elapsed(),
            fault: known.fault.clone(),
            must_rejoin: known.must_rejoin,
        }
    }

    pub(crate) fn set_position(&self, position: Position) {
        self.0.lock().position = position;
    }

    /// Notes that the copy had everything at this moment.
    pub(crate) fn was_at_tail(&self, at: Instant) {
        let mut known = self.0.lock();
        known.at_tail = known.at_tail.max(at);
    }

    pub(crate) fn fail(&self, fault: String, must_rejoin: bool) {
        let mut known = self.0.lock();
        if known.fault.is_none() {
            tracing::error!(fault, "this node no longer follows the log of its cluster");
        }
        known.fault.get_or_insert(fault);
        known.must_rejoin |= must_rejoin;
    }
}
