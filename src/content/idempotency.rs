//! Requests that are done once, however often they are sent (`API.md` 4.13).
//!
//! The committer decides: it finds a kept answer, or does what is asked and keeps the answer in the same log record. So
//! of two requests with one key that race, the second is decided when the first one's answer is there. What an answer
//! says is worded by the caller; here it is bytes.

use std::sync::Arc;

use crate::access::Access;
use crate::content::command::{Command, Outcome};
use crate::content::working::Working;
use crate::content::{Content, now};
use crate::model::error::{Code, Error, Result};
use crate::model::time::Millis;
use crate::store::Key;

/// How long an answer is kept.
const KEPT_FOR: Millis = 24 * 3_600_000;

const KEY_MAX: usize = 255;
const ENTRY_FORMAT: u8 = 1;
const EXPIRY_BYTES: usize = 8;
const FINGERPRINT_BYTES: usize = 32;

/// What makes two requests the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; FINGERPRINT_BYTES]);

impl Fingerprint {
    /// The fingerprint of a request's parts.
    pub fn of(parts: &[&[u8]]) -> Fingerprint {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Fingerprint(*hasher.finalize().as_bytes())
    }
}

/// A key with the token that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnceKey {
    token: String,
    key: String,
}

impl OnceKey {
    /// The key of a request that this token makes.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` unless it is 1 to 255 visible ASCII characters.
    pub fn parse(access: &Access, key: &[u8]) -> Result<OnceKey> {
        let is_key = (1..=KEY_MAX).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic);
        match std::str::from_utf8(key) {
            Ok(key) if is_key => Ok(OnceKey { token: access.token.clone(), key: key.to_owned() }),
            _ => {
                let text = "the header `Idempotency-Key` must be 1 to 255 visible ASCII characters, such as a UUID";
                Err(Error::new(Code::InvalidParameter, text))
            }
        }
    }

    fn store_key(&self) -> Key {
        Key::Idempotency { token: self.token.as_str().into(), key: self.key.as_str().into() }
    }
}

/// A request that is to be done once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// Its key.
    pub key: OnceKey,
    /// What tells it from other requests.
    pub request: Fingerprint,
}

/// Words an answer, or says that it is not to be kept.
type Word<T> = dyn Fn(&Result<T>) -> Option<Vec<u8>> + Send + Sync;

/// A request that is to be done once, with how its answer is worded.
pub struct Keep<T> {
    once: Once,
    word: Arc<Word<T>>,
}

/// What a request came to.
#[derive(Debug)]
pub enum Done<T> {
    /// It was done; nothing is kept.
    Now(T),
    /// It is done, now or before: the answer as it was worded and kept.
    Kept(Vec<u8>),
}

impl<T: 'static> Keep<T> {
    /// `word` gives the bytes of an answer that is to be kept.
    pub fn new(once: Once, word: impl Fn(&Result<T>) -> Option<Vec<u8>> + Send + Sync + 'static) -> Keep<T> {
        Keep { once, word: Arc::new(word) }
    }

    /// What the committer needs: `read` makes of a command's outcome what the answer is worded from.
    pub(crate) fn for_command(&self, read: impl Fn(&Outcome, &Working<'_>) -> Result<T> + Send + 'static) -> Keeping {
        let word = Arc::clone(&self.word);
        let word = Box::new(move |result: &Result<Outcome>, working: &Working<'_>| match result {
            Ok(outcome) => word(&read(outcome, working)),
            Err(error) => word(&Err(error.clone())),
        });
        Keeping { once: self.once.clone(), word }
    }
}

impl<T> Done<T> {
    /// The same with another value.
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Done<U> {
        match self {
            Done::Now(value) => Done::Now(change(value)),
            Done::Kept(answer) => Done::Kept(answer),
        }
    }
}

impl Content {
    /// The kept answer to a request; `None` if none is kept under its key. `request` is none where the request could
    /// not be read whole: it is no request whose answer is kept.
    ///
    /// # Errors
    /// `IDEMPOTENCY_KEY_REUSED` if the key was used with another request.
    pub async fn kept(&self, key: &OnceKey, request: Option<Fingerprint>) -> Result<Option<Vec<u8>>> {
        let stored = self.shared.store.get(&key.store_key()).map_err(Error::internal)?;
        let Some(entry) = stored.map(|bytes| Entry::decode(&bytes)).transpose()? else { return Ok(None) };
        let Some(answer) = entry.answer_to(request, now())? else { return Ok(None) };
        // The store is ahead of what readers see for a moment; whoever gets this answer must see what it tells of.
        self.submit(Command::Wait).await?;
        Ok(Some(answer))
    }
}

/// The same as [`Word`], from what the committer decided.
type WordOutcome = dyn Fn(&Result<Outcome>, &Working<'_>) -> Option<Vec<u8>> + Send;

/// A request as the committer keeps its answer.
pub(crate) struct Keeping {
    once: Once,
    word: Box<WordOutcome>,
}

impl Keeping {
    /// The answer that is kept under the request's key.
    ///
    /// # Errors
    /// `IDEMPOTENCY_KEY_REUSED`.
    pub(crate) fn kept(&self, working: &Working<'_>) -> Result<Option<Outcome>> {
        let stored = working.get(&self.once.key.store_key())?;
        let Some(entry) = stored.map(|bytes| Entry::decode(&bytes)).transpose()? else { return Ok(None) };
        Ok(entry.answer_to(Some(self.once.request), working.now)?.map(Outcome::Kept))
    }

    /// Words the answer and makes it a part of the command's record, if it is one that is kept.
    pub(crate) fn keep(&self, result: Result<Outcome>, working: &mut Working<'_>) -> Result<Outcome> {
        let Some(answer) = (self.word)(&result, working) else { return result };
        let entry = Entry { expires: working.now + KEPT_FOR, request: self.once.request, answer };
        working.put(self.once.key.store_key(), entry.encode());
        Ok(Outcome::Kept(entry.answer))
    }
}

impl std::fmt::Debug for Keeping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeping").field("once", &self.once).finish_non_exhaustive()
    }
}

/// Whether a stored answer is no longer kept at `now`.
pub(crate) fn is_expired(stored: &[u8], now: Millis) -> Result<bool> {
    Ok(Entry::decode(stored)?.expires <= now)
}

/// A kept answer.
struct Entry {
    expires: Millis,
    request: Fingerprint,
    answer: Vec<u8>,
}

impl Entry {
    fn answer_to(self, request: Option<Fingerprint>, now: Millis) -> Result<Option<Vec<u8>>> {
        if self.expires <= now {
            return Ok(None);
        }
        if request != Some(self.request) {
            let text = "this `Idempotency-Key` was used with another request; a new request needs a new key";
            return Err(Error::new(Code::IdempotencyKeyReused, text));
        }
        Ok(Some(self.answer))
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1 + EXPIRY_BYTES + FINGERPRINT_BYTES + self.answer.len());
        out.push(ENTRY_FORMAT);
        out.extend(self.expires.to_le_bytes());
        out.extend(self.request.0);
        out.extend(&self.answer);
        out
    }

    fn decode(bytes: &[u8]) -> Result<Entry> {
        let cut = || Error::internal("a kept answer that is cut short");
        let (format, rest) = bytes.split_first().ok_or_else(cut)?;
        if *format != ENTRY_FORMAT {
            return Err(Error::internal(format!("a kept answer of format {format}, which this version does not know")));
        }
        let (expires, rest) = rest.split_first_chunk::<EXPIRY_BYTES>().ok_or_else(cut)?;
        let (request, answer) = rest.split_first_chunk::<FINGERPRINT_BYTES>().ok_or_else(cut)?;
        let expires = Millis::from_le_bytes(*expires);
        Ok(Entry { expires, request: Fingerprint(*request), answer: answer.to_vec() })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// The stored form of an answer that is kept up to `expires`.
    pub(crate) fn entry(expires: Millis) -> Vec<u8> {
        Entry { expires, request: Fingerprint::of(&[b"request"]), answer: b"answer".to_vec() }.encode()
    }

    #[test]
    fn an_answer_is_kept_for_its_request_until_it_expires() {
        let (same, other) = (Fingerprint::of(&[b"request"]), Fingerprint::of(&[b"re", b"quest"]));
        let answer = |request, now| Entry::decode(&entry(1000)).unwrap().answer_to(request, now);
        assert_eq!(answer(Some(same), 999).unwrap().unwrap(), b"answer");
        for request in [Some(other), None] {
            assert_eq!(answer(request, 999).unwrap_err().code, Code::IdempotencyKeyReused);
        }
        for request in [Some(same), Some(other), None] {
            assert_eq!(answer(request, 1000).unwrap(), None);
        }
        assert_eq!((is_expired(&entry(1000), 999).unwrap(), is_expired(&entry(1000), 1000).unwrap()), (false, true));
        for cut in 0..41 {
            assert!(Entry::decode(&entry(1)[..cut]).is_err());
        }
    }
}
