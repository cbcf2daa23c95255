//! Raw parameters: names and values of a query string, decoded. Knows the rules of encoding and repetition, and no
//! parameter by name.

use std::str::Utf8Error;

use percent_encoding::percent_decode_str;

use crate::model::error::{Code, Error};
use crate::model::sent::quote;

/// The parameters of a query string in the order in which they were sent.
#[derive(Debug, Clone, PartialEq)]
pub struct RawParams {
    pairs: Vec<Pair>,
}

/// One parameter. A value that is no UTF-8 is a fault only where somebody asks for it: unknown parameters are ignored.
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
            Pair { name: decode_name(name), value: decode(value) }
        });
        RawParams { pairs: pairs.collect() }
    }

    /// The value of a parameter that may be given once.
    ///
    /// Errors: `INVALID_PARAMETER` where it is given twice or is not valid UTF-8.
    pub fn single(&self, name: &str) -> Result<Option<&str>, Error> {
        let mut given = self.pairs.iter().filter(|pair| pair.name == name);
        let Some(pair) = given.next() else { return Ok(None) };
        if given.next().is_some() {
            return Err(Error::new(Code::InvalidParameter, format!("`{name}` is given twice; it may be given once")));
        }
        pair.value(Code::InvalidParameter).map(Some)
    }

    /// The value of a switch: `true` or `1`, `false` or `0`; off when it is not given.
    ///
    /// Errors: `INVALID_PARAMETER` for any other value.
    pub fn flag(&self, name: &str) -> Result<bool, Error> {
        match self.single(name)? {
            None => Ok(false),
            Some(value) => switch(value).ok_or_else(|| {
                let message = format!("`{name}` is {}; it takes `true`, `1`, `false` or `0`", quote(value));
                Error::new(Code::InvalidParameter, message)
            }),
        }
    }

    /// Names and values of the parameters that mean to be filters, well-formed or not.
    ///
    /// Errors: `INVALID_FILTER` where a value is not valid UTF-8.
    pub(super) fn filters(&self) -> Result<Vec<(&str, &str)>, Error> {
        let named = self.pairs.iter().filter(|pair| pair.name == "filter" || pair.name.starts_with("filter["));
        named.map(|pair| Ok((pair.name.as_str(), pair.value(Code::InvalidFilter)?))).collect()
    }
}

/// What `true`, `1`, `false`, `0` mean.
pub(super) fn switch(value: &str) -> Option<bool> {
    match value {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// A parameter's name, decoded. What is no UTF-8 in it is replaced: such a name is that of no parameter.
pub(super) fn decode_name(encoded: &str) -> String {
    percent_decode_str(&encoded.replace('+', " ")).decode_utf8_lossy().into_owned()
}

impl Pair {
    fn value(&self, code: Code) -> Result<&str, Error> {
        self.value.as_deref().map_err(|_| {
            let name = quote(&self.name);
            let message =
                format!("the value of {name} is not valid UTF-8 once its `%` escapes are decoded; encode it as UTF-8");
            Error::new(code, message)
        })
    }
}

fn decode(encoded: &str) -> Result<String, Utf8Error> {
    Ok(percent_decode_str(&encoded.replace('+', " ")).decode_utf8()?.into_owned())
}
