//! From query strings to typed queries: raw string → raw parameters → query (`API.md` 2.5 and 4.2 to 4.7).
//!
//! Owns every rule for parameters and every message about them. Must not know HTTP, tokens or stored data: the caller, who
//! knows what the token may see, restricts filters to that, and finds the resources that relations lead to.

mod changes;
mod filter;
mod format;
mod instant;
mod message;
mod name;
mod nearest;
mod page;
mod raw;
mod select;
mod sort;
pub mod strict;
mod variant;

#[cfg(test)]
mod tests;

use bindery_index::SortKey;

use self::filter::{Scope, copies_of};
use crate::model::blueprint::Blueprint;
use crate::model::error::Error;
use crate::model::time::Millis;

pub use changes::ChangeParams;
pub use filter::{Copies, Filter, Related, Relation};
pub use format::Format;
pub use page::Page;
pub use raw::{RawParams, decode_name};
pub use select::{Key, Selection};

/// Which resources are asked for, and in which order.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The copies whose values filter and order compare.
    pub copies: Copies,
    /// Which resources match.
    pub filter: Filter,
    /// The order, most significant key first.
    pub sort: Vec<SortKey>,
}

/// The parameters of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListParams {
    /// Which resources, in which order.
    pub query: Query,
    /// The variant whose values replace nulls in the response.
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
    /// The variant whose values replace nulls in the response.
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
    /// Which resources, in which order.
    pub query: Query,
    /// The variant whose values replace nulls in the response.
    pub fallback: Option<u16>,
    /// The parts of each resource that are returned.
    pub selection: Selection,
    /// The format.
    pub format: Format,
    /// Whether each resource is returned with the copies of all variants.
    pub all_variants: bool,
}

/// What all of a blueprint's parameters that choose resources have in common.
const CHOOSING: [&str; 8] =
    [strict::FILTERS, "search", "sort", "fields", "exclude", "variant", "fallback", "fallback_mode"];

impl ListParams {
    /// Reads the query string of a list. `filter[published]` compares with the UTC day of `now`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, `INVALID_VARIANT`, `INVALID_FILTER`, `INVALID_SORT`.
    pub fn parse<'a>(
        raw: &str,
        blueprint: &'a Blueprint,
        related: &'a Related<'a>,
        now: Millis,
    ) -> Result<ListParams, Error> {
        let params = RawParams::parse(raw);
        let is_strict = strict::check(&params, &[&["page", "per_page"][..], &CHOOSING].concat())?;
        Ok(ListParams {
            page: Page::parse(&params)?,
            selection: Selection::parse(&params, blueprint)?,
            fallback: variant::fallback(&params, blueprint)?,
            query: query(&params, blueprint, related, now, is_strict)?,
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
        if strict::check(&params, &["fields", "exclude", "variant", "fallback"])? {
            variant::check_effect(&params, blueprint)?;
        }
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
    pub fn parse<'a>(
        raw: &str,
        accept: Option<&str>,
        blueprint: &'a Blueprint,
        related: &'a Related<'a>,
        now: Millis,
    ) -> Result<ExportParams, Error> {
        let params = RawParams::parse(raw);
        let is_strict = strict::check(&params, &[&["format", "all_variants"][..], &CHOOSING].concat())?;
        let all_variants = params.flag("all_variants")?;
        Ok(ExportParams {
            format: Format::parse(&params, accept, all_variants)?,
            all_variants,
            selection: Selection::parse(&params, blueprint)?,
            fallback: variant::fallback(&params, blueprint)?,
            query: query(&params, blueprint, related, now, is_strict)?,
        })
    }
}

fn query<'a>(
    params: &RawParams,
    blueprint: &'a Blueprint,
    related: &'a Related<'a>,
    now: Millis,
    is_strict: bool,
) -> Result<Query, Error> {
    if is_strict {
        variant::check_effect(params, blueprint)?;
    }
    let slug_of = |number: u16| blueprint.variants.iter().find(|variant| variant.number == number);
    let slug_of = |number: u16| slug_of(number).map(|variant| variant.slug.as_str());
    let variant = slug_of(variant::requested(params, blueprint)?);
    let fallback = match variant::fallback_counts(params, blueprint)? {
        true => variant::fallback(params, blueprint)?.and_then(slug_of),
        false => None,
    };
    let scope = Scope { blueprint, related, variant, fallback, now, is_strict, path: String::new() };
    let copies = copies_of(blueprint, variant, fallback);
    let filter = filter::parse(params, &scope)?;
    Ok(Query { copies, filter, sort: sort::parse(params, blueprint, copies.fallback)? })
}
