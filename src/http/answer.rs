//! The parts of a response: JSON shapes, entity tags, encodings, and the caches of answers.

pub(crate) mod answer_cache;
pub(crate) mod bounded;
pub(crate) mod cache_tags;
pub(crate) mod encoding;
pub(crate) mod links;
pub(crate) mod offload;
pub(crate) mod recode;
pub(crate) mod repeated;
pub(crate) mod represent;
pub(crate) mod respond;
pub(crate) mod server_timing;
