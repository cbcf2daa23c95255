//! The progress of a webhook: its position in the change feed, the changes that wait to be sent or sent again, and the
//! latest attempts. Knows when a change is due; must not send.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use bindery_content::{Change, ChangeOp, PROGRESS_PARTS, ProgressParts};
use bindery_model::id::ResourceId;
use bindery_model::time::Millis;
use serde::{Deserialize, Serialize};

/// The maximum number of waiting changes. When it is reached, no more are read: they stay in the change feed.
const MAX_WAITING: usize = 1_000;

/// The number of attempts that are kept, and the number that are kept over a restart.
const REMEMBERED: usize = 100;
const SAVED: usize = 20;

/// The number of consecutive change numbers that belong to one stored part. Failures come in this order, so few parts
/// change at a time.
const NUMBERS_A_PART: u64 = 64;

/// The pause after the first failure. Each further pause is four times as long, up to the longest.
const FIRST_PAUSE: Millis = 5_000;
const LONGEST_PAUSE: Millis = 3 * 3_600_000;

/// The time after the first failure for which a change is sent again.
const GIVE_UP_AFTER: Millis = 24 * 3_600_000;

/// The time without a success after which a webhook is switched off with the next change that is given up.
const SWITCH_OFF_AFTER: Millis = 5 * 24 * 3_600_000;

/// The progress of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WebhookProgress {
    /// The number up to which all changes are delivered, not wanted, or waiting.
    pub(super) through: u64,
    /// The waiting changes, in order. They are stored in separate parts.
    #[serde(skip)]
    waiting: VecDeque<WaitingChange>,
    /// The time of the first failure since the last success.
    failing_since: Option<Millis>,
    /// The latest attempts, oldest first.
    deliveries: VecDeque<Delivery>,
}

/// A change that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WaitingChange {
    pub(super) number: u64,
    pub(super) at: Millis,
    pub(super) op: String,
    pub(super) blueprint: String,
    pub(super) id: String,
    pub(super) attempts: u32,
    first_failure: Option<Millis>,
    due: Millis,
}

/// An attempt to deliver a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // API.md 6.2.6 documents them.
pub struct Delivery {
    pub message: String,
    pub number: u64,
    pub op: String,
    pub blueprint: String,
    pub resource: String,
    pub at: Millis,
    pub attempt: u32,
    pub state: DeliveryState,
    pub status: Option<u16>,
    pub error: Option<String>,
    pub milliseconds: u64,
    pub next_attempt: Option<Millis>,
}

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeliveryState {
    /// The receiver accepted the change.
    Delivered,
    /// The change is sent again.
    Retrying,
    /// The change is not sent again.
    GivenUp,
}

impl WebhookProgress {
    /// Makes the progress of a webhook that gets the changes after this number.
    pub(super) fn new(through: u64) -> WebhookProgress {
        WebhookProgress { through, waiting: VecDeque::new(), failing_since: None, deliveries: VecDeque::new() }
    }

    /// Returns the stored form. The first part has everything except the waiting changes. They are divided into parts
    /// by their numbers.
    pub(super) fn encode(&self) -> ProgressParts {
        let WebhookProgress { through, failing_since, deliveries, .. } = self;
        let deliveries = deliveries.iter().skip(deliveries.len().saturating_sub(SAVED)).cloned().collect();
        let head =
            WebhookProgress { through: *through, waiting: VecDeque::new(), failing_since: *failing_since, deliveries };
        let mut waiting: [Vec<&WaitingChange>; PROGRESS_PARTS] = Default::default();
        self.waiting.iter().for_each(|change| waiting[part_of(change.number)].push(change));
        let mut parts = waiting.map(|changes| if changes.is_empty() { Vec::new() } else { encoded(&changes) });
        parts[0] = encoded(&head);
        parts
    }

    /// Reads the stored form; `None` if nothing is stored.
    ///
    /// # Errors
    /// The reason why the parts cannot be read.
    pub(super) fn decode(parts: &ProgressParts) -> serde_json::Result<Option<WebhookProgress>> {
        if parts.iter().all(Vec::is_empty) {
            return Ok(None);
        }
        let [head, parts @ ..] = parts;
        let mut progress: WebhookProgress = serde_json::from_slice(head)?;
        for part in parts.iter().filter(|part| !part.is_empty()) {
            progress.waiting.extend(serde_json::from_slice::<Vec<WaitingChange>>(part)?);
        }
        progress.waiting.make_contiguous().sort_by_key(|change| change.number);
        Ok(Some(progress))
    }

    /// Returns the error of the latest attempt; `None` if it succeeded.
    pub(super) fn error(&self) -> Option<String> {
        self.deliveries.back().and_then(|delivery| delivery.error.clone())
    }

    /// Is true if the latest attempt failed.
    pub(super) fn is_failing(&self) -> bool {
        self.failing_since.is_some()
    }

    /// Returns the number of further changes that may wait.
    pub(super) fn room(&self) -> usize {
        MAX_WAITING.saturating_sub(self.waiting.len())
    }

    /// Adds a change to the waiting ones.
    pub(super) fn push(&mut self, change: Change) {
        let Change { number, at, op, blueprint, id } = change;
        let (op, blueprint, id) = (op.as_str().to_owned(), blueprint.to_string(), id.to_string());
        self.waiting.push_back(WaitingChange {
            number,
            at,
            op,
            blueprint,
            id,
            attempts: 0,
            first_failure: None,
            due: 0,
        });
    }

    /// Drops the waiting changes that are no longer wanted. Returns whether there were any.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(&WaitingChange) -> bool) -> bool {
        let (kept, dropped): (VecDeque<_>, VecDeque<_>) = self.waiting.drain(..).partition(is_wanted);
        self.waiting = kept;
        for change in &dropped {
            let latest = self.deliveries.iter_mut().rev().find(|delivery| delivery.number == change.number);
            if let Some(delivery) = latest {
                (delivery.state, delivery.next_attempt) = (DeliveryState::GivenUp, None);
            }
        }
        !dropped.is_empty()
    }

    /// Returns the first change that may be sent now. It must have no earlier waiting change of the same resource.
    pub(super) fn next_due(&self, now: Millis) -> Option<WaitingChange> {
        self.sendable().find(|waiting| waiting.due <= now).cloned()
    }

    /// Returns when the next change may be sent.
    pub(super) fn due(&self) -> Option<Millis> {
        self.sendable().map(|waiting| waiting.due).min()
    }

    fn sendable(&self) -> impl Iterator<Item = &WaitingChange> {
        let mut seen = HashSet::new();
        self.waiting.iter().filter(move |waiting| seen.insert(waiting.id.as_str()))
    }

    /// Makes all failed changes due now, for a webhook that was switched on again.
    pub(super) fn begin_again(&mut self) {
        self.failing_since = None;
        for waiting in &mut self.waiting {
            (waiting.attempts, waiting.first_failure, waiting.due) = (0, None, 0);
        }
    }

    /// Records an attempt. Returns whether the webhook has failed for so long that it must be switched off.
    pub(super) fn note(&mut self, number: u64, mut delivery: Delivery, is_success: bool, now: Millis) -> bool {
        let Some(position) = self.waiting.iter().position(|waiting| waiting.number == number) else { return false };
        if is_success {
            self.failing_since = None;
            self.waiting.remove(position);
            self.remember(delivery);
            return false;
        }
        let failing_since = *self.failing_since.get_or_insert(now);
        let waiting = &mut self.waiting[position];
        waiting.attempts += 1;
        let first_failure = *waiting.first_failure.get_or_insert(now);
        waiting.due = now + pause(waiting.attempts);
        let is_given_up = waiting.due - first_failure > GIVE_UP_AFTER;
        if is_given_up {
            delivery.state = DeliveryState::GivenUp;
            self.waiting.remove(position);
        } else {
            delivery.state = DeliveryState::Retrying;
            delivery.next_attempt = Some(waiting.due);
        }
        self.remember(delivery);
        // After a quiet time, a single failure is not enough to switch it off.
        is_given_up && now - failing_since >= SWITCH_OFF_AFTER
    }

    fn remember(&mut self, delivery: Delivery) {
        self.deliveries.push_back(delivery);
        if self.deliveries.len() > REMEMBERED {
            self.deliveries.pop_front();
        }
    }

    /// Returns the latest attempts, newest first.
    pub(super) fn deliveries(&self) -> Vec<Delivery> {
        self.deliveries.iter().rev().cloned().collect()
    }
}

/// Returns the stored part of a waiting change. The first part has everything else.
fn part_of(number: u64) -> usize {
    1 + (number / NUMBERS_A_PART % (PROGRESS_PARTS as u64 - 1)) as usize
}

fn encoded<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data can always be serialized")
}

/// Returns the pause after a number of failures.
fn pause(attempts: u32) -> Millis {
    let factor = 4_i64.saturating_pow(attempts.saturating_sub(1));
    FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE)
}

impl WaitingChange {
    /// Returns the resource.
    pub(super) fn resource(&self) -> Option<ResourceId> {
        ResourceId::parse(&self.id)
    }

    /// Returns whether readers of live copies may see the change.
    pub(super) fn is_of_live_copy(&self) -> bool {
        ![ChangeOp::Edited, ChangeOp::PublishFailed].map(ChangeOp::as_str).contains(&self.op.as_str())
    }

    /// Returns whether the resource was deleted.
    pub(super) fn is_deletion(&self) -> bool {
        self.op == ChangeOp::Deleted.as_str()
    }
}

/// Returns the id under which a change is sent. It is the same in each attempt.
pub(super) fn message_id(webhook: &str, number: u64) -> Arc<str> {
    format!("msg_{webhook}_{number}").into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const DAY: Millis = 24 * 3_600_000;

    fn change(number: u64, id: u128) -> Change {
        let id = ResourceId::from_u128(id);
        Change { number, at: 1, op: ChangeOp::Updated, blueprint: "news".into(), id }
    }

    fn attempt(progress: &mut WebhookProgress, number: u64, is_success: bool, now: Millis) -> bool {
        let delivery = Delivery {
            message: "m".into(),
            number,
            op: "updated".into(),
            blueprint: "news".into(),
            resource: "r".into(),
            at: now,
            attempt: 1,
            state: DeliveryState::Delivered,
            status: None,
            error: None,
            milliseconds: 1,
            next_attempt: None,
        };
        progress.note(number, delivery, is_success, now)
    }

    #[test]
    fn changes_of_a_resource_wait_for_each_other_and_not_for_those_of_others() {
        let mut progress = WebhookProgress::new(0);
        [change(1, 1), change(2, 1), change(3, 2)].into_iter().for_each(|change| progress.push(change));
        let next = |progress: &WebhookProgress, now| progress.next_due(now).map(|waiting| waiting.number);
        assert_eq!(next(&progress, 10), Some(1));
        attempt(&mut progress, 1, false, 10);
        assert_eq!(next(&progress, 10), Some(3));
        attempt(&mut progress, 3, true, 11);
        assert_eq!((next(&progress, 5_009), progress.due()), (None, Some(5_010)));
        assert_eq!(next(&progress, 5_010), Some(1));
        attempt(&mut progress, 1, true, 5_010);
        assert_eq!(next(&progress, 5_010), Some(2));
        let states: Vec<_> = progress.deliveries().iter().map(|delivery| (delivery.number, delivery.state)).collect();
        assert_eq!(states[0], (1, DeliveryState::Delivered));
        assert_eq!(states[2], (1, DeliveryState::Retrying));
        assert_eq!(WebhookProgress::decode(&progress.encode()).unwrap(), Some(progress));
    }

    #[test]
    fn a_part_that_did_not_change_is_stored_as_it_was() {
        let mut progress = WebhookProgress::new(0);
        (1..=1_000).for_each(|number| progress.push(change(number, u128::from(number))));
        let before = progress.encode();
        attempt(&mut progress, 500, false, 10);
        let after = progress.encode();
        let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count();
        assert_eq!(changed, 2, "the head, and the part of the change");
        assert_eq!(WebhookProgress::decode(&after).unwrap(), Some(progress));
        assert_eq!(WebhookProgress::decode(&ProgressParts::default()).unwrap(), None);
        let mut damaged = after;
        damaged[3].truncate(20);
        assert!(WebhookProgress::decode(&damaged).is_err());
    }

    #[test]
    fn pauses_grow_for_a_day_and_after_five_days_without_success_the_webhook_is_switched_off() {
        let mut progress = WebhookProgress::new(0);
        progress.push(change(1, 1));
        let mut attempts = Vec::new();
        while let Some(due) = progress.due() {
            attempts.push(due);
            attempt(&mut progress, 1, false, due);
        }
        let pauses: Vec<Millis> = attempts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(pauses[..4], [5_000, 20_000, 80_000, 320_000]);
        assert!(pauses.is_sorted() && *attempts.last().unwrap() > DAY - LONGEST_PAUSE, "{attempts:?}");
        assert!(*attempts.last().unwrap() <= DAY);
        assert_eq!(progress.deliveries()[0].state, DeliveryState::GivenUp);
        for (number, from, expected) in [(2, 2 * DAY, false), (3, 4 * DAY, false), (4, 6 * DAY, true)] {
            assert_eq!(fail(&mut progress, number, from), expected, "{number}");
        }
        progress.push(change(5, 9));
        attempt(&mut progress, 5, true, 8 * DAY);
        assert!(!fail(&mut progress, 6, 9 * DAY), "a success begins the days anew");
    }

    /// Lets a change fail until it is given up. Returns whether the webhook is switched off then, which it must not be
    /// earlier.
    fn fail(progress: &mut WebhookProgress, number: u64, from: Millis) -> bool {
        progress.push(change(number, 1));
        let mut now = from;
        loop {
            let is_switched_off = attempt(progress, number, false, now);
            let Some(due) = progress.due() else { return is_switched_off };
            assert!(!is_switched_off, "{number} at {now}");
            now = due;
        }
    }
}
