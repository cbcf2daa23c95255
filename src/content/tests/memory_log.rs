//! A log in memory that several contents share, and that misbehaves in the ways a remote log may.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_log::{AppendError, CommitLog, FollowLog, LogError, Records};
use bindery_store::{Counter, Key, StoreWrite, encode_transaction};
use parking_lot::{Condvar, Mutex};

use super::random::Random;

/// The writer id of records that belong to no content of the test.
const STRANGER: u64 = 0;

/// The records of a log.
#[derive(Debug, Default)]
pub(super) struct SharedRecords {
    records: Mutex<Vec<Vec<u8>>>,
    grown: Condvar,
}

/// The errors so far.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Mishaps {
    pub(super) conflicts: u32,
    pub(super) unknown: u32,
}

/// One process's end of a shared log.
pub(super) struct MemoryLog {
    pub(super) shared: Arc<SharedRecords>,
    random: Random,
    mishaps: Arc<Mutex<Mishaps>>,
}

impl MemoryLog {
    pub(super) fn new(shared: &Arc<SharedRecords>, seed: u64, mishaps: &Arc<Mutex<Mishaps>>) -> MemoryLog {
        MemoryLog { shared: Arc::clone(shared), random: Random::new(seed), mishaps: Arc::clone(mishaps) }
    }

    fn unknown(&self) -> AppendError {
        self.mishaps.lock().unknown += 1;
        AppendError::Unknown("injected".to_owned())
    }
}

impl CommitLog for MemoryLog {
    fn commit(&mut self, expected_last: u64, records: &[Vec<u8>]) -> Result<u64, AppendError> {
        if self.random.one_in(8) {
            std::thread::sleep(Duration::from_micros(self.random.below(3000)));
        }
        let mut log = self.shared.records.lock();
        if self.random.one_in(6) {
            // Another process appends a transaction that changes nothing readers see.
            let write = StoreWrite::put(Key::Counter(Counter::Time), 1i64.to_le_bytes());
            log.extend(encode_transaction(STRANGER, &[write]));
        }
        if log.len() as u64 != expected_last {
            self.mishaps.lock().conflicts += 1;
            return Err(AppendError::Conflict { last: log.len() as u64 });
        }
        if self.random.one_in(10) {
            // The connection breaks before, during or after the append.
            let n_appended = self.random.below(records.len() as u64 + 1) as usize;
            log.extend_from_slice(&records[..n_appended]);
            self.shared.grown.notify_all();
            return Err(self.unknown());
        }
        log.extend_from_slice(records);
        self.shared.grown.notify_all();
        Ok(log.len() as u64)
    }

    fn last(&self) -> u64 {
        self.shared.records.lock().len() as u64
    }

    fn first(&self) -> u64 {
        1
    }

    fn bytes_since(&self, number: u64) -> u64 {
        self.shared.records.lock().iter().skip(number as usize).map(|record| record.len() as u64).sum()
    }

    fn remove_before(&mut self, _: u64) -> Result<u64, LogError> {
        Ok(0)
    }

    fn follow(&self) -> Arc<dyn FollowLog> {
        Arc::clone(&self.shared) as Arc<dyn FollowLog>
    }
}

impl FollowLog for SharedRecords {
    fn first(&self) -> Result<Option<u64>, LogError> {
        Ok(Some(1))
    }

    fn last(&self) -> u64 {
        self.records.lock().len() as u64
    }

    fn read(&self, from: u64, through: u64) -> Result<Records, LogError> {
        let records = self.records.lock();
        let found: Vec<_> = (from..=through).map(|number| Ok((number, records[number as usize - 1].clone()))).collect();
        Ok(Box::new(found.into_iter()))
    }

    fn wait(&self, number: u64, timeout: Duration) -> u64 {
        let deadline = Instant::now() + timeout;
        let mut records = self.records.lock();
        while records.len() as u64 <= number {
            if self.grown.wait_until(&mut records, deadline).timed_out() {
                break;
            }
        }
        records.len() as u64
    }
}
