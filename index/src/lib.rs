//! The query engine of one blueprint: exact filters, substring search, collated sorting and exact totals. Every write
//! is visible to the next query.
//!
//! An [`Index`] holds resources. A resource has an id, a version, three dates, and for each variant a copy: the typed
//! columns that the [`Schema`] names. [`Index::apply`] applies operations. [`Index::snapshot`] returns one version of
//! everything, which later writes do not change, and which answers each [`Query`].
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
//! let result = index.snapshot().search(&query, 0, 25)?;
//! assert_eq!((result.total, result.hits[0].id), (1, 7));
//! # Ok::<(), Error>(())
//! ```
//!
//! # Slots, runs and versions
//!
//! Each resource has a *slot*, a small number. A filter yields a bitmap of slots, and an order yields a list of slots.
//!
//! The copies of a variant are *documents* in *runs*. A run is what Lucene calls a segment: one grows in memory, older
//! ones are frozen, and most are on disk. A run on disk has a *column file*, which holds all values and is the source
//! of truth; a *dictionary*, an inverted index: sorted strings, each with a *posting list*; and the *orders* of its
//! columns. A *term* is what a string in the dictionary states about a document.
//!
//! Nothing in a run is ever changed, and there are no tombstones. Instead, a table of *locations* has, for each slot,
//! the run and the document with the current copy, and a bitmap for each run has its current documents. A *version* is
//! the set of these tables, bitmaps and runs. Publishing a version copies only the chunks that were written to: a few
//! KiB for each resource.
//!
//! A variant may have *working copies*, which are copies of a variant with a number of its own ([`working_variant`]).
//! No live query sees them. [`Snapshot::working`] returns the same resources with working copies in the place of live
//! ones.
//!
//! Runs of similar size are merged in the background, which drops outdated documents.
//!
//! Every block of a run is compared with its checksum before it is first used. Once damage is found, every search
//! fails, and [`Indexes::damaged`] names the index: its owner creates it again.
//!
//! # From a filter to a bitmap
//!
//! 1. A filter is a tree of [`Filter::And`], [`Filter::Or`] and [`Filter::Not`] over primitives, such as a predicate on
//!    a column.
//! 2. A primitive is evaluated on each run. On disk, equality and list elements are looked up in the dictionary. A
//!    substring is looked up by the words, joints and grams that contain it or that it contains; if these do not
//!    decide, the text of each candidate is searched. A range of numbers or instants is a slice of the order of its
//!    column; a range of texts scans the column. Memory runs are small, so every document is tested.
//! 3. Documents become slots, and outdated documents are dropped. The bitmaps are combined according to the tree. In an
//!    And, the primitives with the shortest posting lists and slices come first; once few candidates are left, the
//!    others are tested on each candidate.
//! 4. The bitmap of each primitive is cached with its version. For another version, only the slots that changed between
//!    the two are tested again.
//!
//! One place, `predicate.rs`, defines whether a value satisfies a predicate. Posting lists, scans and the cache
//! are faster ways to the same result. The module `oracle` (feature `oracle`) is a slow and obvious evaluator to check
//! them against.
//!
//! # From an order to a page
//!
//! The total is the number of bits in the bitmap. Small results are sorted. For a page near the beginning, the orders
//! of the runs are merged up to the page, skipping documents that do not match. For a page further back, counting
//! matches along those orders finds where to begin merging. The matches of a filter that is asked for again in the same
//! order are kept as one bit for each document of the order: then counting takes no time, and a range of the first sort
//! key is two positions. The order of all slots is the complete merge. It is used for reading to the end, for pages by
//! dates, and for pages among many equal values. It is cached: for another version, only the changed slots are moved. A
//! page is read by walking the order from the nearer end. Ties are broken by id, so an order never depends on where
//! copies are stored.
//!
//! # Rules
//!
//! - Only one thread at a time may write.
//! - Operations that no [`Checkpoint`] made durable are lost at a restart: keep a log, and apply its end again.
//! - Column numbers must not be reused, and a column must not change its kind.
//! - Numbers must not be NaN. Dates and instants must not be `i64::MIN` or `i64::MAX`.
//! - Only [`Filter::Not`] and [`Predicate::Null`] hold for a null. Columns and variants that the schema does not name
//!   are null.

mod bitmap;
mod collate;
mod damage;
mod error;
mod files;
mod ids;
mod index;
mod indexes;
mod interrupt;
mod language;
mod live_set;
mod names;
mod options;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod packing;
mod period;
mod pieces;
mod pins;
mod predicate;
pub mod priority;
mod query;
mod rank_bitmap;
mod run;
mod schema;
mod search;
mod shared_test;
mod slot_table;
mod slots;
mod sort;
mod sum;
mod text;
mod text_query;
mod tokens;
mod trace;
mod value;
mod varint;
mod version;
mod working;

pub use error::Error;
pub use ids::IdSet;
pub use index::Index;
pub use indexes::{Checkpoint, FolderCheck, FolderProblem, Indexes, TEXT_DATA, checkpointed};
pub use interrupt::Interrupt;
pub use language::Language;
pub use options::{Options, Thresholds};
pub use query::*;
pub use schema::*;
pub use search::{
    Aggregates, Completion, Completions, FEW as FEW_MATCHES, FoundWord, KeptPage, PageDependence, Rank, RankedHits,
    Reason, ResultSet, Snapshot, Stream, Way, WordReason,
};
pub use text::composed;
pub use text_query::{
    Boost, Curve, Expansion, LastWord, Mark, Pin, SynonymEntry, Synonymous, Synonyms, TextField, TextQuery, Words,
    last_word, row_of_words, word_count,
};
pub use trace::{StepKind, Trace, TraceStep};
