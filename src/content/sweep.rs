//! What nobody needs any more, and when it may go.
//!
//! Superseded versions of copies go when no reader holds a state that names them. What belonged to a deleted blueprint,
//! and answers that are kept no longer, go in small steps, so that writes between them wait for little; those steps are
//! records of the log like any change, and a start goes on where the last run ended.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::content::idempotency;
use crate::content::state::State;
use crate::model::error::{Error, Result};
use crate::model::time::Millis;
use crate::store::{Change, Key, Prefix, Store};

/// How many keys one step removes or looks at.
const STEP_KEYS: usize = 256;

/// How long writes have the committer for themselves between two steps.
pub(crate) const STEP_PAUSE: Duration = Duration::from_millis(20);

/// How long after all kept answers were looked at it is done again.
const KEPT_PAUSE: Duration = Duration::from_secs(600);

/// Knows what may be removed.
pub(crate) struct Sweeper {
    /// Every state that was replaced, in order, with what no later one names.
    left: VecDeque<(Weak<State>, Left)>,
    /// What no state names and of which the store may hold something.
    lost: VecDeque<Lost>,
    /// The kept answer that was looked at last.
    kept: Option<Key>,
    next_kept: Instant,
    next_step: Instant,
}

/// What a replaced state leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Versions of copies.
    pub(crate) superseded: Vec<Key>,
    /// Whole parts of the store.
    pub(crate) lost: Vec<Lost>,
}

/// A part of the store that nothing names any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// All of a deleted blueprint of that number.
    Blueprint(u32),
    /// The claims of a field that is no longer unique, or was never to be.
    Claims {
        /// The blueprint's number.
        blueprint: u32,
        /// The number that they were made under.
        claims: u32,
    },
}

impl Sweeper {
    /// For a start with these parts that the store still holds.
    pub(crate) fn new(lost: Vec<Lost>) -> Sweeper {
        let now = Instant::now();
        Sweeper { left: VecDeque::new(), lost: lost.into(), kept: None, next_kept: now, next_step: now }
    }

    /// Notes that a state was replaced. Each one is noted, also where it leaves nothing: as long as it is held, what
    /// later ones leave may be named by it.
    pub(crate) fn replaced(&mut self, state: &Arc<State>, left: Left) {
        self.left.push_back((Arc::downgrade(state), left));
    }

    /// Whether a step is waiting to be made.
    pub(crate) fn is_busy(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The superseded versions that no reader's state names any more. They are removed from the store alone: the
    /// records of the log that superseded them say so already.
    pub(crate) fn unseen(&mut self) -> Vec<Key> {
        let mut keys = Vec::new();
        while self.left.front().is_some_and(|(state, _)| state.strong_count() == 0) {
            let Some((_, left)) = self.left.pop_front() else { break };
            keys.extend(left.superseded);
            self.lost.extend(left.lost);
        }
        keys
    }

    /// The next removals that are to be made durable; empty if there is nothing to do at the moment.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn next_step(&mut self, store: &Store, now: Millis) -> Result<Vec<Change>> {
        let clock = Instant::now();
        if clock < self.next_step {
            return Ok(Vec::new());
        }
        self.next_step = clock + STEP_PAUSE;
        if let Some(lost) = self.lost.front().copied() {
            let removals = removals_of(store, lost)?;
            if removals.is_empty() {
                self.lost.pop_front();
                tracing::debug!(?lost, "purged");
            }
            return Ok(removals);
        }
        if clock < self.next_kept { Ok(Vec::new()) } else { self.expired(store, now, clock) }
    }

    /// Looks at some kept answers, and begins anew after a pause when all were seen.
    fn expired(&mut self, store: &Store, now: Millis, clock: Instant) -> Result<Vec<Change>> {
        let scan = match self.kept.take() {
            Some(last) => store.scan_after(Prefix::Idempotency, &last),
            None => store.scan(Prefix::Idempotency),
        };
        let mut removals = Vec::new();
        for (seen, entry) in scan.enumerate() {
            let (key, stored) = entry.map_err(Error::internal)?;
            if idempotency::is_expired(&stored, now)? {
                removals.push(Change::delete(key.clone()));
            }
            if seen + 1 == STEP_KEYS {
                self.kept = Some(key);
                return Ok(removals);
            }
        }
        self.next_kept = clock + KEPT_PAUSE;
        Ok(removals)
    }
}

/// Whether the store holds anything of it.
///
/// # Errors
/// `INTERNAL` if the store fails.
pub(crate) fn holds_any_of(store: &Store, lost: Lost) -> Result<bool> {
    for prefix in parts_of(lost) {
        if store.scan(prefix).next().transpose().map_err(Error::internal)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn removals_of(store: &Store, lost: Lost) -> Result<Vec<Change>> {
    let mut removals = Vec::with_capacity(STEP_KEYS);
    for entry in parts_of(lost).into_iter().flat_map(|prefix| store.scan(prefix)).take(STEP_KEYS) {
        removals.push(Change::delete(entry.map_err(Error::internal)?.0));
    }
    Ok(removals)
}

fn parts_of(lost: Lost) -> Vec<Prefix> {
    match lost {
        Lost::Blueprint(number) => {
            vec![Prefix::Resources(number), Prefix::Copies(number), Prefix::ImportKeys(number), Prefix::Uniques(number)]
        }
        Lost::Claims { blueprint, claims } => vec![Prefix::UniquesOf { blueprint, claims }],
    }
}

#[cfg(test)]
mod tests;
