//! The single values of the store. Must not know its other contents.

/// The counters, none of which ever issues the same number twice, and facts about the last transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// The last blueprint number.
    Blueprint,
    /// The last member id.
    Member,
    /// The last resource id.
    Resource,
    /// The time of the last transaction, in milliseconds.
    Time,
    /// A random number. A restore replaces it, because the numbers of transactions repeat after a restore.
    Epoch,
    /// The actor of the last transaction that a request caused.
    Actor,
    /// The first number of the changes of this epoch.
    FirstChange,
    /// The node that leads the cluster.
    Leader,
    /// The format of what the nodes of the cluster write.
    Format,
}

impl Counter {
    pub(super) fn code(self) -> u8 {
        match self {
            Counter::Blueprint => 1,
            Counter::Member => 2,
            Counter::Resource => 3,
            Counter::Time => 4,
            Counter::Epoch => 5,
            Counter::FirstChange => 6,
            Counter::Actor => 7,
            Counter::Leader => 8,
            Counter::Format => 9,
        }
    }

    pub(super) fn of_code(code: u8) -> Option<Counter> {
        use Counter::{Actor, Blueprint, Epoch, FirstChange, Format, Leader, Member, Resource, Time};
        [Blueprint, Member, Resource, Time, Epoch, FirstChange, Actor, Leader, Format]
            .into_iter()
            .find(|counter| counter.code() == code)
    }
}
