//! Checks that the two databases of an opened store belong together. Moves the scattered keys of a store of an earlier format,
//! which has one database, into one of their own.
//!
//! A kill may end this at any point. Until the checkpoint of the new format is written, the next start begins again, with an
//! empty database: a server of before may have written to the other one meanwhile. After that, what is left in the old place
//! is not read by anybody, and removed.

use std::path::Path;

use super::checkpoint::{self, Recorded};
use super::databases::Databases;
use super::error::StoreError;
use super::key::{APPLIED, CHUNK, SCATTERED};
use super::record::{self, Form};
use super::tree::Store;

/// Strays that are copied or removed before the next ones are looked for.
const STEP: usize = 10_000;

impl Store {
    /// Checks that the databases belong together, and splits a store that has one.
    ///
    /// # Errors
    /// [`StoreError::DoesNotOpen`], which is damage, if the database of scattered keys lacks what a checkpoint saw in it.
    pub(super) fn settle_databases(&self) -> Result<(), StoreError> {
        let folder = self.folder();
        match checkpoint::recorded(folder)? {
            Some(Recorded { has_two_databases: true, number }) => self.check_scattered(folder, number)?,
            older => {
                self.copy_strays()?;
                if let Some(Recorded { number, .. }) = older {
                    self.note_scattered(number)?;
                    self.flush_and_sync()?;
                    checkpoint::write(folder, number)?;
                }
            }
        }
        self.remove_strays()
    }

    /// Notes in the database of scattered keys that it has everything up to a number. In the other one, that is noted with
    /// each transaction.
    pub(super) fn note_scattered(&self, number: u64) -> Result<(), StoreError> {
        let record = record::encode(APPLIED, Form::Plain, number, &[]);
        self.guarded("write", || self.databases().scattered.sled().insert(APPLIED, record))?;
        Ok(())
    }

    /// Checks that the database of scattered keys is not an older one, or a new one.
    fn check_scattered(&self, folder: &Path, checkpoint: u64) -> Result<(), StoreError> {
        let noted = self.guarded("read", || self.databases().scattered.sled().get(APPLIED))?;
        let noted = match &noted {
            Some(bytes) => self.check(APPLIED, record::decode(APPLIED, bytes))?.number,
            None => 0,
        };
        if noted < checkpoint {
            let what =
                format!("its scattered keys are at record {noted}, before its checkpoint at record {checkpoint}");
            return Err(StoreError::DoesNotOpen { folder: folder.to_owned(), what });
        }
        Ok(())
    }

    /// Copies scattered keys that are in the wrong database.
    fn copy_strays(&self) -> Result<(), StoreError> {
        let mut is_announced = false;
        for (start, end) in stray_ranges() {
            let mut strays = self.databases().ordered.sled().range(start..end);
            while let Some((key, value)) = self.guarded("list", || strays.next().transpose())? {
                if !std::mem::replace(&mut is_announced, true) {
                    tracing::info!("the store is split into two databases; a large one takes some minutes, once");
                }
                self.guarded("write", || self.databases().scattered.sled().insert(key, value))?;
            }
        }
        Ok(())
    }

    fn remove_strays(&self) -> Result<(), StoreError> {
        let ordered = self.databases().ordered.sled();
        for (start, end) in stray_ranges() {
            loop {
                let strays = self.guarded("list", || {
                    ordered.range(start.clone()..end.clone()).keys().take(STEP).collect::<sled::Result<Vec<_>>>()
                })?;
                for key in &strays {
                    self.guarded("delete", || ordered.remove(key))?;
                }
                if strays.len() < STEP {
                    break;
                }
            }
        }
        Ok(())
    }

    fn databases(&self) -> &Databases {
        &self.0.databases
    }
}

/// The ranges of all keys that belong to the database of scattered keys.
fn stray_ranges() -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    let of_table = |table| [(vec![table], vec![table + 1]), (vec![CHUNK, table], vec![CHUNK, table + 1])];
    SCATTERED.into_iter().flat_map(of_table)
}
