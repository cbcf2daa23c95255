//! Interned names: paths, hosts, browsers and other texts are stored once and counted by number. It does not know their
//! meaning.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

/// The number of an interned text. It is valid in this process only.
pub(super) type Name = u32;

/// The number for a missing name, such as the campaign of an address without one. It has no text.
pub(super) const NONE: Name = Name::MAX;

/// Every name seen since the start. Names are never removed, and their numbers are never reused.
#[derive(Debug, Default)]
pub(super) struct Names {
    table: RwLock<Table>,
}

#[derive(Debug, Default)]
struct Table {
    numbers: HashMap<Arc<str>, Name>,
    texts: Vec<Arc<str>>,
}

impl Names {
    /// Returns the number of a text. A new text gets the next number.
    pub(super) fn intern(&self, text: &str) -> Name {
        if let Some(number) = self.find(text) {
            return number;
        }
        let mut table = self.table.write();
        if let Some(number) = table.numbers.get(text) {
            return *number;
        }
        let number = Name::try_from(table.texts.len()).expect("memory runs out before 2^32 names are interned");
        let text: Arc<str> = text.into();
        table.texts.push(Arc::clone(&text));
        table.numbers.insert(text, number);
        number
    }

    /// Returns the number of a text, if it is interned.
    pub(super) fn find(&self, text: &str) -> Option<Name> {
        self.table.read().numbers.get(text).copied()
    }

    /// Returns the text of a number.
    pub(super) fn text(&self, number: Name) -> Arc<str> {
        Arc::clone(&self.table.read().texts[number as usize])
    }
}
