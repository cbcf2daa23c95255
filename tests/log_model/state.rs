//! What exists: the log, the bases, the nodes, the puts on their way, and what clients were told.
//!
//! Knows nothing of the rules by which these change; see `protocol`.

use std::fmt;
use std::ops::Deref;

/// The number of a command, in the order in which commands arrived. 0 stands for no command.
pub(crate) type Number = u8;

const MOST_COMMANDS: usize = 5;

/// A group, together with all groups before it: the numbers of their commands.
///
/// It stands for the group's nonce and its chain hash. Two groups are the same exactly if they were decided for the
/// same command behind the same groups. A node's position and the content of a base are the chain of the last group
/// applied.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Chain {
    commands: [Number; MOST_COMMANDS],
    length: u8,
}

impl Chain {
    /// The group of a command that was decided at this position.
    pub(crate) fn then(mut self, command: Number) -> Self {
        self.commands[self.len()] = command;
        self.length += 1;
        self
    }

    /// The position that the last group was decided at.
    pub(crate) fn parent(mut self) -> Self {
        self.length -= 1;
        self.commands[self.len()] = 0;
        self
    }

    /// The value of the register that all commands write: the last command's number.
    pub(crate) fn value(self) -> Number {
        self.last().copied().unwrap_or_default()
    }
}

impl Deref for Chain {
    type Target = [Number];

    fn deref(&self) -> &[Number] {
        &self.commands[..usize::from(self.length)]
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

/// A client's request to write its own number into the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Command {
    pub(crate) number: Number,
    /// The command must be refused if the register has another value, like a request with `If-Match`.
    pub(crate) expected: Option<Number>,
}

impl Command {
    pub(crate) fn may_write_at(self, position: Chain) -> bool {
        self.expected.is_none_or(|expected| expected == position.value())
    }
}

/// What a read of a name in the log finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Object {
    #[default]
    Missing,
    Group(Chain),
    /// The group was removed.
    Empty,
    /// The history ended: nobody appends behind this.
    Seal,
}

/// A put of a group into the log of a history.
pub(crate) type Put = (usize, Chain);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Phase {
    #[default]
    Idle,
    /// A command waits to be decided.
    Waiting(Command),
    /// The command's group was put; no answer has arrived.
    Putting(Command),
    /// The name of the command's group must be read, because its put failed or was not answered.
    Unknown(Command),
    /// The command cannot write, and a look found no group behind the node's position.
    Looked(Command),
    /// The node read a group that does not continue its chain. It stopped and raised an alarm.
    Stopped,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Node {
    /// The history that the node follows: 0 or 1.
    pub(crate) history: usize,
    pub(crate) position: Chain,
    pub(crate) phase: Phase,
    /// The last look found nothing, and no command had arrived. Only a broken variant uses it.
    pub(crate) old_look: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// The object under each name, by history; the first name is 1.
    pub(crate) logs: [Vec<Object>; 2],
    /// The last group of the first history, once that was sealed.
    pub(crate) sealed: Option<Chain>,
    /// The second history exists.
    pub(crate) begun: bool,
    /// The two newest bases of the newest history, the older one first. In the beginning both are empty.
    pub(crate) bases: [Chain; 2],
    pub(crate) nodes: Vec<Node>,
    /// Puts that the store may still receive, with their histories, sorted. It may hold several copies of one group.
    pub(crate) in_flight: Vec<Put>,
    /// How many commands have arrived.
    pub(crate) arrived: Number,

    // What follows is seen by no node; the properties need it.
    /// All groups that the store ever created, sorted, including removed ones.
    pub(crate) created: Vec<Chain>,
    /// The groups that were acknowledged, without those that a longer one continues.
    pub(crate) acknowledged: Vec<Chain>,
    /// A group was created although the log did not end with the group that it was decided behind.
    pub(crate) misplaced: bool,
    /// A command was refused although it could write at every moment since it arrived.
    pub(crate) wrongly_refused: bool,
}

impl State {
    /// The newest history.
    pub(crate) fn newest(&self) -> usize {
        usize::from(self.begun)
    }

    pub(crate) fn acknowledge(&mut self, group: Chain) {
        if self.acknowledged.iter().any(|other| other.starts_with(&group)) {
            return;
        }
        self.acknowledged.retain(|other| !group.starts_with(other));
        self.acknowledged.push(group);
        self.acknowledged.sort_unstable();
    }
}
