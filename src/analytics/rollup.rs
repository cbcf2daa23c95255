//! What the pageviews of one site and day add up to.
//!
//! A rollup is exact because of how the figures are defined: visitors of several days add up, so that the distinct ones
//! need to be known within a day alone.

use std::collections::HashMap;

use super::names::Name;
use super::session::Visitor;
use crate::model::time::Millis;

/// A day, in days since 1970-01-01.
pub(super) type Day = i64;

/// By what visitors are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trait {
    /// Where the session came from.
    Referrer,
    Device,
    Browser,
    Country,
}

/// A pageview, as it is counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct View {
    pub(super) at: Millis,
    pub(super) site: Name,
    pub(super) visitor: Visitor,
    /// The visitor under the salt of the day before, while that one lives.
    pub(super) before: Option<Visitor>,
    pub(super) path: Name,
    /// By [`Trait`].
    pub(super) traits: [Name; 4],
}

/// The figures of one hour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hour {
    pub(super) pageviews: u64,
    pub(super) visitors: u64,
    pub(super) sessions: u64,
}

/// The figures of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) path: Name,
    pub(super) views: u32,
    pub(super) visitors: u32,
}

/// The visitors of one referrer, device, browser or country.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) name: Name,
    pub(super) visitors: u32,
}

/// The figures of one site on one day. Durations and bounces may be negative in what is added to an older day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rollup {
    pub(super) hours: [Hour; 24],
    pub(super) visitors: u64,
    pub(super) bounces: i64,
    pub(super) duration: Millis,
    pub(super) pages: Vec<Page>,
    /// By [`Trait`].
    pub(super) shares: [Vec<Share>; 4],
}

impl Rollup {
    pub(super) fn pageviews(&self) -> u64 {
        self.hours.iter().map(|hour| hour.pageviews).sum()
    }

    pub(super) fn sessions(&self) -> u64 {
        self.hours.iter().map(|hour| hour.sessions).sum()
    }

    /// Adds what was counted of the same site and day by itself.
    pub(super) fn add(&mut self, other: &Rollup) {
        for (hour, more) in self.hours.iter_mut().zip(&other.hours) {
            hour.pageviews += more.pageviews;
            hour.visitors += more.visitors;
            hour.sessions += more.sessions;
        }
        self.visitors += other.visitors;
        self.bounces += other.bounces;
        self.duration += other.duration;
        let mut places: HashMap<Name, usize> =
            self.pages.iter().enumerate().map(|(at, page)| (page.path, at)).collect();
        for more in &other.pages {
            let place = *places.entry(more.path).or_insert(self.pages.len());
            match self.pages.get_mut(place) {
                Some(page) => {
                    page.views += more.views;
                    page.visitors += more.visitors;
                }
                None => self.pages.push(*more),
            }
        }
        for (shares, others) in self.shares.iter_mut().zip(&other.shares) {
            for more in others {
                match shares.iter_mut().find(|share| share.name == more.name) {
                    Some(share) => share.visitors += more.visitors,
                    None => shares.push(*more),
                }
            }
        }
    }
}
