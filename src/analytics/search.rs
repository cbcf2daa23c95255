//! Searches that ask to be counted, as they arrive, and the clicks on their results (`API.md` 4.8.13). It does not know
//! JSON, headers or the contents of resources.

use std::net::IpAddr;

use bindery_model::time::Millis;
use icu_normalizer::ComposingNormalizerBorrowed;
use serde::{Deserialize, Serialize};

use super::names::Name;
use super::rollup::SearchKey;
use super::session::Visitor;

/// The most bytes of a question that are kept; the rest is cut.
const MAX_QUESTION_BYTES: usize = 128;
/// The most blueprints under which one search counts, the first by slug: a search that waits has a bound of 4 KiB.
const MAX_BLUEPRINTS: usize = 20;

/// A search that was answered, and the request that asked for it. It is never written to disk or to the server's log.
pub struct TrackedSearch {
    /// The number in its id, see [`super::Analytics::issue_search`].
    pub number: u64,
    /// The host of the site that asked.
    pub site: String,
    /// The question as it was asked.
    pub question: String,
    /// True if something was found.
    pub found: bool,
    /// The slugs of the blueprints in which something was found, or of the only one that was searched.
    pub blueprints: Vec<String>,
    /// True if readers who see no drafts find the same: then the question may be suggested to others.
    pub is_public: bool,
    /// The visitor's address.
    pub address: IpAddr,
    /// The visitor's `User-Agent` header.
    pub user_agent: String,
}

/// A search that waits to be counted. It has a bounded size.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct QueuedSearch {
    pub(super) number: u64,
    pub(super) question: String,
    pub(super) found: bool,
    pub(super) blueprints: Vec<String>,
    pub(super) is_public: bool,
}

/// A click on a result, in terms of its search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultClick {
    /// The number in the id of the search.
    pub number: u64,
    /// The id of the clicked resource.
    pub resource: u128,
    /// The position in the whole list, from 1.
    pub position: u32,
}

/// A search to be counted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Search {
    pub(super) at: Millis,
    pub(super) site: Name,
    pub(super) visitor: Visitor,
    pub(super) number: u64,
    /// The rows under which it counts: first that of the question, then one for each blueprint.
    pub(super) keys: Vec<SearchKey>,
    pub(super) found: bool,
    pub(super) is_public: bool,
    /// True unless the question counts as one of many others.
    pub(super) has_own_row: bool,
}

/// A click to be counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Click {
    pub(super) at: Millis,
    pub(super) click: ResultClick,
}

impl QueuedSearch {
    /// Returns the search without the request that asked for it.
    pub(super) fn of(search: &TrackedSearch) -> QueuedSearch {
        QueuedSearch {
            number: search.number,
            question: normalized_question(&search.question),
            found: search.found,
            blueprints: search.blueprints.iter().take(MAX_BLUEPRINTS).cloned().collect(),
            is_public: search.is_public && search.found,
        }
    }
}

/// Returns the form of a question under which it is counted: in lowercase, with one space between words, at most 128
/// bytes.
pub fn normalized_question(question: &str) -> String {
    let visible: String = question.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    let spaced = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    let composed = ComposingNormalizerBorrowed::new_nfc().normalize(&spaced.to_lowercase()).into_owned();
    super::event::cut(composed, MAX_QUESTION_BYTES).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_counted_in_one_form() {
        let table = [
            ("Red  Shoes ", "red shoes"),
            ("\tred\u{0}shoes\n", "red shoes"),
            ("CAFE\u{301}", "caf\u{e9}"),
            ("\"Red shoes\" -blue", "\"red shoes\" -blue"),
            ("", ""),
        ];
        for (asked, counted) in table {
            assert_eq!(normalized_question(asked), counted, "{asked:?}");
        }
        assert_eq!(normalized_question(&"é".repeat(100)).len(), MAX_QUESTION_BYTES);
        assert_eq!(normalized_question(&format!("{} b", "a".repeat(MAX_QUESTION_BYTES - 1))), "a".repeat(127));
    }
}
