//! Bindery: a headless content server.

pub mod config;
pub mod model;
pub mod projection;
pub mod query;
