//! Synonyms and rules of ranked search (`API.md` 4.25).

use bindery_access::Access;
use bindery_model::ability::Ability;
use bindery_model::error::{Error, Result};
use serde_json::Value;

use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::command::{Command, Outcome, SteeringCommand, SteeringKind};
use crate::data::refusals::{no_search_rule, no_synonym};
use crate::handle::Content;
use crate::prepare::steering;

impl Content {
    /// Returns all synonyms or rules, in the order of their creation.
    ///
    /// # Errors
    /// `FORBIDDEN`.
    pub fn list_steering(&self, access: &Access, kind: SteeringKind) -> Result<Vec<Value>> {
        access.require(&[Ability::Manage])?;
        let state = self.state();
        Ok(match kind {
            SteeringKind::Synonym => state.steering.synonyms().map(|stored| stored.synonym.to_json()).collect(),
            SteeringKind::Rule => state.steering.rules().map(|stored| stored.rule.to_json()).collect(),
        })
    }

    /// Returns the synonyms or the rule of an id.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub fn find_steering(&self, access: &Access, kind: SteeringKind, id: &str) -> Result<Value> {
        access.require(&[Ability::Manage])?;
        let state = self.state();
        match kind {
            SteeringKind::Synonym => state.steering.synonym(id).map(|of| of.to_json()).ok_or_else(|| no_synonym(id)),
            SteeringKind::Rule => state.steering.rule(id).map(|of| of.to_json()).ok_or_else(|| no_search_rule(id)),
        }
    }

    /// Creates synonyms or a rule from a request body.
    ///
    /// # Errors
    /// `FORBIDDEN`, `MALFORMED_JSON`, `VALIDATION_FAILED`, also if there are too many.
    pub async fn create_steering(
        &self,
        access: &Access,
        kind: SteeringKind,
        body: &[u8],
        idempotent: Option<Idempotency<Value>>,
    ) -> Result<IdempotentAnswer<Value>> {
        access.require(&[Ability::Manage])?;
        let read = move |body: &[u8]| {
            let body = steering::body(body)?;
            steering::check(kind, &body)?;
            Ok(body)
        };
        let (body, _) = self.read_body(body, read).await?;
        let command = Command::Steer(SteeringCommand::Create(kind, body));
        self.submit_idempotent(access, command, idempotent, steering_of).await
    }

    /// Changes synonyms or a rule. With `is_whole`, keys that the body does not have get their defaults.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`, `MALFORMED_JSON`, `VALIDATION_FAILED`.
    pub async fn change_steering(
        &self,
        access: &Access,
        kind: SteeringKind,
        id: &str,
        body: &[u8],
        is_whole: bool,
    ) -> Result<Value> {
        self.checked(|| self.find_steering(access, kind, id)).await?;
        let (body, _) = self.read_body(body, steering::body).await?;
        let command = SteeringCommand::Change { kind, id: id.to_owned(), body, is_whole };
        steering_of(&self.submit_as(access, Command::Steer(command)).await?)
    }

    /// Deletes synonyms or a rule.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub async fn delete_steering(&self, access: &Access, kind: SteeringKind, id: &str) -> Result<()> {
        self.checked(|| self.find_steering(access, kind, id)).await?;
        let command = Command::Steer(SteeringCommand::Delete(kind, id.to_owned()));
        self.submit_as(access, command).await.map(|_| ())
    }
}

fn steering_of(outcome: &Outcome) -> Result<Value> {
    match outcome {
        Outcome::Steering(shown) => Ok(shown.clone()),
        _ => Err(Error::internal("synonyms or a rule with the outcome of another command")),
    }
}
