//! Tokens and members: who may do what (`API.md` 5 and 4.10). Knows no HTTP; the store keeps what `encode` gives.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::model::ability::Ability;
use crate::model::error::{Code, Error};
use crate::model::time::Millis;

/// The shortest admin token that `BINDERY_ADMIN_TOKEN` may name, in characters.
pub const ADMIN_TOKEN_MIN: usize = 32;

const PREFIX: &str = "bnd_";
const SECRET_BYTES: usize = 32;
const CHECKSUM_DIGITS: usize = 8;

/// A token as it is kept: its secret only as a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is revoked by.
    pub id: String,
    /// Label.
    pub name: String,
    /// What it may do, in the documented order.
    pub abilities: Vec<Ability>,
    /// The slugs it is limited to; `None` is all blueprints.
    pub blueprints: Option<Vec<String>>,
    /// When it was made.
    pub created_at: Millis,
    /// From when on it is not accepted; `None` is never.
    pub expires_at: Option<Millis>,
    /// BLAKE3 of the secret.
    pub hash: [u8; 32],
}

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // As in `Token`.
pub struct NewToken {
    pub name: String,
    pub abilities: Vec<Ability>,
    pub blueprints: Option<Vec<String>>,
    pub expires_at: Option<Millis>,
}

/// What the bearer of a request may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The token's id: whose an `Idempotency-Key` is.
    pub token: String,
    abilities: Vec<Ability>,
    blueprints: Option<Vec<String>>,
}

impl Access {
    /// Access to everything, for whoever holds the data folder itself; `name` stands in for a token's id.
    pub fn everything(name: &str) -> Self {
        Access { token: name.to_owned(), abilities: Ability::ALL.to_vec(), blueprints: None }
    }

    /// Whether the ability is there; `preview` includes `view`.
    pub fn may(&self, ability: Ability) -> bool {
        self.abilities.contains(&ability) || (ability == Ability::View && self.abilities.contains(&Ability::Preview))
    }

    /// `FORBIDDEN` unless one of the abilities is there.
    pub fn require(&self, any_of: &[Ability]) -> Result<(), Error> {
        if any_of.iter().any(|ability| self.may(*ability)) {
            return Ok(());
        }
        let names: Vec<String> = any_of.iter().map(|ability| format!("`{ability}`")).collect();
        Err(Error::new(Code::Forbidden, format!("this token lacks the ability {}", names.join(" or "))))
    }

    /// Whether the blueprint exists for this token.
    pub fn sees(&self, blueprint: &str) -> bool {
        self.blueprints.as_ref().is_none_or(|slugs| slugs.iter().any(|slug| slug == blueprint))
    }
}

/// The tokens in force, by the hash of their secrets.
#[derive(Debug, Clone, Default)]
pub struct Tokens {
    by_hash: HashMap<[u8; 32], Token>,
}

impl Tokens {
    /// Adds one.
    pub fn insert(&mut self, token: Token) {
        self.by_hash.insert(token.hash, token);
    }

    /// Takes out the one of that id.
    pub fn remove(&mut self, id: &str) -> Option<Token> {
        let hash = self.by_hash.values().find(|token| token.id == id)?.hash;
        self.by_hash.remove(&hash)
    }

    /// All, in the order of their creation.
    pub fn list(&self) -> Vec<&Token> {
        let mut tokens: Vec<&Token> = self.by_hash.values().collect();
        tokens.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        tokens
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    /// What the bearer of a secret may do at the time `now`.
    ///
    /// # Errors
    /// `UNAUTHENTICATED`, with a message that tells a damaged secret from an unknown and an expired one.
    pub fn authenticate(&self, secret: &str, now: Millis) -> Result<Access, Error> {
        let hash = hash_secret(secret);
        let Some(token) = self.by_hash.get(&hash) else {
            return Err(unauthenticated(if secret.starts_with(PREFIX) && !has_valid_checksum(secret) {
                "this token is damaged: its checksum does not fit; was it pasted whole?"
            } else {
                "this token is not known here; it may have been revoked"
            }));
        };
        if token.expires_at.is_some_and(|expires_at| expires_at <= now) {
            return Err(unauthenticated("this token has expired"));
        }
        Ok(Access { token: token.id.clone(), abilities: token.abilities.clone(), blueprints: token.blueprints.clone() })
    }
}

/// The token that `BINDERY_ADMIN_TOKEN` names: every ability, valid while it is set, never stored.
#[derive(Debug, Clone)]
pub struct AdminToken {
    hash: [u8; 32],
}

impl AdminToken {
    /// Of a secret with at least [`ADMIN_TOKEN_MIN`] characters.
    pub fn new(secret: &str) -> Self {
        AdminToken { hash: hash_secret(secret) }
    }

    /// Access to everything, if it is this secret.
    pub fn authenticate(&self, secret: &str) -> Option<Access> {
        // Hashes are compared, so the time that it takes tells nothing about the secret.
        (hash_secret(secret) == self.hash).then(|| Access::everything("admin"))
    }
}

/// `UNAUTHENTICATED` with that message.
pub fn unauthenticated(message: &str) -> Error {
    Error::new(Code::Unauthenticated, message)
}

/// A new secret of 256 random bits with a checksum, and its hash.
///
/// # Errors
/// `INTERNAL` if the system's generator fails.
pub fn new_secret() -> Result<(String, [u8; 32]), Error> {
    let mut random = [0; SECRET_BYTES];
    getrandom::fill(&mut random).map_err(Error::internal)?;
    let body: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let secret = format!("{PREFIX}{body}{}", checksum(&body));
    let hash = hash_secret(&secret);
    Ok((secret, hash))
}

fn hash_secret(secret: &str) -> [u8; 32] {
    *blake3::hash(secret.as_bytes()).as_bytes()
}

fn checksum(body: &str) -> String {
    format!("{:0width$x}", crc32fast::hash(body.as_bytes()), width = CHECKSUM_DIGITS)
}

fn has_valid_checksum(secret: &str) -> bool {
    let body_and_sum = secret.strip_prefix(PREFIX).unwrap_or(secret);
    let Some(split) = body_and_sum.len().checked_sub(CHECKSUM_DIGITS) else { return false };
    match (body_and_sum.get(..split), body_and_sum.get(split..)) {
        (Some(body), Some(sum)) => body.len() == 2 * SECRET_BYTES && checksum(body) == sum,
        _ => false,
    }
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
    hash: [u8; 32],
}

impl Token {
    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        let stored = StoredToken {
            id: self.id.clone(),
            name: self.name.clone(),
            abilities: self.abilities.iter().map(|ability| ability.as_str().to_owned()).collect(),
            blueprints: self.blueprints.clone(),
            created_at: self.created_at,
            expires_at: self.expires_at,
            hash: self.hash,
        };
        serde_json::to_vec(&stored).expect("plain data always serialises")
    }

    /// Reads the stored form.
    pub fn decode(bytes: &[u8]) -> Result<Token, String> {
        let stored: StoredToken = serde_json::from_slice(bytes).map_err(|error| format!("a token record: {error}"))?;
        let abilities = stored.abilities.iter().map(|name| {
            Ability::parse(name).ok_or_else(|| format!("a token record with the unknown ability `{name}`"))
        });
        Ok(Token {
            id: stored.id,
            name: stored.name,
            abilities: abilities.collect::<Result<_, _>>()?,
            blueprints: stored.blueprints,
            created_at: stored.created_at,
            expires_at: stored.expires_at,
            hash: stored.hash,
        })
    }
}

/// A member of the project: whom a `user` field may name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Member {
    pub id: u64,
    pub name: String,
    pub email: String,
    pub role: Option<String>,
}

/// A member to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct MemberDraft {
    pub name: String,
    pub email: String,
    pub role: Option<String>,
}

/// Changes of a member; `None` keeps, `role: Some(None)` clears.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct MemberPatch {
    pub name: Option<String>,
    pub email: Option<String>,
    pub role: Option<Option<String>>,
}

impl Member {
    /// Whether a field takes the member: one that asks for a role takes those who have it.
    pub fn fits(&self, role: Option<&str>) -> bool {
        role.is_none() || self.role.as_deref() == role
    }

    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data always serialises")
    }

    /// Reads the stored form.
    pub fn decode(bytes: &[u8]) -> Result<Member, String> {
        serde_json::from_slice(bytes).map_err(|error| format!("a member record: {error}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn token(abilities: &[Ability], expires_at: Option<Millis>) -> (Token, String) {
        let (secret, hash) = new_secret().unwrap();
        let token = Token {
            id: "t1".to_owned(),
            name: "test".to_owned(),
            abilities: abilities.to_vec(),
            blueprints: Some(vec!["a".to_owned()]),
            created_at: 1,
            expires_at,
            hash,
        };
        (token, secret)
    }

    #[test]
    fn a_token_survives_its_stored_form_without_its_secret() {
        let (token, secret) = token(&Ability::ALL, Some(5));
        let stored = token.encode();
        assert_eq!(Token::decode(&stored).unwrap(), token);
        assert!(!String::from_utf8_lossy(&stored).contains(&secret[4..20]));
    }

    #[test]
    fn messages_tell_damaged_unknown_and_expired_tokens_apart() {
        let (token, secret) = token(&[Ability::Preview], Some(100));
        let mut tokens = Tokens::default();
        tokens.insert(token);
        let access = tokens.authenticate(&secret, 99).unwrap();
        assert!(access.may(Ability::View) && access.may(Ability::Preview) && !access.may(Ability::Update));
        assert!(access.sees("a") && !access.sees("b"));

        let damaged = format!("{}0", &secret[..secret.len() - 1]);
        let damaged = if damaged == secret { format!("{}1", &secret[..secret.len() - 1]) } else { damaged };
        for (secret, now, part) in [
            (secret.as_str(), 100, "expired"),
            (damaged.as_str(), 0, "checksum"),
            (&new_secret().unwrap().0, 0, "not known"),
            ("", 0, "not known"),
            ("bnd_é", 0, "checksum"),
        ] {
            let error = tokens.authenticate(secret, now).unwrap_err();
            assert_eq!(error.code, Code::Unauthenticated);
            assert!(error.message.contains(part), "{}", error.message);
        }
    }
}
