//! The requirements of a changed blueprint beyond those of the current one, and the stored resources that do not meet
//! them.
//!
//! Reads and compares. Writes nothing: `write` decides the consequences, and `blueprint_change` carries them out.

pub(crate) mod demands;
mod narrow;
pub(crate) mod revise;
pub(crate) mod survey;
