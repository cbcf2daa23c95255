//! Carries out a blueprint change on its own thread while reads and writes go on.
//!
//! 1. `PUT` of a blueprint (`api/blueprints.rs`) → the change begins, or comes into force at once
//!    (`write/decide/blueprint.rs`, `replace`).
//! 2. This module compares the stored resources (`compatibility/survey.rs`), then submits the missing data
//!    (`data/blueprint_change.rs`, `Backfill`; `write/decide/blueprint.rs`, `backfill`). Meanwhile, writes must be
//!    valid under both blueprints (`write/decide/during_change.rs`).
//! 3. The change comes into force or is dropped (`finish_change`, `drop_change`).
//!
//! The begin and the end of a change are transactions. So is every piece in between. First every stored resource is
//! compared with the changed blueprint. Then the data that this blueprint needs of each resource is submitted to the
//! committer in small pieces. During all this, a write that the changed blueprint would refuse is refused
//! (`write/decide/during_change.rs`), so a resource that was compared once stays valid. A server that stops in the
//! middle starts the comparison again.

mod progress;
mod runner;
#[cfg(test)]
mod tests;

pub(crate) use runner::ChangeRunner;
