//! What the pageviews of one site and day add up to, and days that are still being counted.
//!
//! A rollup is exact because of how the figures are defined: visitors of several days add up, so that the distinct ones
//! need to be known within a day alone. While a day is counted, sets say who was seen; afterwards they are thrown away.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::names::Name;
use super::session::{Sessions, Step, Visitor};
use crate::model::time::{DAY_MILLIS, Millis, day_number};

const HOUR_MILLIS: Millis = 3_600_000;

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

/// Days that are being counted, and the sessions that are open in them.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub(super) days: BTreeMap<Day, Counting>,
    pub(super) sessions: Sessions,
}

impl Traffic {
    /// Counts a pageview. Pageviews come in the order of their times. What it does to a day that is not `open` (it is
    /// counted there already) is left out.
    pub(super) fn add(&mut self, view: &View, open: impl Fn(Day) -> bool) {
        let step = self.sessions.track(view.site, view.visitor, view.before, view.at);
        let day = day_number(view.at);
        if open(day) {
            self.days.entry(day).or_default().add(view, step == Step::Began);
        }
        if let Step::Continued { began, gap, was_bounce } = step
            && open(day_number(began))
        {
            let counting = self.days.entry(day_number(began)).or_default();
            let rollup = counting.sites.entry(view.site).or_default();
            rollup.duration += gap;
            rollup.bounces -= i64::from(was_bounce);
        }
    }
}

impl Traffic {
    /// Forgets who was seen on days before that of `now`, where no pageview comes any more, and the sessions that are
    /// over. The figures stay.
    pub(super) fn forget_visitors(&mut self, now: Millis) {
        self.sessions.prune(now);
        for counting in self.days.range_mut(..day_number(now)).map(|(_, counting)| counting) {
            let sites = std::mem::take(&mut counting.sites);
            *counting = Counting { sites, ..Counting::default() };
        }
    }
}

/// One day that is being counted.
#[derive(Debug, Default)]
pub(super) struct Counting {
    pub(super) sites: BTreeMap<Name, Rollup>,
    /// Who was seen, and in which hours. A visitor belongs to one site.
    visitors: HashMap<Visitor, Seen>,
    /// Which visitor saw which page, and has which traits.
    pages: HashSet<(Name, u32)>,
    shares: HashSet<(usize, Name, u32)>,
    /// Where in its site's rollup a page or a share stands.
    page_places: HashMap<(Name, Name), usize>,
    share_places: HashMap<(Name, usize, Name), usize>,
}

#[derive(Debug)]
struct Seen {
    number: u32,
    /// One bit an hour.
    hours: u32,
}

impl Counting {
    fn add(&mut self, view: &View, begins_session: bool) {
        let hour = usize::try_from(view.at.rem_euclid(DAY_MILLIS) / HOUR_MILLIS).unwrap_or_default();
        let rollup = self.sites.entry(view.site).or_default();
        let next = u32::try_from(self.visitors.len()).expect("there is no memory for 2^32 visitors");
        let seen = self.visitors.entry(view.visitor).or_insert_with(|| {
            rollup.visitors += 1;
            Seen { number: next, hours: 0 }
        });
        let counts = &mut rollup.hours[hour];
        counts.pageviews += 1;
        counts.visitors += u64::from(seen.hours & (1 << hour) == 0);
        seen.hours |= 1 << hour;

        let place = *self.page_places.entry((view.site, view.path)).or_insert_with(|| {
            rollup.pages.push(Page { path: view.path, views: 0, visitors: 0 });
            rollup.pages.len() - 1
        });
        let page = &mut rollup.pages[place];
        page.views += 1;
        page.visitors += u32::from(self.pages.insert((view.path, seen.number)));

        let first = if begins_session {
            counts.sessions += 1;
            rollup.bounces += 1;
            Trait::Referrer as usize
        } else {
            Trait::Device as usize
        };
        for (which, name) in view.traits.iter().enumerate().skip(first) {
            if self.shares.insert((which, *name, seen.number)) {
                let place = *self.share_places.entry((view.site, which, *name)).or_insert_with(|| {
                    rollup.shares[which].push(Share { name: *name, visitors: 0 });
                    rollup.shares[which].len() - 1
                });
                rollup.shares[which][place].visitors += 1;
            }
        }
    }
}
