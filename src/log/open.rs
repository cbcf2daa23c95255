//! Opening of a log: finds its end, and decides which records of the last segment can be trusted.
//!
//! Records that were synced stay, and new records are appended to them. Valid records behind them may be in the
//! system's cache only: after a failed sync, a system may treat such pages as written, so they can be read but will
//! never be on disk. Therefore these records are written again, into a new segment, which is synced before it gets its
//! name. Torn records stay in the old segment, and are copied to a separate file. Nothing is overwritten.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bindery_disk::sync;

use super::error::{LogError, at};
use super::folder;
use super::segment::{self, HEADER_BYTES, MARK_BYTES, Scan, SegmentFile};
use super::spare_file::SpareFile;
use super::walk::{SegmentSummary, walk};
use super::watermark::Watermark;
use super::{ActiveSegment, Log, LogOptions};

/// The number of files with torn tails that are kept.
const TORN_FILES: usize = 3;

/// Finds the end of the log in `folder`, see [`Log::examine`].
pub(super) fn examine(folder: &Path, options: LogOptions) -> Result<Log, LogError> {
    let lock = folder::lock_folder(folder)?;
    folder::remove_unfinished(folder)?;
    let entries = File::open(folder).map_err(at("open", folder))?;
    // The last process may have failed to make the names of its files durable.
    folder::sync(&entries, folder)?;
    let mut segments = folder::list(folder)?;
    if segments.is_empty() {
        if options.synced_through > 0 {
            return Err(LogError::Missing { folder: folder.to_owned(), synced: options.synced_through });
        }
        let (segment, _, _) = folder::create(folder, &entries, 1, options.first_segment_bytes)?;
        segments.push(segment);
    }
    let newest = segments.last().expect("a segment was just created if there was none").clone();
    let walked = walk(Scan::open(&newest.path, newest.first)?, options.synced_through, u64::MAX, |_, _| ())?;
    refuse_damage(&newest, &walked)?;
    let file = File::options().write(true).read(true).open(&newest.path).map_err(at("open", &newest.path))?;
    let active = ActiveSegment { offset: walked.end, ..ActiveSegment::empty(&newest, file, walked.epoch) };
    Ok(Log {
        folder: folder.to_owned(),
        entries,
        options,
        segments,
        active,
        spare: SpareFile::none(),
        last: walked.last,
        durable: Arc::new(Watermark::new(walked.last)),
        unsettled: Some(walked),
        stopped: true,
        _lock: lock,
    })
}

/// Makes the log that [`examine`] found durable and ready for new records, see [`Log::settle`].
pub(super) fn settle(log: &mut Log) -> Result<(), LogError> {
    let Some(walked) = &log.unsettled else { return Ok(()) };
    let newest = log.segments.last().expect("a log has a segment").clone();
    let is_trusted = walked.gaps.is_empty() && walked.synced == walked.last;
    if !is_trusted {
        keep_torn(&log.folder, &log.entries, &newest, walked)?;
        let (segment, active) = carry_over(&log.folder, &log.entries, &newest, walked, &log.options)?;
        if segment.first == newest.first {
            log.segments.pop();
        }
        log.segments.push(segment);
        log.active = active;
    }
    (log.unsettled, log.stopped) = (None, false);
    log.write_mark();
    Ok(())
}

fn refuse_damage(segment: &SegmentFile, walked: &SegmentSummary) -> Result<(), LogError> {
    let Some(gap) = walked.first_damage() else { return Ok(()) };
    let what = match (gap.end > gap.offset, gap.next) {
        (false, _) => {
            format!("the log ends at record {}, but record {} was synced", walked.last, walked.synced)
        }
        (true, None) => format!("record {} cannot be read, although it was synced", gap.number),
        (true, Some(next)) => format!(
            "record {} cannot be read, although it was synced; record {next} at byte {} is intact",
            gap.number, gap.end
        ),
    };
    Err(LogError::Corrupt { file: segment.path.clone(), offset: gap.offset, what })
}

/// Copies everything behind the last valid record to a separate file: the header of the segment, and the bytes.
fn keep_torn(folder: &Path, entries: &File, segment: &SegmentFile, walked: &SegmentSummary) -> Result<(), LogError> {
    let Some(first) = walked.gaps.first() else { return Ok(()) };
    let path = folder::torn_path(folder, first.number);
    let kept = copy_torn(segment, first.offset, walked.end_of_data, &path);
    let bytes = walked.end_of_data - first.offset;
    match kept {
        Ok(()) => tracing::warn!(
            record = first.number, bytes, kept = %path.display(),
            "the log's last records were not completely written; they were never acknowledged, and are cut"
        ),
        // A full disk must not keep the server from starting, unless a valid record would be lost.
        Err(error) if first.next.is_none() => {
            let _ = fs::remove_file(&path);
            tracing::warn!(record = first.number, bytes, %error, "the log's last record was not completely written");
        }
        Err(error) => return Err(at("keep the end of the log in", &path)(error)),
    }
    folder::remove_oldest_torn(folder, TORN_FILES)?;
    folder::sync(entries, folder)
}

fn copy_torn(segment: &SegmentFile, from: u64, end: u64, path: &Path) -> std::io::Result<()> {
    let source = File::open(&segment.path)?;
    let mut copy = File::create(path)?;
    let mut block = vec![0; 1 << 20];
    for (start, end) in [(0, HEADER_BYTES), (from, end)] {
        let mut at = start;
        while at < end {
            let length = (end - at).min(block.len() as u64) as usize;
            source.read_exact_at(&mut block[..length], at)?;
            copy.write_all(&block[..length])?;
            at += length as u64;
        }
    }
    sync::all(&copy)
}

/// Writes the valid records behind the last proof of a sync into a new segment, which is durable on return.
fn carry_over(
    folder: &Path,
    entries: &File,
    newest: &SegmentFile,
    walked: &SegmentSummary,
    options: &LogOptions,
) -> Result<(SegmentFile, ActiveSegment), LogError> {
    let (synced, epoch) = (walked.synced, folder::new_epoch()?);
    let mut records = Vec::new();
    let mut encode = |number: u64, payload: Vec<u8>| {
        if number > synced {
            records.extend(segment::encode(epoch, number, synced, &payload));
        }
    };
    walk(Scan::open(&newest.path, newest.first)?, synced, walked.last, &mut encode)?;
    let needed = HEADER_BYTES + records.len() as u64 + MARK_BYTES;
    let normal = options.first_segment_bytes.max(needed);
    // On a full disk, the rest of a small segment is better than no start.
    let made = folder::make_zeros(folder, normal).map(|file| (file, normal));
    let (file, bytes) = made.or_else(|_| folder::make_zeros(folder, needed).map(|file| (file, needed)))?;
    file.write_all_at(&records, HEADER_BYTES).map_err(at("write to", folder))?;
    folder::finish(folder, &file, synced + 1, epoch)?;
    let segment = folder::name(folder, entries, synced + 1, bytes)?;
    let active =
        ActiveSegment { offset: HEADER_BYTES + records.len() as u64, ..ActiveSegment::empty(&segment, file, epoch) };
    Ok((segment, active))
}
