//! `page` and `per_page` (`API.md` 4.2.1). Must not know the number of items.

use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;

use super::raw::RawParams;

const DEFAULT_PER_PAGE: u64 = 25;
const MAX_PER_PAGE: u64 = 100;

/// One page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The number of the page, from 1. It may be past the last page.
    pub number: u64,
    /// The number of items on a page, 1 to 100.
    pub per_page: u64,
}

impl Page {
    /// Reads the two parameters.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`.
    pub fn parse(params: &RawParams) -> Result<Page, Error> {
        let page = params.single("page")?.map_or(Some(1), natural);
        let per_page = params.single("per_page")?.map_or(Some(DEFAULT_PER_PAGE), natural);
        Ok(Page {
            number: page.ok_or_else(|| invalid(params, "page", "a whole number, 1 or more"))?,
            per_page: per_page
                .filter(|count| *count <= MAX_PER_PAGE)
                .ok_or_else(|| invalid(params, "per_page", "a whole number from 1 to 100"))?,
        })
    }

    /// Returns the number of items before this page.
    pub fn offset(&self) -> u64 {
        (self.number - 1).saturating_mul(self.per_page)
    }

    /// Returns the number of the last page of `total` items; 1 if there are none.
    pub fn last(&self, total: u64) -> u64 {
        total.div_ceil(self.per_page).max(1)
    }
}

/// Returns a number of 1 or more, in digits only. A number beyond `u64` becomes the largest: both are past the last
/// page.
fn natural(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX)).filter(|number| *number >= 1)
}

fn invalid(params: &RawParams, name: &str, expected: &str) -> Error {
    let sent = params.single(name).ok().flatten().unwrap_or_default();
    Error::new(Code::InvalidParameter, format!("`{name}` is {}; it must be {expected}", quote(sent)))
}
