//! Days that are being counted: what their pageviews add up to so far, and who was seen, for as long as that must be
//! known. Knows no files; the bytes of a day are part of a record.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::codec::{Damaged, Input, put};
use super::names::{Name, Names};
use super::part::{decode_sites, encode_sites};
use super::period::Period;
use super::rollup::{Day, Page, Rollup, Share, Trait, View};
use super::session::{Sessions, Step, Visitor};
use crate::model::time::{DAY_MILLIS, Millis, day_number};

const HOUR_MILLIS: Millis = 3_600_000;

/// Days that are being counted, and the sessions that are open in them.
#[derive(Debug, Clone, Default, PartialEq)]
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

    /// Takes a site out of the days of a period, with the sessions that began on them: their next pageview begins
    /// another one. What a session of before did on these days stays with the day it began in.
    pub(super) fn remove(&mut self, site: Name, period: Period) {
        self.sessions.remove(|session| session.site == site && period.has(day_number(session.began)));
        for (_, counting) in self.days.range_mut(period.start..=period.end) {
            counting.remove(site);
        }
    }

    /// How many pageviews are counted.
    pub(super) fn pageviews(&self) -> u64 {
        self.days.values().flat_map(|counting| counting.sites.values()).map(Rollup::pageviews).sum()
    }

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
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Counting {
    pub(super) sites: BTreeMap<Name, Rollup>,
    /// Who was seen, and in which hours.
    visitors: HashMap<Visitor, Seen>,
    /// The number of the visitor who came last.
    last: u32,
    /// Which visitor saw which page, and has which traits.
    pages: HashSet<(Name, u32)>,
    shares: HashSet<(usize, Name, u32)>,
    /// Where in its site's rollup a page or a share stands.
    page_places: HashMap<(Name, Name), usize>,
    share_places: HashMap<(Name, usize, Name), usize>,
}

/// A visitor, who is one of one site.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    site: Name,
    number: u32,
    /// One bit an hour.
    hours: u32,
}

impl Counting {
    /// Appends what is counted so far; `name` is how a name is written.
    pub(super) fn encode(&self, out: &mut Vec<u8>, names: &Names, mut name: impl FnMut(Name) -> u64) {
        let part = encode_sites(&self.sites, names);
        put(out, part.len() as u64);
        out.extend_from_slice(&part);
        put(out, self.last.into());
        put(out, self.visitors.len() as u64);
        for (visitor, seen) in &self.visitors {
            out.extend_from_slice(&visitor.to_le_bytes());
            [name(seen.site), seen.number.into(), seen.hours.into()].iter().for_each(|number| put(out, *number));
        }
        put(out, self.pages.len() as u64);
        for (path, visitor) in &self.pages {
            [name(*path), u64::from(*visitor)].iter().for_each(|number| put(out, *number));
        }
        put(out, self.shares.len() as u64);
        for (which, share, visitor) in &self.shares {
            [*which as u64, name(*share), u64::from(*visitor)].iter().for_each(|number| put(out, *number));
        }
    }

    /// Reads what was appended; `name` reads a name.
    pub(super) fn decode(
        input: &mut Input,
        names: &Names,
        name: impl Fn(&mut Input) -> Result<Name, Damaged>,
    ) -> Result<Counting, Damaged> {
        let part = input.count()?;
        let sites = decode_sites(input.take(part)?, names)?;
        let mut counting = Counting { sites, last: input.small()?, ..Counting::default() };
        for _ in 0..input.count()? {
            let (visitor, site) = (input.wide()?, name(input)?);
            counting.visitors.insert(visitor, Seen { site, number: input.small()?, hours: input.small()? });
        }
        for _ in 0..input.count()? {
            counting.pages.insert((name(input)?, input.small()?));
        }
        for _ in 0..input.count()? {
            counting.shares.insert((input.number()? as usize, name(input)?, input.small()?));
        }
        counting.find_places();
        Ok(counting)
    }

    fn add(&mut self, view: &View, begins_session: bool) {
        let hour = usize::try_from(view.at.rem_euclid(DAY_MILLIS) / HOUR_MILLIS).unwrap_or_default();
        let rollup = self.sites.entry(view.site).or_default();
        let seen = self.visitors.entry(view.visitor).or_insert_with(|| {
            rollup.visitors += 1;
            self.last = self.last.checked_add(1).expect("there is no memory for 2^32 visitors");
            Seen { site: view.site, number: self.last, hours: 0 }
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

    fn remove(&mut self, site: Name) {
        self.sites.remove(&site);
        let mut gone = HashSet::new();
        self.visitors.retain(|_, seen| seen.site != site || !gone.insert(seen.number));
        self.pages.retain(|(_, number)| !gone.contains(number));
        self.shares.retain(|(_, _, number)| !gone.contains(number));
        self.page_places.retain(|(of, _), _| *of != site);
        self.share_places.retain(|(of, _, _), _| *of != site);
    }

    fn find_places(&mut self) {
        for (site, rollup) in &self.sites {
            self.page_places.extend(rollup.pages.iter().enumerate().map(|(place, page)| ((*site, page.path), place)));
            for (which, shares) in rollup.shares.iter().enumerate() {
                let places = shares.iter().enumerate().map(|(place, share)| ((*site, which, share.name), place));
                self.share_places.extend(places);
            }
        }
    }
}
