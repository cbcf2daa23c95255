//! The sign-in of members: passwords, sessions and invitations, as records and as a look-up of all of them. Must not
//! know how secrets travel.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bindery_model::time::Millis;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::password::PasswordHash;
use super::secret::{SecretHash, hash};
use super::use_note::{NOTED_AFTER, UseNote};

/// The time that a session lasts after its last use.
const SESSION_LASTS: Millis = 30 * 24 * 3_600_000;

/// The most sessions of a member. A new one ends the one that was not used for the longest time.
pub const SESSIONS_MAX: usize = 20;

/// The time for which an invitation is valid.
pub const INVITATION_LASTS: Millis = 72 * 3_600_000;

/// The number that stands for the member that the link of the first owner creates. Ids of members begin at 1.
pub const FIRST_OWNER: u64 = 0;

/// A member who is signed in on one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The id of the session in lists. It is not secret.
    pub id: String,
    /// The id of the member who is signed in.
    pub member: u64,
    /// The hash of its secret.
    pub hash: SecretHash,
    /// The time when the session began.
    pub created_at: Millis,
    /// The time of its last use. It may be up to an hour too early, because a use is noted at most once an hour.
    pub used_at: Millis,
    /// The client that signed in.
    pub client: ClientNote,
}

/// The description of the client in a list of sessions, so that people recognize their devices.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClientNote {
    /// The address of the client.
    pub address: Option<String>,
    /// The name that the client calls itself.
    pub agent: String,
}

/// A link that lets a member set a password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// The member, or [`FIRST_OWNER`].
    pub member: u64,
    /// The hash of its secret.
    pub hash: SecretHash,
    /// The first moment at which the invitation is no longer valid.
    pub expires_at: Millis,
}

/// A password as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredPassword {
    hash: String,
}

/// All passwords, sessions and invitations.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    passwords: BTreeMap<u64, PasswordHash>,
    /// The invitation of each member. A new invitation replaces the earlier one.
    invitations: BTreeMap<u64, Invitation>,
    /// The sessions by the hash of their secrets. See `Tokens` for why a look-up by hash is safe.
    sessions: HashMap<blake3::Hash, Arc<KnownSession>>,
    hashes: HashMap<String, blake3::Hash>,
}

/// A session in the look-up.
#[derive(Debug)]
pub struct KnownSession {
    /// The session.
    pub session: Session,
    note: UseNote,
}

impl Session {
    /// Returns the first moment at which the session is no longer valid.
    pub fn expires_at(&self) -> Millis {
        self.used_at + SESSION_LASTS
    }

    /// Returns the stored form.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The problem with the bytes, for the log.
    pub fn decode(bytes: &[u8]) -> Result<Session, String> {
        decode(bytes, "session")
    }
}

impl Invitation {
    /// Returns the stored form.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The problem with the bytes, for the log.
    pub fn decode(bytes: &[u8]) -> Result<Invitation, String> {
        decode(bytes, "invitation")
    }
}

impl PasswordHash {
    /// Returns the stored form.
    pub fn encode(&self) -> Vec<u8> {
        encode(&StoredPassword { hash: self.as_str().to_owned() })
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The problem with the bytes, for the log.
    pub fn decode(bytes: &[u8]) -> Result<PasswordHash, String> {
        decode(bytes, "password").map(|StoredPassword { hash }| PasswordHash::from_stored(hash))
    }
}

fn encode(record: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(record).expect("plain data can always be serialized")
}

fn decode<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("stored {what}: {error}"))
}

impl KnownSession {
    /// Is true if the use of the session must be noted now. Only one caller gets true.
    pub fn begins_renewal(&self, now: Millis) -> bool {
        self.note.begins(now)
    }

    /// Returns the session after a use at `now`. A use within an hour after the noted one is not noted, so it makes
    /// the session last no longer.
    pub fn after_use(&self, now: Millis) -> Session {
        let is_noted = now >= self.session.used_at + NOTED_AFTER;
        let used_at = if is_noted { now } else { self.session.used_at };
        Session { used_at, ..self.session.clone() }
    }
}

impl Accounts {
    /// Sets or removes the password of a member.
    pub fn set_password(&mut self, member: u64, hash: Option<PasswordHash>) {
        match hash {
            Some(hash) => drop(self.passwords.insert(member, hash)),
            None => drop(self.passwords.remove(&member)),
        }
    }

    /// Returns the hash of a member's password.
    pub fn password(&self, member: u64) -> Option<&PasswordHash> {
        self.passwords.get(&member)
    }

    /// Returns whether any member has a password.
    pub fn has_passwords(&self) -> bool {
        !self.passwords.is_empty()
    }

    /// Sets or removes the invitation of a member.
    pub fn set_invitation(&mut self, member: u64, invitation: Option<Invitation>) {
        match invitation {
            Some(invitation) => drop(self.invitations.insert(member, invitation)),
            None => drop(self.invitations.remove(&member)),
        }
    }

    /// Returns the invitation of a member, if it has one that is valid at `now`.
    pub fn invitation_of(&self, member: u64, now: Millis) -> Option<&Invitation> {
        self.invitations.get(&member).filter(|invitation| now < invitation.expires_at)
    }

    /// Returns the invitation with this secret, if it is valid at `now`. The search looks at all invitations; there is
    /// at most one for each member.
    pub fn invitation(&self, secret: &str, now: Millis) -> Option<&Invitation> {
        let hash = blake3::Hash::from(hash(secret));
        // `blake3::Hash` compares in constant time.
        let found = self.invitations.values().find(|invitation| blake3::Hash::from(invitation.hash) == hash);
        found.filter(|invitation| now < invitation.expires_at)
    }

    /// Adds a session, in the place of an earlier record of it.
    pub fn insert_session(&mut self, session: Session) {
        self.remove_session(&session.id.clone());
        let hash = blake3::Hash::from(session.hash);
        self.hashes.insert(session.id.clone(), hash);
        self.sessions.insert(hash, Arc::new(KnownSession { note: UseNote::new(Some(session.used_at)), session }));
    }

    /// Removes the session with this id.
    pub fn remove_session(&mut self, id: &str) {
        if let Some(hash) = self.hashes.remove(id) {
            self.sessions.remove(&hash);
        }
    }

    /// Returns the session with this secret, if it is valid at `now`.
    pub fn session(&self, secret: &str, now: Millis) -> Option<&Arc<KnownSession>> {
        let known = self.sessions.get(&blake3::Hash::from(hash(secret)))?;
        (now < known.session.expires_at()).then_some(known)
    }

    /// Returns the session with this id, valid or not.
    pub fn session_by_id(&self, id: &str) -> Option<&Session> {
        Some(&self.sessions.get(self.hashes.get(id)?)?.session)
    }

    /// Returns the sessions of a member, also those that are no longer valid, the last used first.
    pub fn sessions_of(&self, member: u64) -> Vec<&Session> {
        let sessions = self.sessions.values().map(|known| &known.session);
        let mut own: Vec<&Session> = sessions.filter(|session| session.member == member).collect();
        own.sort_by(|a, b| (b.used_at, &b.id).cmp(&(a.used_at, &a.id)));
        own
    }
}

/// Returns the value that a request of a session must send beside the cookie. Whoever knows the secret of the session
/// can compute it. A foreign page cannot: the browser sends the cookie for it, but does not show it.
pub fn csrf_of(secret: &str) -> String {
    csrf_hash(secret).to_hex().to_string()
}

/// Returns whether a request sent the right value for the session with this secret. `blake3::Hash` compares in constant
/// time.
pub fn is_csrf_of(secret: &str, sent: &str) -> bool {
    blake3::Hash::from_hex(sent).is_ok_and(|sent| sent == csrf_hash(secret))
}

fn csrf_hash(secret: &str) -> blake3::Hash {
    blake3::Hash::from(blake3::derive_key("Bindery CSRF value of a session", secret.as_bytes()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{SecretOf, new_secret};

    fn session(id: &str, member: u64, used_at: Millis) -> (Session, String) {
        let (secret, hash) = new_secret(SecretOf::Session).unwrap();
        let client = ClientNote { address: None, agent: "a".to_owned() };
        (Session { id: id.to_owned(), member, hash, created_at: 1, used_at, client }, secret)
    }

    #[test]
    fn a_session_ends_thirty_days_after_its_last_use() {
        let (session, secret) = session("a", 1, 1_000);
        assert_eq!(Session::decode(&session.encode()).unwrap(), session);
        assert!(!String::from_utf8_lossy(&session.encode()).contains(&secret[4..20]));
        let mut accounts = Accounts::default();
        accounts.insert_session(session.clone());
        let is_valid = |accounts: &Accounts, now| accounts.session(&secret, now).is_some();
        assert!(is_valid(&accounts, 1_000 + SESSION_LASTS - 1) && !is_valid(&accounts, 1_000 + SESSION_LASTS));
        // A later use makes the session last longer, with the same secret.
        accounts.insert_session(Session { used_at: 5_000, ..session });
        assert!(is_valid(&accounts, 1_000 + SESSION_LASTS) && !is_valid(&accounts, 5_000 + SESSION_LASTS));
        assert_eq!(accounts.sessions_of(1).len(), 1);
        accounts.remove_session("a");
        assert!(!is_valid(&accounts, 5_000) && accounts.session_by_id("a").is_none());
    }

    #[test]
    fn a_use_makes_a_session_last_longer_if_it_is_noted() {
        let (session, _) = session("a", 1, 1_000);
        let known = KnownSession { note: UseNote::new(Some(session.used_at)), session: session.clone() };
        let due = 1_000 + NOTED_AFTER;
        assert_eq!(known.after_use(due - 1), session);
        for _ in 0..2 {
            assert_eq!(known.after_use(due), Session { used_at: due, ..session.clone() });
            // Another request may note the use; this one lasts as long.
            known.begins_renewal(due);
        }
    }

    #[test]
    fn an_invitation_expires_and_a_member_has_one() {
        let (older, newer) = (new_secret(SecretOf::Invitation).unwrap(), new_secret(SecretOf::Invitation).unwrap());
        let mut accounts = Accounts::default();
        for (_, hash) in [&older, &newer] {
            let invitation = Invitation { member: 7, hash: *hash, expires_at: 100 };
            assert_eq!(Invitation::decode(&invitation.encode()).unwrap(), invitation);
            accounts.set_invitation(7, Some(invitation));
        }
        assert!(accounts.invitation(&older.0, 99).is_none() && accounts.invitation("", 99).is_none());
        assert_eq!(accounts.invitation(&newer.0, 99).map(|invitation| invitation.member), Some(7));
        assert!(accounts.invitation(&newer.0, 100).is_none() && accounts.invitation_of(7, 100).is_none());
    }

    #[test]
    fn the_value_against_csrf_is_that_of_its_session_only() {
        let csrf = csrf_of("secret");
        assert!(is_csrf_of("secret", &csrf) && !is_csrf_of("other", &csrf));
        for sent in ["", "secret", &csrf[..63], &format!("{csrf}0"), &csrf.replace(char::is_alphanumeric, "g")] {
            assert!(!is_csrf_of("secret", sent), "{sent}");
        }
    }
}
