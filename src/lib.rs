//! Bindery: a headless content server. `ARCHITECTURE.md` has the bird's-eye view.
//!
//! Modules in reading order:
//!
//! - [`sanitize`] cleans HTML and CSS, and [`model`] has types that do no I/O.
//! - [`log`], [`store`] and [`base`] own the files on disk.
//! - [`query`] and [`projection`] translate parameters and resources for the index.
//! - [`access`] has tokens, members and how they sign in. [`content`] does everything else with content: one write path, one read path.
//! - [`webhooks`] delivers changes of content. [`analytics`] counts pageviews, with its own log and files.
//! - [`dashboard`] has the files of the dashboard.
//! - [`http`] and [`cli`] translate requests and commands. [`config`] has the settings, [`demo`] the demonstration.

pub mod access;
pub mod analytics;
pub mod base;
pub mod cli;
pub mod config;
pub mod content;
pub mod dashboard;
pub mod demo;
pub mod failure;
mod hashed;
pub mod http;
pub mod log;
pub mod model;
pub mod projection;
pub mod query;
pub mod sanitize;
pub mod store;
pub mod sync;
pub mod webhooks;
