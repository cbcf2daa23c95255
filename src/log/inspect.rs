//! Inspects a log without changing it: finds the valid records and the damage. This is for a log that does not open,
//! and for commands that only report.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::error::LogError;
use super::folder;
use super::segment::{Scan, SegmentFile};
use super::walk::{Gap, SegmentSummary, walk};

/// The contents of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The number of the oldest record that the log should have; 0 if it has no files.
    pub first: u64,
    /// The number of the newest valid record. If the newest synced record is damaged, this is its number.
    pub last: u64,
    /// The numbers of the valid records, in order.
    pub valid: Vec<RangeInclusive<u64>>,
    /// The number through which every record is known to have been synced.
    pub synced_through: u64,
    /// The damage, in order. [`Log::open`](super::Log::open) refuses damage to the last segment, and readers refuse
    /// all of it.
    pub damage: Vec<Damage>,
    /// The number of bytes behind the last record that were never completely written. They are no damage: none of them
    /// was acknowledged, and [`Log::open`](super::Log::open) cuts them.
    pub torn_bytes: u64,
}

/// A part of a segment that cannot be read, although it was synced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The segment.
    pub file: PathBuf,
    /// The position of the first bad byte that is known.
    pub offset: u64,
    /// The numbers of the lost records. Empty if no record is lost.
    pub records: RangeInclusive<u64>,
    /// The problem.
    pub what: String,
}

/// Reads the whole log in `folder` and shows each valid record to `visit`, in order. Changes nothing, not even what
/// [`Log::open`](super::Log::open) would cut or write again. `synced_through` is as in
/// [`LogOptions`](super::LogOptions). Nothing may be appended meanwhile.
///
/// # Errors
/// [`LogError::Io`] if the folder cannot be read, [`LogError::Version`] for a segment of another format.
/// A segment that cannot be read to its end, or a folder without segments, is damage.
pub fn inspect(
    folder: &Path,
    synced_through: u64,
    mut visit: impl FnMut(u64, Vec<u8>),
) -> Result<Inspection, LogError> {
    let segments = if folder.exists() { folder::list(folder)? } else { Vec::new() };
    let first = segments.first().map_or(0, |segment| segment.first);
    let (valid, damage) = (Vec::new(), Vec::new());
    let mut inspection = Inspection { first, last: 0, valid, synced_through, damage, torn_bytes: 0 };
    if segments.is_empty() && synced_through > 0 {
        let error = LogError::Missing { folder: folder.to_owned(), synced: synced_through };
        inspection.add_damage(folder, 0, 1..=synced_through, error.to_string());
    }
    for (at, segment) in segments.iter().enumerate() {
        let next = segments.get(at + 1).map(|next| next.first);
        inspection.look_at(segment, next, &mut visit)?;
    }
    Ok(inspection)
}

impl Inspection {
    /// Returns the number of records that are valid.
    pub fn count(&self) -> u64 {
        self.valid.iter().map(|records| records.end() - records.start() + 1).sum()
    }

    /// Returns the number of the newest valid record.
    pub fn last_valid(&self) -> Option<u64> {
        self.valid.last().map(|records| *records.end())
    }

    fn add_valid(&mut self, number: u64) {
        match self.valid.last_mut() {
            Some(records) if *records.end() + 1 == number => *records = *records.start()..=number,
            _ => self.valid.push(number..=number),
        }
    }

    /// Inspects one segment. `next` is the first number of the next segment.
    fn look_at(
        &mut self,
        segment: &SegmentFile,
        next: Option<u64>,
        visit: &mut impl FnMut(u64, Vec<u8>),
    ) -> Result<(), LogError> {
        let (scan, damaged_header) = Scan::open_damaged(&segment.path, segment.first)?;
        if let Some(what) = damaged_header {
            self.add_damage(&segment.path, 0, none(), what);
        }
        let Some(scan) = scan else {
            let through = next.map_or(self.synced_through, |next| next - 1);
            self.add_damage(&segment.path, 0, segment.first..=through, "none of its records can be read".to_owned());
            return Ok(());
        };
        let (through, known) = next.map_or((u64::MAX, self.synced_through), |next| (next - 1, next - 1));
        let walked = walk(scan, known, through, |_, _| ());
        let walked = match walked {
            Ok(walked) => walked,
            Err(error) => {
                let what = format!("it cannot be read to its end: {error}");
                return self.unreadable(segment, through.min(known), what, visit);
            }
        };
        self.synced_through = self.synced_through.max(walked.synced);
        let torn = walked.gaps.iter().find(|gap| gap.number > walked.synced);
        let end = torn.map_or(through, |gap| gap.number - 1);
        let mut last = segment.first - 1;
        let (scan, _) = Scan::open_damaged(&segment.path, segment.first)?;
        let Some(scan) = scan else { return Ok(()) };
        walk(scan, known, end, |number, payload| {
            last = number;
            self.add_valid(number);
            visit(number, payload);
        })?;
        self.last = self.last.max(last).max(walked.synced);
        if let Some(torn) = torn {
            self.torn_bytes += walked.end_of_data - torn.offset;
        }
        self.note_gaps(segment, &walked, last);
        Ok(())
    }

    fn note_gaps(&mut self, segment: &SegmentFile, walked: &SegmentSummary, last: u64) {
        for gap in walked.gaps.iter().filter(|gap| gap.number <= walked.synced) {
            let lost = gap.number..=gap.next.map_or(walked.synced, |next| next - 1);
            let what = format!("record {} cannot be read, although it was synced", gap.number);
            self.add_damage(&segment.path, gap.offset, lost, what);
        }
        let ends_with_gap = walked.gaps.last().is_some_and(|gap: &Gap| gap.next.is_none());
        if last < walked.synced && !ends_with_gap {
            let what = format!("it ends at record {last}, but record {} was synced", walked.synced);
            self.add_damage(&segment.path, walked.end, last + 1..=walked.synced, what);
        }
    }

    /// Visits the records before the place that cannot be read.
    fn unreadable(
        &mut self,
        segment: &SegmentFile,
        through: u64,
        what: String,
        visit: &mut impl FnMut(u64, Vec<u8>),
    ) -> Result<(), LogError> {
        let (scan, _) = Scan::open_damaged(&segment.path, segment.first)?;
        let (mut offset, mut last) = (0, segment.first - 1);
        if let Some(mut scan) = scan {
            while scan.next_number() <= through.max(last)
                && let Ok(Some((_, payload))) = scan.next()
            {
                (offset, last) = (scan.offset(), scan.next_number() - 1);
                self.add_valid(last);
                visit(last, payload);
            }
        }
        self.last = self.last.max(last).max(through);
        self.add_damage(&segment.path, offset, last + 1..=through, what);
        Ok(())
    }

    fn add_damage(&mut self, file: &Path, offset: u64, records: RangeInclusive<u64>, what: String) {
        self.damage.push(Damage { file: file.to_owned(), offset, records, what });
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is damaged at byte {}: {}", self.file.display(), self.offset, self.what)?;
        let (from, through) = (self.records.start(), self.records.end());
        match through.checked_sub(*from) {
            None => Ok(()),
            Some(0) => write!(f, "; record {from} of the log is lost"),
            Some(_) => write!(f, "; records {from} to {through} of the log are lost"),
        }
    }
}

#[allow(clippy::reversed_empty_ranges, reason = "no record")]
fn none() -> RangeInclusive<u64> {
    1..=0
}
