//! Sets of ids, and ids in texts. It knows no columns.

use std::sync::Arc;

/// A set of ids, or the complement of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdSet {
    /// The ids, ascending.
    ids: Arc<[u128]>,
    is_complement: bool,
    hash: [u8; 16],
}

/// The length of an id as text.
pub(crate) const TEXT_BYTES: usize = 36;

/// The number of ids that are hashed in one call: hashing one at a time takes several times as long.
const HASHED_AT_ONCE: usize = 512;

impl IdSet {
    /// Returns the set of these ids.
    pub fn of(ids: impl IntoIterator<Item = u128>) -> IdSet {
        let mut ids: Vec<u128> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        IdSet { hash: hash(&ids), ids: ids.into(), is_complement: false }
    }

    /// Returns the complement: everything that is not in this set, including texts that are not ids.
    pub fn complement(self) -> IdSet {
        IdSet { is_complement: !self.is_complement, ..self }
    }

    /// Returns the number of listed ids: the members, or, in a complement, the ids that are not members.
    pub fn listed(&self) -> usize {
        self.ids.len()
    }

    /// Returns the listed ids, ascending.
    pub(crate) fn ids(&self) -> &[u128] {
        &self.ids
    }

    /// Returns whether the listed ids are the ones that are not members.
    pub(crate) fn is_complement(&self) -> bool {
        self.is_complement
    }

    /// Returns whether the text is an id of the set.
    pub(crate) fn contains(&self, text: &[u8]) -> bool {
        let is_listed = parse(text).is_some_and(|id| self.ids.binary_search(&id).is_ok());
        is_listed != self.is_complement
    }

    /// Bytes that identify the set.
    pub(crate) fn identity(&self) -> [u8; 17] {
        let mut identity = [u8::from(self.is_complement); 17];
        identity[1..].copy_from_slice(&self.hash);
        identity
    }
}

/// Parses an id: 32 lowercase hexadecimal digits in groups of 8, 4, 4, 4 and 12 with hyphens between them. Texts are
/// ordered as their ids are.
pub(crate) fn parse(text: &[u8]) -> Option<u128> {
    let text: &[u8; TEXT_BYTES] = text.try_into().ok()?;
    let mut id = 0;
    for (at, byte) in text.iter().enumerate() {
        let digit = match byte {
            b'-' if matches!(at, 8 | 13 | 18 | 23) => continue,
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        // If the hyphens were elsewhere, there would be more than 32 digits.
        if matches!(at, 8 | 13 | 18 | 23) {
            return None;
        }
        id = id << 4 | u128::from(digit);
    }
    Some(id)
}

/// Returns the text of an id.
pub(crate) fn text_of(id: u128) -> [u8; TEXT_BYTES] {
    let mut text = [b'-'; TEXT_BYTES];
    let places = (0..TEXT_BYTES).filter(|at| !matches!(at, 8 | 13 | 18 | 23));
    for (place, nibble) in places.zip((0..32).rev()) {
        let digit = (id >> (4 * nibble)) as usize & 0xF;
        text[place] = b"0123456789abcdef"[digit];
    }
    text
}

fn hash(ids: &[u128]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    let mut bytes = Vec::with_capacity(HASHED_AT_ONCE * 16);
    for ids in ids.chunks(HASHED_AT_ONCE) {
        bytes.clear();
        ids.iter().for_each(|id| bytes.extend_from_slice(&id.to_be_bytes()));
        hasher.update(&bytes);
    }
    let mut hash = [0; 16];
    hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_text() {
        let text = "0190b4a0-0000-7000-8000-00000000001f";
        let id = 0x0190_b4a0_0000_7000_8000_0000_0000_001f;
        assert_eq!(parse(text.as_bytes()), Some(id));
        assert_eq!(text_of(id), text.as_bytes());
        assert_eq!(parse(&text_of(u128::MAX)), Some(u128::MAX));
        let without_hyphens = text.replace('-', "");
        for other in
            [&text.to_uppercase(), &without_hyphens, &format!("{without_hyphens}0000"), "", &text.replace('9', "-")]
        {
            assert_eq!(parse(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_complement_has_everything_else() {
        let set = IdSet::of([3, 1, 3]);
        let rest = set.clone().complement();
        assert_eq!(set.listed(), 2);
        for (text, expected) in [(&text_of(1)[..], true), (&text_of(2)[..], false), (b"1", false)] {
            assert_eq!(set.contains(text), expected);
            assert_eq!(rest.contains(text), !expected);
        }
        assert_ne!(set.identity(), rest.identity());
        assert_eq!(rest.complement(), set);
    }
}
