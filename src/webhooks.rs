//! Delivers the changes of resources to webhooks (`API.md` 6.2). Owns signing, sending, repeating and what is known of each
//! delivery; the definitions and how far they are delivered are stored by the content. Must not know HTTP handlers.
//!
//! One task a webhook reads the change feed and sends one change at a time, so a thousand webhooks take a thousand small
//! tasks and no thread. How far each one is gets saved every few seconds: after a kill, what was sent since is sent again.

mod address;
mod progress;
mod sender;
mod signature;
mod worker;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::content::{Content, Webhook};
use progress::Progress;
pub use progress::{Delivery, DeliveryState};
use sender::Sender;
pub use sender::Sent;
use worker::Run;

/// How often what changed is saved.
const SAVE_INTERVAL: Duration = Duration::from_secs(2);

/// The deliveries of a server. Clones share them.
#[derive(Clone)]
pub struct Webhooks(Arc<Shared>);

struct Shared {
    content: Content,
    sender: Sender,
    running: Mutex<BTreeMap<String, Running>>,
    stopping: watch::Sender<bool>,
}

struct Running {
    run: Arc<Run>,
    task: JoinHandle<()>,
}

impl Webhooks {
    /// The deliveries of this content, which begin with [`Webhooks::run`].
    pub fn new(content: Content, allows_private_addresses: bool) -> Webhooks {
        let (stopping, _) = watch::channel(false);
        let (sender, running) = (Sender::new(allows_private_addresses), Mutex::default());
        Webhooks(Arc::new(Shared { content, sender, running, stopping }))
    }

    /// Delivers until [`Webhooks::stop`].
    pub async fn run(self) {
        let mut webhooks = self.0.content.watch_webhooks();
        let mut stopping = self.0.stopping.subscribe();
        let mut ticks = tokio::time::interval(SAVE_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        self.follow_definitions();
        while !*stopping.borrow_and_update() {
            tokio::select! {
                _ = stopping.changed() => {}
                _ = webhooks.changed() => self.follow_definitions(),
                _ = ticks.tick() => self.save().await,
            }
        }
    }

    /// Ends all deliveries and saves how far they are.
    pub async fn stop(&self) {
        self.0.stopping.send_replace(true);
        self.0.running.lock().values().for_each(|running| running.task.abort());
        self.save().await;
    }

    /// The latest deliveries of a webhook, newest first.
    pub fn deliveries(&self, webhook: &str) -> Vec<Delivery> {
        let running = self.0.running.lock();
        running.get(webhook).map(|running| running.run.progress.lock().deliveries()).unwrap_or_default()
    }

    /// Sends a message that is no change, once.
    pub async fn test(&self, webhook: &Webhook) -> Sent {
        self.0.sender.send_test(webhook).await
    }

    /// Begins tasks for new webhooks, wakes those of changed ones, and ends those of deleted ones.
    fn follow_definitions(&self) {
        let mut running = self.0.running.lock();
        let webhooks = self.0.content.webhooks();
        let ids: HashSet<&str> = webhooks.iter().map(|webhook| webhook.id.as_str()).collect();
        running.retain(|id, running| {
            let is_there = ids.contains(id.as_str());
            if is_there {
                running.run.changed.notify_one();
            } else {
                running.task.abort();
            }
            is_there
        });
        for webhook in &webhooks {
            if running.contains_key(&webhook.id) {
                continue;
            }
            let progress = match self.0.content.webhook_progress(&webhook.id) {
                Ok(stored) => stored.and_then(|bytes| Progress::decode(&bytes)),
                Err(_) => continue,
            };
            let run = Arc::new(Run::new(progress.unwrap_or_else(|| Progress::new(webhook.since))));
            let worker =
                worker::work(self.0.content.clone(), self.0.sender.clone(), webhook.id.clone(), Arc::clone(&run));
            running.insert(webhook.id.clone(), Running { run, task: tokio::spawn(worker) });
        }
    }

    async fn save(&self) {
        let changed: Vec<(String, Vec<u8>)> = {
            let running = self.0.running.lock();
            let changed = running.iter().filter_map(|(id, running)| Some((id.clone(), running.run.take_changed()?)));
            changed.collect()
        };
        if changed.is_empty() {
            return;
        }
        let ids: Vec<String> = changed.iter().map(|(id, _)| id.clone()).collect();
        if let Err(error) = self.0.content.save_webhook_progress(changed).await {
            tracing::warn!(%error, "how far webhooks are delivered could not be saved; this is tried again");
            let running = self.0.running.lock();
            ids.iter().filter_map(|id| running.get(id)).for_each(|running| running.run.is_changed());
        }
    }
}
