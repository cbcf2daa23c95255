//! Temporary: indexes in memory alone.
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use parking_lot::Mutex;
use crate::{Error, Index, Options, Schema};
/// x
#[derive(Clone)]
pub struct Indexes(Arc<Mutex<BTreeMap<u32, Index>>>);
/// x
pub struct Checkpoint;
impl Checkpoint {
    /// x
    pub fn write(self) -> Result<(), Error> { Ok(()) }
}
impl Indexes {
    /// x
    pub fn open(_: &Path, _: Options) -> Result<Indexes, Error> { Ok(Indexes(Arc::default())) }
    /// x
    pub fn number(&self) -> u64 { 0 }
    /// x
    pub fn names(&self) -> Vec<u32> { self.0.lock().keys().copied().collect() }
    /// x
    pub fn get(&self, n: u32) -> Option<Index> { self.0.lock().get(&n).cloned() }
    /// x
    pub fn create(&self, n: u32, s: Schema) -> Index { let i = Index::in_memory(s, Options::default()); self.0.lock().insert(n, i.clone()); i }
    /// x
    pub fn remove(&self, n: u32) { self.0.lock().remove(&n); }
    /// x
    pub fn freeze(&self, _: u64) -> Checkpoint { Checkpoint }
}
