//! What is sent back: JSON shapes, tags, encodings, and the answers that are kept.

pub(crate) mod answer_cache;
pub(crate) mod bounded;
pub(crate) mod encoding;
pub(crate) mod links;
pub(crate) mod offload;
pub(crate) mod recode;
pub(crate) mod repeated;
pub(crate) mod represent;
pub(crate) mod respond;
pub(crate) mod server_timing;
