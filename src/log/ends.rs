//! Where records end in the segment that is appended to, so that the bytes after a record can be counted. Knows no files.

const BYTES_BETWEEN: u64 = 1 << 20;

/// Where some of the records end that this process appended, ascending.
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

    /// Notes that the record of this number, just appended, ends at `offset`.
    pub(super) fn note(&mut self, number: u64, offset: u64) {
        if offset - self.ends.last().map_or(0, |end| end.offset) >= self.bytes_between {
            self.ends.push(RecordEnd { number, offset });
        }
    }

    /// An offset before which there is no record after `number`.
    pub(super) fn before(&self, number: u64) -> u64 {
        let known = self.ends.partition_point(|end| end.number <= number);
        known.checked_sub(1).map_or(0, |last| self.ends[last].offset)
    }
}
