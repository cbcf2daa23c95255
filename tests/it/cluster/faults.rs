//! Faults of a storage: when they happen, and how often they have.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::oracle::random::Random;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    DelayBefore,
    DelayAfter,
    AnswerDropped,
    ClosedBefore,
    Conflict,
    TooManyRequests,
    Internal,
    InternalActed,
    Unavailable,
    UnavailableActed,
    BodyCut,
    DeliveredLate,
    CutOff,
}

impl Fault {
    /// All that come by chance.
    const DRAWN: [Fault; 12] = [
        Fault::DelayBefore,
        Fault::DelayAfter,
        Fault::AnswerDropped,
        Fault::ClosedBefore,
        Fault::Conflict,
        Fault::TooManyRequests,
        Fault::Internal,
        Fault::InternalActed,
        Fault::Unavailable,
        Fault::UnavailableActed,
        Fault::BodyCut,
        Fault::DeliveredLate,
    ];

    /// All kinds.
    pub(super) fn all() -> impl Iterator<Item = Fault> {
        Fault::DRAWN.into_iter().chain([Fault::CutOff])
    }
}

/// The source of faults.
pub(super) struct Faults {
    random: Random,
    /// The share of the requests that fail, from 0 to 1.
    pub(super) rate: f64,
    /// Some late puts come a minute later.
    pub(super) are_some_very_late: bool,
    pub(super) fired: BTreeMap<Fault, u64>,
    pub(super) requests: u64,
    /// The late puts that have not come yet.
    pub(super) late_puts: usize,
    /// The ends of outages, by node; `None` is that of all.
    outages: BTreeMap<Option<String>, Instant>,
}

impl Faults {
    pub(super) fn new(seed: u64) -> Faults {
        Faults {
            random: Random::new(seed),
            rate: 0.0,
            are_some_very_late: false,
            fired: BTreeMap::new(),
            requests: 0,
            late_puts: 0,
            outages: BTreeMap::new(),
        }
    }

    /// Answers nothing to a node for some time, or to all.
    pub(super) fn cut_off(&mut self, node: Option<&str>, time: Duration) {
        self.outages.insert(node.map(str::to_owned), Instant::now() + time);
    }

    /// Returns whether a node is cut off.
    pub(super) fn is_cut_off(&self, node: &str) -> bool {
        let keys = [None, Some(node.to_owned())];
        keys.iter().any(|key| self.outages.get(key).is_some_and(|end| Instant::now() < *end))
    }

    /// Ends all faults. What is delivered late still comes.
    pub(super) fn heal(&mut self) {
        self.rate = 0.0;
        self.outages.clear();
    }

    /// Returns the fault of a request of a node, if it has one, with the time that it takes. `applies` says which can
    /// happen to it. Who delivers a late put counts it down.
    pub(super) fn draw(&mut self, node: &str, applies: impl Fn(Fault) -> bool) -> (Option<Fault>, Duration) {
        self.requests += 1;
        let fault = match self.is_cut_off(node) {
            true => Some(Fault::CutOff),
            false => self.by_chance(applies),
        };
        let time = match fault {
            Some(Fault::DeliveredLate) if self.are_some_very_late && self.random.chance(2) => {
                self.random.within(10_000, 90_000)
            }
            Some(Fault::DeliveredLate) => self.random.within(500, 4000),
            _ => self.random.within(20, 400),
        };
        let time = Duration::from_millis(time as u64);
        if let Some(fault) = fault {
            *self.fired.entry(fault).or_default() += 1;
        }
        if fault == Some(Fault::DeliveredLate) {
            self.late_puts += 1;
        }
        (fault, time)
    }

    fn by_chance(&mut self, applies: impl Fn(Fault) -> bool) -> Option<Fault> {
        if (self.random.below(1_000_000) as f64) >= self.rate * 1e6 {
            return None;
        }
        let possible: Vec<Fault> = Fault::DRAWN.into_iter().filter(|fault| applies(*fault)).collect();
        Some(*self.random.pick(&possible))
    }
}
