//! The content model: pure types and rules. Must not do I/O or know HTTP or storage.

pub mod ability;
pub mod blueprint;
pub mod error;
pub mod id;
pub mod json;
pub mod media;
pub mod number;
pub mod os_error;
pub mod sent;
pub mod site;
pub mod time;
pub mod value;
