//! Demands on values under a changed blueprint, beyond those of today, and the stored resources that do not meet them.
//!
//! Reads and compares. Writes nothing: what follows from it is decided by `write` and carried out by `blueprint_change`.

pub(crate) mod demands;
mod narrow;
pub(crate) mod revise;
pub(crate) mod survey;
