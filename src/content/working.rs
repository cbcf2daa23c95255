//! The state that a command is decided against: the store, under what the commands before it in the group left.

use std::collections::{HashMap, HashSet};

use crate::content::record::{Copy, Meta};
use crate::model::error::Error;
use crate::model::id::ResourceId;
use crate::model::time::Millis;
use crate::store::{Change, Counter, Key, Store};

/// A group of commands that are decided one after another and made durable together.
pub(crate) struct Working<'a> {
    store: &'a Store,
    /// What the decided commands of the group left, and the command that is being decided.
    overlay: HashMap<Key, Option<Vec<u8>>>,
    /// The changes of the command that is being decided, in order.
    changes: Vec<Change>,
    /// What the overlay held before each of them, the last one last.
    undo: Vec<Option<Option<Vec<u8>>>>,
    /// Stored versions that no later snapshot names.
    superseded: Vec<Key>,
    /// The log number that the command gets if it changes anything.
    pub(crate) number: u64,
    /// The time of the command; never earlier than that of one before it.
    pub(crate) now: Millis,
    last_id: Option<ResourceId>,
}

/// A point of a command that can be gone back to.
pub(crate) struct Mark {
    changes: usize,
    superseded: usize,
}

/// What a decided command leaves to be made durable.
pub(crate) struct Decided {
    /// One log record.
    pub(crate) changes: Vec<Change>,
    /// Keys to remove once no snapshot names them.
    pub(crate) superseded: Vec<Key>,
}

impl<'a> Working<'a> {
    /// A group that begins at `number`, after the id `last_id` was given.
    pub(crate) fn new(store: &'a Store, number: u64, now: Millis, last_id: Option<ResourceId>) -> Self {
        let (overlay, changes, undo, superseded) = (HashMap::new(), Vec::new(), Vec::new(), Vec::new());
        Working { store, overlay, changes, undo, superseded, number, now, last_id }
    }

    /// The id that was given last.
    pub(crate) fn last_id(&self) -> Option<ResourceId> {
        self.last_id
    }

    /// The value of a key.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub(crate) fn get(&self, key: &Key) -> Result<Option<Vec<u8>>, Error> {
        match self.overlay.get(key) {
            Some(value) => Ok(value.clone()),
            None => self.store.get(key).map_err(Error::internal),
        }
    }

    /// A resource's meta record.
    pub(crate) fn meta(&self, blueprint: u32, id: ResourceId) -> Result<Option<Meta>, Error> {
        let bytes = self.get(&Key::Resource { blueprint, id })?;
        bytes.map(|bytes| Meta::decode(&bytes).map_err(Error::internal)).transpose()
    }

    /// The current version of a copy, if it was ever written.
    pub(crate) fn copy(
        &self,
        blueprint: u32,
        id: ResourceId,
        meta: &Meta,
        variant: u16,
    ) -> Result<Option<Copy>, Error> {
        let Some(number) = meta.copy(variant) else { return Ok(None) };
        let bytes = self.get(&Key::Copy { blueprint, id, variant, number })?;
        let bytes = bytes.ok_or_else(|| Error::internal(format!("the copy {variant}/{number} of {id} is missing")))?;
        Copy::decode(&bytes).map(Some).map_err(Error::internal)
    }

    /// The store without what the group left. For commands that stand alone in theirs.
    pub(crate) fn store(&self) -> &Store {
        self.store
    }

    /// Sets a key.
    pub(crate) fn put(&mut self, key: Key, value: Vec<u8>) {
        self.change(key, Some(value));
    }

    /// Removes a key.
    pub(crate) fn remove(&mut self, key: Key) {
        self.change(key, None);
    }

    fn change(&mut self, key: Key, value: Option<Vec<u8>>) {
        self.undo.push(self.overlay.insert(key.clone(), value.clone()));
        self.changes.push(Change { key, value });
    }

    /// Notes a stored version that nothing names from this command on.
    pub(crate) fn supersede(&mut self, key: Key) {
        self.superseded.push(key);
    }

    /// A new id, later than every one before it.
    ///
    /// # Errors
    /// `INTERNAL` if the system's generator fails.
    pub(crate) fn new_id(&mut self) -> Result<ResourceId, Error> {
        let mut random = [0; 10];
        getrandom::fill(&mut random).map_err(Error::internal)?;
        let id = ResourceId::next(self.last_id, self.now, random);
        self.last_id = Some(id);
        Ok(id)
    }

    /// Where the command that is being decided stands.
    pub(crate) fn mark(&self) -> Mark {
        Mark { changes: self.changes.len(), superseded: self.superseded.len() }
    }

    /// Takes back what the command changed since. (Ids that it was given are not given again.)
    pub(crate) fn go_back(&mut self, to: &Mark) {
        for (Change { key, .. }, before) in self.changes.drain(to.changes..).zip(self.undo.drain(to.changes..)).rev() {
            match before {
                Some(value) => self.overlay.insert(key, value),
                None => self.overlay.remove(&key),
            };
        }
        self.superseded.truncate(to.superseded);
    }

    /// Takes back all that the command that is being decided changed.
    pub(crate) fn abandon(&mut self) {
        self.go_back(&Mark { changes: 0, superseded: 0 });
    }

    /// Ends the command. The id and the time that were given last are part of its record, so that they never go back.
    pub(crate) fn finish(&mut self) -> Option<Decided> {
        let superseded = std::mem::take(&mut self.superseded);
        if self.changes.is_empty() {
            return None;
        }
        if let Some(id) = self.last_id {
            self.put(Key::Counter(Counter::Resource), id.as_u128().to_be_bytes().to_vec());
        }
        self.put(Key::Counter(Counter::Time), self.now.to_le_bytes().to_vec());
        self.number += 1;
        self.undo.clear();
        Some(Decided { changes: last_of_each(std::mem::take(&mut self.changes)), superseded })
    }
}

/// The last change of each key, in their order: whoever reads the store while a record is applied sees each value as it
/// was, or as it will be.
fn last_of_each(changes: Vec<Change>) -> Vec<Change> {
    let mut seen = HashSet::with_capacity(changes.len());
    let mut is_last: Vec<bool> = changes.iter().rev().map(|change| seen.insert(&change.key)).collect();
    is_last.reverse();
    changes.into_iter().zip(is_last).filter_map(|(change, is_last)| is_last.then_some(change)).collect()
}
