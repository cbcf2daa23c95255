//! One condition of a query string, and the messages about its value. Must not know what fields and operators mean to
//! the index.

use bindery_index::Filter;
use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;

use super::super::raw;
use super::operator::Operator;
use super::value::split_list;

/// The most values in a list.
const MAX_LIST_VALUES: usize = 1_000;

/// A condition on a field that exists, with an operator that the field supports.
pub(super) struct Condition<'a> {
    /// The text between `filter[` and the operator, for messages.
    pub(super) label: &'a str,
    pub(super) operator: &'static Operator,
    pub(super) value: &'a str,
}

impl Condition<'_> {
    /// Returns the values of an operator that takes a list, such as `in`.
    ///
    /// # Errors
    /// `INVALID_FILTER` for more than 1,000 values.
    pub(super) fn list(&self) -> Result<Vec<String>, Error> {
        let values = split_list(self.value);
        if values.len() > MAX_LIST_VALUES {
            let (label, operator, count) = (self.label, self.operator.name, values.len());
            return Err(invalid(format!(
                "`filter[{label}][{operator}]` has {count} values; it must have at most {MAX_LIST_VALUES}"
            )));
        }
        Ok(values)
    }

    /// Returns the two values of a `between`.
    ///
    /// # Errors
    /// `INVALID_FILTER` for another number of values.
    pub(super) fn pair(&self) -> Result<[String; 2], Error> {
        let Condition { label, value, .. } = self;
        <[String; 2]>::try_from(split_list(value)).map_err(|values| {
            invalid(format!(
                "`filter[{label}][between]` is {}, which has {} value{}; \
                 it must have two, separated by a comma (write `\\,` for a comma inside a value)",
                quote(value),
                values.len(),
                if values.len() == 1 { "" } else { "s" }
            ))
        })
    }

    /// Returns the value of an operator that takes a boolean, such as `null`.
    ///
    /// # Errors
    /// `INVALID_FILTER` for a value that is not a boolean.
    pub(super) fn boolean(&self) -> Result<bool, Error> {
        raw::boolean(self.value).ok_or_else(|| self.not_a_boolean())
    }

    /// Returns the error for a value that is not a boolean.
    pub(super) fn not_a_boolean(&self) -> Error {
        let Condition { label, operator, value } = self;
        let operator = operator.name;
        invalid(format!("`filter[{label}][{operator}]` is {}; it must be `true`, `1`, `false` or `0`", quote(value)))
    }

    /// Returns the error for `value`, which is the condition's value or an entry of it.
    pub(super) fn not_a_time(&self, value: &str) -> Error {
        let Condition { label, operator, .. } = self;
        invalid(format!(
            "`filter[{label}][{}]` has the value {}, which is not a date or timestamp; \
             examples are `2026-11-20` and `2026-11-20T20:42:31+00:00`",
            operator.name,
            quote(value)
        ))
    }
}

/// Returns the complement of a filter.
pub(super) fn not(filter: Filter) -> Filter {
    match filter {
        Filter::All => Filter::Nothing,
        Filter::Nothing => Filter::All,
        Filter::Not(filter) => *filter,
        filter => Filter::Not(Box::new(filter)),
    }
}

/// Returns an `INVALID_FILTER` with this message.
pub(super) fn invalid(message: String) -> Error {
    Error::new(Code::InvalidFilter, message)
}
