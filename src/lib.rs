//! Bindery: a headless content server.

pub mod model;
pub mod projection;
