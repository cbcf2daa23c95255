//! Reads the records of the log in order, even while another thread appends.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::error::LogError;
use super::folder;
use super::interface::{FollowLog, Records};
use super::segment::{Scan, SegmentFile};
use super::watermark::Watermark;

/// Reads the records in the folder of a log. It does not need the [`Log`](super::Log).
#[derive(Debug, Clone)]
pub struct LogReader {
    folder: PathBuf,
    durable: Arc<Watermark>,
}

impl LogReader {
    pub(super) fn new(folder: &Path, durable: Arc<Watermark>) -> LogReader {
        LogReader { folder: folder.to_owned(), durable }
    }

    /// Returns a reader for a log that is not open. It does not know the number of the last record.
    pub fn of_closed(folder: &Path) -> LogReader {
        LogReader::new(folder, Arc::default())
    }
}

impl FollowLog for LogReader {
    fn first(&self) -> Result<Option<u64>, LogError> {
        Ok(folder::list(&self.folder)?.first().map(|segment| segment.first))
    }

    fn last(&self) -> u64 {
        self.durable.get()
    }

    fn read(&self, from: u64, through: u64) -> Result<Records, LogError> {
        let mut segments: VecDeque<SegmentFile> = folder::list(&self.folder)?.into();
        while segments.get(1).is_some_and(|second| second.first <= from) {
            segments.pop_front();
        }
        let first = segments.front().map_or(u64::MAX, |segment| segment.first);
        if from <= through && from < first {
            return Err(LogError::NotKept { number: from, first });
        }
        Ok(Box::new(FileRecords { segments, scan: None, from, through, finished: from > through }))
    }

    fn wait(&self, number: u64, timeout: Duration) -> u64 {
        self.durable.wait(number, timeout)
    }
}

/// Iterates over numbers and payloads of records. Ends after the first error.
#[derive(Debug)]
struct FileRecords {
    segments: VecDeque<SegmentFile>,
    scan: Option<Scan>,
    from: u64,
    through: u64,
    finished: bool,
}

impl Iterator for FileRecords {
    type Item = Result<(u64, Vec<u8>), LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.finished {
            match self.step() {
                Ok(None) => {}
                Ok(Some((number, payload))) => {
                    self.finished = number == self.through;
                    if number >= self.from {
                        return Some(Ok((number, payload)));
                    }
                }
                Err(error) => {
                    self.finished = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl FileRecords {
    /// Reads one record, or moves on to the next segment and returns `None`.
    fn step(&mut self) -> Result<Option<(u64, Vec<u8>)>, LogError> {
        let Some(scan) = &mut self.scan else {
            let Some(segment) = self.segments.pop_front() else {
                return Err(LogError::NotKept { number: self.from, first: u64::MAX });
            };
            self.scan = Some(Scan::open(&segment.path, segment.first)?);
            return Ok(None);
        };
        let number = scan.next_number();
        // If the next segment begins with this number, the rest of the current segment is unused.
        if self.segments.front().is_some_and(|next| next.first == number) {
            self.scan = None;
            return Ok(None);
        }
        match scan.next()? {
            Some((_, payload)) => Ok(Some((number, payload))),
            None => Err(scan.damaged()),
        }
    }
}
