//! What goes wrong, when, and how often it has.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::http::Request;
use crate::oracle::random::Random;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Fault {
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

/// What the server does.
pub(super) enum Effect {
    Close,
    Refuse(u16, &'static str),
    ActAndRefuse(u16, &'static str),
    ActAndClose,
    DelayBefore,
    DelayAfter,
    CutBody,
    ActLater,
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
    pub(in super::super) fn all() -> impl Iterator<Item = Fault> {
        Fault::DRAWN.into_iter().chain([Fault::CutOff])
    }

    pub(super) fn effect(self) -> Effect {
        match self {
            Fault::DelayBefore => Effect::DelayBefore,
            Fault::DelayAfter => Effect::DelayAfter,
            Fault::AnswerDropped => Effect::ActAndClose,
            Fault::ClosedBefore | Fault::CutOff => Effect::Close,
            Fault::Conflict => Effect::Refuse(409, "ConditionalRequestConflict"),
            Fault::TooManyRequests => Effect::Refuse(429, "SlowDown"),
            Fault::Internal => Effect::Refuse(500, "InternalError"),
            Fault::InternalActed => Effect::ActAndRefuse(500, "InternalError"),
            Fault::Unavailable => Effect::Refuse(503, "SlowDown"),
            Fault::UnavailableActed => Effect::ActAndRefuse(503, "SlowDown"),
            Fault::BodyCut => Effect::CutBody,
            Fault::DeliveredLate => Effect::ActLater,
        }
    }

    /// Returns whether the fault can happen to a request. A plain put never comes late: a store orders the puts of one
    /// name by itself, and the log overwrites only what it no longer needs.
    fn applies_to(self, request: &Request) -> bool {
        match self {
            Fault::Conflict | Fault::DeliveredLate => request.is_conditional_put(),
            Fault::BodyCut => request.method == "GET" && request.parameter("list-type").is_none(),
            _ => true,
        }
    }
}

/// The source of faults.
pub(in super::super) struct Faults {
    random: Random,
    /// The share of the requests that fail, from 0 to 1.
    pub(super) rate: f64,
    pub(super) fired: BTreeMap<Fault, u64>,
    pub(super) requests: u64,
    /// When the last put that comes late has come.
    pub(super) last_late_put: Option<Instant>,
    /// The ends of outages, by access key; `None` is that of all.
    outages: BTreeMap<Option<String>, Instant>,
}

impl Faults {
    pub(super) fn new(seed: u64) -> Faults {
        Faults {
            random: Random::new(seed),
            rate: 0.0,
            fired: BTreeMap::new(),
            requests: 0,
            last_late_put: None,
            outages: BTreeMap::new(),
        }
    }

    pub(super) fn cut_off(&mut self, access_key: Option<&str>, time: Duration) {
        self.outages.insert(access_key.map(str::to_owned), Instant::now() + time);
    }

    pub(super) fn heal(&mut self) {
        self.rate = 0.0;
        self.outages.clear();
    }

    /// Returns the fault of a request, if it has one, with the time that it takes.
    pub(super) fn draw(&mut self, request: &Request) -> (Option<Fault>, Duration) {
        self.requests += 1;
        let now = Instant::now();
        let keys = [None, Some(request.access_key().to_owned())];
        let is_out = keys.iter().any(|key| self.outages.get(key).is_some_and(|end| now < *end));
        let fault = match is_out {
            true => Some(Fault::CutOff),
            false => self.by_chance(request),
        };
        let time = match fault {
            Some(Fault::DeliveredLate) => self.random.within(500, 4000),
            _ => self.random.within(20, 400),
        };
        let time = Duration::from_millis(time as u64);
        if let Some(fault) = fault {
            *self.fired.entry(fault).or_default() += 1;
        }
        if fault == Some(Fault::DeliveredLate) {
            self.last_late_put = self.last_late_put.max(Some(now + time));
        }
        (fault, time)
    }

    fn by_chance(&mut self, request: &Request) -> Option<Fault> {
        if (self.random.below(1_000_000) as f64) >= self.rate * 1e6 {
            return None;
        }
        let possible: Vec<Fault> = Fault::DRAWN.into_iter().filter(|fault| fault.applies_to(request)).collect();
        Some(*self.random.pick(&possible))
    }
}
