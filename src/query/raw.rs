//! Raw parameters: the decoded names and values of a query string. Owns the rules of encoding and repetition; must not
//! know what a parameter means.

use std::borrow::Cow;
use std::str::Utf8Error;

use bindery_model::error::{Code, Error};
use bindery_model::sent::quote;
use percent_encoding::percent_decode_str;

/// The parameters of a query string, in the order in which they were sent.
#[derive(Debug, Clone, PartialEq)]
pub struct RawParams {
    pairs: Vec<Pair>,
}

/// One parameter. A value that is not valid UTF-8 is an error only when it is read, because unknown parameters are
/// ignored.
#[derive(Debug, Clone, PartialEq)]
struct Pair {
    name: String,
    value: Result<String, Utf8Error>,
}

impl RawParams {
    /// Splits and decodes a query string, without its `?`.
    pub fn parse(raw: &str) -> RawParams {
        let parts = raw.split('&').filter(|part| !part.is_empty());
        let pairs = parts.map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let value = percent_decode_str(&value.replace('+', " ")).decode_utf8().map(Cow::into_owned);
            Pair { name: decode_name(name), value }
        });
        RawParams { pairs: pairs.collect() }
    }

    /// Returns whether a query string has a parameter. `name` must have no space. Takes less time than parsing.
    pub fn has(raw: &str, name: &str) -> bool {
        let mut names = raw.split('&').map(|part| part.split_once('=').map_or(part, |(name, _)| name));
        names.any(|sent| percent_decode_str(sent).eq(name.bytes()))
    }

    /// Returns the value of a parameter that may be given at most once; `None` if it is missing.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if it is given twice or is not valid UTF-8.
    pub fn single(&self, name: &str) -> Result<Option<&str>, Error> {
        let mut given = self.pairs.iter().filter(|pair| pair.name == name);
        let Some(pair) = given.next() else { return Ok(None) };
        if given.next().is_some() {
            return Err(Error::new(Code::InvalidParameter, format!("`{name}` is given more than once; send it once")));
        }
        pair.value(Code::InvalidParameter).map(Some)
    }

    /// Returns the value of a boolean parameter: `true` or `1`, `false` or `0`; false if it is missing.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for any other value.
    pub fn flag(&self, name: &str) -> Result<bool, Error> {
        Ok(self.given_flag(name)?.unwrap_or(false))
    }

    /// Like [`RawParams::flag`], but returns `None` if the parameter is missing.
    ///
    /// # Errors
    /// The errors of [`RawParams::flag`].
    pub fn given_flag(&self, name: &str) -> Result<Option<bool>, Error> {
        match self.single(name)? {
            None => Ok(None),
            Some(value) => boolean(value).map(Some).ok_or_else(|| {
                let message = format!("`{name}` is {}; it must be `true`, `1`, `false` or `0`", quote(value));
                Error::new(Code::InvalidParameter, message)
            }),
        }
    }

    /// Returns the names of all parameters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|pair| pair.name.as_str())
    }

    /// Returns the names and values of all parameters that look like filters, well-formed or not.
    ///
    /// # Errors
    /// `INVALID_FILTER` if a value is not valid UTF-8.
    pub fn filters(&self) -> Result<Vec<(&str, &str)>, Error> {
        let named = self.pairs.iter().filter(|pair| pair.name == "filter" || pair.name.starts_with("filter["));
        named.map(|pair| Ok((pair.name.as_str(), pair.value(Code::InvalidFilter)?))).collect()
    }
}

/// Returns the boolean for `true`, `1`, `false` or `0`.
pub(super) fn boolean(value: &str) -> Option<bool> {
    match value {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// Returns a parameter's name, decoded. Invalid UTF-8 in it is replaced, since no parameter has such a name.
pub fn decode_name(encoded: &str) -> String {
    percent_decode_str(&encoded.replace('+', " ")).decode_utf8_lossy().into_owned()
}

impl Pair {
    fn value(&self, code: Code) -> Result<&str, Error> {
        self.value.as_deref().map_err(|_| {
            let name = quote(&self.name);
            let message = format!(
                "the `%` escapes in the value of {name} do not decode to valid UTF-8; encode the value as UTF-8"
            );
            Error::new(code, message)
        })
    }
}
