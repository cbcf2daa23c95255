//! The elements of a JSON array, one after another: a file of any length takes only the memory of one element. Must not
//! know the contents of an item.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use serde::Deserializer as _;
use serde::de::{self, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::cell;
use super::item::{Emit, Item};
use super::options::{RowOptions, Target, invalid};
use crate::guess::Form;

/// Inspects an array. Returns whether its elements are items rather than plain objects.
///
/// # Errors
/// If a key of a plain object is unknown.
pub(super) fn are_items(options: &RowOptions, reader: Box<dyn BufRead + Send>) -> io::Result<bool> {
    let mut are_items = false;
    let mut unknown = None;
    each_element(reader, options.table.max_bytes, |element| {
        if let Ok(object) = serde_json::from_str::<Map<String, Value>>(element.get()) {
            are_items |= object.contains_key("attributes") || object.contains_key("variants");
            if unknown.is_none() {
                unknown = object.keys().find(|name| options.target(name).is_none()).cloned();
            }
        }
        true
    })?;
    match unknown {
        Some(name) if !are_items => Err(options.unknown(&name)),
        _ => Ok(are_items),
    }
}

/// Calls `emit` with each item, until it returns false.
pub(super) fn each_item(
    options: &RowOptions,
    are_items: bool,
    reader: Box<dyn BufRead + Send>,
    emit: Emit<'_>,
) -> io::Result<()> {
    let mut place = 0;
    each_element(reader, options.table.max_bytes, |element| {
        place += 1;
        let line = match serde_json::from_str(element.get()) {
            Ok(object) if are_items => options.published(options.with_key(object)).to_string(),
            Ok(object) => item_of_object(options, object).to_string(),
            // The import reports the error in it.
            Err(_) => element.get().replace(['\n', '\r'], " "),
        };
        emit(Item { place, line: Ok(line.into_bytes()), row: None })
    })
}

/// Converts a plain object to an item.
fn item_of_object(options: &RowOptions, object: Map<String, Value>) -> Value {
    let mut item = Map::new();
    let mut attributes = Map::new();
    if let Some(key) = options.key_of(&object) {
        item.insert("key".to_owned(), key);
    }
    for (name, value) in object {
        match options.target(&name) {
            None | Some(Target::Ignored) => {}
            Some(Target::Item(key)) => {
                item.entry(key).or_insert(value);
            }
            Some(Target::Field(position)) => {
                attributes.insert(options.blueprint.fields[position].slug.clone(), value);
            }
            Some(Target::Part(position, part)) => {
                cell::add_part(&options.blueprint.fields[position], &mut attributes, part, &value, Form::default());
            }
        }
    }
    item.insert("attributes".to_owned(), attributes.into());
    options.published(item)
}

/// Calls `each` with every element of an array, until it returns false.
///
/// # Errors
/// The errors of reading, a text that is not an array, an element longer than `max_bytes`.
pub(crate) fn each_element(
    reader: Box<dyn BufRead + Send>,
    max_bytes: usize,
    each: impl FnMut(&RawValue) -> bool,
) -> io::Result<()> {
    let left = Rc::new(Cell::new(max_bytes));
    let bounded = BoundedReader { reader, left: Rc::clone(&left), max_bytes };
    let mut ended = false;
    let mut text = serde_json::Deserializer::from_reader(bounded);
    let read = text.deserialize_seq(Elements { each, left, max_bytes, ended: &mut ended }).and_then(|()| text.end());
    match read {
        Err(error) if error.is_io() => Err(error.into()),
        Err(error) if !ended => Err(invalid(format!(
            "the file is no JSON array of objects ({error}); one object a line is NDJSON, as `bindery export` writes what can be imported again"
        ))),
        _ => Ok(()),
    }
}

/// Reads an array without keeping its elements.
struct Elements<'a, F> {
    each: F,
    left: Rc<Cell<usize>>,
    max_bytes: usize,
    /// True once no more elements are wanted.
    ended: &'a mut bool,
}

impl<'de, F: FnMut(&RawValue) -> bool> Visitor<'de> for Elements<'_, F> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element::<Box<RawValue>>()? {
            self.left.set(self.max_bytes);
            if !(self.each)(&element) {
                *self.ended = true;
                return Err(de::Error::custom("no more elements are wanted"));
            }
        }
        Ok(())
    }
}

/// A reader that fails once an element exceeds the limit.
struct BoundedReader<R> {
    reader: R,
    left: Rc<Cell<usize>>,
    max_bytes: usize,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 {
            let text =
                format!("an item is longer than {} bytes, which is the limit (`max_body_bytes`)", self.max_bytes);
            return Err(invalid(text));
        }
        let most = buffer.len().min(left);
        let read = self.reader.read(&mut buffer[..most])?;
        self.left.set(left - read);
        Ok(read)
    }
}
