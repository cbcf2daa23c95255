//! Types of stored data and of the data that readers see: records, unique claims, blueprint changes, the published
//! state.
//!
//! Decides nothing and starts no thread. Knows no module above it.

pub(crate) mod blueprint_change;
pub(crate) mod changes;
pub(crate) mod claims;
pub(crate) mod counters;
pub(crate) mod durations;
pub(crate) mod feed;
pub(crate) mod files;
pub(crate) mod format;
pub(crate) mod history;
pub(crate) mod index_mapping;
pub(crate) mod kept_answer;
pub(crate) mod leader;
pub(crate) mod lookup;
pub(crate) mod media_users;
pub(crate) mod packing;
pub(crate) mod records;
pub(crate) mod referrers;
pub(crate) mod refusals;
pub(crate) mod releases;
pub(crate) mod revision;
pub(crate) mod saved_view;
pub(crate) mod search_rule;
pub(crate) mod state;
pub(crate) mod steering;
pub(crate) mod steering_checks;
pub(crate) mod stored_copies;
pub(crate) mod synonym;
pub(crate) mod trash;
pub(crate) mod version;
pub(crate) mod visibility;
pub(crate) mod waiting_names;
pub(crate) mod webhook;
pub(crate) mod working;
