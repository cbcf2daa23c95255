//! Reads of resources: one, a list, an export. Each is answered from one snapshot, and from stored versions that the
//! snapshot names.

mod aggregate;
pub(crate) mod authors;
pub(crate) mod changes;
mod cursor;
pub(crate) mod everywhere;
mod expand;
pub(crate) mod explain;
pub(crate) mod export;
mod highlight;
pub(crate) mod history;
pub(crate) mod kept_list;
pub(crate) mod list;
pub(crate) mod neighbors;
pub(crate) mod objects;
mod reasons;
pub(crate) mod referrers;
mod resolve;
pub(crate) mod resource;
pub(crate) mod rule_preview;
pub(crate) mod suggest;
pub(crate) mod trash;
pub(crate) mod view;
