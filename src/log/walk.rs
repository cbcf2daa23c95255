//! Walks through a segment from its first byte to its last. Finds the valid records, the gaps, and the proof of syncs.
//! Changes nothing.
//!
//! **Torn or damaged?** A record that cannot be read was either never written completely (the power failed before it
//! was synced), or it was written and has changed since. Only the first kind may be cut. There are two proofs that
//! record *n* was synced: a mark or another valid record that names *n* or a later number as synced, and a caller that
//! knows. A valid record behind a bad one proves nothing by itself: within a group that is not synced yet, the system
//! writes pages in any order.

use super::error::LogError;
use super::segment::{MARK_BYTES, Scan, SegmentEntry};

/// The contents of a segment.
#[derive(Debug)]
pub(super) struct SegmentSummary {
    /// The epoch of the segment, which its records repeat.
    pub(super) epoch: u64,
    /// The number through which everything was synced, by the newest proof.
    pub(super) synced: u64,
    /// The places where a record should be and is not, in order. A segment that simply ends has none.
    pub(super) gaps: Vec<Gap>,
    /// The number of the last valid record before the first gap, and the position behind it.
    pub(super) last: u64,
    pub(super) end: u64,
    /// The position behind the last byte that was written, if there is a gap.
    pub(super) end_of_data: u64,
}

/// Bytes that are no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) offset: u64,
    pub(super) end: u64,
    /// The number that the record here should have.
    pub(super) number: u64,
    /// The number of the record behind the gap, if there is one.
    pub(super) next: Option<u64>,
}

/// Walks through the records of a segment up to `through`, and passes each valid one to `visit`. `synced` is a number
/// that is known to be synced from another source.
pub(super) fn walk(
    mut scan: Scan,
    synced: u64,
    through: u64,
    mut visit: impl FnMut(u64, Vec<u8>),
) -> Result<SegmentSummary, LogError> {
    // A segment gets its name after everything before it is synced.
    let before = scan.next_number() - 1;
    let (epoch, end) = (scan.epoch(), scan.offset());
    let mut walked =
        SegmentSummary { epoch, synced: synced.max(before), gaps: Vec::new(), last: before, end, end_of_data: end };
    loop {
        while scan.next_number() <= through
            && let Some((synced, payload)) = scan.next()?
        {
            walked.synced = walked.synced.max(synced);
            visit(scan.next_number() - 1, payload);
        }
        if walked.gaps.is_empty() {
            (walked.last, walked.end) = (scan.next_number() - 1, scan.offset());
        }
        if scan.next_number() > through {
            return Ok(walked);
        }
        let Some((offset, number)) = walked.skip_gap(&scan)? else { return Ok(walked) };
        scan.resume(offset, number)?;
    }
}

impl SegmentSummary {
    /// Adds the gap at the position of the scan, and reads the marks in it. Returns position and number of the record
    /// behind it.
    fn skip_gap(&mut self, scan: &Scan) -> Result<Option<(u64, u64)>, LogError> {
        let end = scan.end_of_data()?;
        self.end_of_data = end;
        let mut from = scan.offset();
        let mut gap = Gap { offset: scan.offset(), end, number: scan.next_number(), next: None };
        while let Some((offset, entry)) = scan.find(from, end)? {
            match entry {
                SegmentEntry::Mark { synced } => {
                    self.synced = self.synced.max(synced);
                    from = offset + MARK_BYTES;
                    if offset == gap.offset && from >= end {
                        return Ok(None);
                    }
                }
                SegmentEntry::Record { number, synced, .. } => {
                    self.synced = self.synced.max(synced);
                    gap = Gap { end: offset, next: Some(number), ..gap };
                    self.gaps.push(gap);
                    return Ok(Some((offset, number)));
                }
            }
        }
        if end > gap.offset {
            self.gaps.push(gap);
        }
        Ok(None)
    }

    /// Returns the first gap in the synced part, which is damage. A gap without bytes stands for an end that comes too
    /// early.
    pub(super) fn first_damage(&self) -> Option<Gap> {
        let too_early = Gap { offset: self.end, end: self.end, number: self.last + 1, next: None };
        let first = self.gaps.first().cloned().unwrap_or(too_early);
        (first.number <= self.synced).then_some(first)
    }
}
