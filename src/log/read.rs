//! Reading the log's records in order, also while another thread appends.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::error::LogError;
use super::folder;
use super::segment::{Named, Scan};

/// Reads a log's folder without holding the log.
#[derive(Debug, Clone)]
pub struct LogReader {
    folder: PathBuf,
}

impl LogReader {
    /// A reader of the log in `folder`.
    pub fn new(folder: &Path) -> LogReader {
        LogReader { folder: folder.to_owned() }
    }

    /// The number of the oldest record that is kept, or will be; nothing for a log without a segment.
    pub fn first(&self) -> Result<Option<u64>, LogError> {
        Ok(folder::list(&self.folder)?.first().map(|segment| segment.first))
    }

    /// The records `from..=through`, in order. All of them must have been appended: a missing one is an error.
    pub fn read(&self, from: u64, through: u64) -> Result<Records, LogError> {
        let mut segments: VecDeque<Named> = folder::list(&self.folder)?.into();
        while segments.get(1).is_some_and(|second| second.first <= from) {
            segments.pop_front();
        }
        let first = segments.front().map_or(u64::MAX, |segment| segment.first);
        if from <= through && from < first {
            return Err(LogError::NotKept { number: from, first });
        }
        Ok(Records { segments, scan: None, from, through, finished: from > through })
    }
}

/// An iterator over records: number and payload. It ends after the first error.
#[derive(Debug)]
pub struct Records {
    segments: VecDeque<Named>,
    scan: Option<Scan>,
    from: u64,
    through: u64,
    finished: bool,
}

impl Iterator for Records {
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

impl Records {
    /// Reads one record, or goes to the next segment.
    fn step(&mut self) -> Result<Option<(u64, Vec<u8>)>, LogError> {
        let Some(scan) = &mut self.scan else {
            let Some(segment) = self.segments.pop_front() else {
                return Err(LogError::NotKept { number: self.from, first: u64::MAX });
            };
            self.scan = Some(Scan::open(&segment.path, segment.first)?);
            return Ok(None);
        };
        let number = scan.next_number();
        // A segment ends where the next one begins, whatever bytes are left in it.
        if self.segments.front().is_some_and(|next| next.first == number) {
            self.scan = None;
            return Ok(None);
        }
        match scan.next()? {
            Some(payload) => Ok(Some((number, payload))),
            None => Err(scan.damaged()),
        }
    }
}
