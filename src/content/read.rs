//! Reads of resources: one, a list, an export. Each is answered from one snapshot, and from stored versions that the
//! snapshot names.

pub(crate) mod authors;
pub(crate) mod export;
pub(crate) mod referrers;
mod resolve;
pub(crate) mod resource;
pub(crate) mod view;
