//! The positions at which records end in the segment that is appended to. With them, the bytes after a record can be
//! counted. Knows no files.

const BYTES_BETWEEN: u64 = 1 << 20;

/// The ends of some of the records that this process appended, ascending.
#[derive(Debug)]
pub(super) struct RecordEnds {
    ends: Vec<RecordEnd>,
    /// The end of a record is kept if it is at least so many bytes behind the last one kept.
    bytes_between: u64,
}

#[derive(Debug, Clone, Copy)]
struct RecordEnd {
    number: u64,
    offset: u64,
}

impl Default for RecordEnds {
    fn default() -> RecordEnds {
        RecordEnds::spaced(BYTES_BETWEEN)
    }
}

impl RecordEnds {
    /// None yet. They are kept at least this many bytes apart.
    pub(super) fn spaced(bytes_between: u64) -> RecordEnds {
        RecordEnds { ends: Vec::new(), bytes_between }
    }

    /// Adds the record with this number, which was just appended and ends at `offset`.
    pub(super) fn note(&mut self, number: u64, offset: u64) {
        if offset - self.ends.last().map_or(0, |end| end.offset) >= self.bytes_between {
            self.ends.push(RecordEnd { number, offset });
        }
    }

    /// Returns an offset such that no record after `number` begins before it.
    pub(super) fn before(&self, number: u64) -> u64 {
        let known = self.ends.partition_point(|end| end.number <= number);
        known.checked_sub(1).map_or(0, |last| self.ends[last].offset)
    }
}
