//! Carrying a blueprint change through, on a thread of its own while reads and writes go on.
//!
//! 1. `PUT` of a blueprint (`api/blueprints.rs`) → the change begins, or comes into force at once
//!    (`write/decide/blueprint.rs`, `replace`).
//! 2. This room compares what is stored (`compatibility/survey.rs`), then submits what is missing (`data/blueprint_change.rs`,
//!    `Backfill`; `write/decide/blueprint.rs`, `backfill`). Writes meanwhile are held to both blueprints
//!    (`write/decide/during_change.rs`).
//! 3. The change comes into force or is dropped (`finish_change`, `drop_change`).
//!
//! Beginning and ending a change are transactions. So is every piece of what lies between. First every stored resource
//! is compared with the changed blueprint, then what that blueprint needs of each is handed to the committer in small
//! pieces. From the beginning to the end, a write that the changed blueprint would refuse is refused
//! (`write/decide/during_change.rs`), so a resource that was compared once stays valid. A server that stops in the
//! middle starts the comparison over.

mod progress;
mod runner;
#[cfg(test)]
mod tests;

pub(crate) use runner::ChangeRunner;
