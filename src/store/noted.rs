//! The number of a log record that each of the two databases stores. The database contains everything up to this
//! record. The numbers show if one of the databases was exchanged for another one, for example an older copy.

use super::databases::Database;
use super::error::StoreError;
use super::key::APPLIED;
use super::record::{self, Form};
use super::tree::Store;

impl Store {
    /// Checks that the database of scattered keys is not an older one or a new one.
    ///
    /// # Errors
    /// [`StoreError::DoesNotOpen`], which is damage, if it lacks data that it had at the last checkpoint.
    pub(super) fn check_scattered(&self, checkpoint: u64) -> Result<(), StoreError> {
        let noted = self.noted_in(&self.0.databases.scattered)?;
        if noted < checkpoint {
            let what =
                format!("its scattered keys are at record {noted}, before its checkpoint at record {checkpoint}");
            return Err(StoreError::DoesNotOpen { folder: self.folder().to_owned(), what });
        }
        Ok(())
    }

    /// Returns the number of the last log record that a database is known to contain completely. The ordered database
    /// stores it with each transaction, the scattered one at each checkpoint.
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
}
