//! Secrets of tokens, sessions and invitations: a prefix, 256 random bits and a checksum. Only their hashes are stored.

use bindery_model::error::Error;

/// The purpose of a secret. The prefix of the secret shows it, so that a secret that leaked can be recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretOf {
    /// A token of the API.
    Token,
    /// A session, in a cookie.
    Session,
    /// An invitation, in a link.
    Invitation,
}

const SECRET_BYTES: usize = 32;
const CHECKSUM_DIGITS: usize = 8;

/// The BLAKE3 hash of a secret.
pub(super) type SecretHash = [u8; 32];

/// Makes a new secret and its hash.
///
/// # Errors
/// `INTERNAL` if the system's random generator fails.
pub fn new_secret(of: SecretOf) -> Result<(String, [u8; 32]), Error> {
    let mut random = [0; SECRET_BYTES];
    getrandom::fill(&mut random).map_err(Error::internal)?;
    let body: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let secret = format!("{}{body}{}", of.prefix(), checksum(&body));
    let hash = hash(&secret);
    Ok((secret, hash))
}

pub(super) fn hash(secret: &str) -> SecretHash {
    *blake3::hash(secret.as_bytes()).as_bytes()
}

impl SecretOf {
    fn prefix(self) -> &'static str {
        match self {
            SecretOf::Token => "bnd_",
            SecretOf::Session => "bns_",
            SecretOf::Invitation => "bni_",
        }
    }
}

/// Returns whether the secret looks like one of a token that [`new_secret`] made, but is incomplete or was changed.
pub(super) fn is_damaged(secret: &str) -> bool {
    secret.strip_prefix(SecretOf::Token.prefix()).is_some_and(|rest| !has_valid_checksum(rest))
}

fn has_valid_checksum(body_and_sum: &str) -> bool {
    let Some(split) = body_and_sum.len().checked_sub(CHECKSUM_DIGITS) else { return false };
    match body_and_sum.split_at_checked(split) {
        Some((body, sum)) => body.len() == 2 * SECRET_BYTES && checksum(body) == sum,
        None => false,
    }
}

fn checksum(body: &str) -> String {
    format!("{:0width$x}", crc32fast::hash(body.as_bytes()), width = CHECKSUM_DIGITS)
}
