//! Following a log: a task in the background that reads new groups ahead of the caller.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::error::ClusterError;
use crate::group::Group;
use crate::log::{Log, LogShared, Look};
use crate::objects::runtime;
use crate::position::Position;

/// The time between two looks at the name behind the tail, unless the caller says otherwise.
const POLL: Duration = Duration::from_millis(500);
/// The pause after a look that failed, which is twice as long after each further one, up to that between looks.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(20);
/// A hint about a group that cannot be read yet is followed up after this time.
const HINT_POLL: Duration = Duration::from_millis(50);
/// A hint that is not confirmed after so many looks was wrong, or the group in between is missing.
const HINTED_LOOKS: u32 = 100;
/// After so long behind a hint, the follower looks whether groups exist behind one that is missing.
const GAP_AFTER: Duration = Duration::from_secs(5);
/// A follower that has not seen the tail for so long looks for such groups as soon as it arrives there: something else
/// may have deleted groups meanwhile.
const TAIL_KNOWN_FOR: Duration = Duration::from_secs(60);
/// Objects that are read at a time.
const READ_AHEAD: usize = 8;
/// Reading pauses while the groups that the caller has not taken have this many bytes.
const READ_AHEAD_BYTES: usize = 32 << 20;

/// Reads a log in the background. Dropping it ends that.
pub struct Follower {
    shared: Arc<FollowShared>,
    /// Reading, and listening if the store tells of new groups.
    tasks: Vec<AbortHandle>,
}

/// The progress of a follower.
#[derive(Debug, Clone)]
pub struct FollowStatus {
    /// The time at which the last look began that found nothing behind the position, and no gap there; `None` before
    /// the first one.
    pub last_look: Option<Instant>,
    /// True if the last look found nothing behind the position.
    pub is_at_tail: bool,
    /// The position behind everything that was read, of which some may not have been taken yet.
    pub position: Position,
    /// The error of the last look, if it failed. The follower goes on looking, except at a gap.
    pub error: Option<Arc<ClusterError>>,
}

impl FollowStatus {
    /// Returns whether the follower has seen the tail lately, and no gap there. Until then the position may be before a
    /// gap: its next name is free, although it was used, so nothing may be appended or confirmed.
    #[must_use]
    pub fn knows_tail(&self) -> bool {
        is_recent(self.last_look)
    }
}

/// Returns whether a look at the tail was so short ago that no group behind it can have been lost unnoticed.
fn is_recent(last_look: Option<Instant>) -> bool {
    last_look.is_some_and(|at| at.elapsed() < TAIL_KNOWN_FOR)
}

struct FollowShared {
    state: Mutex<FollowState>,
    /// Wakes the task.
    changed: Notify,
}

struct FollowState {
    /// Behind everything that was read, or that the caller has appended.
    position: Position,
    /// The groups that the caller has not taken: position behind each, and size in bytes.
    groups: VecDeque<(Group, Position, usize)>,
    bytes: usize,
    /// A group with this sequence number is said to exist.
    hint: u64,
    /// The looks for it that found nothing.
    hinted_looks: u32,
    /// The time since which the position is before the hint and does not move.
    hinted_since: Option<Instant>,
    poll: Duration,
    last_look: Option<Instant>,
    is_at_tail: bool,
    error: Option<Arc<ClusterError>>,
    /// The looks that failed before the last one, since one succeeded. Has a meaning only with an error.
    failures: u32,
}

impl Log {
    /// Begins to read the groups after a position in the background. Calls `wake` when [`Follower::take`] has something
    /// new, and when [`FollowStatus::error`] has changed. `wake` must be short. Ends only at a gap.
    ///
    /// # Errors
    /// [`ClusterError::System`] if the system provides no threads.
    pub fn follow(&self, from: Position, wake: impl Fn() + Send + 'static) -> Result<Follower, ClusterError> {
        self.follow_with(from, true, wake)
    }

    /// Like [`Log::follow`]. A caller that looks for gaps itself saves the list of names behind the tail.
    pub(crate) fn follow_with(
        &self,
        from: Position,
        finds_gaps: bool,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Follower, ClusterError> {
        let state = FollowState {
            position: from,
            groups: VecDeque::new(),
            bytes: 0,
            hint: 0,
            hinted_looks: 0,
            hinted_since: None,
            poll: POLL,
            last_look: None,
            is_at_tail: false,
            error: None,
            failures: 0,
        };
        let shared = Arc::new(FollowShared { state: Mutex::new(state), changed: Notify::new() });
        let (log, follow) = (Arc::clone(&self.shared), Arc::clone(&shared));
        let reading = Reading { log, follow, finds_gaps, wake: Mutex::new(Box::new(wake)) };
        let mut tasks = vec![runtime()?.spawn(reading.run()).abort_handle()];
        if let Some(database) = &self.shared.objects.database {
            let hinted = Arc::clone(&shared);
            let listening = database.listen(self.shared.history.number, move |seq| hinted.hint(seq));
            tasks.push(runtime()?.spawn(listening).abort_handle());
        }
        Ok(Follower { shared, tasks })
    }
}

impl Follower {
    /// Takes the groups that have arrived, in order, each with the position behind it. Does not block.
    #[must_use]
    pub fn take(&self) -> Vec<(Group, Position)> {
        let mut state = self.shared.state.lock();
        let groups = std::mem::take(&mut state.groups);
        self.shared.free(&mut state, 0);
        drop(state);
        groups.into_iter().map(|(group, position, _)| (group, position)).collect()
    }

    /// Returns how far the follower is.
    #[must_use]
    pub fn status(&self) -> FollowStatus {
        let state = self.shared.state.lock();
        FollowStatus {
            last_look: state.last_look,
            is_at_tail: state.is_at_tail,
            position: state.position,
            error: state.error.clone(),
        }
    }

    /// Says that a group with this sequence number exists, so that the follower looks for it at once.
    pub fn hint(&self, seq: u64) {
        self.shared.hint(seq);
    }

    /// Sets how often the name behind the tail is looked at. 500 ms until it is called.
    pub fn set_poll(&self, poll: Duration) {
        let before = std::mem::replace(&mut self.shared.state.lock().poll, poll);
        if before != poll {
            self.shared.changed.notify_one();
        }
    }

    /// Says that the caller has everything up to a position, because it appended that or began from a base. The
    /// follower does not return those groups, except if [`Follower::take`] has returned them already.
    pub fn advance(&self, to: &Position) {
        let mut state = self.shared.state.lock();
        let mut left = state.bytes;
        while state.groups.front().is_some_and(|(_, position, _)| position.seq <= to.seq) {
            left -= state.groups.pop_front().map_or(0, |(_, _, bytes)| bytes);
        }
        self.shared.free(&mut state, left);
        if state.position.seq < to.seq {
            state.position = *to;
            state.hinted_since = None;
        }
    }
}

impl FollowShared {
    fn hint(&self, seq: u64) {
        let mut state = self.state.lock();
        if seq < state.hint || seq <= state.position.seq {
            return;
        }
        if seq > state.hint {
            state.hint = seq;
            state.hinted_looks = 0;
        }
        // Hints of a cluster that writes much are newer each time.
        state.hinted_since.get_or_insert_with(Instant::now);
        self.changed.notify_one();
    }

    /// Notes that only `left` bytes of groups are kept. Wakes the task only if it waited for that: at the tail, each
    /// wake would be a request.
    fn free(&self, state: &mut FollowState, left: usize) {
        let was_full = std::mem::replace(&mut state.bytes, left) >= READ_AHEAD_BYTES;
        if was_full && left < READ_AHEAD_BYTES {
            self.changed.notify_one();
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// The task of a follower.
struct Reading {
    log: Arc<LogShared>,
    follow: Arc<FollowShared>,
    finds_gaps: bool,
    /// In a lock only because a task must be `Sync`; nothing else calls it.
    wake: Mutex<Box<dyn Fn() + Send>>,
}

/// The end of a round of looks.
enum End {
    /// Every look found a group.
    Full,
    /// Nothing is behind this position. The time is when the look began.
    Tail(Instant, Position),
    /// The caller has advanced meanwhile, so the rest was dropped.
    Advanced,
    Error(ClusterError),
}

impl Reading {
    async fn run(self) {
        let mut window = 1;
        loop {
            let Some(from) = self.position_if_room() else {
                self.follow.changed.notified().await;
                continue;
            };
            let (mut end, largest) = self.round(from, window).await;
            if let End::Tail(_, tail) = end
                && self.finds_gaps
                && self.is_gap_suspected()
            {
                match self.log.is_behind_gap(&tail).await {
                    Ok(None) => {}
                    Ok(Some(seq)) => end = End::Error(ClusterError::Gap { seq }),
                    Err(error) => end = End::Error(error),
                }
            }
            window = match end {
                // Twice as many looks as before, as far as they fit into memory.
                End::Full => (window * 2).min(READ_AHEAD).min((READ_AHEAD_BYTES / largest.max(1)).max(1)),
                _ => 1,
            };
            let is_over = matches!(end, End::Error(ClusterError::Gap { .. }));
            let pause = self.note(end);
            // Nothing can be read behind a gap, and each further look would list what is there.
            if is_over {
                return;
            }
            if let Some(pause) = pause {
                let _ = tokio::time::timeout(pause, self.follow.changed.notified()).await;
            }
        }
    }

    /// Returns the position to read from, unless the caller has to take groups first.
    fn position_if_room(&self) -> Option<Position> {
        let state = self.follow.state.lock();
        (state.bytes < READ_AHEAD_BYTES).then_some(state.position)
    }

    /// Returns whether groups may exist behind the name that was found missing: the tail was never seen, or not for
    /// long, or a hint has not come true for long. Waits for another while after such a hint.
    fn is_gap_suspected(&self) -> bool {
        let mut state = self.follow.state.lock();
        let is_hint_late = state.hinted_since.is_some_and(|since| since.elapsed() >= GAP_AFTER);
        if is_hint_late {
            state.hinted_since = None;
        }
        is_hint_late || !is_recent(state.last_look)
    }

    /// Looks at `window` names behind a position, and keeps the groups that it finds. Returns the largest size, too.
    async fn round(&self, from: Position, window: usize) -> (End, usize) {
        let mut position = from;
        let mut largest = 0;
        let names = (1..=window as u64).map(|offset| from.seq.saturating_add(offset));
        let looks = futures_util::stream::iter(names)
            .map(|seq| async move { (Instant::now(), self.log.look_at_group(seq).await) });
        let mut looks = std::pin::pin!(looks.buffered(window));
        while let Some((began, look)) = looks.next().await {
            let bytes = match look {
                Ok(Look::Content(bytes)) => bytes,
                Ok(Look::Missing) => return (End::Tail(began, position), largest),
                Ok(Look::Removed) => {
                    return (End::Error(ClusterError::Removed { seq: position.seq.saturating_add(1) }), largest);
                }
                Err(error) => return (End::Error(error), largest),
            };
            let (group, behind) = match self.log.check(&position, &bytes) {
                Ok(checked) => checked,
                Err(error) => return (End::Error(error), largest),
            };
            largest = largest.max(bytes.len());
            if !self.keep(&position, group, behind, bytes.len()) {
                return (End::Advanced, largest);
            }
            position = behind;
        }
        (End::Full, largest)
    }

    /// Keeps a group for the caller. Returns false if the caller has advanced from `before` meanwhile.
    fn keep(&self, before: &Position, group: Group, behind: Position, bytes: usize) -> bool {
        {
            let mut state = self.follow.state.lock();
            if state.position != *before {
                return false;
            }
            state.position = behind;
            state.groups.push_back((group, behind, bytes));
            state.bytes += bytes;
            state.is_at_tail = false;
            state.error = None;
            state.hinted_looks = 0;
            state.hinted_since = None;
        }
        (self.wake.lock())();
        true
    }

    /// Notes how a round ended. Returns how long to wait before the next one, unless something happens.
    fn note(&self, end: End) -> Option<Duration> {
        let mut state = self.follow.state.lock();
        let had_error = state.error.is_some();
        match end {
            End::Full | End::Advanced => return None,
            End::Tail(began, _) => {
                state.last_look = Some(began);
                state.is_at_tail = true;
                state.error = None;
            }
            End::Error(error) => {
                state.is_at_tail = false;
                state.error = Some(Arc::new(error));
                state.failures = if had_error { state.failures + 1 } else { 0 };
            }
        }
        let is_hinted = state.error.is_none() && state.hint > state.position.seq && state.hinted_looks < HINTED_LOOKS;
        state.hinted_looks += u32::from(is_hinted);
        let pause = match state.error {
            Some(_) => PAUSE_AFTER_ERROR.saturating_mul(1 << state.failures.min(16)),
            None if is_hinted => HINT_POLL,
            None => state.poll,
        };
        let pause = pause.min(state.poll);
        let has_changed = had_error != state.error.is_some();
        drop(state);
        if has_changed {
            (self.wake.lock())();
        }
        Some(pause)
    }
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Follower").field("status", &self.status()).finish()
    }
}
