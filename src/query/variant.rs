//! `variant`, `fallback` and `fallback_mode` (`API.md` 2.5). A blueprint without variants ignores them. Must not know
//! copies.

use bindery_model::blueprint::Blueprint;
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;

use super::message::quoted_list;
use super::raw::RawParams;
use super::strict::ignored;

/// Returns the number of the requested variant; the default variant if none is requested.
///
/// # Errors
/// `INVALID_VARIANT`; `INVALID_PARAMETER` if it is given twice.
pub(super) fn requested(params: &RawParams, blueprint: &Blueprint) -> Result<u16, Error> {
    Ok(named(params, "variant", blueprint)?.unwrap_or_else(|| blueprint.default_variant()))
}

/// Tests whether filters, search and order also read the values of the fallback.
///
/// # Errors
/// `INVALID_PARAMETER` for a `fallback_mode` other than `all`.
pub(super) fn fallback_counts(params: &RawParams, blueprint: &Blueprint) -> Result<bool, Error> {
    match params.single("fallback_mode")?.filter(|_| !blueprint.variants.is_empty()) {
        None => Ok(false),
        Some("all") => Ok(true),
        Some(other) => {
            let message = format!("`fallback_mode` is {}; it must be `all`, or left out", quote(other));
            Err(Error::new(Code::InvalidParameter, message))
        }
    }
}

/// # Errors
/// `INVALID_PARAMETER` if a parameter of this module is given but has no effect.
pub(super) fn check_effect(params: &RawParams, blueprint: &Blueprint) -> Result<(), Error> {
    for parameter in ["variant", "fallback", "fallback_mode"] {
        if params.single(parameter)?.is_none() {
            continue;
        }
        if blueprint.variants.is_empty() {
            return Err(ignored(parameter, &format!("`{}` has no variants", blueprint.slug)));
        }
        if parameter == "fallback_mode" && params.single("fallback")?.is_none() {
            return Err(ignored(parameter, "there is no `fallback`"));
        }
    }
    Ok(())
}

/// Returns the number of the variant whose values replace nulls in the response.
///
/// # Errors
/// The errors of [`requested`].
pub(super) fn fallback(params: &RawParams, blueprint: &Blueprint) -> Result<Option<u16>, Error> {
    named(params, "fallback", blueprint)
}

fn named(params: &RawParams, parameter: &str, blueprint: &Blueprint) -> Result<Option<u16>, Error> {
    let sent = params.single(parameter)?;
    let Some(slug) = sent.filter(|_| !blueprint.variants.is_empty()) else { return Ok(None) };
    match blueprint.variant(slug) {
        Some(variant) => Ok(Some(variant.number)),
        None => {
            let slugs = quoted_list(blueprint.variants.iter().map(|variant| &variant.slug));
            let message = format!("`{parameter}` is {}; the variants of `{}` are {slugs}", quote(slug), blueprint.slug);
            Err(Error::new(Code::InvalidVariant, message))
        }
    }
}
