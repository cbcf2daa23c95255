//! Reading a log group by group, with the next groups on their way already: one request after the other would take half
//! an hour for the groups of a day.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use crate::error::ClusterError;
use crate::follow::Follower;
use crate::group::Group;
use crate::log::{Found, Log};
use crate::position::Position;

/// The longest wait before the follower is asked again, which tells of groups and not of the tail.
const LOOK: Duration = Duration::from_millis(10);

/// Reads the groups behind a position in order.
pub struct ReadAhead<'a> {
    log: &'a Log,
    follower: Follower,
    arrived: Receiver<()>,
    groups: VecDeque<(Group, Position)>,
    position: Position,
}

impl Log {
    /// Begins to read the groups behind a position.
    ///
    /// # Errors
    /// [`ClusterError::System`] if the system provides no threads.
    pub fn read_ahead(&self, from: Position) -> Result<ReadAhead<'_>, ClusterError> {
        let (sender, arrived) = sync_channel(1);
        let wake = move || {
            // If there is one on its way already, the other end looks anyway.
            let _ = sender.try_send(());
        };
        let follower = self.follow_with(from, false, wake)?;
        Ok(ReadAhead { log: self, follower, arrived, groups: VecDeque::new(), position: from })
    }
}

impl ReadAhead<'_> {
    /// Reads the next group.
    ///
    /// # Errors
    /// As [`Log::read`], and [`ClusterError::Gap`] if the next one is missing although there are later ones. After an
    /// error, it can be tried again.
    pub fn read(&mut self) -> Result<Found, ClusterError> {
        loop {
            if let Some((group, end)) = self.groups.pop_front() {
                self.position = end;
                return Ok(Found::Group(group, end));
            }
            let status = self.follower.status();
            self.groups = self.follower.take().into();
            // Those that were read below may arrive once more.
            self.groups.retain(|(_, end)| end.seq > self.position.seq);
            if !self.groups.is_empty() {
                continue;
            }
            if status.is_at_tail || status.error.is_some() {
                return self.look();
            }
            let _ = self.arrived.recv_timeout(LOOK);
        }
    }

    /// Looks what is behind the position now: the follower's knowledge of a tail or of an error may be old.
    fn look(&mut self) -> Result<Found, ClusterError> {
        let found = self.log.read(&self.position)?;
        match &found {
            Found::Group(_, end) => {
                self.position = *end;
                self.follower.advance(end);
            }
            // Commands append at the end that they find here.
            Found::Missing => {
                if let Some(seq) = self.log.is_behind_gap(&self.position)? {
                    return Err(ClusterError::Gap { seq });
                }
            }
            Found::Removed => {}
        }
        Ok(found)
    }
}

impl std::fmt::Debug for ReadAhead<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ReadAhead").field("position", &self.position).finish()
    }
}
