//! Answers queries on one version of an index: a filter becomes a bitmap of slots, an order becomes a list of slots,
//! and a page is cut from both. It knows no writes.

pub use aggregates::Aggregates;
pub(crate) use context::SearchContext;
pub use coverage::{FEW, WordsFound};
pub use kept_page::{KeptPage, PageDependence};
pub(crate) use query_cache::{Caches, QueryCache};
pub use reasons::{FoundWord, Reason, Way, WordReason};
pub use relevance::Rank;
pub use result_set::ResultSet;
pub use snapshot::{RankedHits, Snapshot, Stream};

mod aggregates;
mod boost;
mod changed_slots;
mod completions;
mod compounds;
mod context;
mod cost;
mod coverage;
mod dated;
mod documents;
mod estimate;
mod evaluate;
mod facet;
mod kept_page;
mod key_column;
mod matches;
mod meant;
mod nearness;
mod order;
mod ordered_matches;
mod page;
mod predicate_key;
mod query_cache;
mod range_page;
mod reasons;
mod relevance;
mod result_set;
mod results;
mod seek;
mod skip;
mod slot_order;
mod snapshot;
mod stats;
mod text_search;
mod traced;
mod walk;
