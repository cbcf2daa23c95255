//! The delivery of changes of resources to webhooks (`API.md` 6.2). Owns the signing, the sending, the repetition and
//! the status of each delivery. The content stores the definitions and the progress. Must not know HTTP handlers.
//!
//! Each webhook has one task, which reads the change feed and sends one change at a time. So a thousand webhooks take a
//! thousand small tasks and no thread. The progress is saved in parts, of which only changed ones are written: seconds
//! after a success, because changes that were sent since the last save are sent again after a kill, and within a minute
//! of a failure.

mod address;
mod download;
mod progress;
mod sender;
mod signature;
mod worker;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bindery_content::{Content, Webhook};
use bindery_disk::failure;
use bindery_model::error::{Code, Result};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use download::Download;
use progress::WebhookProgress;
pub use progress::{Delivery, DeliveryState};
pub use sender::SendOutcome;
use sender::Sender;
use worker::Run;

/// The time between two checks for progress to save, and for webhooks that did not start.
const SAVE_INTERVAL: Duration = Duration::from_secs(2);

/// The deliveries of a server. Clones share them.
#[derive(Clone)]
pub struct Webhooks(Arc<WebhooksState>);

struct WebhooksState {
    content: Content,
    sender: Sender,
    running: Mutex<BTreeMap<String, RunningWebhook>>,
    /// The webhooks whose start failed, with the reason. The start is tried again.
    not_started: Mutex<BTreeMap<String, String>>,
    stopping: watch::Sender<bool>,
}

struct RunningWebhook {
    run: Arc<Run>,
    task: JoinHandle<()>,
}

/// The settings of all webhooks.
#[derive(Debug, Clone, Copy)]
pub struct WebhookOptions {
    /// True if messages may be sent to loopback, private and link-local addresses.
    pub private_addresses: bool,
    /// True if messages name the tags of the answers that the change has made obsolete (`API.md` 4.24).
    pub cache_tags: bool,
}

impl Webhooks {
    /// Returns the deliveries of this content, which begin with [`Webhooks::run`].
    pub fn new(content: Content, options: WebhookOptions) -> Webhooks {
        let (stopping, _) = watch::channel(false);
        let sender = Sender::new(content.clone(), options);
        let (running, not_started) = (Mutex::default(), Mutex::default());
        Webhooks(Arc::new(WebhooksState { content, sender, running, not_started, stopping }))
    }

    /// Delivers until [`Webhooks::stop`].
    pub async fn run(self) {
        let mut webhooks = self.0.content.watch_webhooks();
        let mut stopping = self.0.stopping.subscribe();
        let mut ticks = tokio::time::interval(SAVE_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut term = self.0.content.job_term();
        self.follow_definitions();
        while !*stopping.borrow_and_update() {
            tokio::select! {
                _ = stopping.changed() => {}
                _ = webhooks.changed() => self.follow_definitions(),
                _ = ticks.tick() => {
                    let before = std::mem::replace(&mut term, self.0.content.job_term());
                    if before != term || !self.0.not_started.lock().is_empty() {
                        self.follow_definitions();
                    }
                    self.save(false).await;
                }
            }
        }
    }

    /// Ends all deliveries and saves their progress.
    pub async fn stop(&self) {
        self.0.stopping.send_replace(true);
        self.0.running.lock().values().for_each(|running| running.task.abort());
        self.save(true).await;
    }

    /// Returns the last failure of a webhook: its start, its stored progress, or its latest delivery; `None` after a
    /// success.
    pub fn error(&self, webhook: &str) -> Option<String> {
        if let Some(error) = self.0.not_started.lock().get(webhook) {
            return Some(error.clone());
        }
        self.0.running.lock().get(webhook)?.run.error.lock().clone()
    }

    /// Returns the latest deliveries of a webhook, newest first.
    pub fn deliveries(&self, webhook: &str) -> Vec<Delivery> {
        let running = self.0.running.lock();
        running.get(webhook).map(|running| running.run.progress.lock().deliveries()).unwrap_or_default()
    }

    /// Sends a message that is not a change, once.
    pub async fn test(&self, webhook: &Webhook) -> SendOutcome {
        self.0.sender.send_test(webhook).await
    }

    /// Begins tasks for new webhooks, wakes those of changed ones, and ends those of deleted ones. In a cluster only
    /// the leader has tasks: a node that leads no longer ends all of them, and the next leader goes on from the stored
    /// progress. So does one that leads again.
    fn follow_definitions(&self) {
        let mut running = self.0.running.lock();
        let (term, webhooks) = match self.0.content.job_term() {
            Some(term) => (term, self.0.content.webhooks()),
            None => (0, Vec::new()),
        };
        let ids: HashSet<&str> = webhooks.iter().map(|webhook| webhook.id.as_str()).collect();
        running.retain(|id, running| {
            let is_there = ids.contains(id.as_str()) && running.run.term == term;
            if is_there {
                running.run.changed.notify_one();
            } else {
                running.task.abort();
            }
            is_there
        });
        let mut not_started = self.0.not_started.lock();
        not_started.retain(|id, _| ids.contains(id.as_str()));
        for webhook in &webhooks {
            if running.contains_key(&webhook.id) {
                continue;
            }
            match self.begin(webhook, term) {
                Ok(begun) => {
                    not_started.remove(&webhook.id);
                    running.insert(webhook.id.clone(), begun);
                }
                Err(error) => {
                    let text = format!("its delivery cannot be started: {}", error.message);
                    // The failure is logged once, and not with each new attempt.
                    if not_started.insert(webhook.id.clone(), text).is_none() {
                        tracing::error!(%error, webhook = webhook.id, "a webhook cannot be started; this is tried again");
                    }
                }
            }
        }
    }

    /// Begins the task of a webhook, under this term.
    fn begin(&self, webhook: &Webhook, term: u64) -> Result<RunningWebhook> {
        let mut stored = self.0.content.webhook_progress(&webhook.id)?;
        if failure::is_asked_for("webhook::progress") {
            stored[0] = b"damaged".to_vec();
        }
        let (progress, error) = match WebhookProgress::decode(&stored) {
            Ok(progress) => {
                let progress = progress.unwrap_or_else(|| WebhookProgress::new(webhook.since));
                let error = progress.error();
                (progress, error)
            }
            Err(error) => {
                let text = format!(
                    "its stored progress cannot be read ({error}); everything since its creation that is kept is sent again"
                );
                tracing::error!(webhook = webhook.id, "a webhook begins again: {text}");
                (WebhookProgress::new(webhook.since), Some(text))
            }
        };
        let run = Arc::new(Run::new(progress, &stored, error, term));
        let WebhooksState { content, sender, .. } = &*self.0;
        let worker = worker::work(content.clone(), sender.clone(), webhook.id.clone(), Arc::clone(&run));
        Ok(RunningWebhook { run, task: tokio::spawn(worker) })
    }

    /// Saves the changed parts of the progress of all webhooks if they are due, or all changed parts if `at_once`.
    async fn save(&self, at_once: bool) {
        let (term, changed) = {
            let running = self.0.running.lock();
            // All tasks have the same one.
            let term = running.values().next().map_or(0, |running| running.run.term);
            let of = |(id, running): (&String, &RunningWebhook)| {
                let parts = running.run.take_changed(at_once).into_iter();
                let id = id.clone();
                parts.map(move |(number, part)| (id.clone(), number, part))
            };
            let changed: Vec<(String, usize, Vec<u8>)> = running.iter().flat_map(of).collect();
            (term, changed)
        };
        if changed.is_empty() {
            return;
        }
        let ids: HashSet<String> = changed.iter().map(|(id, ..)| id.clone()).collect();
        if let Err(error) = self.0.content.save_webhook_progress(term, changed).await {
            if error.code == Code::Conflict && !at_once {
                return self.follow_definitions();
            }
            tracing::warn!(%error, "how far webhooks are delivered could not be saved; this is tried again");
            let running = self.0.running.lock();
            ids.iter().filter_map(|id| running.get(id)).for_each(|running| running.run.forget_stored());
        }
    }
}
