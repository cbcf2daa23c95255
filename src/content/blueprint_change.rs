//! Carrying a blueprint change through, on a thread of its own while reads and writes go on.
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
