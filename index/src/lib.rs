//! The query engine of one blueprint.

mod error;
mod query;
mod schema;
mod segment;

pub use error::Error;
pub use query::*;
pub use schema::*;
