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
            let mut indexes: HashMap<Name, usize> =
                shares.iter().enumerate().map(|(index, share)| (share.name, index)).collect();
            for more in others {
                let index = *indexes.entry(more.name).or_insert(shares.len());
                match shares.get_mut(index) {
                    Some(share) => share.visitors += more.visitors,
                    None => shares.push(*more),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn with_referrers(count: u32) -> Rollup {
        let mut rollup = Rollup::default();
        rollup.shares[0] = (0..count).map(|name| Share { name, visitors: 1 }).collect();
        rollup
    }

    /// The fastest of three additions of as many new names as there are.
    fn adding(count: u32) -> Duration {
        let (mut more, mut best) = (with_referrers(2 * count), Duration::MAX);
        more.shares[0].drain(..count as usize / 2);
        for _ in 0..3 {
            let mut rollup = with_referrers(count);
            let began = Instant::now();
            rollup.add(&more);
            best = best.min(began.elapsed());
            assert_eq!(rollup.shares[0].len(), 2 * count as usize);
            assert_eq!(rollup.shares[0].iter().map(|share| share.visitors).sum::<u32>(), count * 5 / 2);
        }
        best
    }

    #[test]
    fn the_time_to_add_names_grows_with_their_number_and_not_with_its_square() {
        let (few, many) = (adding(25_000), adding(200_000));
        // Eight times as many: a quadratic addition would take 64 times as long.
        assert!(many < few * 30, "{few:?} for 25,000 names, {many:?} for 200,000");
    }
}
