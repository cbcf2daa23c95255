//! Tokens as the API defines them (`API.md` 5.5).

use bindery_access::{Access, NewToken, Token};
use bindery_model::ability::Ability;
use bindery_model::error::{Error, Result};

use crate::command::{Command, Outcome};
use crate::handle::Content;
use crate::prepare::access;

/// A token that was created.
#[derive(Debug)]
pub struct IssuedToken {
    /// The token.
    pub token: Token,
    /// Its secret, which is shown only once.
    pub secret: String,
}

impl Content {
    /// Returns all tokens, in the order of their creation, without their secrets.
    ///
    /// # Errors
    /// `FORBIDDEN`.
    pub fn list_tokens(&self, access: &Access) -> Result<Vec<Token>> {
        access.require(&[Ability::Manage])?;
        Ok(self.state().tokens.list().into_iter().cloned().collect())
    }

    /// Creates a token from a request body.
    ///
    /// # Errors
    /// `FORBIDDEN`, `MALFORMED_JSON`, `VALIDATION_FAILED`.
    pub async fn create_token(&self, access: &Access, body: &[u8]) -> Result<IssuedToken> {
        access.require(&[Ability::Manage])?;
        let (token, _) = self.read_body(body, access::token).await?;
        issued(self.submit_as(access, Command::CreateToken(token)).await?)
    }

    /// Creates a token. Needs no ability: for commands that open the data folder themselves.
    ///
    /// # Errors
    /// `VALIDATION_FAILED`, `OVERLOADED`.
    pub async fn issue_token(&self, new: NewToken) -> Result<IssuedToken> {
        issued(self.submit(Command::CreateToken(new)).await?)
    }

    /// Revokes a token. It is refused from now on.
    ///
    /// # Errors
    /// `FORBIDDEN`, `NOT_FOUND`.
    pub async fn revoke_token(&self, access: &Access, id: &str) -> Result<()> {
        access.require(&[Ability::Manage])?;
        self.submit_as(access, Command::RevokeToken(id.to_owned())).await.map(|_| ())
    }
}

fn issued(outcome: Outcome) -> Result<IssuedToken> {
    match outcome {
        Outcome::TokenCreated(token, secret) => Ok(IssuedToken { token, secret }),
        _ => Err(Error::internal("a token with the outcome of another command")),
    }
}
