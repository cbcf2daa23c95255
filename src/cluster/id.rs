//! Random ids and nonces, and the form of ids in files: text with hyphens (`#[serde(with = "crate::id")]`).

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serializer};
use uuid::Uuid;

/// Draws a random id.
///
/// # Errors
/// If the system's generator fails.
pub(crate) fn random_id() -> Result<Uuid, getrandom::Error> {
    Ok(uuid::Builder::from_random_bytes(random_bytes()?).into_uuid())
}

/// Draws 16 random bytes.
///
/// # Errors
/// If the system's generator fails.
pub(crate) fn random_bytes() -> Result<[u8; 16], getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn serialize<S: Serializer>(id: &Uuid, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

pub(crate) fn deserialize<'de, T: Deserializer<'de>>(deserializer: T) -> Result<Uuid, T::Error> {
    let text = String::deserialize(deserializer)?;
    Uuid::parse_str(&text).map_err(T::Error::custom)
}
