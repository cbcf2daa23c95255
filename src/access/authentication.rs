//! The access of the sender of a request, and the way to it from the secret of a token.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use bindery_model::ability::Ability;
use bindery_model::error::{Code, Error};
use bindery_model::time::Millis;

use super::actor::Actor;
use super::member::Member;
use super::role::Role;
use super::secret::{SecretHash, hash, is_damaged};
use super::token::Token;
use super::use_note::UseNote;

/// The minimum length of `BINDERY_ADMIN_TOKEN`, in characters.
pub const ADMIN_TOKEN_MIN: usize = 32;

/// The access of the sender of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The actor who sent the request. Idempotency keys and changes belong to this actor.
    pub actor: Actor,
    abilities: Cow<'static, [Ability]>,
    blueprints: Option<Vec<String>>,
    writes_only_drafts: bool,
}

impl Access {
    /// Returns the access of commands that open the data folder: access to everything. `name` is used as the id of the
    /// token.
    pub fn everything(name: &str) -> Self {
        let (actor, abilities) = (Actor::Token(name.to_owned()), Cow::Borrowed(&Ability::ALL[..]));
        Access { actor, abilities, blueprints: None, writes_only_drafts: false }
    }

    /// Returns whether it may do nothing but view published content.
    pub fn only_views(&self) -> bool {
        self.abilities.iter().all(|ability| *ability == Ability::View)
    }

    /// Returns the access of a member with this role.
    pub fn of_member(member: &Member, role: Role) -> Self {
        Access {
            actor: Actor::Member(member.id),
            abilities: Cow::Borrowed(role.abilities()),
            blueprints: member.blueprints.clone(),
            writes_only_drafts: role.writes_only_drafts(),
        }
    }

    fn of(token: &Token) -> Self {
        let Token { id, abilities, blueprints, .. } = token;
        let (actor, abilities) = (Actor::Token(id.clone()), Cow::Owned(abilities.clone()));
        Access { actor, abilities, blueprints: blueprints.clone(), writes_only_drafts: false }
    }

    /// Returns whether a signed-in member sent the request, and not a token.
    pub fn is_session(&self) -> bool {
        self.member().is_some()
    }

    /// Returns the member who sent the request.
    pub fn member(&self) -> Option<u64> {
        match self.actor {
            Actor::Member(id) => Some(id),
            Actor::Token(_) => None,
        }
    }

    /// Returns whether the sender may not change a resource that readers without `preview` see.
    pub fn writes_only_drafts(&self) -> bool {
        self.writes_only_drafts
    }

    /// Returns whether the token has the ability. `preview` includes `view`.
    pub fn may(&self, ability: Ability) -> bool {
        self.abilities.contains(&ability) || (ability == Ability::View && self.abilities.contains(&Ability::Preview))
    }

    /// Checks that the token has at least one of the abilities.
    ///
    /// # Errors
    /// `FORBIDDEN`, naming the abilities.
    pub fn require(&self, any_of: &[Ability]) -> Result<(), Error> {
        if any_of.iter().any(|ability| self.may(*ability)) {
            return Ok(());
        }
        let names: Vec<String> = any_of.iter().map(|ability| format!("`{ability}`")).collect();
        let who = if self.is_session() { "your role" } else { "this token" };
        Err(Error::new(Code::Forbidden, format!("{who} lacks the ability {}", names.join(" or "))))
    }

    /// Is true if the token or member may know that the blueprint exists.
    pub fn sees(&self, blueprint: &str) -> bool {
        self.blueprints.as_ref().is_none_or(|slugs| slugs.iter().any(|slug| slug == blueprint))
    }

    /// Returns whether the token or member is not limited to some blueprints.
    pub fn sees_all(&self) -> bool {
        self.blueprints.is_none()
    }
}

/// All tokens, by the hash of their secrets.
#[derive(Debug, Clone, Default)]
pub struct Tokens {
    /// The tokens by the hash of their secrets. The time of a look-up depends on the hash only, and a hash does not
    /// reveal its secret. `blake3::Hash` compares in constant time.
    by_hash: HashMap<blake3::Hash, Arc<KnownToken>>,
}

/// A token with the access that it gives, which every request of its bearer shares.
#[derive(Debug)]
pub struct KnownToken {
    token: Token,
    access: Arc<Access>,
    note: UseNote,
}

impl KnownToken {
    /// Returns the access that the token gives.
    pub fn access(&self) -> Arc<Access> {
        Arc::clone(&self.access)
    }

    /// Returns the id of the token if its use must be noted now. Only one caller gets it.
    pub fn begins_note(&self, now: Millis) -> Option<&str> {
        self.note.begins(now).then_some(&self.token.id)
    }
}

impl Tokens {
    /// Adds a token, in the place of an earlier record of it.
    pub fn insert(&mut self, token: Token) {
        let (access, note) = (Arc::new(Access::of(&token)), UseNote::new(token.used_at));
        self.by_hash.insert(token.hash.into(), Arc::new(KnownToken { token, access, note }));
    }

    /// Removes the token with this id.
    pub fn remove(&mut self, id: &str) {
        self.by_hash.retain(|_, known| known.token.id != id);
    }

    /// Returns the token with this id.
    pub fn get(&self, id: &str) -> Option<&Token> {
        self.by_hash.values().map(|known| &known.token).find(|token| token.id == id)
    }

    /// Returns all tokens, by creation date.
    pub fn list(&self) -> Vec<&Token> {
        let mut tokens: Vec<&Token> = self.by_hash.values().map(|known| &known.token).collect();
        tokens.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        tokens
    }

    /// Returns whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    /// Returns the token with this secret, if it is valid at the time `now`.
    ///
    /// # Errors
    /// `UNAUTHENTICATED`. The message says whether the secret is damaged, unknown or expired.
    pub fn authenticate(&self, secret: &str, now: Millis) -> Result<&KnownToken, Error> {
        let Some(known) = self.by_hash.get(&blake3::Hash::from(hash(secret))) else {
            return Err(unauthenticated(if is_damaged(secret) {
                "this token is damaged: its checksum does not match; was it copied completely?"
            } else {
                "this token is unknown; it may have been revoked"
            }));
        };
        if known.token.expires_at.is_some_and(|expires_at| expires_at <= now) {
            return Err(unauthenticated("this token has expired"));
        }
        Ok(known)
    }
}

/// The token that `BINDERY_ADMIN_TOKEN` sets. It has every ability, is valid while the variable is set, and is never
/// stored.
#[derive(Debug, Clone)]
pub struct AdminToken {
    hash: SecretHash,
    access: Arc<Access>,
}

impl AdminToken {
    /// Returns the token with this secret, which has at least [`ADMIN_TOKEN_MIN`] characters.
    pub fn new(secret: &str) -> Self {
        AdminToken { hash: hash(secret), access: Arc::new(Access::everything("admin")) }
    }

    /// Returns access to everything if the secret is the one of this token.
    pub fn authenticate(&self, secret: &str) -> Option<Arc<Access>> {
        // `blake3::Hash` compares in constant time, so the time this takes reveals nothing about the secret.
        (blake3::Hash::from(hash(secret)) == blake3::Hash::from(self.hash)).then(|| Arc::clone(&self.access))
    }
}

/// Returns the error `UNAUTHENTICATED` with this message.
pub fn unauthenticated(message: &str) -> Error {
    Error::new(Code::Unauthenticated, message)
}
