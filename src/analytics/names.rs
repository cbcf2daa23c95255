//! Names as numbers: paths, hosts, browsers and the like are stored once, and counted by number.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

/// The number of a name in this process.
pub(super) type Name = u32;

/// Every name that was met since the start. Names are never forgotten, numbers never used again.
#[derive(Debug, Default)]
pub(super) struct Names {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    numbers: HashMap<Arc<str>, Name>,
    texts: Vec<Arc<str>>,
}

impl Names {
    /// The number of a text.
    pub(super) fn number(&self, text: &str) -> Name {
        if let Some(number) = self.find(text) {
            return number;
        }
        let mut inner = self.inner.write();
        if let Some(number) = inner.numbers.get(text) {
            return *number;
        }
        let number = Name::try_from(inner.texts.len()).expect("there is no memory for 2^32 names");
        let text: Arc<str> = text.into();
        inner.texts.push(Arc::clone(&text));
        inner.numbers.insert(text, number);
        number
    }

    /// The number of a text that was met before.
    pub(super) fn find(&self, text: &str) -> Option<Name> {
        self.inner.read().numbers.get(text).copied()
    }

    /// The text of a number.
    pub(super) fn text(&self, number: Name) -> Arc<str> {
        Arc::clone(&self.inner.read().texts[number as usize])
    }
}
