//! Bindery: a headless content server.

pub mod model;
