//! What values must satisfy under a changed blueprint, beyond what they satisfy today, and which stored resources do not.
//!
//! Reads and compares. Writes nothing: what follows from it is decided by `write` and carried out by `blueprint_change`.

pub(crate) mod demands;
mod narrow;
pub(crate) mod revise;
pub(crate) mod survey;
