//! Bindery: a headless content server. `ARCHITECTURE.md` has the bird's-eye view.
//!
//! Modules in reading order: [`sanitize`] (HTML and CSS), [`model`] (pure types), [`store`], [`log`] and [`base`] (what is
//! on disk), [`query`] and [`projection`] (from parameters and resources to the index), [`access`], [`content`] (the
//! facade, with the one write path and the one read path), [`analytics`] (with its own log and files), [`http`] and
//! [`cli`] (translation tables), [`config`], [`demo`].

pub mod access;
pub mod analytics;
pub mod base;
pub mod cli;
pub mod config;
pub mod content;
pub mod demo;
pub mod http;
pub mod log;
pub mod model;
pub mod projection;
pub mod query;
pub mod sanitize;
pub mod store;
