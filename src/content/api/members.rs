//! Members as the API defines them (`API.md` 4.10).

use bindery_access::{Access, Member};
use bindery_model::ability::Ability;
use bindery_model::error::{Error, Result};
use bindery_model::time::Millis;

use crate::api::idempotency::{Idempotency, IdempotentAnswer};
use crate::command::{Command, Outcome};
use crate::handle::Content;
use crate::prepare::access;

impl Content {
    /// Returns all members, in the order of their creation. Members see each other, for `user` fields.
    ///
    /// # Errors
    /// `FORBIDDEN`.
    pub fn list_members(&self, access: &Access) -> Result<Vec<Member>> {
        if !access.is_session() {
            access.require(&[Ability::Manage])?;
        }
        Ok(self.state().members.values().cloned().collect())
    }

    /// Returns one member.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub fn find_member(&self, access: &Access, id: &str) -> Result<Member> {
        access.require(&[Ability::Manage])?;
        self.state().member(id).cloned()
    }

    /// Returns the time until which the unused invitation of a member is valid.
    pub fn invited_until(&self, member: u64) -> Option<Millis> {
        let invitation = self.state().accounts.invitation_of(member, self.now()).cloned();
        invitation.map(|invitation| invitation.expires_at)
    }

    /// Creates a member from a request body.
    ///
    /// # Errors
    /// `FORBIDDEN`, `MALFORMED_JSON`, `VALIDATION_FAILED`.
    pub async fn create_member(
        &self,
        access: &Access,
        body: &[u8],
        idempotent: Option<Idempotency<Member>>,
    ) -> Result<IdempotentAnswer<Member>> {
        access.require(&[Ability::Manage])?;
        let (member, _) = self.read_body(body, access::member).await?;
        self.submit_idempotent(access, Command::CreateMember(member), idempotent, member_of).await
    }

    /// Changes a member.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`, `MALFORMED_JSON`, `VALIDATION_FAILED`.
    pub async fn change_member(&self, access: &Access, id: &str, body: &[u8]) -> Result<Member> {
        access.require(&[Ability::Manage])?;
        let id = self.checked(|| Ok(self.state().member(id)?.id)).await?;
        let (patch, _) = self.read_body(body, access::member_patch).await?;
        member_of(&self.submit_as(access, Command::ChangeMember(id, patch)).await?)
    }

    /// Deletes a member. Values that name it stay as they are.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub async fn delete_member(&self, access: &Access, id: &str) -> Result<()> {
        access.require(&[Ability::Manage])?;
        let id = self.checked(|| Ok(self.state().member(id)?.id)).await?;
        self.submit_as(access, Command::DeleteMember(id)).await.map(|_| ())
    }
}

fn member_of(outcome: &Outcome) -> Result<Member> {
    match outcome {
        Outcome::Member(member) => Ok(member.clone()),
        _ => Err(Error::internal("a member with the outcome of another command")),
    }
}
