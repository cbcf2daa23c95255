//! Where records end in the segment that is appended to, so that the bytes after a record can be counted. Knows no files.

/// The end of a record is kept if it is at least so many bytes behind the last one kept.
pub(super) const BYTES_BETWEEN: u64 = if cfg!(test) { 64 } else { 1 << 20 };

/// Where some of the records end that this process appended, ascending.
#[derive(Debug, Default)]
pub(super) struct RecordEnds(Vec<RecordEnd>);

#[derive(Debug, Clone, Copy)]
struct RecordEnd {
    number: u64,
    offset: u64,
}

impl RecordEnds {
    /// Notes that the record of this number, just appended, ends at `offset`.
    pub(super) fn note(&mut self, number: u64, offset: u64) {
        if offset - self.0.last().map_or(0, |end| end.offset) >= BYTES_BETWEEN {
            self.0.push(RecordEnd { number, offset });
        }
    }

    /// An offset before which there is no record after `number`.
    pub(super) fn before(&self, number: u64) -> u64 {
        let known = self.0.partition_point(|end| end.number <= number);
        known.checked_sub(1).map_or(0, |last| self.0[last].offset)
    }
}
