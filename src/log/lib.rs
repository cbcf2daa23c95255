//! The log: an ordered, durable, numbered list of payloads, kept in a folder of segment files.
//!
//! Owns the bytes on disk (segments, records, checksums), finds the end of the log after a crash, and enforces the rule
//! that nothing is written after a failed write or sync. It must not know what a payload means.
//!
//! A segment is filled with zeros and synced before it is used, so that syncing a record changes no file metadata (with
//! `fallocate`, each extent would cost a journal commit). A segment gets its name only after its own header and the
//! whole segment before it are synced. Therefore every named segment has a valid header, every record in all segments
//! but the last one is durable, and only the last segment can have a torn tail.

mod ends;
mod error;
mod folder;
mod inspect;
mod interface;
mod open;
mod read;
mod segment;
mod spare_file;
#[cfg(test)]
mod tests;
mod walk;
mod watermark;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::LogError;
pub use folder::lock_folder;
pub use inspect::{Damage, Inspection, inspect};
pub use interface::{AppendError, CommitLog, FollowLog, Records};
pub use read::LogReader;

use bindery_disk::failure;
use bindery_disk::sync;
use ends::RecordEnds;
use error::at;
use segment::{HEADER_BYTES, MARK_BYTES, SegmentFile};
use spare_file::SpareFile;
use walk::SegmentSummary;
use watermark::Watermark;

/// Segments double in size from the first to the largest, so that a small site does not store many unused zeros.
const FIRST_SEGMENT_BYTES: u64 = 4 << 20;
const SEGMENT_BYTES: u64 = 64 << 20;

/// The options for storing a log.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// Size of the first segment of a new log.
    pub first_segment_bytes: u64,
    /// The largest size of a segment, unless a single record needs more.
    pub segment_bytes: u64,
    /// The number of a record that is known to be synced (0: none). A log that ends before it is damaged; its tail is
    /// not merely torn.
    pub synced_through: u64,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions { first_segment_bytes: FIRST_SEGMENT_BYTES, segment_bytes: SEGMENT_BYTES, synced_through: 0 }
    }
}

/// An open log. Only one process can hold it, and only one thread writes to it.
#[derive(Debug)]
pub struct Log {
    folder: PathBuf,
    /// The open folder, for syncs of its entries.
    entries: File,
    options: LogOptions,
    /// The segments, oldest first. There is at least one. Records are appended to the last one.
    segments: Vec<SegmentFile>,
    active: ActiveSegment,
    spare: SpareFile,
    last: u64,
    /// The number of the newest durable record.
    durable: Arc<Watermark>,
    /// The findings in the last segment, until [`Log::settle`].
    unsettled: Option<SegmentSummary>,
    /// True until the log is settled, and after a failure. Records are then refused.
    stopped: bool,
    /// Holds the lock on the folder.
    _lock: File,
}

/// The segment that records are appended to.
#[derive(Debug)]
struct ActiveSegment {
    file: File,
    path: PathBuf,
    epoch: u64,
    /// The position of the next record.
    offset: u64,
    /// The file's length.
    bytes: u64,
    dirty: bool,
    /// The ends of some of the records that this process appended, ascending.
    ends: RecordEnds,
}

impl Log {
    /// Opens the log in `folder` and finds its end. Creates the folder if it is missing. Afterwards all its records are
    /// durable.
    /// Records that were not completely written before the power failed are cut. They are kept in a file
    /// `torn-<number>` of the folder; at most three such files are kept. A record that was synced is never cut: if it
    /// cannot be read, opening fails with [`LogError::Corrupt`], and nothing is changed. Only the last segment is read.
    /// A bad record in an older segment is reported by [`Log::read_from`], [`Log::verify`] and [`inspect`].
    pub fn open(folder: &Path, options: LogOptions) -> Result<Log, LogError> {
        let mut log = Log::examine(folder, options)?;
        log.settle()?;
        Ok(log)
    }

    /// Opens like [`Log::open`], but changes no record yet. This is for a caller that can tell whether the log ends too
    /// early. The log can be read, but its last records may be in the system's cache only, and it accepts no records
    /// before [`Log::settle`].
    pub fn examine(folder: &Path, options: LogOptions) -> Result<Log, LogError> {
        open::examine(folder, options)
    }

    /// Cuts records that were not completely written, and makes all others durable. Does nothing if that is done
    /// already.
    pub fn settle(&mut self) -> Result<(), LogError> {
        open::settle(self)
    }

    /// Returns the error for a log that ends before a record that must have been synced.
    pub fn ends_before(&self, synced: u64) -> LogError {
        let what = format!("the log ends at record {}, but record {synced} was synced", self.last);
        LogError::Corrupt { file: self.active.path.clone(), offset: self.active.offset, what }
    }

    /// Writes a record and returns its number. The record is durable after the next [`Log::sync`].
    ///
    /// After [`LogError::NoSpace`], nothing was written, and appending works again once there is room. Any other error
    /// stops the log.
    pub fn append(&mut self, payload: &[u8]) -> Result<u64, LogError> {
        self.refuse_if_stopped()?;
        let needed = segment::record_bytes(payload)?;
        self.make_room(needed)?;
        let number = self.last + 1;
        let record = segment::encode(self.active.epoch, number, self.durable.get(), payload);
        let (file, offset) = (&self.active.file, self.active.offset);
        let written = failure::write("log::append", &record, |bytes| file.write_all_at(bytes, offset));
        self.stop_on(written, "write")?;
        self.active.offset += needed;
        self.active.dirty = true;
        self.last = number;
        self.active.ends.note(number, self.active.offset);
        if self.active.offset > self.active.bytes / 2 {
            self.spare.prepare(&self.folder, self.next_segment_bytes());
        }
        Ok(number)
    }

    /// Makes all appended records durable. After an error the outcome is unknown and the log is stopped.
    pub fn sync(&mut self) -> Result<(), LogError> {
        self.refuse_if_stopped()?;
        if self.active.dirty {
            let synced = failure::point("log::sync").and_then(|()| sync::data(&self.active.file));
            self.stop_on(synced, "sync")?;
            self.active.dirty = false;
            self.durable.set(self.last);
            self.write_mark();
        }
        Ok(())
    }

    /// Writes the mark, which says that all records before it are synced, behind the last record. The mark itself is
    /// not synced. It survives a kill, and soon a power failure too. Without it, a damaged last record would look like
    /// a record that was never completely written.
    fn write_mark(&self) {
        let mark = segment::encode_mark(self.active.epoch, self.last);
        let written =
            failure::write("log::mark", &mark, |bytes| self.active.file.write_all_at(bytes, self.active.offset));
        if let Err(error) = written {
            tracing::warn!(%error, "the log is synced, but the note of it could not be written");
        }
    }

    /// Returns the number of the newest record, durable or not. It is one less than [`Log::first`] if the log is empty.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Returns the number of the oldest record in the log.
    pub fn first(&self) -> u64 {
        self.segments.first().map_or(self.last + 1, |segment| segment.first)
    }

    /// Returns the size of all segments that hold records after `number`, in bytes. All but the last one are counted as
    /// a whole. Of the last one, records up to `number` are not counted, except for about the last MiB, if this process
    /// appended them.
    pub fn bytes_since(&self, number: u64) -> u64 {
        let mut bytes = 0;
        for (index, segment) in self.segments.iter().enumerate() {
            match self.segments.get(index + 1) {
                Some(next) if next.first <= number + 1 => {}
                Some(_) => bytes += segment.bytes,
                None if self.last > number => bytes += self.active.offset - self.active.ends.before(number),
                None => {}
            }
        }
        bytes
    }

    /// Returns the records from `number` to the last one, in order. Fails with [`LogError::NotKept`] if the first ones
    /// were removed.
    pub fn read_from(&self, number: u64) -> Result<Records, LogError> {
        self.reader().read(number, self.last)
    }

    /// Returns a reader for other threads. It works while this thread appends.
    pub fn reader(&self) -> LogReader {
        LogReader::new(&self.folder, Arc::clone(&self.durable))
    }

    /// Reads and checks every record. Returns the number of records.
    pub fn verify(&self) -> Result<u64, LogError> {
        let mut count = 0;
        for record in self.read_from(self.first())? {
            record?;
            count += 1;
        }
        Ok(count)
    }

    /// Starts a new segment of the first size, so that [`Log::remove_before`] can remove everything appended so far.
    pub fn begin_segment(&mut self) -> Result<(), LogError> {
        self.refuse_if_stopped()?;
        if self.active.offset == HEADER_BYTES { Ok(()) } else { self.rotate(self.options.first_segment_bytes) }
    }

    /// Removes the segments that hold only records below `number`, oldest first. Returns the number of bytes that
    /// became free. The active segment is never removed.
    pub fn remove_before(&mut self, number: u64) -> Result<u64, LogError> {
        let mut freed = 0;
        while self.segments.len() > 1 && self.segments[1].first <= number {
            let path = self.segments[0].path.clone();
            let removed = failure::point("log::remove").and_then(|()| std::fs::remove_file(&path));
            removed.map_err(at("remove", &path))?;
            freed += self.segments.remove(0).bytes;
        }
        if freed > 0 {
            folder::sync(&self.entries, &self.folder)?;
        }
        Ok(freed)
    }

    /// Removes all records and starts an empty log whose first record will have the number `first`.
    pub fn reset_to(&mut self, first: u64) -> Result<(), LogError> {
        self.refuse_if_stopped()?;
        // The spare file and the segment created below use the same temporary name.
        self.spare = SpareFile::none();
        // The newest segment is removed first: after a crash in between, the beginning of the old log is left, which is
        // a valid log.
        while let Some(segment) = self.segments.pop() {
            let removed = std::fs::remove_file(&segment.path);
            self.stop_on(removed, "remove")?;
        }
        folder::sync(&self.entries, &self.folder)?;
        let (segment, file, epoch) =
            folder::create(&self.folder, &self.entries, first, self.options.first_segment_bytes)?;
        self.active = ActiveSegment::empty(&segment, file, epoch);
        self.segments.push(segment);
        self.last = first - 1;
        self.durable.set(self.last);
        Ok(())
    }

    /// Makes room for all of these records, so that a full disk is noticed before anything is written.
    ///
    /// # Errors
    /// [`AppendError::Refused`] or [`AppendError::Closed`].
    pub fn make_room_for(&mut self, records: &[Vec<u8>]) -> Result<(), AppendError> {
        self.refuse_if_stopped().map_err(AppendError::Closed)?;
        self.reserve(records).map_err(|error| match self.stopped {
            true => AppendError::Closed(error),
            false => AppendError::Refused(error),
        })
    }

    /// Makes room for all of these records in one segment.
    fn reserve(&mut self, records: &[Vec<u8>]) -> Result<(), LogError> {
        let mut needed = 0;
        for record in records {
            needed += segment::record_bytes(record)?;
        }
        self.make_room(needed)
    }

    /// Begins a new segment unless `needed` bytes and a mark have room in the active one.
    fn make_room(&mut self, needed: u64) -> Result<(), LogError> {
        match self.active.offset + needed + MARK_BYTES > self.active.bytes {
            true => self.rotate(self.next_segment_bytes().max(HEADER_BYTES + needed + MARK_BYTES)),
            false => Ok(()),
        }
    }

    /// Ends the active segment and starts the next one, which has the given size.
    fn rotate(&mut self, bytes: u64) -> Result<(), LogError> {
        // Everything before a named segment is durable. So damage can be told from a torn tail.
        self.sync()?;
        let epoch = folder::new_epoch()?;
        let file = self.spare.take(&self.folder, bytes)?;
        let first = self.last + 1;
        let finished = folder::finish(&self.folder, &file, first, epoch);
        let named = finished.and_then(|()| folder::name(&self.folder, &self.entries, first, bytes));
        match &named {
            Ok(_) => {}
            Err(LogError::NoSpace { .. }) => folder::remove_unfinished(&self.folder)?,
            // The new segment may exist at the next start. Then the next record would have to be in it, so no record is
            // accepted.
            Err(_) => self.stopped = true,
        }
        let segment = named?;
        if self.active.offset == HEADER_BYTES {
            // The segment is empty because its first record was too large. The new segment has replaced it under the
            // same name.
            self.segments.pop();
        }
        self.active = ActiveSegment::empty(&segment, file, epoch);
        self.segments.push(segment);
        Ok(())
    }

    fn next_segment_bytes(&self) -> u64 {
        (self.active.bytes.saturating_mul(2)).clamp(self.options.first_segment_bytes, self.options.segment_bytes)
    }

    fn refuse_if_stopped(&self) -> Result<(), LogError> {
        if self.stopped { Err(LogError::Stopped) } else { Ok(()) }
    }

    fn stop_on(&mut self, result: std::io::Result<()>, action: &'static str) -> Result<(), LogError> {
        self.stopped |= result.is_err();
        result.map_err(at(action, &self.active.path))
    }
}

impl CommitLog for Log {
    fn append(&mut self, expected_last: u64, group: &[Vec<u8>]) -> Result<u64, AppendError> {
        self.refuse_if_stopped().map_err(AppendError::Closed)?;
        if expected_last != self.last {
            return Err(AppendError::Conflict);
        }
        self.make_room_for(group)?;
        let written = group.iter().try_for_each(|record| self.append(record).map(|_| ())).and_then(|()| self.sync());
        written.map_err(AppendError::Stopped)?;
        Ok(self.last)
    }

    fn confirm(&mut self, expected_last: u64) -> Result<(), AppendError> {
        if expected_last == self.last { Ok(()) } else { Err(AppendError::Conflict) }
    }

    fn last(&self) -> u64 {
        self.last()
    }

    fn first(&self) -> u64 {
        self.first()
    }

    fn bytes_since(&self, number: u64) -> u64 {
        self.bytes_since(number)
    }

    fn trim(&mut self, number: u64) -> Result<u64, LogError> {
        self.remove_before(number)
    }

    fn follow(&self) -> Arc<dyn FollowLog> {
        Arc::new(self.reader())
    }
}

impl ActiveSegment {
    fn empty(segment: &SegmentFile, file: File, epoch: u64) -> ActiveSegment {
        ActiveSegment {
            file,
            path: segment.path.clone(),
            epoch,
            offset: HEADER_BYTES,
            bytes: segment.bytes,
            dirty: false,
            ends: RecordEnds::default(),
        }
    }
}
