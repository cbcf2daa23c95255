//! The task of one webhook: reads the change feed, sends what is due, and waits. Must not know how a message is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::progress::{Delivery, DeliveryState, Progress, Waiting};
use super::sender::{Sender, Sent};
use crate::access::Access;
use crate::content::{Content, FeedEnd, Webhook};
use crate::model::error::Code;
use crate::model::time::now_millis;

/// How many changes are read at a time.
const BATCH: usize = 100;

/// How long to leave the feed alone after looking at it, so that a thousand webhooks cost little while much is written.
const PAUSE: Duration = Duration::from_millis(100);

/// How long to wait after an error of the server's own.
const ERROR_PAUSE: Duration = Duration::from_secs(5);

/// What is known of a webhook that is being delivered.
pub(super) struct Run {
    pub(super) progress: Mutex<Progress>,
    /// Notified when the definition changes.
    pub(super) changed: Notify,
    is_changed: AtomicBool,
}

impl Run {
    pub(super) fn new(progress: Progress) -> Run {
        Run { progress: Mutex::new(progress), changed: Notify::new(), is_changed: AtomicBool::new(true) }
    }

    /// Notes that there is something to save.
    pub(super) fn is_changed(&self) {
        self.is_changed.store(true, Ordering::Relaxed);
    }

    /// What is to be saved, if there is something.
    pub(super) fn take_changed(&self) -> Option<Vec<u8>> {
        self.is_changed.swap(false, Ordering::Relaxed).then(|| self.progress.lock().encode())
    }
}

/// Delivers a webhook until the task is dropped.
pub(super) async fn work(content: Content, sender: Sender, id: String, run: Arc<Run>) {
    let worker = Worker { access: Arc::new(Access::everything("webhook")), content, sender, run };
    let mut end = worker.content.watch_changes();
    let mut was_active = true;
    while let Some(webhook) = worker.content.webhook(&id) {
        if !webhook.active {
            was_active = false;
            worker.run.changed.notified().await;
            continue;
        }
        if !std::mem::replace(&mut was_active, true) {
            worker.run.progress.lock().begin_again();
        }
        let is_read = worker.read(&webhook).await;
        let due = worker.run.progress.lock().next_due(now_millis());
        match due {
            Some(change) => worker.deliver(&webhook, &change).await,
            None if !is_read => sleep(ERROR_PAUSE).await,
            None => worker.wait(&mut end).await,
        }
    }
}

struct Worker {
    access: Arc<Access>,
    content: Content,
    sender: Sender,
    run: Arc<Run>,
}

impl Worker {
    /// Has the next changes wait to be sent, if there is room for them. Returns whether that succeeded.
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
                self.run.is_changed();
                return true;
            }
            Err(error) => {
                tracing::warn!(%error, webhook = webhook.id, "changes for a webhook cannot be read; this is tried again");
                return false;
            }
        };
        let mut progress = self.run.progress.lock();
        progress.through = changes.through;
        let wanted = changes.found.into_iter().filter(|change| webhook.wants(change.op, &change.blueprint));
        wanted.for_each(|change| progress.push(change));
        self.run.is_changed();
        true
    }

    async fn deliver(&self, webhook: &Webhook, change: &Waiting) {
        let Sent { message, status, error, milliseconds } =
            self.sender.send_change(&self.content, webhook, change).await;
        let now = now_millis();
        let is_success = error.is_none();
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
        let is_hopeless = self.run.progress.lock().note(change.number, delivery, is_success, now);
        self.run.is_changed();
        if is_hopeless {
            tracing::warn!(webhook = webhook.id, "a webhook failed for five days and is switched off");
            if let Err(error) = self.content.switch_webhook_off(&webhook.id).await {
                tracing::warn!(%error, webhook = webhook.id, "a webhook could not be switched off; this is tried again");
                sleep(ERROR_PAUSE).await;
            }
        }
    }

    /// Waits until something is due, the definition changes, or there are more changes and room for them.
    async fn wait(&self, end: &mut watch::Receiver<FeedEnd>) {
        let (due, has_room) = {
            let progress = self.run.progress.lock();
            (progress.due(), progress.room() > 0)
        };
        let pause = due.map_or(Duration::MAX, |due| Duration::from_millis((due - now_millis()).max(0).cast_unsigned()));
        // A change that came while the feed was read is noticed: `through` is behind the end then.
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
