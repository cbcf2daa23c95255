//! The log: an ordered, durable, numbered list of payloads, kept in a folder of segment files.
//!
//! It owns the bytes on disk (segments, records, checksums), the end of the log after a crash, and the rule that
//! nothing is written any more after a failed write or sync. It must not know what a payload means.
//!
//! A segment is written full of zeros and synced before it is used, so that a sync of a record changes no file
//! metadata (`fallocate`d extents would cost a journal commit each). It gets its name only after its header is synced
//! and the segment before it is synced whole: so every named segment has a good header, every record of all segments
//! but the last was durable, and only the last one can have a torn tail.

mod error;
mod folder;
mod interface;
mod read;
mod segment;
mod spare;
#[cfg(test)]
mod tests;
mod watermark;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::LogError;
pub use interface::{AppendError, CommitLog, FollowLog, Records};
pub use read::LogReader;

use error::at;
use segment::{HEADER_BYTES, Named};
use spare::Spare;
use watermark::Watermark;

/// Segments double from the first to the largest size, so that a small site does not pay for zeros that it never fills.
const FIRST_SEGMENT_BYTES: u64 = 4 << 20;
const SEGMENT_BYTES: u64 = 64 << 20;

/// How a log is kept.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// Size of the first segment of a new log.
    pub first_segment_bytes: u64,
    /// The largest size of a segment, unless a single record needs more.
    pub segment_bytes: u64,
    /// A number that is known to have been synced (0: none). A log that ends before it is damaged, not torn.
    pub synced_through: u64,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions { first_segment_bytes: FIRST_SEGMENT_BYTES, segment_bytes: SEGMENT_BYTES, synced_through: 0 }
    }
}

/// An open log. One process holds it at a time; one thread writes it.
#[derive(Debug)]
pub struct Log {
    folder: PathBuf,
    options: LogOptions,
    /// Oldest first, never empty; the last one is written to.
    segments: Vec<Named>,
    active: Active,
    spare: Spare,
    last: u64,
    /// The newest record that is durable.
    durable: Arc<Watermark>,
    stopped: bool,
    /// Held for its lock.
    _lock: File,
    #[cfg(test)]
    fail_next: Option<tests::Fault>,
}

/// The segment that is written to.
#[derive(Debug)]
struct Active {
    file: File,
    path: PathBuf,
    epoch: u64,
    /// Where the next record goes.
    offset: u64,
    /// The file's length.
    bytes: u64,
    dirty: bool,
}

impl Log {
    /// Opens the log in `folder`, which is created if need be, and finds its end: the last whole record.
    ///
    /// A torn tail is overwritten with zeros, so that nothing in it can come alive behind a later record. Only the last
    /// segment is read; a bad record in an older one is reported by [`Log::read_from`] and [`Log::verify`].
    pub fn open(folder: &Path, options: LogOptions) -> Result<Log, LogError> {
        let lock = folder::create_and_lock(folder)?;
        folder::remove_unfinished(folder)?;
        let mut segments = folder::list(folder)?;
        if segments.is_empty() {
            if options.synced_through > 0 {
                return Err(LogError::Missing { folder: folder.to_owned(), synced: options.synced_through });
            }
            let epoch = folder::new_epoch()?;
            segments.push(folder::create(folder, 1, epoch, options.first_segment_bytes)?.0);
        }
        let newest = segments.last().expect("a segment was just made if there was none");
        let (active, last) = Active::open(newest)?;
        if last < options.synced_through {
            let what = format!("the log ends at {last}, but number {} had been synced", options.synced_through);
            return Err(LogError::Corrupt { file: active.path, offset: active.offset, what });
        }
        active.clear_tail()?;
        Ok(Log {
            folder: folder.to_owned(),
            options,
            segments,
            active,
            spare: Spare::none(),
            last,
            durable: Arc::new(Watermark::new(last)),
            stopped: false,
            _lock: lock,
            #[cfg(test)]
            fail_next: None,
        })
    }

    /// Writes a record and answers its number. It is durable after the next [`Log::sync`].
    ///
    /// After [`LogError::NoSpace`] nothing was written and the log goes on when there is room again; after any other
    /// failure the log is stopped.
    pub fn append(&mut self, payload: &[u8]) -> Result<u64, LogError> {
        self.refuse_if_stopped()?;
        let needed = segment::record_bytes(payload)?;
        if self.active.offset + needed > self.active.bytes {
            self.rotate(self.next_segment_bytes().max(HEADER_BYTES + needed))?;
        }
        let number = self.last + 1;
        let record = segment::encode(self.active.epoch, number, payload);
        let written = self.fault(Step::Write).and_then(|()| self.active.file.write_all_at(&record, self.active.offset));
        self.stop_on(written, "write")?;
        self.active.offset += needed;
        self.active.dirty = true;
        self.last = number;
        if self.active.offset > self.active.bytes / 2 {
            self.spare.prepare(&self.folder, self.next_segment_bytes());
        }
        Ok(number)
    }

    /// Makes durable what was appended. After a failure the outcome is unknown and the log is stopped.
    pub fn sync(&mut self) -> Result<(), LogError> {
        self.refuse_if_stopped()?;
        if self.active.dirty {
            let synced = self.fault(Step::Sync).and_then(|()| self.active.file.sync_data());
            self.stop_on(synced, "sync")?;
            self.active.dirty = false;
        }
        self.durable.set(self.last);
        Ok(())
    }

    /// The number of the newest record, durable or not; one less than [`Log::first`] if there is none.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The number of the oldest record that is kept.
    pub fn first(&self) -> u64 {
        self.segments.first().map_or(self.last + 1, |segment| segment.first)
    }

    /// Bytes of the segments that hold records after `number`: exact to a segment.
    pub fn bytes_since(&self, number: u64) -> u64 {
        let mut bytes = 0;
        for (at, segment) in self.segments.iter().enumerate() {
            match self.segments.get(at + 1) {
                Some(next) if next.first <= number + 1 => {}
                Some(_) => bytes += segment.bytes,
                None if self.last > number => bytes += self.active.offset,
                None => {}
            }
        }
        bytes
    }

    /// The records from `number` to the last one, in order. [`LogError::NotKept`] if older than what is kept.
    pub fn read_from(&self, number: u64) -> Result<Records, LogError> {
        self.reader().read(number, self.last)
    }

    /// A reader that another thread may use while this one appends.
    pub fn reader(&self) -> LogReader {
        LogReader::new(&self.folder, Arc::clone(&self.durable))
    }

    /// Reads every record and checks it; answers how many there are.
    pub fn verify(&self) -> Result<u64, LogError> {
        let mut count = 0;
        for record in self.read_from(self.first())? {
            record?;
            count += 1;
        }
        Ok(count)
    }

    /// Ends the segment that is written to, so that [`Log::remove_before`] can remove all that was appended so far. The
    /// next one is of the first size.
    pub fn begin_segment(&mut self) -> Result<(), LogError> {
        self.refuse_if_stopped()?;
        if self.active.offset == HEADER_BYTES { Ok(()) } else { self.rotate(self.options.first_segment_bytes) }
    }

    /// Removes the segments that hold only records below `number`, oldest first, and answers how many bytes that
    /// freed. The segment that is written to always stays.
    pub fn remove_before(&mut self, number: u64) -> Result<u64, LogError> {
        let mut freed = 0;
        while self.segments.len() > 1 && self.segments[1].first <= number {
            let path = self.segments[0].path.clone();
            std::fs::remove_file(&path).map_err(at("remove", &path))?;
            freed += self.segments.remove(0).bytes;
        }
        if freed > 0 {
            folder::sync(&self.folder)?;
        }
        Ok(freed)
    }

    /// Throws everything away and starts an empty log whose first record will have number `first`.
    pub fn reset_to(&mut self, first: u64) -> Result<(), LogError> {
        self.refuse_if_stopped()?;
        // Not to be met by the segment that is made below, under the same name.
        self.spare = Spare::none();
        // Newest first: a crash on the way leaves the beginning of the old log, which is a whole log.
        while let Some(segment) = self.segments.pop() {
            let removed = std::fs::remove_file(&segment.path);
            self.stop_on(removed, "remove")?;
        }
        folder::sync(&self.folder)?;
        let epoch = folder::new_epoch()?;
        let (segment, file) = folder::create(&self.folder, first, epoch, self.options.first_segment_bytes)?;
        self.active = Active::empty(&segment, file, epoch);
        self.segments.push(segment);
        self.last = first - 1;
        self.durable.set(self.last);
        Ok(())
    }

    /// Makes room for all of these records in one segment, so that a full disk is met before anything is written.
    fn reserve(&mut self, records: &[Vec<u8>]) -> Result<(), LogError> {
        let mut needed = 0;
        for record in records {
            needed += segment::record_bytes(record)?;
        }
        match self.active.offset + needed > self.active.bytes {
            true => self.rotate(self.next_segment_bytes().max(HEADER_BYTES + needed)),
            false => Ok(()),
        }
    }

    /// Ends the segment that is written to and begins the next, of so many bytes.
    fn rotate(&mut self, bytes: u64) -> Result<(), LogError> {
        // What comes before a named segment is durable: this is what tells damage from a torn tail.
        self.sync()?;
        let file = self.spare.take(&self.folder, bytes)?;
        let epoch = folder::new_epoch()?;
        let named = folder::name(&self.folder, file, self.last + 1, epoch, bytes);
        if named.is_err() {
            self.stopped = true;
        }
        let (segment, file) = named?;
        if self.active.offset == HEADER_BYTES {
            // Nothing was ever written to it (its first record was too large), so its name is the new one's.
            self.segments.pop();
        }
        self.active = Active::empty(&segment, file, epoch);
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

    #[cfg(test)]
    fn fault(&mut self, step: Step) -> std::io::Result<()> {
        tests::Fault::strike(&mut self.fail_next, step)
    }

    #[cfg(not(test))]
    fn fault(&mut self, _: Step) -> std::io::Result<()> {
        Ok(())
    }
}

impl CommitLog for Log {
    fn commit(&mut self, expected_last: u64, records: &[Vec<u8>]) -> Result<u64, AppendError> {
        self.refuse_if_stopped().map_err(AppendError::Stopped)?;
        if expected_last != self.last {
            return Err(AppendError::Conflict { last: self.last });
        }
        self.reserve(records).map_err(|error| match self.stopped {
            true => AppendError::Stopped(error),
            false => AppendError::Refused(error),
        })?;
        let written = records.iter().try_for_each(|record| self.append(record).map(|_| ())).and_then(|()| self.sync());
        written.map_err(AppendError::Stopped)?;
        Ok(self.last)
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

    fn remove_before(&mut self, number: u64) -> Result<u64, LogError> {
        self.remove_before(number)
    }

    fn follow(&self) -> Arc<dyn FollowLog> {
        Arc::new(self.reader())
    }
}

/// Where tests make the disk fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Write,
    Sync,
}

impl Active {
    fn empty(segment: &Named, file: File, epoch: u64) -> Active {
        Active { file, path: segment.path.clone(), epoch, offset: HEADER_BYTES, bytes: segment.bytes, dirty: false }
    }

    /// Opens the newest segment at the end of its last whole record; answers that record's number, too.
    fn open(segment: &Named) -> Result<(Active, u64), LogError> {
        let mut scan = segment::Scan::open(&segment.path, segment.first)?;
        while scan.next()?.is_some() {}
        let file = File::options().write(true).read(true).open(&segment.path).map_err(at("open", &segment.path))?;
        let mut active = Active::empty(segment, file, scan.epoch());
        active.offset = scan.offset();
        Ok((active, scan.next_number() - 1))
    }

    /// Zeros whatever lies behind the end: the whole records of a group whose first record is torn would otherwise be
    /// read again once the gap is filled by another record of the same length.
    fn clear_tail(&self) -> Result<(), LogError> {
        const BLOCK: usize = 1 << 20;
        let zeros = vec![0u8; BLOCK];
        let mut block = vec![0u8; BLOCK];
        let mut offset = self.offset;
        while offset < self.bytes {
            let length = (self.bytes - offset).min(BLOCK as u64) as usize;
            self.file.read_exact_at(&mut block[..length], offset).map_err(at("read", &self.path))?;
            if block[..length] != zeros[..length] {
                self.file.write_all_at(&zeros[..length], offset).map_err(at("clear the tail of", &self.path))?;
            }
            offset += length as u64;
        }
        // Also if nothing was torn: records that were read here may be no further than the page cache if the process was
        // killed before its sync, and what is replayed from them must not vanish afterwards.
        self.file.sync_data().map_err(at("sync", &self.path))
    }
}
