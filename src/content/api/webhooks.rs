//! Webhooks as the API defines them (`API.md` 6.2), and the data for their delivery.

use std::sync::Arc;

use bindery_access::Access;
use bindery_disk::failure;
use bindery_model::ability::Ability;
use bindery_model::error::{Error, Result};
use tokio::sync::watch;

use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::command::{Command, Outcome};
use crate::data::lookup::Lookup;
use crate::data::refusals::no_webhook;
use crate::data::webhook::{ProgressParts, Webhook, WebhookPatch, progress_keys};
use crate::handle::Content;
use crate::prepare::webhook;

impl Content {
    /// Returns all webhooks, in the order of their creation.
    ///
    /// # Errors
    /// `FORBIDDEN`.
    pub fn list_webhooks(&self, access: &Access) -> Result<Vec<Arc<Webhook>>> {
        access.require(&[Ability::Manage])?;
        Ok(self.webhooks())
    }

    /// Returns one webhook.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub fn find_webhook(&self, access: &Access, id: &str) -> Result<Arc<Webhook>> {
        access.require(&[Ability::Manage])?;
        self.webhook(id).ok_or_else(|| no_webhook(id))
    }

    /// Creates a webhook from a request body.
    ///
    /// # Errors
    /// `FORBIDDEN`, `MALFORMED_JSON`, `VALIDATION_FAILED`, `CONFLICT` if there are too many.
    pub async fn create_webhook(
        &self,
        access: &Access,
        body: &[u8],
        idempotent: Option<Idempotency<Webhook>>,
    ) -> Result<IdempotentAnswer<Webhook>> {
        access.require(&[Ability::Manage])?;
        let (new, _) = self.read_body(body, webhook::webhook).await?;
        self.submit_idempotent(access, Command::CreateWebhook(new), idempotent, webhook_of).await
    }

    /// Changes a webhook.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`, `MALFORMED_JSON`, `VALIDATION_FAILED`.
    pub async fn change_webhook(&self, access: &Access, id: &str, body: &[u8]) -> Result<Webhook> {
        self.checked(|| self.find_webhook(access, id)).await?;
        let (patch, _) = self.read_body(body, webhook::webhook_patch).await?;
        webhook_of(&self.submit_as(access, Command::ChangeWebhook(id.to_owned(), patch)).await?)
    }

    /// Deletes a webhook.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub async fn delete_webhook(&self, access: &Access, id: &str) -> Result<()> {
        self.checked(|| self.find_webhook(access, id)).await?;
        self.submit_as(access, Command::DeleteWebhook(id.to_owned())).await.map(|_| ())
    }

    /// Returns all webhooks, for their delivery.
    pub fn webhooks(&self) -> Vec<Arc<Webhook>> {
        self.state().webhooks.values().cloned().collect()
    }

    /// Returns one webhook, for its delivery.
    pub fn webhook(&self, id: &str) -> Option<Arc<Webhook>> {
        self.state().webhooks.get(id).cloned()
    }

    /// Returns a receiver that is notified of each change of a webhook.
    pub fn watch_webhooks(&self) -> watch::Receiver<()> {
        self.shared.cell.watch_webhooks()
    }

    /// Switches a webhook off whose receiver has failed for too long.
    ///
    /// # Errors
    /// `NOT_FOUND`, `OVERLOADED`.
    pub async fn switch_webhook_off(&self, id: &str) -> Result<()> {
        let patch = WebhookPatch { active: Some(false), ..WebhookPatch::default() };
        self.submit(Command::ChangeWebhook(id.to_owned(), patch)).await.map(|_| ())
    }

    /// Returns the saved progress of a webhook. All parts are empty if no progress was saved.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub fn webhook_progress(&self, id: &str) -> Result<ProgressParts> {
        failure::point("webhook::start").map_err(Error::internal)?;
        let mut parts = ProgressParts::default();
        for (part, key) in parts.iter_mut().zip(progress_keys(id)) {
            *part = Lookup::get(&self.shared.store, &key)?.unwrap_or_default();
        }
        Ok(parts)
    }

    /// Saves parts of the delivery progress of webhooks: the id of a webhook, the number of a part, and its stored
    /// form. `term` is what [`Content::job_term`] returned before the progress was read.
    ///
    /// # Errors
    /// `CONFLICT` if the cluster has another term by now: the progress must be read again; `OVERLOADED`.
    pub async fn save_webhook_progress(&self, term: u64, parts: Vec<(String, usize, Vec<u8>)>) -> Result<()> {
        self.submit(Command::SaveWebhookProgress { term, parts }).await.map(|_| ())
    }
}

fn webhook_of(outcome: &Outcome) -> Result<Webhook> {
    match outcome {
        Outcome::Webhook(webhook) => Ok(webhook.clone()),
        _ => Err(Error::internal("a webhook with the outcome of another command")),
    }
}
