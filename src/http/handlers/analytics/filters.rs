//! The filters of reports: `filter[page]=/about` (`API.md` 4.8.12), with every message about them.

use bindery_analytics::{Dimension, FilterField, VisitFilter};
use bindery_model::error::{Code, Error, Result};
use bindery_model::sent::{quote, quote_all};
use bindery_query::{RawParams, split_list};

const FIELDS: [(&str, FilterField); 13] = [
    ("page", FilterField::Page),
    ("entry_page", FilterField::EntryPage),
    ("exit_page", FilterField::ExitPage),
    ("event", FilterField::Event),
    ("referrer", FilterField::Dimension(Dimension::Referrer)),
    ("device", FilterField::Dimension(Dimension::Device)),
    ("browser", FilterField::Dimension(Dimension::Browser)),
    ("country", FilterField::Dimension(Dimension::Country)),
    ("utm_source", FilterField::Dimension(Dimension::Source)),
    ("utm_medium", FilterField::Dimension(Dimension::Medium)),
    ("utm_campaign", FilterField::Dimension(Dimension::Campaign)),
    ("utm_content", FilterField::Dimension(Dimension::Content)),
    ("utm_term", FilterField::Dimension(Dimension::Term)),
];
const OPERATORS: [&str; 4] = ["eq", "ne", "in", "not_in"];
const MAX_FILTERS: usize = 20;
const MAX_VALUES: usize = 100;

/// Returns the filters of a request.
///
/// Errors: `INVALID_FILTER`.
pub(super) fn filters(params: &RawParams) -> Result<Vec<VisitFilter>> {
    let sent = params.filters()?;
    if sent.len() > MAX_FILTERS {
        return Err(invalid(format!("the request has {} filters; it must have at most {MAX_FILTERS}", sent.len())));
    }
    sent.into_iter().map(|(name, value)| filter(name, value)).collect()
}

fn filter(name: &str, value: &str) -> Result<VisitFilter> {
    let inner = name.strip_prefix("filter[").and_then(|rest| rest.strip_suffix(']'));
    let inner = inner.ok_or_else(|| {
        invalid(format!("{} is no filter; expected `filter[page]` or `filter[page][in]`", quote(name)))
    })?;
    let (field, operator) = inner.split_once("][").unwrap_or((inner, "eq"));
    let known = FIELDS.iter().find(|(known, _)| *known == field);
    let (_, field) = known.ok_or_else(|| {
        let fields = quote_all(FIELDS.iter().map(|(known, _)| known));
        invalid(format!("reports have no filter {}; there are {fields}", quote(field)))
    })?;
    let (is_list, is_negated) = match operator {
        "eq" | "equals" => (false, false),
        "ne" | "not_equals" => (false, true),
        "in" => (true, false),
        "not_in" => (true, true),
        other => {
            let operators = quote_all(OPERATORS);
            return Err(invalid(format!(
                "filters of reports have no operator {}; there are {operators}",
                quote(other)
            )));
        }
    };
    let values = if is_list { split_list(value) } else { vec![value.to_owned()] };
    if values.len() > MAX_VALUES {
        let count = values.len();
        return Err(invalid(format!("{} has {count} values; it must have at most {MAX_VALUES}", quote(name))));
    }
    Ok(VisitFilter { field: *field, values, is_negated })
}

fn invalid(message: String) -> Error {
    Error::new(Code::InvalidFilter, message)
}
