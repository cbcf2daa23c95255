//! Looks at a log without changing anything: which records are valid, and what is damaged. For a log that does not open,
//! and for those who only want to look.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::error::LogError;
use super::folder;
use super::segment::{Scan, SegmentFile};

/// What a log holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The number of the oldest record that the log should have; 0 if it has no files.
    pub first: u64,
    /// The number of the newest valid record, or of the newest synced one if that is damaged.
    pub last: u64,
    /// How many valid records there are.
    pub records: u64,
    /// Every record through this number is known to have been synced.
    pub synced_through: u64,
    /// What is damaged, in order.
    pub damage: Vec<Damage>,
    /// How many bytes behind the last record were never completely written. That is no damage.
    pub torn_bytes: u64,
}

/// A part of a segment that cannot be read, although it was synced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The segment.
    pub file: PathBuf,
    /// The position of the first bad byte that is known.
    pub offset: u64,
    /// The numbers of the records that are lost. Empty if none are.
    pub records: RangeInclusive<u64>,
    /// What is wrong.
    pub what: String,
}

/// Reads the whole log in `folder` and shows each valid record to `visit`, in order. Changes nothing. `synced_through`
/// is as in [`LogOptions`](super::LogOptions). Nothing may be appended meanwhile.
///
/// # Errors
/// [`LogError::Io`] if the folder cannot be read.
pub fn inspect(
    folder: &Path,
    synced_through: u64,
    mut visit: impl FnMut(u64, Vec<u8>),
) -> Result<Inspection, LogError> {
    let segments = if folder.exists() { folder::list(folder)? } else { Vec::new() };
    let first = segments.first().map_or(0, |segment| segment.first);
    let mut inspection = Inspection { first, last: 0, records: 0, synced_through, damage: Vec::new(), torn_bytes: 0 };
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
    /// Looks at one segment. `next` is the first number of the segment behind it.
    fn look_at(
        &mut self,
        segment: &SegmentFile,
        next: Option<u64>,
        visit: &mut impl FnMut(u64, Vec<u8>),
    ) -> Result<(), LogError> {
        let (mut scan, is_whole) = Scan::open_damaged(&segment.path, segment.first)?;
        if !is_whole {
            self.add_damage(&segment.path, 0, none(), "its header is damaged".to_owned());
        }
        let through = next.map_or(u64::MAX, |next| next - 1);
        let mut last = segment.first - 1;
        while last < through {
            let offset = scan.offset();
            match scan.next()? {
                Some(payload) => {
                    last = scan.next_number() - 1;
                    self.records += 1;
                    visit(last, payload);
                }
                None => match scan.skip_damage(through)? {
                    false => break,
                    true => {
                        let lost = last + 1..=scan.next_number() - 1;
                        let what = format!("record {} cannot be read, although it was synced", last + 1);
                        self.add_damage(&segment.path, offset, lost, what);
                    }
                },
            }
        }
        let end = next.map_or(self.synced_through, |next| next - 1);
        if last < end {
            let what = format!("it ends at record {last}, but record {end} was synced");
            self.add_damage(&segment.path, scan.offset(), last + 1..=end, what);
        }
        self.last = self.last.max(last).max(end);
        Ok(())
    }

    fn add_damage(&mut self, file: &Path, offset: u64, records: RangeInclusive<u64>, what: String) {
        self.damage.push(Damage { file: file.to_owned(), offset, records, what });
    }
}

#[allow(clippy::reversed_empty_ranges, reason = "no record")]
fn none() -> RangeInclusive<u64> {
    1..=0
}
