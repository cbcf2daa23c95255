//! Hashes of passwords: argon2id, in the PHC string format, which contains its parameters. Each call takes 19 MiB of
//! memory and tens of milliseconds, so the caller decides how many calls run at the same time. Must not know whose
//! passwords they are.

use std::fmt;

use argon2::password_hash::phc::PasswordHash as PhcString;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use bindery_model::error::{Error, Result};
use icu_normalizer::ComposingNormalizer;

/// The minimum length of a password, in characters.
pub const PASSWORD_MIN: usize = 10;

/// The maximum length of a password, in characters. It limits the cost of hashing.
pub const PASSWORD_MAX: usize = 1_000;

/// The parameters that OWASP recommends for argon2id with little memory.
const MEMORY_KIB: u32 = 19 << 10;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// The hash of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// Hashes a password with a new salt.
    ///
    /// # Errors
    /// `INTERNAL` if the system's random generator fails.
    pub fn of(password: &str) -> Result<PasswordHash> {
        let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(Error::internal)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let hash = argon2.hash_password(normalized(password).as_bytes()).map_err(Error::internal)?;
        Ok(PasswordHash(hash.to_string()))
    }

    /// Returns whether it is the hash of this password.
    pub fn matches(&self, password: &str) -> bool {
        // The parameters come from the hash, so that earlier ones stay valid when the constants change.
        let hash = PhcString::new(&self.0);
        hash.is_ok_and(|hash| Argon2::default().verify_password(normalized(password).as_bytes(), &hash).is_ok())
    }

    /// Returns the stored form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the hash with this stored form.
    pub fn from_stored(text: String) -> PasswordHash {
        PasswordHash(text)
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// Normalizes a password: keyboards send `é` as one character or as two, and both must be the same password (NIST SP
/// 800-63B).
fn normalized(password: &str) -> String {
    ComposingNormalizer::new_nfkc().normalize(password).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_hash_matches_its_password_only_and_names_its_parameters() {
        let hash = PasswordHash::of("correct horse battery é").unwrap();
        assert!(hash.as_str().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", hash.as_str());
        assert!(hash.matches("correct horse battery é") && hash.matches("correct horse battery e\u{301}"));
        for other in ["", "correct horse battery", "Correct horse battery é", "correct horse battery é "] {
            assert!(!hash.matches(other), "{other}");
        }
        assert_ne!(PasswordHash::of("same").unwrap(), PasswordHash::of("same").unwrap(), "each has its own salt");
        assert!(!PasswordHash::from_stored("damaged".to_owned()).matches("damaged"));
        assert!(!format!("{hash:?}").contains("argon2"));
    }
}
