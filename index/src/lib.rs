//! The query engine of one blueprint.

mod apply;
mod bitmap;
mod cache;
mod changes;
mod collate;
mod columns;
mod disk;
mod error;
mod evaluate;
mod exchange;
mod index;
mod indexes;
mod manifest;
mod memory;
mod options;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod order;
mod query;
mod run;
mod schema;
mod segment;
mod snapshot;
mod state;
mod table;
mod text;
mod value;

pub use error::Error;
pub use index::Index;
pub use indexes::{Checkpoint, Indexes};
pub use options::Options;
pub use query::*;
pub use schema::*;
pub use snapshot::{Snapshot, Stream};
