//! Names of the resources that waiting lines of an import are about (`API.md` 4.11.3). The import task and the
//! committer share them.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// A set of names. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaitingNames(Arc<Mutex<HashSet<String>>>);

impl WaitingNames {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.lock().contains(name)
    }

    pub(crate) fn add(&self, names: &[String]) {
        self.0.lock().extend(names.iter().cloned());
    }

    pub(crate) fn replace(&self, names: HashSet<String>) {
        *self.0.lock() = names;
    }
}
