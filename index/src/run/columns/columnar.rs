//! Arrays of numbers in Tantivy's columnar format: each number takes as few bits as the range of the array needs, and
//! fewer if the numbers ascend evenly or have a common divisor. It does not know their meaning.

use std::fmt::Debug;
use std::io;
use std::sync::{Arc, OnceLock};

use tantivy::columnar::column_values::{
    ALL_U64_CODEC_TYPES, load_u64_based_column_values, serialize_u64_based_column_values,
};
use tantivy::columnar::{ColumnValues, MonotonicallyMappableToU64};

use crate::run::checked::CheckedBytes;
use crate::run::sections::{SectionName, SectionWriter};

/// A number that can be stored, and is read back bit by bit.
pub(crate) trait Element: MonotonicallyMappableToU64 + Copy + Default + Debug {}

impl Element for u64 {}
impl Element for i64 {}
impl Element for f64 {}

/// An array in a file, which is checked as a whole on first use.
pub(crate) struct ColumnarArray<T: Element> {
    bytes: CheckedBytes,
    /// The values; `None` if the file is damaged.
    values: OnceLock<Option<Arc<dyn ColumnValues<T>>>>,
}

/// Writes an array as a section.
pub(super) fn write<T: Element>(file: &mut SectionWriter, name: SectionName, values: &[T]) -> io::Result<()> {
    let mut bytes = Vec::new();
    serialize_u64_based_column_values(&values, &ALL_U64_CODEC_TYPES, &mut bytes)?;
    file.section(name, |out| out.put(&bytes))
}

impl<T: Element> ColumnarArray<T> {
    pub(super) fn new(bytes: CheckedBytes) -> ColumnarArray<T> {
        ColumnarArray { bytes, values: OnceLock::new() }
    }

    /// Returns an element. Returns the default for an element that does not exist, or if the file is damaged, which is
    /// reported.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> T {
        match self.values() {
            Some(values) if index < values.num_vals() => values.get_val(index),
            _ => T::default(),
        }
    }

    /// Like [`ColumnarArray::get`] for several, which is faster.
    pub(crate) fn get_all(&self, indexes: &[u32], elements: &mut [T]) {
        match self.values() {
            Some(values) if indexes.iter().max().is_none_or(|&last| last < values.num_vals()) => {
                values.get_vals(indexes, elements);
            }
            _ => elements.fill(T::default()),
        }
    }

    /// Returns all elements; `None` if the file is damaged, which is reported.
    pub(crate) fn to_vec(&self) -> Option<Vec<T>> {
        let values = self.values()?;
        let mut elements = vec![T::default(); values.num_vals() as usize];
        values.get_range(0, &mut elements);
        Some(elements)
    }

    fn values(&self) -> Option<&Arc<dyn ColumnValues<T>>> {
        self.values.get_or_init(|| self.load()).as_ref()
    }

    #[cold]
    fn load(&self) -> Option<Arc<dyn ColumnValues<T>>> {
        load_u64_based_column_values(self.bytes.owned()?)
            .inspect_err(|error| self.bytes.report(&format!("a columnar array cannot be read: {error}")))
            .ok()
    }
}
