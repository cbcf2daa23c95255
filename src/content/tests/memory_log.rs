//! A log in memory that several contents share, and that misbehaves in the ways a remote log may.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_log::{AppendError, CommitLog, FollowLog, LogError, Records};
use bindery_model::time::Millis;
use bindery_store::{Assembler, Counter, Key, StoreWrite, WriteOp, encode_transaction};
use parking_lot::{Condvar, Mutex};

use super::random::Random;

/// The writer id of records that belong to no content of the test.
const STRANGER: u64 = 0;

/// The records of a log, and what is on its way to it.
#[derive(Debug, Default)]
pub(super) struct SharedRecords {
    stored: Mutex<Stored>,
    grown: Condvar,
    pub(super) outage: Mutex<Option<Outage>>,
}

/// A fault that lasts until a test ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outage {
    /// No request leaves.
    Unreachable,
    /// Groups are stored, and no answer comes back.
    AnswersAreLost,
    /// Groups are on their way, and no answer comes back.
    RequestsAreDelayed,
    /// The next group is refused, and ends the outage.
    RefusesOne,
}

#[derive(Debug, Default)]
struct Stored {
    records: Vec<Vec<u8>>,
    /// The nonces of the groups, with the number of the record before each.
    groups: Vec<(u64, u64)>,
    /// Groups whose sender got no answer, and which arrive later or never.
    on_the_way: Vec<SentGroup>,
}

#[derive(Debug, Clone)]
struct SentGroup {
    expected_last: u64,
    nonce: u64,
    records: Vec<Vec<u8>>,
}

/// The faults so far.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Mishaps {
    pub(super) conflicts: u32,
    pub(super) unknown: u32,
    /// Groups that arrived after their sender was told nothing.
    pub(super) late: u32,
    /// Answers of which the server did not hear that nothing else was appended.
    pub(super) outdated: u32,
    pub(super) unreachable: u32,
}

/// One process's end of a shared log.
pub(super) struct MemoryLog {
    pub(super) shared: Arc<SharedRecords>,
    random: Random,
    mishaps: Arc<Mutex<Mishaps>>,
    /// The group whose outcome is not known.
    pending: Option<SentGroup>,
}

impl MemoryLog {
    pub(super) fn new(shared: &Arc<SharedRecords>, seed: u64, mishaps: &Arc<Mutex<Mishaps>>) -> MemoryLog {
        let (shared, random, mishaps) = (Arc::clone(shared), Random::new(seed), Arc::clone(mishaps));
        MemoryLog { shared, random, mishaps, pending: None }
    }

    fn unknown(&self) -> AppendError {
        self.mishaps.lock().unknown += 1;
        AppendError::Unknown("injected".to_owned())
    }
}

impl Stored {
    /// Lets all groups arrive that are on the way.
    fn deliver_all(&mut self) {
        for group in std::mem::take(&mut self.on_the_way) {
            self.put(&group);
        }
    }

    /// Creates the group behind the record that it expects, unless that has a successor. Returns whether the successor
    /// is this group.
    fn put(&mut self, group: &SentGroup) -> bool {
        if let Some((_, nonce)) = self.groups.iter().find(|(before, _)| *before == group.expected_last) {
            return *nonce == group.nonce;
        }
        if self.records.len() as u64 != group.expected_last {
            return false;
        }
        self.groups.push((group.expected_last, group.nonce));
        self.records.extend_from_slice(&group.records);
        true
    }

    /// Appends a transaction of another process that changes nothing but the time.
    fn put_of_stranger(&mut self, time: Millis, nonce: u64) {
        let write = StoreWrite::put(Key::Counter(Counter::Time), time.to_le_bytes());
        let expected_last = self.records.len() as u64;
        self.put(&SentGroup { expected_last, nonce, records: encode_transaction(STRANGER, &[write]) });
    }

    /// Lets one of the groups arrive that are on the way.
    fn deliver(&mut self, random: &mut Random) -> bool {
        if self.on_the_way.is_empty() {
            return false;
        }
        let position = random.below(self.on_the_way.len() as u64) as usize;
        let group = self.on_the_way.swap_remove(position);
        self.put(&group)
    }
}

impl SharedRecords {
    /// Appends a transaction of another process that was decided at this time, also during an outage.
    pub(super) fn append_at(&self, time: Millis) {
        // No content draws this nonce.
        self.stored.lock().put_of_stranger(time, 0);
    }

    /// Returns the times of the transactions of the contents, in the order of the log.
    pub(super) fn times(&self) -> Vec<Millis> {
        let mut assembler = Assembler::default();
        let records = self.stored.lock().records.clone();
        let transactions = (1..).zip(&records).filter_map(|(number, record)| assembler.push(number, record).unwrap());
        let writes = transactions.filter(|transaction| transaction.writer != STRANGER).flat_map(|own| own.writes);
        let times = writes.filter_map(|write| match (write.key, write.op) {
            (Key::Counter(Counter::Time), WriteOp::Put(time)) => Some(Millis::from_le_bytes(time.try_into().unwrap())),
            _ => None,
        });
        times.collect()
    }

    /// Ends an outage, after which everything arrives that was on the way.
    pub(super) fn end_outage(&self) {
        self.stored.lock().deliver_all();
        *self.outage.lock() = None;
    }
}

impl CommitLog for MemoryLog {
    fn append(&mut self, expected_last: u64, group: &[Vec<u8>]) -> Result<u64, AppendError> {
        if self.random.one_in(8) {
            std::thread::sleep(Duration::from_micros(self.random.below(3000)));
        }
        let (random, shared) = (&mut self.random, Arc::clone(&self.shared));
        let mut stored = shared.stored.lock();
        let outage = *shared.outage.lock();
        if outage == Some(Outage::Unreachable) && self.pending.is_some() {
            drop(stored);
            return Err(self.unknown());
        }
        if outage == Some(Outage::Unreachable) || random.one_in(20) && self.pending.is_none() {
            self.mishaps.lock().unreachable += 1;
            return Err(AppendError::Unreachable("injected".to_owned()));
        }
        if outage == Some(Outage::RefusesOne) && self.pending.is_none() {
            *shared.outage.lock() = None;
            let source = std::io::ErrorKind::StorageFull.into();
            return Err(AppendError::Refused(LogError::NoSpace { folder: "memory".into(), bytes: 0, source }));
        }
        let nonce = random.below(u64::MAX - 1) + 1;
        let sent = self.pending.take().unwrap_or_else(|| SentGroup { expected_last, nonce, records: group.to_vec() });
        assert_eq!(sent.expected_last, expected_last);
        assert_eq!(sent.records, group, "another group while the outcome of the last one is not known");
        if random.one_in(6) {
            // Another process appends a transaction that changes nothing readers see.
            stored.put_of_stranger(1, random.below(u64::MAX - 1) + 1);
        }
        if random.one_in(3) && stored.deliver(random) {
            self.mishaps.lock().late += 1;
        }
        let fault = outage.or_else(|| match random.below(15) {
            0 => Some(Outage::AnswersAreLost),
            1 | 2 => Some(Outage::RequestsAreDelayed),
            _ => None,
        });
        if outage.is_some() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let outcome = match fault {
            Some(Outage::AnswersAreLost) => {
                stored.put(&sent);
                None
            }
            // The group before still has to be answered.
            Some(Outage::RefusesOne) => Some(stored.put(&sent)),
            Some(_) => {
                stored.on_the_way.push(sent.clone());
                None
            }
            None => Some(stored.put(&sent)),
        };
        shared.grown.notify_all();
        match outcome {
            None => {
                self.pending = Some(sent);
                Err(self.unknown())
            }
            Some(true) => Ok(expected_last + group.len() as u64),
            Some(false) => {
                self.mishaps.lock().conflicts += 1;
                Err(AppendError::Conflict)
            }
        }
    }

    fn confirm(&mut self, expected_last: u64) -> Result<(), AppendError> {
        if self.shared.outage.lock().is_some() || self.random.one_in(20) {
            self.mishaps.lock().unreachable += 1;
            return Err(AppendError::Unreachable("injected".to_owned()));
        }
        if self.last() == expected_last {
            return Ok(());
        }
        self.mishaps.lock().outdated += 1;
        Err(AppendError::Conflict)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn last(&self) -> u64 {
        FollowLog::last(&*self.shared)
    }

    fn first(&self) -> u64 {
        1
    }

    fn bytes_since(&self, number: u64) -> u64 {
        let stored = self.shared.stored.lock();
        stored.records.iter().skip(number as usize).map(|record| record.len() as u64).sum()
    }

    fn trim(&mut self, _: u64) -> Result<u64, LogError> {
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
        self.stored.lock().records.len() as u64
    }

    fn read(&self, from: u64, through: u64) -> Result<Records, LogError> {
        let records = &self.stored.lock().records;
        let found: Vec<_> = (from..=through).map(|number| Ok((number, records[number as usize - 1].clone()))).collect();
        Ok(Box::new(found.into_iter()))
    }

    fn wait(&self, number: u64, timeout: Duration) -> u64 {
        let deadline = Instant::now() + timeout;
        let mut stored = self.stored.lock();
        while stored.records.len() as u64 <= number {
            if self.grown.wait_until(&mut stored, deadline).timed_out() {
                break;
            }
        }
        stored.records.len() as u64
    }
}
