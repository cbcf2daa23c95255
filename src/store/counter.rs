//! Single values that the store has one of. Must not know what else there is.

/// The counters, none of which ever issues the same number twice, and what is noted of each transaction.
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
    /// A random number. A restore sets another one, since from then on the numbers of transactions repeat.
    Epoch,
    /// Who made the last transaction that somebody asked for.
    Actor,
    /// The number that the changes of this epoch begin with.
    FirstChange,
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
        }
    }

    pub(super) fn of_code(code: u8) -> Option<Counter> {
        use Counter::{Actor, Blueprint, Epoch, FirstChange, Member, Resource, Time};
        [Blueprint, Member, Resource, Time, Epoch, FirstChange, Actor]
            .into_iter()
            .find(|counter| counter.code() == code)
    }
}
