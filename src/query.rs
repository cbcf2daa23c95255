//! From query strings to typed queries: raw string → raw parameters → query (`API.md` 2.5 and 4.2 to 4.7).
//!
//! Owns every rule for parameters and every message about them. Must not know HTTP, tokens or stored data: the caller, who
//! knows what the token may see, restricts filters to that.

mod filter;
mod format;
mod instant;
mod message;
mod name;
mod page;
mod raw;
mod select;
mod sort;
mod variant;

#[cfg(test)]
mod tests;

use bindery_index::Query;

use crate::model::blueprint::Blueprint;
use crate::model::error::Error;
use crate::model::time::Millis;

pub use format::Format;
pub use page::Page;
pub use raw::{RawParams, decode_name};
pub use select::{Key, Selection};

/// The parameters of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListParams {
    /// Filter, order, and the variant whose values both compare.
    pub query: Query,
    /// The variant whose values replace nulls in the response; filter and order ignore it.
    pub fallback: Option<u16>,
    /// The requested page.
    pub page: Page,
    /// The parts of each resource that are returned.
    pub selection: Selection,
}

/// The parameters of a read of one resource.
#[derive(Debug, Clone, PartialEq)]
pub struct GetParams {
    /// The variant whose attributes are returned.
    pub variant: u16,
    /// The variant whose values replace nulls in the response; filter and order ignore it.
    pub fallback: Option<u16>,
    /// The parts of the resource that are returned.
    pub selection: Selection,
}

/// The parameters of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteParams {
    /// The variant whose copy is written and returned.
    pub variant: u16,
}

/// The parameters of an export.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportParams {
    /// Filter, order, and the variant whose values both compare.
    pub query: Query,
    /// The variant whose values replace nulls in the response; filter and order ignore it.
    pub fallback: Option<u16>,
    /// The parts of each resource that are returned.
    pub selection: Selection,
    /// The format.
    pub format: Format,
    /// Whether each resource is returned with the copies of all variants.
    pub all_variants: bool,
}

impl ListParams {
    /// Reads the query string of a list. `filter[published]` compares with the UTC day of `now`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, `INVALID_VARIANT`, `INVALID_FILTER`, `INVALID_SORT`.
    pub fn parse(raw: &str, blueprint: &Blueprint, now: Millis) -> Result<ListParams, Error> {
        let params = RawParams::parse(raw);
        Ok(ListParams {
            page: Page::parse(&params)?,
            selection: Selection::parse(&params, blueprint)?,
            fallback: variant::fallback(&params, blueprint)?,
            query: query(&params, blueprint, now)?,
        })
    }
}

impl GetParams {
    /// Reads the query string of a read of one resource.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, `INVALID_VARIANT`.
    pub fn parse(raw: &str, blueprint: &Blueprint) -> Result<GetParams, Error> {
        let params = RawParams::parse(raw);
        Ok(GetParams {
            selection: Selection::parse(&params, blueprint)?,
            variant: variant::requested(&params, blueprint)?,
            fallback: variant::fallback(&params, blueprint)?,
        })
    }
}

impl WriteParams {
    /// Reads the query string of a write.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, `INVALID_VARIANT`.
    pub fn parse(raw: &str, blueprint: &Blueprint) -> Result<WriteParams, Error> {
        let params = RawParams::parse(raw);
        Ok(WriteParams { variant: variant::requested(&params, blueprint)? })
    }
}

impl ExportParams {
    /// Reads the query string of an export. `accept` is the `Accept` header, which counts if there is no `format`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, `INVALID_VARIANT`, `INVALID_FILTER`, `INVALID_SORT`.
    pub fn parse(raw: &str, accept: Option<&str>, blueprint: &Blueprint, now: Millis) -> Result<ExportParams, Error> {
        let params = RawParams::parse(raw);
        let all_variants = params.flag("all_variants")?;
        Ok(ExportParams {
            format: Format::parse(&params, accept, all_variants)?,
            all_variants,
            selection: Selection::parse(&params, blueprint)?,
            fallback: variant::fallback(&params, blueprint)?,
            query: query(&params, blueprint, now)?,
        })
    }
}

fn query(params: &RawParams, blueprint: &Blueprint, now: Millis) -> Result<Query, Error> {
    Ok(Query {
        variant: variant::requested(params, blueprint)?,
        filter: filter::parse(params, blueprint, now)?,
        sort: sort::parse(params, blueprint)?,
    })
}
