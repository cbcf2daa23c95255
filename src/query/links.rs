//! The links of a list (`API.md` 4.2.2): every other parameter as it was sent, and `page` last.

use super::page::Page;
use super::raw::decode_name;

/// The links of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    /// The first page.
    pub first: String,
    /// The last page.
    pub last: String,
    /// The page before; of a page past the last, the last.
    pub prev: Option<String>,
    /// The page after.
    pub next: Option<String>,
}

impl Links {
    /// The links of a page of a list with `total` items. `base` is the list's absolute address without a query string,
    /// `raw` the query string as it was sent.
    pub fn new(base: &str, raw: &str, page: Page, total: u64) -> Links {
        let last = page.last(total);
        let prefix = prefix(base, raw);
        let link = |number: u64| format!("{prefix}page={number}");
        Links {
            first: link(1),
            last: link(last),
            prev: (page.number > 1).then(|| link(last.min(page.number - 1))),
            next: (page.number < last).then(|| link(page.number + 1)),
        }
    }
}

fn prefix(base: &str, raw: &str) -> String {
    let mut prefix = format!("{base}?");
    for part in raw.split('&').filter(|part| !part.is_empty()) {
        let name = part.split_once('=').map_or(part, |(name, _)| name);
        if decode_name(name) != "page" {
            prefix.push_str(part);
            prefix.push('&');
        }
    }
    prefix
}
