//! Looks at the folder of a log that nobody has open, and changes nothing in it: what is valid, and what is wrong. For
//! the commands `verify` and `salvage`.
//!
//! A valid record is found even behind a damaged one: its checksum covers its number and the segment's epoch.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::error::{LogError, at};
use super::folder;
use super::segment::{self, HEADER_BYTES, RECORD_HEADER_BYTES, SegmentFile};

/// Gets each valid record with its number.
type Visit<'a, E> = &'a mut dyn FnMut(u64, &[u8]) -> Result<(), E>;

/// What a folder of a log holds.
#[derive(Debug, Default)]
pub struct Inspection {
    /// The numbers of the valid records, in order.
    pub records: Vec<RangeInclusive<u64>>,
    /// The number that follows the last record; `None` if there are no segments at all.
    pub next: Option<u64>,
    /// What is damaged or missing, as text for the user.
    pub issues: Vec<String>,
    /// The last segment, if it ends in bytes that are no record. A kill leaves such a tail; the next start discards it.
    pub incomplete_tail: Option<PathBuf>,
}

impl Inspection {
    /// The number of the first valid record.
    pub fn first(&self) -> Option<u64> {
        self.records.first().map(|records| *records.start())
    }

    /// The number of the last valid record.
    pub fn last(&self) -> Option<u64> {
        self.records.last().map(|records| *records.end())
    }

    /// How many records are valid.
    pub fn count(&self) -> u64 {
        self.records.iter().map(|records| records.end() - records.start() + 1).sum()
    }

    fn add(&mut self, number: u64) {
        match self.records.last_mut() {
            Some(records) if *records.end() + 1 == number => *records = *records.start()..=number,
            _ => self.records.push(number..=number),
        }
    }
}

/// Reads all segments and hands on every valid record with its number, in order. Without the folder, there are none.
///
/// # Errors
/// [`LogError::Io`]. Damage is no error but an issue. `visit` may end the reading with an error of its own.
pub fn inspect<E: From<LogError>>(folder: &Path, visit: Visit<'_, E>) -> Result<Inspection, E> {
    let mut found = Inspection::default();
    if !folder.exists() {
        return Ok(found);
    }
    let segments = folder::list(folder)?;
    let mut next = segments.first().map_or(1, |segment| segment.first);
    for (position, file) in segments.iter().enumerate() {
        if file.first > next {
            found.issues.push(missing(next, file.first - 1));
        }
        let is_last = position + 1 == segments.len();
        found.next = Some(next.max(file.first));
        next = inspect_segment(file, next.max(file.first), is_last, &mut found, visit)?;
        found.next = Some(next);
    }
    Ok(found)
}

/// Reads a segment from record `next` on. Returns the number behind its last valid record.
fn inspect_segment<E: From<LogError>>(
    file: &SegmentFile,
    mut next: u64,
    is_last: bool,
    found: &mut Inspection,
    visit: Visit<'_, E>,
) -> Result<u64, E> {
    let path = &file.path;
    let bytes = fs::read(path).map_err(at("read", path))?;
    let header = bytes.get(..HEADER_BYTES as usize).unwrap_or_default();
    let epoch = header.get(8..16).and_then(|epoch| epoch.try_into().ok()).map(u64::from_le_bytes).unwrap_or_default();
    if header != segment::encode_header(epoch, file.first) {
        found.issues.push(format!("{}: the header of this log segment is damaged", path.display()));
    }
    let mut offset = HEADER_BYTES as usize;
    // Where the last valid record ended. What is between there and the next valid one is damage.
    let mut end = offset;
    // No record begins in the zeros at the end.
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |position| position + 1);
    while let Some(rest) = bytes.get(offset..).filter(|_| offset < used) {
        let Some((number, payload)) = record_at(rest, epoch, next) else {
            offset += 1;
            continue;
        };
        if number > next {
            let lost = missing(next, number - 1);
            found.issues.push(format!("{} is damaged at byte {end}: {lost}", path.display()));
        }
        visit(number, payload)?;
        found.add(number);
        next = number + 1;
        offset += RECORD_HEADER_BYTES as usize + payload.len();
        end = offset;
    }
    if bytes.get(end..).is_some_and(|tail| tail.iter().any(|byte| *byte != 0)) {
        match is_last {
            true => found.incomplete_tail = Some(path.clone()),
            false => found.issues.push(format!("{} is damaged at byte {end}", path.display())),
        }
    }
    Ok(next)
}

/// The record that `bytes` begin with, if it is a valid one that may follow.
fn record_at(bytes: &[u8], epoch: u64, next: u64) -> Option<(u64, &[u8])> {
    let header = bytes.get(..RECORD_HEADER_BYTES as usize)?;
    let number = u64::from_le_bytes(header[12..20].try_into().ok()?);
    if number < next || header[9..12] != [0, 0, 0] {
        return None;
    }
    let length = u32::from_le_bytes(header[4..8].try_into().ok()?) as usize;
    let end = RECORD_HEADER_BYTES as usize + length;
    let payload = bytes.get(RECORD_HEADER_BYTES as usize..end)?;
    (bytes[..end] == segment::encode(epoch, number, payload)).then_some((number, payload))
}

/// The records of a range, as a text that says that they are missing.
fn missing(from: u64, through: u64) -> String {
    match through - from {
        0 => format!("record {from} of the log is missing"),
        _ => format!("records {from} to {through} of the log are missing"),
    }
}
