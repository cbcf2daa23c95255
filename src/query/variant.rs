//! `variant` and `fallback` (`API.md` 2.5). A blueprint without variants ignores both. Must not know copies.

use super::message::quoted_list;
use super::raw::RawParams;
use crate::model::blueprint::Blueprint;
use crate::model::error::{Code, Error};
use crate::model::sent::quote;

/// The number of the requested variant; the default variant if none is requested.
///
/// # Errors
/// `INVALID_VARIANT`; `INVALID_PARAMETER` if it is given twice.
pub(super) fn requested(params: &RawParams, blueprint: &Blueprint) -> Result<u16, Error> {
    Ok(named(params, "variant", blueprint)?.unwrap_or_else(|| blueprint.default_variant()))
}

/// The number of the variant whose values replace nulls in the response.
///
/// # Errors
/// As [`requested`].
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
