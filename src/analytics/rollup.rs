//! The sums of the pageviews of one site and day.
//!
//! A rollup is exact because visitors of several days are added up, so distinct visitors need to be known only within a
//! day.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use bindery_model::time::Millis;

use super::names::{NONE, Name};
use super::pageview::DIMENSIONS;

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

/// The sessions that began or ended at a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageSessions {
    pub(super) path: Name,
    pub(super) sessions: i64,
}

/// An event, or one value of one of its properties: both are [`NONE`] for the event itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct EventKey {
    pub(super) event: Name,
    pub(super) property: Name,
    pub(super) value: Name,
}

impl EventKey {
    /// Returns the event itself.
    pub(super) fn of(event: Name) -> EventKey {
        EventKey { event, property: NONE, value: NONE }
    }
}

/// The count of an event, and of the visitors from whom it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventRow {
    pub(super) key: EventKey,
    pub(super) count: u64,
    pub(super) visitors: u64,
}

/// A question; or the searches for it that found something in one blueprint, or looked only there. The blueprint is
/// [`NONE`] for the question itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SearchKey {
    pub(super) question: Name,
    pub(super) blueprint: Name,
}

/// The searches for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SearchRow {
    pub(super) key: SearchKey,
    pub(super) searches: u64,
    pub(super) visitors: u64,
    /// The visitors who found something that readers without drafts see.
    pub(super) finders: u64,
    pub(super) without_results: u64,
    /// The searches with a click.
    pub(super) clicked_searches: u64,
    pub(super) clicks: u64,
    /// The positions of all clicks, added up.
    pub(super) positions: u64,
}

impl SearchRow {
    pub(super) fn new(key: SearchKey) -> SearchRow {
        SearchRow {
            key,
            searches: 0,
            visitors: 0,
            finders: 0,
            without_results: 0,
            clicked_searches: 0,
            clicks: 0,
            positions: 0,
        }
    }

    /// Adds the figures of a row with the same key.
    pub(super) fn add(&mut self, more: &SearchRow) {
        self.searches += more.searches;
        self.visitors += more.visitors;
        self.finders += more.finders;
        self.without_results += more.without_results;
        self.clicked_searches += more.clicked_searches;
        self.clicks += more.clicks;
        self.positions += more.positions;
    }
}

/// The figures of one site on one day. In additions to an earlier day, bounces, duration and exits may be negative.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rollup {
    pub(super) hours: [Hour; 24],
    pub(super) visitors: u64,
    pub(super) bounces: i64,
    pub(super) duration: Millis,
    pub(super) pages: Vec<Page>,
    /// The shares by [`super::pageview::Dimension`].
    pub(super) shares: [Vec<Share>; DIMENSIONS],
    /// The sessions by their first page.
    pub(super) entries: Vec<PageSessions>,
    /// The sessions by their last page.
    pub(super) exits: Vec<PageSessions>,
    pub(super) events: Vec<EventRow>,
    pub(super) searches: Vec<SearchRow>,
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
        let page = |page: &Page| page.path;
        add_rows(&mut self.pages, &other.pages, page, |page, more| {
            page.views += more.views;
            page.visitors += more.visitors;
        });
        for (shares, others) in self.shares.iter_mut().zip(&other.shares) {
            add_rows(shares, others, |share| share.name, |share, more| share.visitors += more.visitors);
        }
        for (rows, others) in [(&mut self.entries, &other.entries), (&mut self.exits, &other.exits)] {
            add_rows(rows, others, |row| row.path, |row, more| row.sessions += more.sessions);
            rows.retain(|row| row.sessions != 0);
        }
        add_rows(
            &mut self.events,
            &other.events,
            |row| row.key,
            |row, more| {
                row.count += more.count;
                row.visitors += more.visitors;
            },
        );
        add_rows(&mut self.searches, &other.searches, |row| row.key, SearchRow::add);
    }
}

/// Adds rows to those with the same key, in linear time.
fn add_rows<T: Copy, K: Eq + Hash>(rows: &mut Vec<T>, others: &[T], key: impl Fn(&T) -> K, add: impl Fn(&mut T, &T)) {
    if others.is_empty() {
        return;
    }
    let mut indexes: HashMap<K, usize> = rows.iter().map(&key).zip(0..).collect();
    for more in others {
        let index = *indexes.entry(key(more)).or_insert(rows.len());
        match rows.get_mut(index) {
            Some(row) => add(row, more),
            None => rows.push(*more),
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

    /// Measures the time of adding `count` new names to as many.
    fn adding(count: u32) -> Duration {
        let mut more = with_referrers(2 * count);
        more.shares[0].drain(..count as usize / 2);
        let mut rollup = with_referrers(count);
        let began = Instant::now();
        rollup.add(&more);
        let time = began.elapsed();
        assert_eq!(rollup.shares[0].len(), 2 * count as usize);
        assert_eq!(rollup.shares[0].iter().map(|share| share.visitors).sum::<u32>(), count * 5 / 2);
        time
    }

    #[test]
    fn the_time_to_add_names_grows_with_their_number_and_not_with_its_square() {
        let (mut few, mut many) = (Duration::MAX, Duration::MAX);
        // With eight times as many names, a quadratic addition would take 64 times as long. Other tests run at the same
        // time, so the fastest of several attempts counts.
        for _ in 0..10 {
            (few, many) = (few.min(adding(25_000)), many.min(adding(200_000)));
            if many < few * 30 {
                return;
            }
        }
        panic!("{few:?} for 25,000 names, {many:?} for 200,000");
    }
}
