//! The query engine of one blueprint: exact filters, substring search, collated sorting and exact totals, up to date at
//! once.
//!
//! An [`Index`] holds resources: an id, three dates, and for each variant a copy of typed columns, as its [`Schema`]
//! says. [`Index::apply`] takes changes; [`Index::snapshot`] gives one version of everything, which stays as it is
//! while others are made, and answers [`Query`]s.
//!
//! ```
//! use bindery_index::*;
//!
//! let title = Column { id: 1, kind: Kind::Text };
//! let schema = Schema { columns: vec![title], variants: vec![Variant { number: 1, locale: None }] };
//! let index = Index::in_memory(schema, Options::default());
//! let values = vec![(title.id, Value::Text("Straße".into()))];
//! index.apply(vec![IndexOp::Put {
//!     id: 7,
//!     stamps: Stamps { version: 1, created: 1, updated: 1, published: None },
//!     copies: vec![(1, Some(Copy { number: 1, values }))],
//! }]);
//!
//! let query = Query {
//!     variant: 1,
//!     filter: Filter::Column(title.id, Predicate::Substring(Anchor::End, "SSE".into())),
//!     sort: vec![SortKey { by: SortBy::Column(title.id), descending: false }],
//! };
//! let answer = index.snapshot().search(&query, 0, 25)?;
//! assert_eq!((answer.total, answer.hits[0].id), (1, 7));
//! # Ok::<(), Error>(())
//! ```
//!
//! # How it works
//!
//! Each resource has a *slot*, a small number; every answer is a bitmap of slots, and an order that it is picked from.
//! The copies of a variant lie in *runs*: one in memory that grows, others frozen, most on disk. A table says for each
//! slot which document of which run is its copy, so nothing in a run is ever changed. Publishing a version copies the
//! few chunks of those tables that were touched.
//!
//! The bitmap of each primitive and each order of all slots are kept with the version they are true of, and brought to
//! another version by asking for the slots alone that changed between the two. What a value means to a predicate is
//! defined in one place (`value.rs`); postings, scans and kept answers are only faster ways to the same answer, and
//! the module `oracle` (feature `oracle`) is the slow and obvious one that they are checked against.
//!
//! # What is left to the caller
//!
//! - One thread at a time writes. An index forgets what is not in a checkpoint: keep a log, and apply again.
//! - Numbers of columns are never used again, nor does a column change its kind.
//! - Numbers are never NaN; dates and instants are never `i64::MIN` or `i64::MAX`.
//! - Only [`Filter::Not`] and [`Predicate::Null`] hold for a null, and what the schema does not name is null.

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
