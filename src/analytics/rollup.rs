//! What the pageviews of one site and day add up to.
//!
//! A rollup is exact because visitors of several days add up, so distinct visitors need to be known only within a day.

use std::collections::{BTreeMap, HashMap};

use super::names::Name;
use super::pageview::DIMENSIONS;
use crate::model::time::Millis;

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

/// The figures of one site on one day. Bounces and duration may be negative in what is added to an earlier day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rollup {
    pub(super) hours: [Hour; 24],
    pub(super) visitors: u64,
    pub(super) bounces: i64,
    pub(super) duration: Millis,
    pub(super) pages: Vec<Page>,
    /// By [`super::pageview::Dimension`].
    pub(super) shares: [Vec<Share>; DIMENSIONS],
}

/// The rollups of one day by site.
pub(super) type SiteRollups = BTreeMap<Name, Rollup>;

impl Rollup {
    pub(super) fn pageviews(&self) -> u64 {
        self.hours.iter().map(|hour| hour.pageviews).sum()
    }

    pub(super) fn sessions(&self) -> u64 {
        self.hours.iter().map(|hour| hour.sessions).sum()
    }

    /// Adds a rollup of the same site and day that counts other pageviews.
    pub(super) fn add(&mut self, other: &Rollup) {
        for (hour, more) in self.hours.iter_mut().zip(&other.hours) {
            hour.pageviews += more.pageviews;
            hour.visitors += more.visitors;
            hour.sessions += more.sessions;
        }
        self.visitors += other.visitors;
        self.bounces += other.bounces;
        self.duration += other.duration;
        let mut indexes: HashMap<Name, usize> =
            self.pages.iter().enumerate().map(|(index, page)| (page.path, index)).collect();
        for more in &other.pages {
            let index = *indexes.entry(more.path).or_insert(self.pages.len());
            match self.pages.get_mut(index) {
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
