//! The links of a list (`API.md` 4.2.2, 4.2.8): every other parameter as it was sent, and `page` or `cursor` last.

use bindery_query::{Page, decode_name};

/// The links of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Links {
    /// The first page.
    pub(crate) first: String,
    /// The last page; `None` in a walk.
    pub(crate) last: Option<String>,
    /// The previous page; the last one if this page is past it.
    pub(crate) prev: Option<String>,
    /// The next page.
    pub(crate) next: Option<String>,
}

impl Links {
    /// Returns the links of a page of a list with `total` items. `base` is the list's absolute address without a query
    /// string, `raw` the query string as it was sent.
    pub(crate) fn new(base: &str, raw: &str, page: Page, total: u64) -> Links {
        let last = page.last(total);
        let prefix = prefix(base, raw, "page");
        let link = |number: u64| format!("{prefix}page={number}");
        Links {
            first: link(1),
            last: Some(link(last)),
            prev: (page.number > 1).then(|| link(last.min(page.number - 1))),
            next: (page.number < last).then(|| link(page.number + 1)),
        }
    }

    /// Returns the links of a page of a walk. `next` is the cursor of the next page.
    pub(crate) fn of_walk(base: &str, raw: &str, next: Option<&str>) -> Links {
        let prefix = prefix(base, raw, "cursor");
        let link = |cursor: &str| format!("{prefix}cursor={cursor}");
        Links { first: link(""), last: None, prev: None, next: next.map(link) }
    }
}

/// Returns the address of the list with all parameters but one.
fn prefix(base: &str, raw: &str, without: &str) -> String {
    let mut prefix = format!("{base}?");
    for part in raw.split('&').filter(|part| !part.is_empty()) {
        let name = part.split_once('=').map_or(part, |(name, _)| name);
        if decode_name(name) != without {
            prefix.push_str(part);
            prefix.push('&');
        }
    }
    prefix
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn links_keep_the_other_parameters_and_end_with_the_page() {
        let base = "https://cms.example/v2/resources/articles";
        let link = |raw, number, total| Links::new(base, raw, Page { number, per_page: 10 }, total);

        let middle = link("filter[title]=a%20b+c&page=2&%70age=4&&search=x", 2, 30);
        let prefix = format!("{base}?filter[title]=a%20b+c&search=x&page=");
        assert_eq!(middle.first, format!("{prefix}1"));
        assert_eq!(middle.prev, Some(format!("{prefix}1")));
        assert_eq!(middle.next, Some(format!("{prefix}3")));
        assert_eq!(middle.last, Some(format!("{prefix}3")));
        let walk = Links::of_walk(base, "cursor=abc&search=x", Some("def"));
        let expected = Links {
            first: format!("{base}?search=x&cursor="),
            last: None,
            prev: None,
            next: Some(format!("{base}?search=x&cursor=def")),
        };
        assert_eq!(walk, expected);
        assert_eq!(Links::of_walk(base, "cursor=abc&search=x", None).next, None);

        let pages = [
            // (page, total) → (prev, next, last)
            ((1, 0), (None, None, 1)),
            ((1, 10), (None, None, 1)),
            ((1, 11), (None, Some(2), 2)),
            ((2, 11), (Some(1), None, 2)),
            ((2, 0), (Some(1), None, 1)),
            ((9, 21), (Some(3), None, 3)),
        ];
        for ((number, total), (prev, next, last)) in pages {
            let at = |number: i32| format!("{base}?page={number}");
            let expected = Links { first: at(1), last: Some(at(last)), prev: prev.map(at), next: next.map(at) };
            assert_eq!(link("", number, total), expected, "page {number} of {total}");
        }
    }

    proptest! {
        #[test]
        fn links_never_panic(raw in "(page|%|\\[|=|&|\\PC){0,24}") {
            let page = Page { number: u64::MAX, per_page: 100 };
            Links::new("http://localhost/v2/resources/articles", &raw, page, u64::MAX);
        }
    }
}
