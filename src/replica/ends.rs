//! The ends of the groups in a node's copy of the log.
//!
//! Kept in the folder `ends` too, as a log whose record numbers are the sequence numbers of groups: without them, a
//! start would have to read all groups since the last base from the shared log again. That file is a cache. It is not
//! synced for each group, and may lack the newest ends or be lost. A start compares the newest group with the shared
//! log, and so the last end.
//!
//! Must not know the records of the groups.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use bindery_cluster::{ChainHash, Position};
use bindery_log::{Log, LogError, LogOptions};
use parking_lot::Mutex;

/// The name of the folder in a data folder.
pub const ENDS_FOLDER: &str = "ends";
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
    data.join(ENDS_FOLDER)
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

    /// Adds the end of the next group. If another end of this group was known, which a repair of the shared log
    /// replaced, the ends behind it are dropped.
    pub(crate) fn push(&self, end: Position) {
        let mut state = self.0.lock();
        let known = state.positions.partition_point(|known| known.seq < end.seq);
        if state.positions.get(known) == Some(&end) {
            return;
        }
        let is_next = known == state.positions.len();
        state.positions.truncate(known);
        state.positions.push_back(end);
        let State { positions, file } = &mut *state;
        keep(file, |file| if is_next { file.append(&encode(&end)).map(drop) } else { rewrite(file, positions) });
    }

    /// Returns the end before the last one. The group behind it shows whether the shared log still has what the copy
    /// has.
    pub(crate) fn before_last_group(&self) -> Position {
        let positions = &self.0.lock().positions;
        positions[positions.len().saturating_sub(2)]
    }

    /// Returns the last end before a record; the first that is known if there is none.
    pub(crate) fn last_before(&self, number: u64) -> Position {
        let positions = &self.0.lock().positions;
        positions[positions.partition_point(|end| end.number < number).saturating_sub(1)]
    }

    /// Drops the ends before this one, which `node.json` has now.
    pub(crate) fn begin_at(&self, first: &Position) {
        let mut state = self.0.lock();
        let n_before = state.positions.partition_point(|end| end.seq < first.seq);
        state.positions.drain(..n_before);
        keep(&mut state.file, |file| file.remove_before(first.seq + 1).map(drop));
    }

    /// Returns the end of the group that holds a record, if it is known.
    pub(crate) fn of_group_with(&self, number: u64) -> Option<Position> {
        let positions = &self.0.lock().positions;
        positions.get(positions.partition_point(|end| end.number < number)).copied()
    }
}

/// Changes the file, if there is one. If that fails, there is none any more.
fn keep(file: &mut Option<Log>, change: impl FnOnce(&mut Log) -> Result<(), LogError>) {
    if let Some(Err(error)) = file.as_mut().map(change) {
        tracing::warn!(%error, "the ends of groups cannot be kept any more, so the next start will be slower");
        *file = None;
    }
}

/// Makes the file hold all of these but the first.
fn rewrite(file: &mut Log, positions: &VecDeque<Position>) -> Result<(), LogError> {
    file.reset_to(positions[0].seq + 1)?;
    positions.iter().skip(1).try_for_each(|end| file.append(&encode(end)).map(drop))
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
        rewrite(&mut file, &positions)?;
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
