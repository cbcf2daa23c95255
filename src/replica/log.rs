//! The log of a node: appends to the shared log, then to the node's copy of it.
//!
//! Only the thread that owns it changes the copy. What others append is read ahead by a [`Follower`], and taken over by
//! [`CommitLog::take_in`]. The copy is synced before anything is applied, as a single server's log is.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bindery_cluster::{
    AppendError as SharedError, ClusterError, Follower, Found, Group, Position, PositionMatch, Wait,
};
use bindery_log::{AppendError, CommitLog, FollowLog, Log, LogError, LogReader, Records};

use crate::ends::Ends;
use crate::error::ReplicaError;
use crate::join::Node;
use crate::membership::Membership;
use crate::status::{Remedy, Status};

/// The time after which an append is left to go on in the background, so that the caller can look after others.
const PATIENCE: Duration = Duration::from_millis(50);

/// The pause between two attempts to keep what others wrote, on a disk without room for it.
const ROOM_PAUSE: Duration = Duration::from_secs(1);

/// The pause between two attempts to reach the storage of a node that began without it.
const ATTACH_PAUSE: Duration = Duration::from_secs(1);

/// The function that is called when others have appended.
type Wake = Arc<OnceLock<Box<dyn Fn() + Send + Sync>>>;

/// A log that is shared with other servers, with this server's copy of it.
pub struct ReplicatedLog {
    copy: Log,
    shared: Arc<bindery_cluster::Log>,
    /// Reads ahead; `None` until the copy is known to continue the shared log.
    follower: Option<Arc<Follower>>,
    /// Groups that were read and are not in the copy yet.
    ahead: VecDeque<(Group, Position)>,
    /// The time at which the disk had no room for the first of them, and the error.
    short_of_room: Option<(Instant, String)>,
    /// The position of the copy's end, once attached.
    position: Position,
    /// The number of the last record that is applied.
    applied: u64,
    ends: Arc<Ends>,
    /// True while the outcome of an append is not known.
    is_pending: bool,
    folder: PathBuf,
    address: String,
    membership: Membership,
    status: Status,
    wake: Wake,
    /// The time of the last attempt to attach.
    tried: Instant,
}

impl ReplicatedLog {
    pub(crate) fn attach(node: &Node, copy: Log) -> Result<ReplicatedLog, ReplicaError> {
        let membership = node.membership.clone();
        let position = membership.position;
        let shared = Arc::new(node.store.log(&membership.cluster.history, &membership.node)?);
        let ends = Arc::new(Ends::open(&node.folder, position, copy.last()));
        let mut log = ReplicatedLog {
            copy,
            shared,
            follower: None,
            ahead: VecDeque::new(),
            short_of_room: None,
            position,
            applied: 0,
            ends,
            is_pending: false,
            folder: node.folder.clone(),
            address: node.address.clone(),
            membership,
            status: Status::new(position),
            wake: Arc::default(),
            tried: Instant::now(),
        };
        match log.try_attach() {
            Err(ReplicaError::Cluster(error @ ClusterError::Unreachable { .. })) => {
                tracing::warn!(%error, "the log of the cluster cannot be reached yet");
            }
            result => result?,
        }
        Ok(log)
    }

    /// Returns the status of the node, for other threads.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status.clone()
    }

    /// Returns the shared log and the ends of groups, for the upkeep.
    pub(crate) fn shared(&self) -> (Arc<bindery_cluster::Log>, Arc<Ends>) {
        (Arc::clone(&self.shared), Arc::clone(&self.ends))
    }

    /// Compares the copy with the shared log, and begins to follow behind its end.
    fn try_attach(&mut self) -> Result<(), ReplicaError> {
        if self.follower.is_some() {
            return Ok(());
        }
        self.tried = Instant::now();
        let from = self.ends.before_last_group();
        let position = match self.compare_behind(from) {
            Err(error) if from != self.membership.position && may_be_other(&error) => self.compare_all(error),
            compared => compared,
        }?;
        self.position = position;
        let wake = Arc::clone(&self.wake);
        let wake = move || {
            if let Some(wake) = wake.get() {
                wake();
            }
        };
        let follower = Arc::new(self.shared.follow(position, wake)?);
        self.status.follow_with(&follower);
        self.follower = Some(follower);
        self.show_position();
        Ok(())
    }

    /// Compares everything behind the position in `node.json`, which tells where the two logs part. Returns `error` if
    /// it does not: a node that has more than the shared log must not begin anew because of what was removed.
    fn compare_all(&mut self, error: ReplicaError) -> Result<Position, ReplicaError> {
        match self.compare_behind(self.membership.position) {
            Err(other) if !may_be_other(&other) => Err(error),
            compared => compared,
        }
    }

    /// Compares what the copy has behind a position with the shared log. Returns the position of its end.
    fn compare_behind(&mut self, mut position: Position) -> Result<Position, ReplicaError> {
        let shared = Arc::clone(&self.shared);
        if position.number >= self.copy.last() {
            self.check_position(&position)?;
        }
        let mut groups = shared.read_ahead(position)?;
        while position.number < self.copy.last() {
            let seq = position.seq + 1;
            match groups.read()? {
                Found::Group(group, end) => {
                    self.continue_copy(&group)?;
                    position = end;
                    // Kept at once: if the storage fails meanwhile, it need not be compared again.
                    self.ends.push(end);
                }
                Found::Removed => return Err(ReplicaError::TooFarBehind { seq }),
                Found::Missing => {
                    let (own, address) = (self.copy.last(), self.address.clone());
                    return Err(ReplicaError::Ahead { own, own_seq: seq, address });
                }
            }
        }
        Ok(position)
    }

    /// Checks that the shared log has a position behind which there is nothing to compare, and what comes next.
    fn check_position(&self, position: &Position) -> Result<(), ReplicaError> {
        let (number, seq) = (position.number, position.seq);
        match self.shared.compare(position)? {
            PositionMatch::Same | PositionMatch::Removed => {}
            PositionMatch::Other => return Err(ReplicaError::Diverged { number, seq }),
            PositionMatch::Missing => {
                return Err(ReplicaError::Ahead { own: number, own_seq: seq, address: self.address.clone() });
            }
        }
        match self.shared.read(position) {
            Ok(Found::Removed) => Err(ReplicaError::TooFarBehind { seq: seq + 1 }),
            Err(error @ ClusterError::Unreachable { .. }) => Err(error.into()),
            // Any other fault, such as a seal, keeps the node from following the log, and not from serving its content.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Compares the records of a group with those in the copy. A crash may have left only the first of them there: then
    /// appends the others.
    fn continue_copy(&mut self, group: &Group) -> Result<(), ReplicaError> {
        compare(group, &self.copy.reader(), self.copy.last())?;
        let n_stored = (self.copy.last() + 1 - group.first) as usize;
        for record in group.records.iter().skip(n_stored) {
            self.copy.append(record)?;
        }
        Ok(self.copy.sync()?)
    }

    /// Appends a group of the shared log to the copy. Its end is noted first: it tells a base where it may end.
    fn keep(&mut self, records: &[Vec<u8>], end: Position) -> Result<(), LogError> {
        self.ends.push(end);
        for record in records {
            self.copy.append(record)?;
        }
        self.position = end;
        Ok(())
    }

    /// Says how far the node is. Readers see only what is applied, so groups that are only copied do not count.
    fn show_position(&self) {
        self.status.set_position(self.ends.last_before(self.applied + 1));
    }

    /// Moves what the follower has read to `ahead`, unless that still has groups: what it reads meanwhile is bounded.
    fn look_ahead(&mut self) -> Result<(), LogError> {
        let Some(follower) = &self.follower else { return Ok(()) };
        if !self.ahead.is_empty() {
            return Ok(());
        }
        // Asked first: what it finds afterwards is then missing from `ahead` at worst.
        let status = follower.status();
        for (group, end) in follower.take() {
            let next = self.ahead.back().map_or(self.position, |(_, end)| *end).seq + 1;
            if group.seq == next {
                self.ahead.push_back((group, end));
            }
        }
        if self.ahead.is_empty()
            && self.applied >= self.copy.last()
            && status.is_at_tail
            && let Some(at) = status.last_look
        {
            self.status.was_at_tail(at);
        }
        match status.error {
            Some(error) if self.ahead.is_empty() => self.stop_for(&error),
            _ => Ok(()),
        }
    }

    /// Reads the next group at once, after it turned out that there is one of another node. Returns the error of an
    /// append or a confirmation that met it.
    fn read_next(&mut self) -> AppendError {
        let after = self.ahead.back().map_or(self.position, |(_, end)| *end);
        match self.shared.read(&after) {
            Ok(Found::Group(group, end)) => {
                self.ahead.push_back((group, end));
                if let Some(follower) = &self.follower {
                    follower.advance(&end);
                }
            }
            Ok(_) => {}
            Err(error) => {
                return match self.stop_for(&error) {
                    Err(stopped) => AppendError::Closed(stopped),
                    // The group of this node is not in the log. What is there instead can be read later.
                    Ok(()) => AppendError::Unreachable(error.to_string()),
                };
            }
        }
        AppendError::Conflict
    }

    /// Ends following for good, if the error is one that stays.
    fn stop_for(&self, error: &ClusterError) -> Result<(), LogError> {
        let remedy = match error {
            ClusterError::Removed { .. } => Remedy::Rejoin,
            ClusterError::Sealed { .. } => Remedy::NextHistory,
            ClusterError::Diverged { .. }
            | ClusterError::SetBack { .. }
            | ClusterError::Gap { .. }
            | ClusterError::Damaged { .. }
            | ClusterError::NewerVersion { .. } => Remedy::None,
            _ => return Ok(()),
        };
        self.status.fail(error.to_string(), remedy);
        Err(LogError::Shared(error.to_string()))
    }

    /// Attaches before the first request to the shared log.
    fn require_attached(&mut self) -> Result<(), AppendError> {
        self.try_attach().map_err(|error| match error {
            ReplicaError::Cluster(error @ ClusterError::Unreachable { .. }) => {
                AppendError::Unreachable(error.to_string())
            }
            error => {
                let remedy = match &error {
                    ReplicaError::TooFarBehind { .. } => Remedy::Rejoin,
                    ReplicaError::Cluster(ClusterError::Sealed { .. }) => Remedy::NextHistory,
                    _ => Remedy::None,
                };
                self.status.fail(error.to_string(), remedy);
                AppendError::Closed(LogError::Shared(error.to_string()))
            }
        })
    }

    /// Returns whether others have appended. Refuses if the disk has no room for that: then nothing can be decided. Nor
    /// can it before the end of the log is known: behind a gap, the next name may be free although it was used.
    fn is_outrun(&mut self, expected_last: u64) -> Result<bool, AppendError> {
        // Asked first: what was read until then is in `ahead` afterwards.
        let knows_tail = self.follower.as_ref().is_some_and(|follower| follower.status().knows_tail());
        self.look_ahead().map_err(AppendError::Closed)?;
        if let Some((_, error)) = &self.short_of_room {
            return Err(AppendError::Refused(LogError::Shared(error.clone())));
        }
        let is_outrun = !self.ahead.is_empty() || self.copy.last() != expected_last;
        if !is_outrun && !knows_tail {
            return Err(AppendError::Unreachable("the end of the log is not known yet".to_owned()));
        }
        Ok(is_outrun)
    }

    /// Makes room for a group of another node, in the copy and for what applying it writes. Returns false while the
    /// disk has none. The disk is asked once in a while only, since the copy fills what is left of it each time.
    ///
    /// # Errors
    /// [`LogError`] if the copy accepts no more records.
    fn has_room_for(&mut self, group: &Group) -> Result<bool, LogError> {
        if self.short_of_room.as_ref().is_some_and(|(at, _)| at.elapsed() < ROOM_PAUSE) {
            return Ok(false);
        }
        let bytes = group.records.iter().map(|record| record.len() as u64).sum();
        let checked =
            bindery_store::check_room(&self.folder, bytes).map_err(|error| LogError::Shared(error.to_string()));
        let made = checked.map_err(AppendError::Refused).and_then(|()| self.copy.make_room_for(&group.records));
        match made {
            Ok(()) => self.short_of_room = None,
            Err(AppendError::Closed(error) | AppendError::Stopped(error)) => return Err(error),
            Err(error) => {
                if self.short_of_room.is_none() {
                    tracing::error!(%error, "the disk has no room for what other nodes wrote; this is tried again");
                }
                self.short_of_room = Some((Instant::now(), error.to_string()));
            }
        }
        Ok(self.short_of_room.is_none())
    }
}

/// Returns whether the shared log may not have what the copy has. Over `file://`, one that was set back looks as if it
/// could not be reached.
fn may_be_other(error: &ReplicaError) -> bool {
    use ClusterError::Unreachable;
    use ReplicaError::{Ahead, Cluster, Diverged};
    matches!(
        error,
        Ahead { .. } | Diverged { .. } | Cluster(ClusterError::Diverged { .. }) | Cluster(Unreachable { .. })
    )
}

/// Compares the records of a group with those that a copy has of it, up to its record `last`.
///
/// # Errors
/// [`ReplicaError::Diverged`] at the first that differs.
pub(crate) fn compare(group: &Group, copy: &LogReader, last: u64) -> Result<(), ReplicaError> {
    let end = group.first + group.records.len() as u64 - 1;
    for (stored, record) in copy.read(group.first, end.min(last))?.zip(&group.records) {
        let (number, stored) = stored?;
        if stored != *record {
            return Err(ReplicaError::Diverged { number, seq: group.seq });
        }
    }
    Ok(())
}

/// Returns a wait that ends after this time.
pub(crate) fn at_most(time: Duration) -> impl FnMut(Wait) -> ControlFlow<()> {
    let began = Instant::now();
    move |_| if began.elapsed() < time { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

impl CommitLog for ReplicatedLog {
    fn append(&mut self, expected_last: u64, group: &[Vec<u8>]) -> Result<u64, AppendError> {
        self.require_attached()?;
        if !self.is_pending {
            if self.is_outrun(expected_last)? {
                return Err(AppendError::Conflict);
            }
            self.copy.make_room_for(group)?;
        }
        let mut waiting = at_most(PATIENCE);
        let outcome = match self.shared.resume(&mut waiting) {
            Some(outcome) => outcome,
            None => self.shared.append(&self.position, group, 0, &mut waiting),
        };
        self.is_pending = matches!(outcome, Err(SharedError::Unknown(_)));
        match outcome {
            Ok(end) => {
                self.keep(group, end).and_then(|()| self.copy.sync()).map_err(AppendError::Stopped)?;
                if let Some(follower) = &self.follower {
                    follower.advance(&end);
                }
                Ok(end.number)
            }
            Err(SharedError::Conflict { .. }) => Err(self.read_next()),
            Err(SharedError::Unreachable(error)) => {
                self.stop_for(&error).map_err(AppendError::Closed)?;
                Err(AppendError::Unreachable(error.to_string()))
            }
            Err(SharedError::Unknown(text)) => {
                // A database that was set back accepts nothing more, so the outcome will never be known.
                let error = self.follower.as_ref().and_then(|follower| follower.status().error);
                if let Some(error) = error.filter(|error| matches!(**error, ClusterError::SetBack { .. })) {
                    self.stop_for(&error).map_err(AppendError::Stopped)?;
                }
                Err(AppendError::Unknown(text))
            }
            Err(error @ SharedError::Removed { .. }) => {
                self.status.fail(error.to_string(), Remedy::Rejoin);
                Err(AppendError::Stopped(LogError::Shared(error.to_string())))
            }
            Err(SharedError::TooLarge { bytes, .. }) => {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                Err(AppendError::Refused(LogError::TooLarge { bytes }))
            }
        }
    }

    fn confirm(&mut self, expected_last: u64) -> Result<(), AppendError> {
        self.require_attached()?;
        if self.is_outrun(expected_last)? {
            return Err(AppendError::Conflict);
        }
        let asked = Instant::now();
        match self.shared.confirm(&self.position) {
            Ok(true) => {
                self.status.was_at_tail(asked);
                Ok(())
            }
            Ok(false) => Err(self.read_next()),
            Err(error) => {
                self.stop_for(&error).map_err(AppendError::Closed)?;
                Err(AppendError::Unreachable(error.to_string()))
            }
        }
    }

    fn take_in(&mut self) -> Result<u64, LogError> {
        if self.follower.is_none() && self.tried.elapsed() > ATTACH_PAUSE {
            match self.require_attached() {
                Ok(()) | Err(AppendError::Unreachable(_)) => {}
                Err(error) => return Err(LogError::Shared(error.to_string())),
            }
        }
        self.look_ahead()?;
        let before = self.copy.last();
        while let Some((group, end)) = self.ahead.pop_front() {
            if !self.has_room_for(&group)? {
                self.ahead.push_front((group, end));
                break;
            }
            self.keep(&group.records, end)?;
        }
        if self.copy.last() > before {
            self.copy.sync()?;
        }
        Ok(self.copy.last())
    }

    fn note_applied(&mut self, number: u64) {
        self.applied = number;
        self.show_position();
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn wake_with(&mut self, wake: Box<dyn Fn() + Send + Sync>) {
        let _ = self.wake.set(wake);
    }

    fn last(&self) -> u64 {
        self.copy.last()
    }

    fn first(&self) -> u64 {
        self.copy.first()
    }

    fn bytes_since(&self, number: u64) -> u64 {
        self.copy.bytes_since(number)
    }

    fn needs_base(&self, base: u64) -> bool {
        self.status.needs_base(base)
    }

    fn trim(&mut self, number: u64) -> Result<u64, LogError> {
        // The copy keeps everything behind the position in `node.json`: a start without `ends` compares it from there.
        let position = self.ends.last_before(number);
        if position != self.membership.position {
            self.membership.position = position;
            self.membership.save(&self.folder).map_err(|error| LogError::Shared(error.to_string()))?;
            self.ends.begin_at(&position);
        }
        self.copy.remove_before(position.number + 1)
    }

    fn follow(&self) -> Arc<dyn FollowLog> {
        Arc::new(CopyReader { copy: self.copy.reader(), ends: Arc::clone(&self.ends) })
    }
}

/// Reads the copy, and knows where groups end.
#[derive(Debug)]
struct CopyReader {
    copy: LogReader,
    ends: Arc<Ends>,
}

impl FollowLog for CopyReader {
    fn first(&self) -> Result<Option<u64>, LogError> {
        self.copy.first()
    }

    fn last(&self) -> u64 {
        self.copy.last()
    }

    fn read(&self, from: u64, through: u64) -> Result<Records, LogError> {
        self.copy.read(from, through)
    }

    fn wait(&self, number: u64, timeout: Duration) -> u64 {
        self.copy.wait(number, timeout)
    }

    fn end_of_group(&self, number: u64) -> u64 {
        self.ends.of_group_with(number).map_or(number, |end| end.number)
    }
}

impl std::fmt::Debug for ReplicatedLog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ReplicatedLog").field("folder", &self.folder).field("position", &self.position).finish()
    }
}
