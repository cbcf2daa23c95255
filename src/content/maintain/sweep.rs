//! What nobody needs any more, and when it may be removed.
//!
//! Superseded versions of copies are removed when no reader holds a state that needs them. What belonged to a deleted
//! blueprint, and answers that are no longer kept, are removed in small steps, so that writes between them wait little.
//! Those steps are transactions like any other, and a start continues where the last run ended.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::content::data::kept_answer::KeptAnswer;
use crate::content::data::state::State;
use crate::model::error::{Error, Result};
use crate::model::time::Millis;
use crate::store::{Key, Prefix, Store, StoreWrite};

/// How many keys one step removes or reads.
const STEP_KEYS: usize = 256;

/// How long the committer serves only callers between two steps.
pub(crate) const STEP_PAUSE: Duration = Duration::from_millis(20);

/// The pause after which kept answers are read again for expired ones.
const KEPT_PAUSE: Duration = Duration::from_secs(600);

/// Knows what may be removed.
pub(crate) struct Sweeper {
    /// Every state that was replaced, in order.
    replaced: VecDeque<Replaced>,
    /// What no state names, but the store may still hold. The first one is being removed.
    obsolete: VecDeque<Obsolete>,
    /// How far the first one is removed: everything up to this key is.
    removed_up_to: Option<Key>,
    /// The kept answer that was read last.
    kept: Option<Key>,
    next_kept: Instant,
    next_step: Instant,
}

struct Replaced {
    state: Weak<State>,
    garbage: Garbage,
}

/// What only a replaced state, and those before it, can need.
#[derive(Debug, Default)]
pub(crate) struct Garbage {
    /// Keys of the store.
    pub(crate) superseded: Vec<Key>,
    /// Whole tables of the store, or parts of them.
    pub(crate) obsolete: Vec<Obsolete>,
}

/// A part of the store that nothing names any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obsolete {
    /// Everything of the deleted blueprint with that number.
    Blueprint(u32),
    /// The claims of a field that is no longer unique, or never became unique.
    Claims {
        /// The blueprint's number.
        blueprint: u32,
        /// The number under which they were made.
        claims: u32,
    },
}

impl Sweeper {
    /// For a start at which the store still holds these parts.
    pub(crate) fn new(obsolete: Vec<Obsolete>) -> Sweeper {
        let now = Instant::now();
        let (replaced, obsolete) = (VecDeque::new(), obsolete.into());
        Sweeper { replaced, obsolete, removed_up_to: None, kept: None, next_kept: now, next_step: now }
    }

    /// Notes that a state was replaced. Every one is noted, even if it leaves no garbage: as long as it is held, it may
    /// name what later states leave.
    pub(crate) fn replaced(&mut self, state: &Arc<State>, garbage: Garbage) {
        self.replaced.push_back(Replaced { state: Arc::downgrade(state), garbage });
    }

    /// Whether a step is due.
    pub(crate) fn is_busy(&self) -> bool {
        !self.obsolete.is_empty()
    }

    /// The superseded keys that no reader's state names any more. They are removed only from the store: the log says
    /// already that they are deleted.
    pub(crate) fn unseen(&mut self) -> Vec<Key> {
        let mut keys = Vec::new();
        while let Some(Replaced { garbage, .. }) =
            self.replaced.pop_front_if(|replaced| replaced.state.strong_count() == 0)
        {
            keys.extend(garbage.superseded);
            self.obsolete.extend(garbage.obsolete);
        }
        keys
    }

    /// The next removals to commit; empty if there is nothing to do now.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn next_step(&mut self, store: &Store, now: Millis) -> Result<Vec<StoreWrite>> {
        let clock = Instant::now();
        if clock < self.next_step {
            return Ok(Vec::new());
        }
        self.next_step = clock + STEP_PAUSE;
        if let Some(obsolete) = self.obsolete.front().copied() {
            let removals = removals_of(store, obsolete, self.removed_up_to.as_ref())?;
            self.removed_up_to = removals.last().map(|removal| removal.key.clone());
            if removals.is_empty() {
                self.obsolete.pop_front();
                tracing::debug!(?obsolete, "swept");
            }
            return Ok(removals);
        }
        if clock < self.next_kept { Ok(Vec::new()) } else { self.expired(store, now, clock) }
    }

    /// Begins the step of before again: its removals were not committed.
    pub(crate) fn step_failed(&mut self) {
        self.removed_up_to = None;
    }

    /// Reads some kept answers for expired ones. Starts over after a pause when all were read.
    fn expired(&mut self, store: &Store, now: Millis, clock: Instant) -> Result<Vec<StoreWrite>> {
        let scan = match self.kept.take() {
            Some(last) => store.scan_after(Prefix::Idempotency, &last),
            None => store.scan(Prefix::Idempotency),
        };
        let mut removals = Vec::new();
        for (n_read, entry) in scan.enumerate() {
            let (key, stored) = entry.map_err(Error::internal)?;
            if KeptAnswer::decode(&stored)?.is_expired(now) {
                removals.push(StoreWrite::delete(key.clone()));
            }
            if n_read + 1 == STEP_KEYS {
                self.kept = Some(key);
                return Ok(removals);
            }
        }
        self.next_kept = clock + KEPT_PAUSE;
        Ok(removals)
    }
}

/// Whether the store holds anything of a part.
///
/// # Errors
/// `INTERNAL` if the store fails.
pub(crate) fn holds_any_of(store: &Store, obsolete: Obsolete) -> Result<bool> {
    for prefix in prefixes_of(obsolete) {
        if store.scan(prefix).next().transpose().map_err(Error::internal)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The next removals of a part behind a key. Copies that readers of other processes may still need stay in the store for a
/// while after their removal is committed, so a step must not begin from the front again.
fn removals_of(store: &Store, obsolete: Obsolete, after: Option<&Key>) -> Result<Vec<StoreWrite>> {
    let mut removals = Vec::with_capacity(STEP_KEYS);
    for prefix in prefixes_of(obsolete) {
        let scan = match after {
            Some(after) => store.scan_after(prefix, after),
            None => store.scan(prefix),
        };
        for entry in scan.take(STEP_KEYS - removals.len()) {
            removals.push(StoreWrite::delete(entry.map_err(Error::internal)?.0));
        }
    }
    Ok(removals)
}

fn prefixes_of(obsolete: Obsolete) -> Vec<Prefix> {
    match obsolete {
        Obsolete::Blueprint(number) => {
            vec![Prefix::Resources(number), Prefix::Copies(number), Prefix::ImportKeys(number), Prefix::Uniques(number)]
        }
        Obsolete::Claims { blueprint, claims } => vec![Prefix::UniquesOf { blueprint, claims }],
    }
}

#[cfg(test)]
mod tests;
