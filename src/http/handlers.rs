//! One file for each family of routes. A handler extracts its arguments, makes one call, and responds.

pub(crate) mod administration;
pub mod analytics;
pub(crate) mod answers;
pub(crate) mod backup;
pub(crate) mod bulk;
pub(crate) mod changes;
pub(crate) mod dashboard;
pub(crate) mod docs;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod media;
pub(crate) mod openapi;
pub(crate) mod resources;
pub(crate) mod scrape;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod status;
pub(crate) mod steering;
pub(crate) mod suggest;
mod tracking;
pub(crate) mod trash;
pub(crate) mod views;
pub(crate) mod webhooks;
pub(crate) mod welcome;
