//! The query engine of one blueprint.

mod error;
mod memory;
mod options;
mod query;
mod run;
mod schema;
mod text;
mod value;

pub use error::Error;
pub use options::Options;
pub use query::*;
pub use schema::*;
