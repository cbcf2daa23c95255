//! Checks that the two databases of an opened store belong together. Moves the scattered keys of a store of an earlier format,
//! which has one database, into one of their own.
//!
//! A kill may end this at any point. Until the checkpoint of the new format is written, the next start begins again, with an
//! empty database: a server of before may have written to the other one meanwhile. After that, what is left in the old place
//! is not read by anybody, and removed.

use sled::IVec;

use super::checkpoint::Recorded;
use super::databases::Database;
use super::error::StoreError;
use super::key::{APPLIED, CHUNK, SCATTERED};
use super::record::{self, Form};
use super::tree::Store;

impl Store {
    /// Checks that the databases belong together, and splits a store that has one by its checkpoint.
    ///
    /// # Errors
    /// [`StoreError::DoesNotOpen`], which is damage, if the database of scattered keys lacks what a checkpoint saw in it.
    pub(super) fn settle_databases(&self, recorded: Option<Recorded>) -> Result<(), StoreError> {
        match recorded {
            Some(Recorded { has_two_databases: true, number }) => self.check_scattered(number)?,
            older => {
                self.copy_strays()?;
                if let Some(Recorded { number, .. }) = older {
                    self.write_checkpoint(number)?;
                }
            }
        }
        let ordered = self.0.databases.ordered.sled();
        self.each_stray(|key, _| self.guarded("delete", || ordered.remove(key)).map(drop))
    }

    /// Checks that the database of scattered keys is not an older one, or a new one.
    fn check_scattered(&self, checkpoint: u64) -> Result<(), StoreError> {
        let noted = self.noted_in(&self.0.databases.scattered)?;
        if noted < checkpoint {
            let what =
                format!("its scattered keys are at record {noted}, before its checkpoint at record {checkpoint}");
            return Err(StoreError::DoesNotOpen { folder: self.folder().to_owned(), what });
        }
        Ok(())
    }

    /// The number of the last log record that a database is known to have everything of: the ordered one notes it with each
    /// transaction, the scattered one at each checkpoint.
    pub(super) fn noted_in(&self, database: &Database) -> Result<u64, StoreError> {
        match self.guarded("read", || database.sled().get(APPLIED))? {
            None => Ok(0),
            Some(bytes) => Ok(self.check(APPLIED, record::decode(APPLIED, &bytes))?.number),
        }
    }

    pub(super) fn note_in(&self, database: &Database, number: u64) -> Result<(), StoreError> {
        let record = record::encode(APPLIED, Form::Plain, number, &[]);
        self.guarded("write", || database.sled().insert(APPLIED, record)).map(drop)
    }

    fn copy_strays(&self) -> Result<(), StoreError> {
        let scattered = self.0.databases.scattered.sled();
        let mut is_announced = false;
        self.each_stray(|key, value| {
            if !std::mem::replace(&mut is_announced, true) {
                tracing::info!("the store is split into two databases; a large one takes some minutes, once");
            }
            self.guarded("write", || scattered.insert(key, value)).map(drop)
        })
    }

    /// Passes on the scattered keys that are in the wrong database, and their values.
    fn each_stray(&self, mut visit: impl FnMut(IVec, IVec) -> Result<(), StoreError>) -> Result<(), StoreError> {
        for (start, end) in stray_ranges() {
            let mut strays = self.0.databases.ordered.sled().range(start..end);
            while let Some((key, value)) = self.guarded("list", || strays.next().transpose())? {
                visit(key, value)?;
            }
        }
        Ok(())
    }
}

/// The ranges of all keys that belong to the database of scattered keys.
fn stray_ranges() -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    let of_table = |table| [(vec![table], vec![table + 1]), (vec![CHUNK, table], vec![CHUNK, table + 1])];
    SCATTERED.into_iter().flat_map(of_table)
}
