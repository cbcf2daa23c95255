//! Bindery: a headless content server.

pub mod config;
pub mod http;
pub mod model;
pub mod projection;
pub mod query;
