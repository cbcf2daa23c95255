//! The ids of searches (`API.md` 4.8.13): signed, so that only clicks on searches of this server count, and nothing is
//! stored for a search before it counts.
//!
//! An id is the time, a random number, and a code over both. The key of the code is derived from the salt of the day.
//! So ids are valid after a restart, and nobody can make or check one when the salt is destroyed.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bindery_model::error::{Code, Error, Result};
use bindery_model::sent::quote;
use bindery_model::time::{Millis, day_number};
use parking_lot::RwLock;

use super::period::Day;

/// The time for which a search can be clicked, also limited by the end of its day (UTC).
pub(super) const CLICKABLE_FOR: Millis = 60 * 60 * 1_000;
const TIME_BYTES: usize = 6;
const PLAIN_BYTES: usize = TIME_BYTES + 8;
const CODE_BYTES: usize = 16;

pub(super) type SearchKeys = BTreeMap<Day, [u8; 32]>;

/// The keys of the days whose salts exist.
pub(super) struct SearchIds(RwLock<SearchKeys>);

/// The id of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchId {
    /// The id as it is answered: 40 characters.
    pub text: String,
    /// The number in it.
    pub number: u64,
}

impl SearchIds {
    pub(super) fn new(keys: SearchKeys) -> SearchIds {
        SearchIds(RwLock::new(keys))
    }

    /// Returns whether these are the days of the keys.
    pub(super) fn has_days<'a>(&self, days: impl Iterator<Item = &'a Day>) -> bool {
        self.0.read().keys().eq(days)
    }

    pub(super) fn replace(&self, keys: SearchKeys) {
        *self.0.write() = keys;
    }

    /// Returns a new id. Right after midnight, it has the key of the day before. `None` if there is no such key, or no
    /// random numbers.
    pub(super) fn issue(&self, now: Millis) -> Option<SearchId> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).ok()?;
        let mut bytes = u64::try_from(now).ok()?.to_be_bytes()[8 - TIME_BYTES..].to_vec();
        bytes.extend_from_slice(&random);
        let today = day_number(now);
        let code = code(self.0.read().range(today - 1..=today).next_back()?.1, &bytes);
        bytes.extend_from_slice(&code);
        Some(SearchId { text: URL_SAFE_NO_PAD.encode(bytes), number: u64::from_be_bytes(random) })
    }

    /// Returns the number in an id.
    ///
    /// Errors: `NOT_FOUND` if this server did not issue it, or it is too old.
    pub(super) fn open(&self, text: &str, now: Millis) -> Result<u64> {
        let unknown = || {
            let message = format!(
                "no search of today has the id {}; expected the `meta.search_id` of an answer that this server gave to a request with \
                 `track=true`",
                quote(text)
            );
            Error::new(Code::NotFound, message)
        };
        let bytes = URL_SAFE_NO_PAD.decode(text).ok().filter(|bytes| bytes.len() == PLAIN_BYTES + CODE_BYTES);
        let bytes = bytes.ok_or_else(unknown)?;
        let (plain, sent) = bytes.split_at(PLAIN_BYTES);
        let is_issued = |key: &[u8; 32]| differences(&code(key, plain), sent) == 0;
        if !self.0.read().values().any(is_issued) {
            return Err(unknown());
        }
        let (time, number) = plain.split_at(TIME_BYTES);
        let at = time.iter().fold(0, |at, byte| at << 8 | Millis::from(*byte));
        if now - at > CLICKABLE_FOR || day_number(now) != day_number(at) {
            let message =
                "the search is too old: its results can be clicked for an hour, and until the end of its day (UTC)";
            return Err(Error::new(Code::NotFound, message));
        }
        Ok(number.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

/// Returns the key of a day's ids.
pub(super) fn key_of(salt: &[u8; 32]) -> [u8; 32] {
    blake3::derive_key("bindery 2026 ids of searches", salt)
}

fn code(key: &[u8; 32], plain: &[u8]) -> [u8; CODE_BYTES] {
    let mut first = [0; CODE_BYTES];
    first.copy_from_slice(&blake3::keyed_hash(key, plain).as_bytes()[..CODE_BYTES]);
    first
}

/// Compares in a time that does not depend on where the bytes differ.
fn differences(one: &[u8; CODE_BYTES], other: &[u8]) -> u8 {
    one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bindery_model::time::DAY_MILLIS;

    use super::*;

    const NOW: Millis = 20_000 * DAY_MILLIS + 1_000;

    fn ids(salt: u8) -> SearchIds {
        SearchIds::new(SearchKeys::from([(20_000, key_of(&[salt; 32]))]))
    }

    #[test]
    fn an_id_is_valid_on_its_server_for_an_hour_of_its_day() {
        let (own, other) = (ids(1), ids(2));
        let SearchId { text, number } = own.issue(NOW).unwrap();
        assert_eq!(text.len(), 40);
        assert_eq!(own.open(&text, NOW), Ok(number));
        assert_eq!(own.open(&text, NOW + CLICKABLE_FOR), Ok(number));
        let refused = |ids: &SearchIds, text: &str, now| ids.open(text, now).unwrap_err().to_string();
        assert!(refused(&own, &text, NOW + CLICKABLE_FOR + 1).contains("too old"));
        assert!(
            refused(&own, &own.issue(NOW + DAY_MILLIS - 2_000).unwrap().text, NOW + DAY_MILLIS).contains("too old")
        );
        assert!(refused(&other, &text, NOW).contains("no search"));
        for at in 0..text.len() {
            let mut changed = text.clone();
            changed.replace_range(at..=at, if &text[at..=at] == "A" { "B" } else { "A" });
            assert!(refused(&own, &changed, NOW).contains("no search"), "{changed}");
        }
        for broken in ["", "a", "é", &text[1..], &format!("{text}A")] {
            assert!(refused(&own, broken, NOW).contains("no search"), "{broken}");
        }
        let after_midnight = own.issue(NOW + DAY_MILLIS).unwrap();
        assert_eq!(own.open(&after_midnight.text, NOW + DAY_MILLIS), Ok(after_midnight.number));
        assert_eq!(own.issue(NOW + 2 * DAY_MILLIS), None);
    }
}
