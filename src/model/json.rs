//! Strict JSON: the syntax that every request body must have (`API.md` 1.7).
//!
//! serde_json rejects most invalid bodies. In addition, a key may appear only once in an object, values nest at most
//! [`MAX_DEPTH`] deep, and a body has at most [`MAX_VALUES`] values. Must not know the meaning of bodies.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::error::{Code, Error};
use super::sent::quote;

/// The depth to which arrays and objects may nest, including the outermost. It is smaller than the limit of serde_json,
/// so that the error message names this one.
pub const MAX_DEPTH: usize = 64;

/// The depth beyond which no text is read: a value under a key of [`parse_with_deep_key`] may nest one level deeper.
const READ_DEPTH: usize = MAX_DEPTH + 1;

/// The number of values that a body may have, objects and arrays included. A value can be sent in two bytes, and takes
/// a hundred times as much memory when it is parsed. So a limit on the size of a body does not limit its memory.
pub const MAX_VALUES: usize = 500_000;

/// The approximate memory of a value while its body is handled, in bytes: the value, its key, and its share of the
/// object that holds it.
const VALUE_BYTES: usize = 300;

/// The approximate number of copies of a body's text while it is handled: as sent, as parsed, as stored and as
/// answered.
const TEXT_COPIES: usize = 3;

/// Estimates the memory that a body takes while it is handled, in bytes.
pub fn expansion(bytes: &[u8]) -> usize {
    // A body with more values is refused before it is parsed.
    count_values(bytes).min(MAX_VALUES) * VALUE_BYTES + bytes.len() * TEXT_COPIES
}

/// Counts the values of a JSON text, up to [`READ_DEPTH`], beyond which every parser refuses it. For other texts, the
/// result is not greater than the number of bytes.
fn count_values(bytes: &[u8]) -> usize {
    let mut count = 1;
    let mut depth = 0_usize;
    let mut last = b' ';
    let mut rest = bytes.iter();
    while let Some(&byte) = rest.next() {
        match byte {
            b'"' => skip_string(&mut rest),
            b',' => count += 1,
            b'[' | b'{' if depth == READ_DEPTH => return count,
            b'[' | b'{' => {
                count += 1;
                depth += 1;
            }
            b']' | b'}' => {
                // An empty array or object holds no value. The kinds of the two brackets need not be compared: in JSON,
                // they match.
                count -= usize::from(matches!(last, b'[' | b'{'));
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            last = byte;
        }
    }
    count
}

/// Skips a string whose opening quote was already read.
fn skip_string(rest: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                rest.next();
            }
            _ => {}
        }
    }
}

/// Reads a body. Keys keep their order. Numbers are doubles unless they are integers that fit into 64 bits; a number
/// beyond the range of a double becomes `1e308` or `-1e308`, which is valid JSON and which no field accepts.
///
/// # Errors
///
/// `MALFORMED_JSON` with line and column (in characters, from 1): no value or more than one, invalid UTF-8, a byte
/// order mark, a lone surrogate, a duplicate key, more than [`MAX_DEPTH`] levels. `PAYLOAD_TOO_LARGE` for more than
/// [`MAX_VALUES`] values.
pub fn parse(bytes: &[u8]) -> Result<Value, Error> {
    parse_from(bytes, StrictSeed { depth: 0, deep_key: None })
}

/// Like [`parse`], but the value under `key` in the outermost object may itself have [`MAX_DEPTH`] levels: for a text
/// that has one level more around what a body holds.
///
/// # Errors
///
/// The errors of [`parse`].
pub fn parse_with_deep_key(bytes: &[u8], key: &str) -> Result<Value, Error> {
    parse_from(bytes, StrictSeed { depth: 0, deep_key: Some(key) })
}

fn parse_from(bytes: &[u8], seed: StrictSeed<'_>) -> Result<Value, Error> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(malformed("it begins with a byte order mark; send it without one", 1, 1));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(malformed("it is empty; send a JSON value", 1, 1));
    }
    let values = count_values(bytes);
    if values > MAX_VALUES {
        let text = format!("the body has {values} values; the limit is {MAX_VALUES}; send it in parts");
        return Err(Error::new(Code::PayloadTooLarge, text));
    }
    let read = match read(bytes, seed) {
        Err(error) if is_out_of_range(&error) => read(&with_clamped_numbers(bytes), seed),
        read => read,
    };
    read.map_err(|error| explain(bytes, &error))
}

fn read(bytes: &[u8], seed: StrictSeed<'_>) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = seed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

fn is_out_of_range(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("number out of range")
}

/// Returns the JSON with numbers beyond the range of a double replaced by `1e308` or `-1e308`. They are padded to the
/// same length so that positions in error messages stay right. The rule of the field rejects them later.
fn with_clamped_numbers(bytes: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    let (mut at, mut in_string) = (0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'-' | b'0'..=b'9' if !in_string => {
                let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let length = bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                let number = &bytes[at..at + length];
                let parsed = std::str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok());
                if parsed.is_some_and(f64::is_infinite) {
                    let largest: &[u8] = if number[0] == b'-' { b"-1e308" } else { b"1e308" };
                    changed[at..at + length].fill(b' ');
                    changed[at..at + largest.len()].copy_from_slice(largest);
                }
                at += length - 1;
            }
            _ => {}
        }
        at += 1;
    }
    changed
}

fn explain(bytes: &[u8], error: &serde_json::Error) -> Error {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    let line = error.line().max(1);
    let column = column_in_characters(bytes, line, error.column());
    let what = match what {
        _ if error.is_eof() => "it ends in the middle of a value".to_owned(),
        "trailing characters" => "there is more text after the value".to_owned(),
        "invalid unicode code point" => "it is not valid UTF-8".to_owned(),
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
            "a `\\u` escape is only half of a surrogate pair".to_owned()
        }
        what => what.to_owned(),
    };
    malformed(&what, line, column)
}

fn malformed(what: &str, line: usize, column: usize) -> Error {
    Error::new(Code::MalformedJson, format!("the body is not valid JSON: {what} (line {line}, column {column})"))
}

/// Converts the column of a serde_json error: serde_json counts in bytes, and uses column 0 for an error before the
/// first byte of a line.
fn column_in_characters(bytes: &[u8], line: usize, column: usize) -> usize {
    let start = match line {
        1 => 0,
        line => bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(line - 2).map_or(0, |(at, _)| at + 1),
    };
    let end = start.saturating_add(column).min(bytes.len());
    String::from_utf8_lossy(bytes.get(start..end).unwrap_or_default()).chars().count().max(1)
}

/// Objects with fewer keys than this are copied to their exact size: a map reserves room for several.
const SMALL_OBJECT: usize = 4;

fn trimmed(object: Map<String, Value>) -> Map<String, Value> {
    let mut trimmed = Map::with_capacity(object.len());
    trimmed.extend(object);
    trimmed
}

/// Reads one value at this depth.
#[derive(Clone, Copy)]
struct StrictSeed<'a> {
    depth: usize,
    /// The key whose value, in an object at this depth, is read at this depth too.
    deep_key: Option<&'a str>,
}

impl StrictSeed<'_> {
    fn inside<E: serde::de::Error>(self) -> Result<StrictSeed<'static>, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom(format_args!("values are nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(StrictSeed { depth: self.depth + 1, deep_key: None })
    }
}

impl<'de> DeserializeSeed<'de> for StrictSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut array = Vec::new();
        while let Some(element) = elements.next_element_seed(inside)? {
            array.push(element);
        }
        array.shrink_to_fit();
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let is_deep = self.deep_key == Some(key.as_str());
            let seed = if is_deep { StrictSeed { depth: self.depth, deep_key: None } } else { inside };
            let value = entries.next_value_seed(seed)?;
            match object.entry(key) {
                Entry::Vacant(vacant) => vacant.insert(value),
                Entry::Occupied(existing) => {
                    let key = quote(existing.key());
                    return Err(A::Error::custom(format_args!("the key {key} appears twice in one object")));
                }
            };
        }
        Ok(Value::Object(if object.len() < SMALL_OBJECT { trimmed(object) } else { object }))
    }
}

#[cfg(test)]
mod tests;
