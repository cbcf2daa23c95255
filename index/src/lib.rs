//! The query engine of one blueprint.

mod columns;
mod disk;
mod error;
mod memory;
mod options;
mod query;
mod run;
mod schema;
mod segment;
mod text;
mod value;

pub use error::Error;
pub use options::Options;
pub use query::*;
pub use schema::*;
