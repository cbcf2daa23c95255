//! The hashes by which media resources name their files.

/// Reads the hash of a file from its 64 hexadecimal digits.
pub(crate) fn parse_hash(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    blake3::Hash::from_hex(text).ok().map(|hash| *hash.as_bytes())
}
