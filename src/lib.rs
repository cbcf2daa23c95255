//! Bindery: a headless content server.

pub mod base;
pub mod log;
pub mod model;
pub mod store;
