//! The log of one history: reading it, and looking at its end.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::append::Attempt;
use crate::cluster::History;
use crate::error::ClusterError;
use crate::group::{Group, GroupError, MAX_GROUP_BYTES};
use crate::objects::{Objects, again, block};
use crate::position::Position;

/// The reads that bring wrong bytes until the object counts as damaged.
const READS: usize = 3;
const PAUSE_BETWEEN_READS: Duration = Duration::from_millis(100);
/// The longest time of one look at the end of the log. The caller has others wait meanwhile, and finds out only between
/// two looks that one of them has waited too long.
const LOOK_TIMEOUT: Duration = Duration::from_secs(5);

/// The log of one history, as one node uses it. Calls may come from several threads; appends wait for each other.
pub struct Log {
    pub(crate) shared: Arc<LogShared>,
    /// The append whose outcome is not known.
    pub(crate) pending: Mutex<Option<Attempt>>,
    /// Every object with a lower sequence number is empty, as far as this process knows.
    pub(crate) removed_before: AtomicU64,
}

/// The part of a log that its background tasks use, too.
pub(crate) struct LogShared {
    pub(crate) objects: Arc<Objects>,
    pub(crate) history: History,
    pub(crate) node: String,
}

/// The answer to a read behind a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The next group, and the position behind it.
    Group(Group, Position),
    /// Nothing: the position is the tail.
    Missing,
    /// The next group was removed. Begin from a base.
    Removed,
}

/// The comparison of a position with the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PositionMatch {
    /// The group that ends at this position, or the position is where the history begins.
    Same,
    /// A removed group.
    Removed,
    /// Nothing: the log ends before the position.
    Missing,
    /// Another group.
    Other,
}

/// The content of an object of the log.
pub(crate) enum Look {
    Content(Bytes),
    Missing,
    Removed,
}

impl Log {
    pub(crate) fn new(objects: Arc<Objects>, history: History, node: &str) -> Log {
        let shared = Arc::new(LogShared { objects, history, node: node.to_owned() });
        Log { shared, pending: Mutex::new(None), removed_before: AtomicU64::new(0) }
    }

    /// Returns the history whose log this is.
    #[must_use]
    pub fn history(&self) -> History {
        self.shared.history
    }

    /// Reads the group after a position.
    ///
    /// # Errors
    /// [`ClusterError::Diverged`] if it does not continue the position, [`ClusterError::Damaged`],
    /// [`ClusterError::NewerVersion`], [`ClusterError::Sealed`] at the end of the history, or that the storage cannot
    /// be read.
    pub fn read(&self, after: &Position) -> Result<Found, ClusterError> {
        block(again(async || self.shared.read(after).await))
    }

    /// Looks once at the name after a position. Returns true if nothing is there, so the position was the tail after
    /// this call began.
    ///
    /// # Errors
    /// If the storage cannot be read, or does not answer within five seconds.
    pub fn confirm(&self, after: &Position) -> Result<bool, ClusterError> {
        let (shared, before) = (Arc::clone(&self.shared), after.seq);
        block(async move {
            let name = shared.name(before.saturating_add(1));
            let (looking, looked_at) = (Arc::clone(&shared), name.clone());
            // A look that is given up goes on in the background: if it were cancelled, the connection of a database
            // would go back to its pool with a statement that is not answered.
            let look = tokio::spawn(async move { looking.is_missing(&looked_at, before).await });
            let found = shared.objects.answer_within(LOOK_TIMEOUT, "read", &name, look).await?;
            found.map_err(|error| shared.objects.unreachable("read", &name, &error.to_string()))?
        })
    }

    /// Says whether the log still has the group that ends at a position: it does not if the storage was reset to an
    /// older state.
    ///
    /// # Errors
    /// As [`Log::read`].
    pub fn compare(&self, position: &Position) -> Result<PositionMatch, ClusterError> {
        if position.seq == 0 {
            let is_start = *position == Position::start(self.shared.history.id, position.number);
            return Ok(if is_start { PositionMatch::Same } else { PositionMatch::Other });
        }
        block(async {
            let Some((_, found)) = (match self.shared.look_at_group(position.seq).await? {
                Look::Missing => return Ok(PositionMatch::Missing),
                Look::Removed => return Ok(PositionMatch::Removed),
                Look::Content(bytes) => Group::decode(&bytes).ok(),
            }) else {
                return Ok(PositionMatch::Other);
            };
            Ok(if found == position.chain { PositionMatch::Same } else { PositionMatch::Other })
        })
    }

    /// If nothing is at the name after a position, looks for names behind it. Returns the sequence number of the first
    /// missing group if there are any: the log has a gap, and nothing may be appended.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub(crate) fn is_behind_gap(&self, after: &Position) -> Result<Option<u64>, ClusterError> {
        block(again(async || self.shared.is_behind_gap(after).await))
    }

    /// Returns the sequence numbers from `from` to `tail` whose objects do not exist: the first 100. Removed
    /// groups have an object.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn missing_names(&self, from: u64, tail: u64) -> Result<Vec<u64>, ClusterError> {
        let from = from.max(1);
        block(async {
            let listed = self.shared.list_after(from - 1).await?;
            let mut candidates = Vec::new();
            let mut expected = from;
            for seq in listed.into_iter().map(|(seq, _)| seq).take_while(|&seq| seq <= tail) {
                candidates.extend((expected..seq).take(MAX_MISSING));
                expected = seq.saturating_add(1);
            }
            candidates.extend((expected..=tail).take(MAX_MISSING));
            let mut missing = Vec::new();
            for seq in candidates.into_iter().take(MAX_MISSING) {
                if self.shared.objects.size(&self.shared.name(seq)).await?.is_none() {
                    missing.push(seq);
                }
            }
            Ok(missing)
        })
    }
}

/// The digits of a sequence number in a name.
const SEQ_DIGITS: usize = 20;
/// More missing names are not named.
const MAX_MISSING: usize = 100;

impl LogShared {
    /// Returns the name of a group's object.
    pub(crate) fn name(&self, seq: u64) -> String {
        format!("{}/log/{seq:020}", self.history.folder())
    }

    /// Returns the sequence numbers after `seq` whose objects exist, in order, with what the store says about each.
    pub(crate) async fn list_after(&self, seq: u64) -> Result<Vec<(u64, object_store::ObjectMeta)>, ClusterError> {
        let folder = format!("{}/log", self.history.folder());
        let objects = self.objects.list(&folder, Some(&format!("{seq:020}"))).await?;
        let parse = |object: object_store::ObjectMeta| {
            let name = object.location.filename()?;
            let is_number = name.len() == SEQ_DIGITS && name.bytes().all(|byte| byte.is_ascii_digit());
            Some((name.parse::<u64>().ok().filter(|_| is_number)?, object))
        };
        let mut listed: Vec<_> = objects.into_iter().filter_map(parse).filter(|&(found, _)| found > seq).collect();
        listed.sort_unstable_by_key(|&(seq, _)| seq);
        Ok(listed)
    }

    /// Returns whether nothing has a name, which is the one after `before`.
    async fn is_missing(&self, name: &str, before: u64) -> Result<bool, ClusterError> {
        let found = self.objects.size(name).await?;
        if found.is_none() {
            self.check_folder(before).await?;
        }
        Ok(found.is_none())
    }

    /// See [`Log::is_behind_gap`].
    pub(crate) async fn is_behind_gap(&self, after: &Position) -> Result<Option<u64>, ClusterError> {
        let next = after.seq.saturating_add(1);
        let is_missing = async || Ok::<_, ClusterError>(self.objects.size(&self.name(next)).await?.is_none());
        // Asked first, since a list of what is behind may be long.
        if !is_missing().await? || self.list_after(next).await?.is_empty() {
            return Ok(None);
        }
        // The names may have been created while they were listed, so the first one is looked at again.
        Ok(is_missing().await?.then_some(next))
    }

    /// Reads an object as it is.
    pub(crate) async fn look(&self, seq: u64) -> Result<Look, ClusterError> {
        match self.objects.get(&self.name(seq), MAX_GROUP_BYTES).await? {
            Some(bytes) if bytes.is_empty() => Ok(Look::Removed),
            Some(bytes) => Ok(Look::Content(bytes)),
            None => {
                self.check_folder(seq.saturating_sub(1)).await?;
                Ok(Look::Missing)
            }
        }
    }

    /// Reads an object until its bytes are a group, or it is certain that they are none.
    pub(crate) async fn look_at_group(&self, seq: u64) -> Result<Look, ClusterError> {
        let mut reads = 1;
        loop {
            match self.look(seq).await? {
                Look::Content(bytes)
                    if reads < READS && matches!(Group::decode(&bytes), Err(GroupError::Damaged(_))) => {}
                look => return Ok(look),
            }
            tokio::time::sleep(PAUSE_BETWEEN_READS).await;
            reads += 1;
        }
    }

    /// Over `file://`, an object that does not exist means something only if the folder is the cluster's.
    pub(crate) async fn check_folder(&self, before: u64) -> Result<(), ClusterError> {
        let before = (before > 0).then(|| self.name(before));
        self.objects.check_folder(before.as_deref()).await
    }

    pub(crate) async fn read(&self, after: &Position) -> Result<Found, ClusterError> {
        match self.look_at_group(after.seq.saturating_add(1)).await? {
            Look::Missing => Ok(Found::Missing),
            Look::Removed => Ok(Found::Removed),
            Look::Content(bytes) => self.check(after, &bytes).map(|(group, position)| Found::Group(group, position)),
        }
    }

    /// Decodes the group after a position and checks that it continues it.
    pub(crate) fn check(&self, after: &Position, bytes: &[u8]) -> Result<(Group, Position), ClusterError> {
        let seq = after.seq.saturating_add(1);
        let (group, chain) = Group::decode(bytes).map_err(|error| match error {
            GroupError::NewerVersion(version) => {
                ClusterError::NewerVersion { name: self.name(seq), version: version.into() }
            }
            GroupError::Damaged(what) => ClusterError::Damaged { name: self.name(seq), what: what.to_owned() },
        })?;
        group.continues(self.history.id, after).map_err(|what| ClusterError::Diverged { seq, what })?;
        if group.records.is_empty() {
            return Err(ClusterError::Sealed { seq });
        }
        let position = group.position(chain);
        Ok((group, position))
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Log").field("history", &self.shared.history).field("node", &self.shared.node).finish()
    }
}
