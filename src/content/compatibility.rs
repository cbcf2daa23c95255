//! What a changed blueprint asks of values that the one in force does not ask, and which stored resources do not meet it.
//!
//! Reads and compares. Writes nothing: what follows from it is decided by `write` and carried out by `blueprint_change`.

pub(crate) mod demands;
mod narrow;
pub(crate) mod revise;
pub(crate) mod survey;
