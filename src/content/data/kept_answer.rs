//! Answers that are kept for requests with an `Idempotency-Key` (`API.md` 4.13): keys, requests, the stored form.
//!
//! An answer is kept in the transaction of its request. So either the request is carried out and its answer kept, or
//! neither. This module handles answers as bytes.

use bindery_access::Access;
use bindery_model::error::{Code, Error, Result};
use bindery_model::time::Millis;
use bindery_store::Key;

/// The time for which an answer is kept.
pub(crate) const KEPT_FOR: Millis = 24 * 3_600_000;

const KEY_MAX: usize = 255;
const FORMAT: u8 = 1;
const EXPIRY_BYTES: usize = 8;
const FINGERPRINT_BYTES: usize = 32;

/// An `Idempotency-Key` with the token that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    token: String,
    key: String,
}

/// A request that is carried out at most once: its key, and a fingerprint that identifies its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotentRequest {
    key: IdempotencyKey,
    fingerprint: [u8; FINGERPRINT_BYTES],
}

impl IdempotencyKey {
    /// Reads the key of a request that is made with this token.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` unless it is 1 to 255 visible ASCII characters.
    pub fn parse(access: &Access, key: &[u8]) -> Result<IdempotencyKey> {
        let is_key = (1..=KEY_MAX).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic);
        match std::str::from_utf8(key) {
            Ok(key) if is_key => Ok(IdempotencyKey { token: access.actor.to_string(), key: key.to_owned() }),
            _ => {
                let text = "the header `Idempotency-Key` must be 1 to 255 visible ASCII characters, such as a UUID";
                Err(Error::new(Code::InvalidParameter, text))
            }
        }
    }

    /// Returns the request with this key that consists of these parts.
    pub fn request(self, parts: &[&[u8]]) -> IdempotentRequest {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        IdempotentRequest { key: self, fingerprint: *hasher.finalize().as_bytes() }
    }

    /// Returns the key under which the answer is stored.
    pub(crate) fn store_key(&self) -> Key {
        Key::Idempotency { token: self.token.as_str().into(), key: self.key.as_str().into() }
    }
}

impl IdempotentRequest {
    /// Returns its key.
    pub fn key(&self) -> &IdempotencyKey {
        &self.key
    }
}

/// A kept answer as it is stored.
pub(crate) struct KeptAnswer {
    expires: Millis,
    fingerprint: [u8; FINGERPRINT_BYTES],
    answer: Vec<u8>,
}

impl KeptAnswer {
    /// Returns the answer to a request, kept from `now` on.
    pub(crate) fn new(request: &IdempotentRequest, now: Millis, answer: Vec<u8>) -> KeptAnswer {
        KeptAnswer { expires: now + KEPT_FOR, fingerprint: request.fingerprint, answer }
    }

    /// Returns whether the answer has expired at `now`.
    pub(crate) fn is_expired(&self, now: Millis) -> bool {
        self.expires <= now
    }

    /// Returns the kept answer if `request` is the one that was answered; `None` once the answer has expired. A request
    /// that could not be read completely is `None`, and never matches.
    ///
    /// # Errors
    /// `IDEMPOTENCY_KEY_REUSED` if the answer is to another request.
    pub(crate) fn answer_to(self, request: Option<&IdempotentRequest>, now: Millis) -> Result<Option<Vec<u8>>> {
        if self.is_expired(now) {
            return Ok(None);
        }
        if request.is_none_or(|request| request.fingerprint != self.fingerprint) {
            let text = "this `Idempotency-Key` was used with another request; a new request needs a new key";
            return Err(Error::new(Code::IdempotencyKeyReused, text));
        }
        Ok(Some(self.answer))
    }

    /// Returns the answer's bytes.
    pub(crate) fn into_answer(self) -> Vec<u8> {
        self.answer
    }

    /// Returns the stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1 + EXPIRY_BYTES + FINGERPRINT_BYTES + self.answer.len());
        out.push(FORMAT);
        out.extend(self.expires.to_le_bytes());
        out.extend(self.fingerprint);
        out.extend(&self.answer);
        out
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// `INTERNAL` if it is damaged or of another format.
    pub(crate) fn decode(bytes: &[u8]) -> Result<KeptAnswer> {
        let truncated = || Error::internal("a kept answer is truncated");
        let (format, rest) = bytes.split_first().ok_or_else(truncated)?;
        if *format != FORMAT {
            return Err(Error::internal(format!("a kept answer has format {format}, which this version cannot read")));
        }
        let (expires, rest) = rest.split_first_chunk::<EXPIRY_BYTES>().ok_or_else(truncated)?;
        let (fingerprint, answer) = rest.split_first_chunk::<FINGERPRINT_BYTES>().ok_or_else(truncated)?;
        let expires = Millis::from_le_bytes(*expires);
        Ok(KeptAnswer { expires, fingerprint: *fingerprint, answer: answer.to_vec() })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn request(parts: &[&[u8]]) -> IdempotentRequest {
        IdempotencyKey::parse(&Access::everything("test"), b"key").unwrap().request(parts)
    }

    /// Returns the stored form of an answer that is kept until `expires`.
    pub(crate) fn kept_until(expires: Millis) -> Vec<u8> {
        KeptAnswer::new(&request(&[b"request"]), expires - KEPT_FOR, b"answer".to_vec()).encode()
    }

    #[test]
    fn an_answer_is_kept_for_its_request_until_it_expires() {
        let (same, other) = (request(&[b"request"]), request(&[b"re", b"quest"]));
        let answer = |request, now| KeptAnswer::decode(&kept_until(1000)).unwrap().answer_to(request, now);
        assert_eq!(answer(Some(&same), 999).unwrap().unwrap(), b"answer");
        for request in [Some(&other), None] {
            assert_eq!(answer(request, 999).unwrap_err().code, Code::IdempotencyKeyReused);
        }
        for request in [Some(&same), Some(&other), None] {
            assert_eq!(answer(request, 1000).unwrap(), None);
        }
        for cut in 0..41 {
            assert!(KeptAnswer::decode(&kept_until(1)[..cut]).is_err());
        }
    }
}
