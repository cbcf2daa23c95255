//! Tokens and their stored form.

use bindery_model::ability::Ability;
use bindery_model::time::Millis;
use serde::{Deserialize, Serialize};

use super::secret::SecretHash;

/// A token as it is stored: with the hash of its secret only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The id of the token. It is needed to revoke the token, for example.
    pub id: String,
    /// The label.
    pub name: String,
    /// The abilities, in the documented order.
    pub abilities: Vec<Ability>,
    /// The slugs of the blueprints it is limited to; `None` for all blueprints.
    pub blueprints: Option<Vec<String>>,
    /// The time of its creation.
    pub created_at: Millis,
    /// The first moment at which it is rejected; `None` if it does not expire.
    pub expires_at: Option<Millis>,
    /// The time of its last use; `None` if it was never used. It may be up to an hour too early.
    pub used_at: Option<Millis>,
    /// The BLAKE3 hash of the secret.
    pub hash: [u8; 32],
}

/// A token that is to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // As in `Token`.
pub struct NewToken {
    pub name: String,
    pub abilities: Vec<Ability>,
    pub blueprints: Option<Vec<String>>,
    pub expires_at: Option<Millis>,
}

/// The stored form of a token.
#[derive(Serialize, Deserialize)]
struct StoredToken {
    id: String,
    name: String,
    abilities: Vec<String>,
    blueprints: Option<Vec<String>>,
    created_at: Millis,
    expires_at: Option<Millis>,
    used_at: Option<Millis>,
    hash: SecretHash,
}

impl Token {
    /// Returns the stored form.
    pub fn encode(&self) -> Vec<u8> {
        let stored = StoredToken {
            id: self.id.clone(),
            name: self.name.clone(),
            abilities: self.abilities.iter().map(|ability| ability.as_str().to_owned()).collect(),
            blueprints: self.blueprints.clone(),
            created_at: self.created_at,
            expires_at: self.expires_at,
            used_at: self.used_at,
            hash: self.hash,
        };
        serde_json::to_vec(&stored).expect("plain data can always be serialized")
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The problem with the bytes, for the log.
    pub fn decode(bytes: &[u8]) -> Result<Token, String> {
        let stored: StoredToken = serde_json::from_slice(bytes).map_err(|error| format!("stored token: {error}"))?;
        let abilities = stored
            .abilities
            .iter()
            .map(|name| Ability::parse(name).ok_or_else(|| format!("stored token has the unknown ability `{name}`")));
        Ok(Token {
            id: stored.id,
            name: stored.name,
            abilities: abilities.collect::<Result<_, _>>()?,
            blueprints: stored.blueprints,
            created_at: stored.created_at,
            expires_at: stored.expires_at,
            used_at: stored.used_at,
            hash: stored.hash,
        })
    }
}
