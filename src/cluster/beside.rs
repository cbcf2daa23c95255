//! Objects beside the log, which others than the log own: they are created, read, listed and removed by their names.
//! Must not know what is in them.

use std::collections::BTreeSet;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};

use crate::cluster::Store;
use crate::error::ClusterError;
use crate::objects::block;

/// The objects that are read at a time.
const CONCURRENT_READS: usize = 8;

impl Store {
    /// Creates an object, unless one of this name exists; then it returns false. The bytes must contain something
    /// random, by which they are recognized if it is not certain who created the object. Durable on return.
    ///
    /// # Errors
    /// If the storage fails. The object may exist nevertheless.
    pub fn create_object(&self, name: &str, bytes: &Bytes) -> Result<bool, ClusterError> {
        block(async {
            // Over `file://`, a folder that was moved away would be made again.
            self.objects.check_folder(None).await?;
            self.objects.create_certainly(name, bytes).await
        })
    }

    /// Puts an object, whether or not one of this name exists. Durable on return.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn put_object(&self, name: &str, bytes: Bytes) -> Result<(), ClusterError> {
        block(async {
            self.objects.check_folder(None).await?;
            self.objects.overwrite(name, bytes).await
        })
    }

    /// Returns an object; `None` if there is none of this name.
    ///
    /// # Errors
    /// [`ClusterError::Damaged`] if it is larger than `limit` bytes; if the storage fails.
    pub fn object(&self, name: &str, limit: u64) -> Result<Option<Bytes>, ClusterError> {
        block(self.objects.get(name, limit))
    }

    /// Returns several objects, in order, each as [`Store::object`] does. Reads some of them at a time.
    ///
    /// # Errors
    /// Those of [`Store::object`].
    pub fn objects(&self, names: &[String], limit: u64) -> Result<Vec<Option<Bytes>>, ClusterError> {
        let reads: Vec<_> = names.iter().map(|name| self.objects.get(name, limit)).collect();
        block(futures_util::stream::iter(reads).buffered(CONCURRENT_READS).try_collect())
    }

    /// Returns the names of the objects in a folder, without it.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn object_names(&self, folder: &str) -> Result<BTreeSet<String>, ClusterError> {
        let listed = block(self.objects.list(folder, None))?;
        Ok(listed.iter().filter_map(|object| object.location.filename().map(str::to_owned)).collect())
    }

    /// Returns whether a folder has an object whose name comes after another one.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn has_later_object(&self, folder: &str, name: &str) -> Result<bool, ClusterError> {
        Ok(!block(self.objects.list(folder, Some(name)))?.is_empty())
    }

    /// Removes an object. It is no error if it does not exist.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn remove_object(&self, name: &str) -> Result<(), ClusterError> {
        block(self.objects.remove(name))
    }
}
