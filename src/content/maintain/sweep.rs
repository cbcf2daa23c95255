//! The decision which data is obsolete and when it may be removed.
//!
//! Superseded versions of copies are removed when no reader holds a state that needs them. The data of deleted
//! blueprints, resources whose time in the trash is up and expired idempotency answers are removed in small steps, so
//! that writes do not wait long. Each step is an ordinary transaction, and a start continues where the last process
//! stopped.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bindery_model::blueprint::{Blueprint, HistorySettings};
use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use bindery_store::{Key, Prefix, Store, StoreWrite};

use crate::data::history::HistoryOf;
use crate::data::kept_answer::KeptAnswer;
use crate::data::lookup::Lookup;
use crate::data::state::{Collection, State};
use crate::data::trash::{set_trash_total, trash_total, trashed};

/// The numbers of keys that one step removes or reads, at least and at most.
const STEP_KEYS: RangeInclusive<usize> = 16..=256;

/// The time that a step should take at most, because writes wait for it. A disk that is busy makes the same keys take
/// longer.
const STEP_TIME: Duration = Duration::from_millis(10);

/// The pause between two steps, during which the committer serves only callers.
pub(crate) const STEP_PAUSE: Duration = Duration::from_millis(20);

const MILLIS_PER_DAY: Millis = 24 * 60 * 60 * 1_000;

/// The pause between two searches for expired answers.
const KEPT_PAUSE: Duration = Duration::from_secs(600);

/// The pause between two searches for resources whose time in the trash is up.
const TRASH_PAUSE: Duration = Duration::from_secs(60);

/// The pause between two searches for revisions that are no longer kept. Readers do not see those.
const HISTORY_PAUSE: Duration = Duration::from_secs(3_600);

/// The most revisions of one variant of a resource that one step removes.
const STEP_REVISIONS: u32 = 100;

/// The pause after a step that could not be committed.
const FAILED_PAUSE: Duration = Duration::from_secs(2);

/// The list of the data that may be removed.
pub(crate) struct Sweeper {
    /// The replaced states that readers may still hold, in order.
    replaced: VecDeque<ReplacedState>,
    /// Parts that no state references but that the store may still hold. The first one is being removed.
    obsolete: VecDeque<ObsoleteData>,
    /// The last key of the first part for which a removal was returned. The next step continues after it.
    removed_up_to: Option<Key>,
    /// The key of the last answer that the search for expired ones has read.
    kept: Option<Key>,
    next_kept: Instant,
    next_trash: Instant,
    /// True if the last search in the trash found so much, or has so much left to read, that it is to go on at once.
    has_more_trash: bool,
    /// The last place in the trash that the search has read, while it goes on.
    trash: Option<Key>,
    next_history: Instant,
    /// The last history that the search for old revisions has read, while it goes on.
    history: Option<Key>,
    next_step: Instant,
    /// The number of keys of the next step.
    step_keys: usize,
    /// The beginning of the step that is being made.
    step_began: Option<Instant>,
}

struct ReplacedState {
    state: Weak<State>,
    garbage: Garbage,
}

/// Data that only a replaced state and its predecessors may need.
#[derive(Debug, Default)]
pub(crate) struct Garbage {
    /// Single keys of the store.
    pub(crate) superseded: Vec<Key>,
    /// Larger parts of the store.
    pub(crate) obsolete: Vec<ObsoleteData>,
}

/// A part of the store that nothing references any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObsoleteData {
    /// All data of the deleted blueprint with that number.
    Blueprint(u32),
    /// The claims of a field that is no longer unique, or never became unique.
    Claims {
        /// The blueprint's number.
        blueprint: u32,
        /// The number under which the values are claimed.
        claims: u32,
    },
}

impl Sweeper {
    /// Creates the sweeper at a start. The store still holds these obsolete parts.
    pub(crate) fn new(obsolete: Vec<ObsoleteData>) -> Sweeper {
        let now = Instant::now();
        let (replaced, obsolete) = (VecDeque::new(), obsolete.into());
        Sweeper {
            replaced,
            obsolete,
            removed_up_to: None,
            kept: None,
            next_kept: now,
            next_trash: now,
            has_more_trash: false,
            trash: None,
            next_history: now,
            history: None,
            next_step: now,
            step_keys: *STEP_KEYS.start(),
            step_began: None,
        }
    }

    /// Records that a state was replaced. This includes states without garbage, because as long as a reader holds such
    /// a state, it may reference the garbage of later ones.
    pub(crate) fn replaced(&mut self, state: &Arc<State>, garbage: Garbage) {
        self.replaced.push_back(ReplacedState { state: Arc::downgrade(state), garbage });
    }

    /// Returns whether there is known to be something to remove, or to be looked for at once.
    pub(crate) fn is_busy(&self) -> bool {
        let is_history_due = self.history.is_some() || self.next_history <= Instant::now();
        !self.obsolete.is_empty() || self.has_more_trash || is_history_due
    }

    /// Returns the superseded keys that no reader's state references any more. The caller removes them only from the
    /// store: in the log they are already deleted.
    pub(crate) fn unseen(&mut self) -> Vec<Key> {
        let mut keys = Vec::new();
        while self.replaced.front().is_some_and(|replaced| replaced.state.strong_count() == 0) {
            let Some(ReplacedState { garbage, .. }) = self.replaced.pop_front() else { break };
            keys.extend(garbage.superseded);
            self.obsolete.extend(garbage.obsolete);
        }
        keys
    }

    /// Returns the next removals to commit. Empty if there is nothing to remove now.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn next_step(&mut self, store: &Store, state: &State, now: Millis) -> Result<Vec<StoreWrite>> {
        let clock = Instant::now();
        if clock < self.next_step {
            return Ok(Vec::new());
        }
        self.next_step = clock + STEP_PAUSE;
        self.step_began = Some(clock);
        if let Some(obsolete) = self.obsolete.front().copied() {
            let removals = removals_of(store, obsolete, self.removed_up_to.as_ref(), self.step_keys)?;
            self.removed_up_to = removals.last().map(|removal| removal.key.clone());
            if removals.is_empty() {
                self.obsolete.pop_front();
                tracing::debug!(?obsolete, "an obsolete part of the store was removed");
            }
            return Ok(removals);
        }
        if clock >= self.next_trash {
            let removals = self.expired_trash(store, state, now)?;
            self.has_more_trash = self.trash.is_some() || !removals.is_empty();
            if self.has_more_trash {
                return Ok(removals);
            }
            self.next_trash = clock + TRASH_PAUSE;
        }
        if clock >= self.next_history {
            return self.old_revisions(store, state, now, clock);
        }
        if clock < self.next_kept { Ok(Vec::new()) } else { self.expired(store, now, clock) }
    }

    /// Looks for revisions that are no longer kept at once: if a blueprint keeps fewer now, they should not come back
    /// when it keeps more again. Those that are not removed by then do (`API.md` 4.22.6).
    pub(crate) fn look_for_revisions(&mut self) {
        (self.next_history, self.history) = (Instant::now(), None);
    }

    /// Must be called after each attempt at a step, when its removals are committed: the next one has fewer keys if it
    /// took long.
    pub(crate) fn step_ended(&mut self) {
        let Some(took) = self.step_began.take().map(|began| began.elapsed()) else { return };
        let keys = match took {
            _ if took > STEP_TIME => self.step_keys / 2,
            _ if took < STEP_TIME / 4 => self.step_keys * 2,
            _ => self.step_keys,
        };
        self.step_keys = keys.clamp(*STEP_KEYS.start(), *STEP_KEYS.end());
    }

    /// Starts the current part over, because the removals of the last step were not committed.
    pub(crate) fn step_failed(&mut self) {
        self.removed_up_to = None;
        self.trash = None;
        self.next_step = Instant::now() + FAILED_PAUSE;
    }

    /// Reads the next places in the trash and returns removals of resources of one blueprint whose time is up, the
    /// oldest first: about as many keys as a step has.
    fn expired_trash(&mut self, store: &Store, state: &State, now: Millis) -> Result<Vec<StoreWrite>> {
        let after = self.trash.take();
        let mut n_read = 0;
        for Collection { blueprint, .. } in by_number(state) {
            let (number, total) = (blueprint.number, trash_total(store, blueprint.number)?);
            if total == 0 {
                continue;
            }
            let scan = match &after {
                Some(after) => store.scan_after(Prefix::TrashOrder(number), after),
                None => store.scan(Prefix::TrashOrder(number)),
            };
            let days = blueprint.trash.map(|settings| settings.days);
            let (mut removals, mut count) = (Vec::new(), 0);
            for entry in scan {
                let key = entry.map_err(Error::internal)?.0;
                let Key::TrashOrder { id, .. } = key else { continue };
                match trashed(store, number, id)? {
                    None => removals.push(StoreWrite::delete(key.clone())),
                    Some(resource) if resource.is_expired(days, now) => {
                        removals.extend(resource.removals(number, id));
                        count += 1;
                    }
                    // With the setting all wait equally long. Without it each waits as long as it was promised, so one
                    // that was deleted later may be removed earlier.
                    Some(_) if days.is_some() => break,
                    Some(_) => {}
                }
                n_read += 1;
                if removals.len() >= self.step_keys || n_read >= self.step_keys {
                    self.trash = Some(key);
                    break;
                }
            }
            if !removals.is_empty() {
                removals.push(set_trash_total(number, total.saturating_sub(count)));
            }
            if !removals.is_empty() || self.trash.is_some() {
                return Ok(removals);
            }
        }
        Ok(Vec::new())
    }

    /// Reads the next histories and returns removals of revisions that are no longer kept. After all were read, pauses
    /// and starts over.
    fn old_revisions(&mut self, store: &Store, state: &State, now: Millis, clock: Instant) -> Result<Vec<StoreWrite>> {
        let (mut writes, mut n_read) = (Vec::new(), 0);
        let after = self.history.take();
        // No history has the number 0.
        let none = Key::History { blueprint: 0, id: ResourceId::from_u128(0), variant: 0 };
        let mut last = after.clone().unwrap_or(none);
        for Collection { blueprint, .. } in by_number(state) {
            let scan = match &after {
                Some(after) => store.scan_after(Prefix::Histories(blueprint.number), after),
                None => store.scan(Prefix::Histories(blueprint.number)),
            };
            for entry in scan {
                let key = entry.map_err(Error::internal)?.0;
                let Key::History { id, variant, .. } = key else { continue };
                let of = HistoryOf { blueprint: blueprint.number, id, variant };
                let done = outdated_revisions(store, blueprint, of, now, &mut writes)?;
                n_read += 1;
                if !done {
                    // The rest of this history follows in the next step.
                    self.history = Some(last);
                    return Ok(writes);
                }
                last = key.clone();
                if writes.len() >= self.step_keys || n_read == self.step_keys {
                    self.history = Some(key);
                    return Ok(writes);
                }
            }
        }
        self.next_history = clock + HISTORY_PAUSE;
        Ok(writes)
    }

    /// Reads the next idempotency answers and returns removals of expired ones. After all were read, pauses and starts
    /// over.
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
            if n_read + 1 == self.step_keys {
                self.kept = Some(key);
                return Ok(removals);
            }
        }
        self.next_kept = clock + KEPT_PAUSE;
        Ok(removals)
    }
}

/// Returns the blueprints in the order of their numbers, which is that of their keys.
fn by_number(state: &State) -> Vec<&Collection> {
    let mut collections: Vec<&Collection> = state.blueprints.values().map(AsRef::as_ref).collect();
    collections.sort_by_key(|collection| collection.blueprint.number);
    collections
}

/// Adds removals of the revisions of one history that are no longer kept. Returns false if there are more.
fn outdated_revisions(
    store: &Store,
    blueprint: &Blueprint,
    of: HistoryOf,
    now: Millis,
    writes: &mut Vec<StoreWrite>,
) -> Result<bool> {
    let Some(mut range) = of.range(store)? else { return Ok(true) };
    let before = range;
    let exists = store.meta(of.blueprint, of.id)?.is_some() || trashed(store, of.blueprint, of.id)?.is_some();
    let settings = blueprint.history.filter(|_| exists && blueprint.variant_numbers().contains(&of.variant));
    let mut is_done = true;
    match settings {
        None => range.first = range.last + 1,
        Some(HistorySettings { keep, days }) => {
            range.first = range.first.max((range.last + 1).saturating_sub(keep.into()));
            let since = now - Millis::from(days) * MILLIS_PER_DAY;
            let most = range.first + STEP_REVISIONS;
            while range.first < range.last.min(most)
                && of.revision(store, range.first)?.is_none_or(|revision| revision.at < since)
            {
                range.first += 1;
            }
            // Older ones may follow.
            is_done = range.first < most;
        }
    }
    let end = range.first;
    let removals = of.removals(store, &mut range, end, STEP_REVISIONS)?;
    writes.extend(removals.into_iter().map(StoreWrite::delete));
    is_done &= range.swept >= end;
    if settings.is_none() && is_done {
        writes.push(StoreWrite::delete(of.key()));
    } else if range != before {
        writes.push(StoreWrite::put(of.key(), range.encode()));
    }
    Ok(is_done)
}

/// Returns whether the store holds any key of an obsolete part.
///
/// # Errors
/// `INTERNAL` if the store fails.
pub(crate) fn holds_any_of(store: &Store, obsolete: ObsoleteData) -> Result<bool> {
    for prefix in prefixes_of(obsolete) {
        if store.scan(prefix).next().transpose().map_err(Error::internal)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the next removals of an obsolete part, after a key: at most `keys`. `apply` defers deletes of copies, so a
/// copy may stay in the store for a while after its removal is committed: a step must not start from the beginning.
fn removals_of(store: &Store, obsolete: ObsoleteData, after: Option<&Key>, keys: usize) -> Result<Vec<StoreWrite>> {
    let mut removals = Vec::with_capacity(keys);
    for prefix in prefixes_of(obsolete) {
        let scan = match after {
            Some(after) => store.scan_after(prefix, after),
            None => store.scan(prefix),
        };
        for entry in scan.take(keys - removals.len()) {
            removals.push(StoreWrite::delete(entry.map_err(Error::internal)?.0));
        }
    }
    Ok(removals)
}

/// Returns the parts of the store that are removed, in the order of their keys.
fn prefixes_of(obsolete: ObsoleteData) -> Vec<Prefix> {
    match obsolete {
        ObsoleteData::Blueprint(number) => {
            vec![
                Prefix::Resources(number),
                Prefix::Copies(number),
                Prefix::Trash(number),
                Prefix::TrashOrder(number),
                Prefix::TrashTotal(number),
                Prefix::Histories(number),
                Prefix::Revisions(number),
                Prefix::FormerCopies(number),
                Prefix::ImportKeys(number),
                Prefix::Uniques(number),
            ]
        }
        ObsoleteData::Claims { blueprint, claims } => vec![Prefix::UniquesOf { blueprint, claims }],
    }
}

#[cfg(test)]
mod tests;
