//! `strict=true`: parameters that would be ignored are errors (`API.md` 4.2.4). Must not know what a parameter means.

use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;

use super::message::quoted_list;
use super::nearest::with_nearest;
use super::raw::RawParams;

/// The parameter that every endpoint knows in addition to its own.
const EVERYWHERE: &str = "strict";

/// The name under which endpoints list all parameters `filter[…]`.
pub const FILTERS: &str = "filter[…]";

/// The name under which endpoints list all parameters `fields[…]`, which follow `expand`.
pub(super) const FIELDS_OF: &str = "fields[…]";

/// Returns whether the request is strict. A strict request may have only the parameters in `known`, and `strict`
/// itself.
///
/// # Errors
/// `INVALID_PARAMETER` for another parameter, with a suggestion from `known`, and for a `strict` that is not a boolean.
pub fn check(params: &RawParams, known: &[&str]) -> Result<bool, Error> {
    if !params.flag("strict")? {
        return Ok(false);
    }
    check_names(params, known)?;
    Ok(true)
}

/// Like [`check`], for a request that is always strict.
///
/// # Errors
/// `INVALID_PARAMETER` for a parameter that is neither in `known` nor `strict`.
pub fn check_names(params: &RawParams, known: &[&str]) -> Result<(), Error> {
    for name in params.names() {
        let is_filter = known.contains(&FILTERS) && (name == "filter" || name.starts_with("filter["));
        let is_selection = known.contains(&FIELDS_OF) && name.starts_with("fields[") && name.ends_with(']');
        if name == EVERYWHERE || is_filter || is_selection || known.contains(&name) {
            continue;
        }
        let problem = format!("{} is not a parameter of this endpoint", quote(name));
        let known = known.iter().copied().chain([EVERYWHERE]);
        let problem = with_nearest(&problem, name, known.clone());
        let known = quoted_list(known);
        return Err(Error::new(Code::InvalidParameter, format!("{problem} Its parameters: {known}")));
    }
    Ok(())
}

/// Returns the error for a parameter that has no effect.
pub fn ignored(parameter: &str, why: &str) -> Error {
    Error::new(Code::InvalidParameter, format!("{} has no effect: {why}", quote(parameter)))
}
