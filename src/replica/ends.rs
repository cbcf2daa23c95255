//! The ends of the groups in a node's copy of the log.
//!
//! Kept in the folder `ends` too, as a log whose record numbers are the sequence numbers of groups: without them, a start would have
//! to read all groups since the last base from the shared log again, one after the other. That file is a cache. It is not synced
//! for each group, may lack the newest ends or be lost, and what it says is compared with the shared log before it is used.
//!
//! Must not know the records of the groups.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use bindery_cluster::{ChainHash, Position};
use bindery_log::{Log, LogError, LogOptions};
use parking_lot::Mutex;

const FOLDER: &str = "ends";
/// The bytes of an end behind its sequence number: the number of the last record, and the chain hash.
const END_BYTES: usize = 8 + 32;

/// The ends of the groups from the position in `node.json` on, in order.
#[derive(Debug)]
pub(crate) struct Ends(Mutex<State>);

#[derive(Debug)]
struct State {
    /// At least one: the position in `node.json`.
    positions: VecDeque<Position>,
    /// All but the first. `None` if it cannot be written, which only makes the next start slower.
    file: Option<Log>,
}

/// Returns the folder in which a data folder keeps ends.
pub(crate) fn folder_in(data: &Path) -> PathBuf {
    data.join(FOLDER)
}

impl Ends {
    /// Reads the ends behind the position `from` that a copy has, whose last record is `last`.
    pub(crate) fn open(data: &Path, from: Position, last: u64) -> Ends {
        let folder = folder_in(data);
        let opened = open(&folder, from, last).or_else(|error| {
            tracing::warn!(%error, "the ends of groups cannot be read, so this start compares the log from its last base on");
            // A folder that cannot be removed fails to open below.
            let _ = fs::remove_dir_all(&folder);
            open(&folder, from, last)
        });
        Ends(Mutex::new(match opened {
            Ok((positions, file)) => State { positions, file: Some(file) },
            Err(error) => {
                tracing::warn!(%error, "the ends of groups cannot be kept, so the next start will be slower");
                State { positions: VecDeque::from([from]), file: None }
            }
        }))
    }

    /// Adds the end of the next group. One that is known is not added again.
    pub(crate) fn push(&self, end: Position) {
        let mut state = self.0.lock();
        if state.positions.back().is_some_and(|last| last.seq < end.seq) {
            state.positions.push_back(end);
            state.write(|file| file.append(&encode(&end)).map(drop));
        }
    }

    /// Returns the end before the last one. The group behind it shows whether the shared log still has what the copy has.
    pub(crate) fn before_last_group(&self) -> Position {
        let positions = &self.0.lock().positions;
        positions[positions.len().saturating_sub(2)]
    }

    /// Forgets all but the first.
    pub(crate) fn forget(&self) {
        let mut state = self.0.lock();
        state.positions.truncate(1);
        let next = state.positions[0].seq + 1;
        state.write(|file| file.reset_to(next));
    }

    /// Returns the last end before a record, if it is not the first that is known.
    pub(crate) fn last_before(&self, number: u64) -> Option<Position> {
        let positions = &self.0.lock().positions;
        let before = positions.partition_point(|end| end.number < number);
        before.checked_sub(1).filter(|&last| last > 0).map(|last| positions[last])
    }

    /// Drops the ends before this one, which `node.json` has now.
    pub(crate) fn begin_at(&self, first: &Position) {
        let mut state = self.0.lock();
        let n_before = state.positions.partition_point(|end| end.seq < first.seq);
        state.positions.drain(..n_before);
        state.write(|file| file.remove_before(first.seq + 1).map(drop));
    }

    /// Returns the end of the group that holds a record, if it is known.
    pub(crate) fn of_group_with(&self, number: u64) -> Option<Position> {
        let positions = &self.0.lock().positions;
        positions.get(positions.partition_point(|end| end.number < number)).copied()
    }
}

impl State {
    fn write(&mut self, change: impl FnOnce(&mut Log) -> Result<(), LogError>) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = change(file) {
            tracing::warn!(%error, "the ends of groups cannot be kept any more, so the next start will be slower");
            self.file = None;
        }
    }
}

/// Reads the ends behind `from`, and prepares the file to continue them.
fn open(folder: &Path, from: Position, last: u64) -> Result<(VecDeque<Position>, Log), LogError> {
    // 76 bytes an end: the largest segments have those of 13,000 groups.
    let options = LogOptions { first_segment_bytes: 64 << 10, segment_bytes: 1 << 20, ..LogOptions::default() };
    let mut file = Log::open(folder, options)?;
    let mut positions = VecDeque::from([from]);
    if file.first() <= from.seq + 1 {
        for record in file.read_from(from.seq + 1)? {
            let (seq, bytes) = record?;
            let before = positions.back().map_or(last, |end| end.number);
            match decode(seq, &bytes) {
                // The copy may have lost records that were not synced.
                Some(end) if end.number > before && end.number <= last => positions.push_back(end),
                _ => break,
            }
        }
    }
    if positions.back().is_none_or(|end| end.seq != file.last()) {
        file.reset_to(from.seq + 1)?;
        for end in positions.iter().skip(1) {
            file.append(&encode(end))?;
        }
    }
    Ok((positions, file))
}

fn encode(end: &Position) -> [u8; END_BYTES] {
    let mut bytes = [0; END_BYTES];
    bytes[..8].copy_from_slice(&end.number.to_le_bytes());
    bytes[8..].copy_from_slice(&end.chain.0);
    bytes
}

fn decode(seq: u64, bytes: &[u8]) -> Option<Position> {
    let (number, chain) = bytes.split_first_chunk()?;
    Some(Position { seq, number: u64::from_le_bytes(*number), chain: ChainHash(chain.try_into().ok()?) })
}
