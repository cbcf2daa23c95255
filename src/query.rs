//! What a query string asks for: raw string → raw parameters → typed query (`API.md` 2.5 and 4.2 to 4.7).
//!
//! Owns every rule of reading parameters and every message about them. It must not know HTTP, tokens or stored data:
//! who may see drafts is the caller's to add, with [`published_only`].

mod filter;
mod format;
mod instant;
mod links;
mod name;
mod page;
mod raw;
mod select;
mod sort;
mod variant;

#[cfg(test)]
mod tests;

use bindery_index::{Filter, Query};

use crate::model::blueprint::Blueprint;
use crate::model::error::Error;
use crate::model::time::Millis;

pub use format::Format;
pub use links::Links;
pub use page::Page;
pub use raw::RawParams;
pub use select::{Key, Selection};

/// What a list is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ListParams {
    /// Which resources, in which order, by the values of which variant.
    pub query: Query,
    /// The variant that fills what is null in the answer.
    pub fallback: Option<u16>,
    /// Which page.
    pub page: Page,
    /// What of each resource is answered.
    pub selection: Selection,
}

/// What a single resource is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct GetParams {
    /// The variant whose attributes are answered.
    pub variant: u16,
    /// The variant that fills what is null in the answer.
    pub fallback: Option<u16>,
    /// What of the resource is answered.
    pub selection: Selection,
}

/// What every write takes in its query string.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteParams {
    /// The variant whose copy is written and answered.
    pub variant: u16,
}

/// What an export is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportParams {
    /// Which resources, in which order, by the values of which variant.
    pub query: Query,
    /// The variant that fills what is null in the answer.
    pub fallback: Option<u16>,
    /// What of each resource is answered.
    pub selection: Selection,
    /// In which form.
    pub format: Format,
    /// Whether each resource is answered with the copies of all variants.
    pub all_variants: bool,
}

impl ListParams {
    /// Reads the query string of a list. `now` says which day `filter[published]` compares with.
    ///
    /// Errors: `INVALID_PARAMETER`, `INVALID_VARIANT`, `INVALID_FILTER`, `INVALID_SORT`.
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
    /// Errors: `INVALID_PARAMETER`, `INVALID_VARIANT`.
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
    /// Errors: `INVALID_PARAMETER`, `INVALID_VARIANT`.
    pub fn parse(raw: &str, blueprint: &Blueprint) -> Result<WriteParams, Error> {
        let params = RawParams::parse(raw);
        Ok(WriteParams { variant: variant::requested(&params, blueprint)? })
    }
}

impl ExportParams {
    /// Reads the query string of an export. `accept` is the `Accept` header, which decides where no `format` is given.
    ///
    /// Errors: `INVALID_PARAMETER`, `INVALID_VARIANT`, `INVALID_FILTER`, `INVALID_SORT`.
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

/// The filter, less the drafts: what a token without `preview` may see of a blueprint that is not singular.
pub fn published_only(filter: Filter) -> Filter {
    let published = Filter::Not(Box::new(Filter::Draft));
    match filter {
        Filter::All => published,
        filter => Filter::And(vec![published, filter]),
    }
}

/// Names in backticks with commas between.
fn list<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect();
    names.join(", ")
}

fn query(params: &RawParams, blueprint: &Blueprint, now: Millis) -> Result<Query, Error> {
    Ok(Query {
        variant: variant::requested(params, blueprint)?,
        filter: filter::parse(params, blueprint, now)?,
        sort: sort::parse(params, blueprint)?,
    })
}
