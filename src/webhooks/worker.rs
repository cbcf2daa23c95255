//! The task of one webhook: reads the change feed, sends changes that are due, and waits. Must not know how a message
//! is sent.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_access::Access;
use bindery_content::{Content, FeedEnd, PROGRESS_PARTS, ProgressParts, Webhook};
use bindery_disk::failure;
use bindery_model::error::Code;
use bindery_model::time::Millis;
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::progress::{Delivery, DeliveryState, WaitingChange, WebhookProgress};
use super::sender::{Pace, SendOutcome, Sender};

/// The number of changes that are read at once.
const BATCH: usize = 100;

/// The pause after each look at the feed. With it, a thousand webhooks cost little while many changes are written.
const PAUSE: Duration = Duration::from_millis(100);

/// The pause after an error of the server itself.
const ERROR_PAUSE: Duration = Duration::from_secs(5);

/// The time after which a success must be saved. After a kill, changes that were sent since the last save are sent
/// again.
const SAVE_SOON: Duration = Duration::ZERO;

/// The time after which a failure must be saved. A kill before that leads to an earlier attempt. That costs less than a
/// write after each attempt at a receiver that fails for days.
const SAVE_SELDOM: Duration = Duration::from_secs(60);

/// The state of a webhook that is being delivered.
pub(super) struct Run {
    pub(super) progress: Mutex<WebhookProgress>,
    /// Notified when the definition changes.
    pub(super) changed: Notify,
    /// The last failure, as a text for people.
    pub(super) error: Mutex<Option<String>>,
    /// The term under which the progress was read. Under another one, it may be older than what is stored.
    pub(super) term: u64,
    saving: Mutex<SaveState>,
}

/// The part of a webhook's progress that is saved.
struct SaveState {
    /// The time to save the changes; `None` if nothing changed.
    due: Option<Instant>,
    /// The hashes of the stored parts; `None` if a hash is not known.
    stored: [Option<blake3::Hash>; PROGRESS_PARTS],
}

impl Run {
    /// Returns the delivery of a webhook whose progress is stored in these parts, and was read under this term.
    pub(super) fn new(progress: WebhookProgress, stored: &ProgressParts, error: Option<String>, term: u64) -> Run {
        let stored = std::array::from_fn(|part| Some(blake3::hash(&stored[part])));
        let saving = SaveState { due: Some(Instant::now()), stored };
        Run {
            progress: Mutex::new(progress),
            changed: Notify::new(),
            error: Mutex::new(error),
            term,
            saving: Mutex::new(saving),
        }
    }

    /// Records that there is something to save within this time.
    fn save_within(&self, time: Duration) {
        let due = Instant::now() + time;
        let mut saving = self.saving.lock();
        saving.due = Some(saving.due.map_or(due, |earlier| earlier.min(due)));
    }

    /// Returns the numbers and stored forms of the changed parts, if they are due or `at_once`.
    pub(super) fn take_changed(&self, at_once: bool) -> Vec<(usize, Vec<u8>)> {
        let is_due = self.saving.lock().due.take_if(|due| *due <= Instant::now() || at_once).is_some();
        if !is_due {
            return Vec::new();
        }
        // Not while `saving` is locked: others lock it while they hold the progress.
        let parts = self.progress.lock().encode();
        let mut saving = self.saving.lock();
        let parts = parts.into_iter().zip(&mut saving.stored).enumerate();
        let changed = parts.filter_map(|(number, (part, stored))| {
            let hash = Some(blake3::hash(&part));
            (std::mem::replace(stored, hash) != hash).then_some((number, part))
        });
        changed.collect()
    }

    /// Records that saving failed. The stored parts are then unknown, and all of them are saved again.
    pub(super) fn forget_stored(&self) {
        self.saving.lock().stored = [None; PROGRESS_PARTS];
        self.save_within(Duration::ZERO);
    }
}

/// Delivers a webhook until it is deleted, or the task is dropped. A panic is logged and shown as the webhook's error,
/// and the delivery goes on after a pause with what its progress says.
pub(super) async fn work(content: Content, sender: Sender, id: String, run: Arc<Run>) {
    let worker =
        Worker { access: Arc::new(Access::everything("webhook")), content, sender, run, pace: Pace::default() };
    while AssertUnwindSafe(worker.deliver_all(&id)).catch_unwind().await.is_err() {
        tracing::error!(webhook = id, "the delivery of a webhook panicked; it goes on in a moment");
        *worker.run.error.lock() = Some("its delivery failed with an error of the server, and goes on".to_owned());
        sleep(ERROR_PAUSE).await;
    }
}

struct Worker {
    access: Arc<Access>,
    content: Content,
    sender: Sender,
    run: Arc<Run>,
    pace: Pace,
}

impl Worker {
    /// Delivers until the webhook is deleted.
    async fn deliver_all(&self, id: &str) {
        let mut end = self.content.watch_changes();
        let mut was_active = true;
        while let Some(webhook) = self.content.webhook(id) {
            if !webhook.active {
                was_active = false;
                self.run.changed.notified().await;
                continue;
            }
            if !std::mem::replace(&mut was_active, true) {
                self.run.progress.lock().begin_again();
            }
            // The definition may have changed while changes waited.
            if self.run.progress.lock().retain(|change| webhook.wants(&change.op, &change.blueprint)) {
                self.run.save_within(SAVE_SELDOM);
            }
            let is_read = self.read(&webhook).await;
            let due = self.run.progress.lock().next_due(self.content.clock_time());
            match due {
                // It may be delivered already, and the task ends in a moment.
                Some(_) if self.content.job_term() != Some(self.run.term) => sleep(ERROR_PAUSE).await,
                Some(change) => self.deliver(&webhook, &change).await,
                None if !is_read => sleep(ERROR_PAUSE).await,
                None => self.wait(&mut end).await,
            }
        }
    }

    /// Reads the next changes, if there is room for them. Returns whether that succeeded.
    async fn read(&self, webhook: &Webhook) -> bool {
        let (through, room) = {
            let progress = self.run.progress.lock();
            (progress.through, progress.room())
        };
        let last = self.content.watch_changes().borrow().last;
        if room == 0 || through == last {
            return true;
        }
        let changes = match self.content.changes(&self.access, through, room.min(BATCH)).await {
            Ok(changes) => changes,
            Err(error) if error.code == Code::Gone => {
                let Ok(kept) = self.content.oldest_kept_after(through).await else { return false };
                tracing::warn!(
                    webhook = webhook.id,
                    through,
                    kept,
                    "changes for a webhook are no longer kept; it misses those up to the oldest that is"
                );
                self.run.progress.lock().through = kept;
                self.run.save_within(SAVE_SELDOM);
                return true;
            }
            Err(error) => {
                tracing::warn!(%error, webhook = webhook.id, "changes for a webhook cannot be read; this is tried again");
                return false;
            }
        };
        let mut progress = self.run.progress.lock();
        let wanted = changes.found.into_iter().filter(|change| webhook.wants(change.op.as_str(), &change.blueprint));
        wanted.for_each(|change| progress.push(change));
        // Comes last: after a panic before it, the changes are read again.
        progress.through = changes.through;
        self.run.save_within(SAVE_SELDOM);
        true
    }

    async fn deliver(&self, webhook: &Webhook, change: &WaitingChange) {
        // A test makes the delivery panic here.
        failure::is_asked_for("webhook::deliver");
        let SendOutcome { message, status, error, milliseconds } =
            self.sender.send_change(webhook, change, &self.pace).await;
        let now = self.content.clock_time();
        let is_success = error.is_none();
        self.run.error.lock().clone_from(&error);
        let delivery = Delivery {
            message,
            number: change.number,
            op: change.op.clone(),
            blueprint: change.blueprint.clone(),
            resource: change.id.clone(),
            at: now,
            attempt: change.attempts + 1,
            state: DeliveryState::Delivered,
            status,
            error,
            milliseconds,
            next_attempt: None,
        };
        let (is_hopeless, is_first_failure) = {
            let mut progress = self.run.progress.lock();
            let was_failing = progress.is_failing();
            (progress.note(change.number, delivery, is_success, now), !was_failing)
        };
        self.run.save_within(if is_success || is_first_failure { SAVE_SOON } else { SAVE_SELDOM });
        if is_hopeless {
            tracing::warn!(webhook = webhook.id, "a webhook failed for five days and is switched off");
            while let Err(error) = self.content.switch_webhook_off(&webhook.id).await {
                tracing::warn!(%error, webhook = webhook.id, "a webhook could not be switched off; this is tried again");
                sleep(ERROR_PAUSE).await;
                if self.content.webhook(&webhook.id).is_none_or(|webhook| !webhook.active) {
                    break;
                }
            }
        }
    }

    /// Waits until a change is due, the definition changes, or there are more changes and room for them.
    async fn wait(&self, end: &mut watch::Receiver<FeedEnd>) {
        let (due, has_room) = {
            let progress = self.run.progress.lock();
            (progress.due(), progress.room() > 0)
        };
        let until = |due: Millis| Duration::from_millis((due - self.content.clock_time()).max(0).cast_unsigned());
        let pause = due.map_or(Duration::MAX, until);
        // A change that arrived while the feed was read is not missed: `through` is then before the end of the feed.
        let is_behind = has_room && self.run.progress.lock().through != end.borrow().last;
        if is_behind {
            return;
        }
        tokio::select! {
            () = sleep(pause.min(Duration::from_secs(86_400))) => {}
            () = self.run.changed.notified() => {}
            changed = end.changed(), if has_room => match changed {
                Ok(()) => sleep(PAUSE).await,
                Err(_) => sleep(ERROR_PAUSE).await,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::mpsc;

    use super::*;

    #[test]
    fn progress_is_saved_while_it_is_noted() {
        let progress = WebhookProgress::new(0);
        let stored = progress.encode();
        let run = Arc::new(Run::new(progress, &stored, None, 0));
        let (done, is_done) = mpsc::channel();
        let steps: [fn(&Run); 2] = [
            |run| {
                let mut progress = run.progress.lock();
                progress.through += 1;
                run.save_within(Duration::ZERO);
            },
            |run| drop(run.take_changed(false)),
        ];
        for step in steps {
            let (run, done) = (Arc::clone(&run), done.clone());
            std::thread::spawn(move || {
                (0..20_000).for_each(|_| step(&run));
                done.send(()).unwrap();
            });
        }
        for _ in steps {
            is_done.recv_timeout(Duration::from_secs(60)).expect("neither waits for the other");
        }
        assert_eq!(run.progress.lock().through, 20_000);
    }
}
