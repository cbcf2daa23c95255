//! The analytics of a server. A single server counts what it is sent. In a cluster (`API.md` 4.20.14) the leader counts
//! for all nodes: the others collect what they are sent and hand it over in batches, each of which counts once.
//!
//! The leader keeps what it counted in the storage of the cluster, where the next leader finds it. A batch is confirmed
//! when it is there with its searches, which rest for a second first; until then its node keeps it.
//!
//! ```text
//! analytics/entries/00000000000000000042   what was counted since the entry before, or everything
//! analytics/files/<BLAKE3>                 a file that entries with everything name
//! analytics/salts/2026-11-28               32 random bytes, of which the nodes make the salt of the day
//! ```
//!
//! Must not know HTTP, or who leads.

mod entry;
mod error;
mod folder;
mod node;
mod outbox;
mod salts;
mod server;
mod shared_store;
#[cfg(test)]
mod tests;

pub use error::CountingError;
pub use folder::{is_copy, set_copy_aside, take_along};
pub use node::{NodeOptions, Received, bring_along};
pub use server::ServerAnalytics;
