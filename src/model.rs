//! The content model: pure types, no I/O, nothing of HTTP or of storage.

pub mod ability;
pub mod blueprint;
pub mod error;
pub mod html;
pub mod id;
pub mod json;
pub mod sent;
pub mod site;
pub mod time;
pub mod value;
