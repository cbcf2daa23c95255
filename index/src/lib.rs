//! The query engine of one blueprint.

mod query;
mod schema;

pub use query::*;
pub use schema::*;
