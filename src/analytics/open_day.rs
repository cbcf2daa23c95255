//! A day that is being counted: its rollups so far, and the sets of who was seen that distinct counts need. Knows no
//! files; its bytes are part of a log record.

use std::collections::{HashMap, HashSet};

use super::codec::{Damaged, Input, put};
use super::names::{Name, Names};
use super::pageview::{Dimension, Pageview};
use super::rollup::{Page, Rollup, Share, SiteRollups};
use super::rollup_codec::{decode_sites, encode_sites};
use super::series::HOUR_MILLIS;
use super::session::VisitorHash;
use crate::model::time::{DAY_MILLIS, Millis};

/// The number of a visitor within an open day.
type VisitorNumber = u32;

/// One day that is being counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OpenDay {
    sites: SiteRollups,
    visitors: HashMap<VisitorHash, SeenVisitor>,
    /// The number of the newest visitor.
    last_visitor: VisitorNumber,
    page_visits: HashSet<PageVisit>,
    share_visits: HashSet<ShareVisit>,
    page_indexes: HashMap<PageKey, usize>,
    share_indexes: HashMap<ShareKey, usize>,
}

/// A visitor, who belongs to one site.
#[derive(Debug, Clone, PartialEq)]
struct SeenVisitor {
    site: Name,
    number: VisitorNumber,
    /// One bit for each hour in which the visitor was seen.
    hours: u32,
}

/// A visitor saw a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PageVisit {
    path: Name,
    visitor: VisitorNumber,
}

/// A visitor has this value in a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ShareVisit {
    dimension: u8,
    name: Name,
    visitor: VisitorNumber,
}

/// Finds a page in the rollup of its site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PageKey {
    site: Name,
    path: Name,
}

/// Finds a share in the rollup of its site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ShareKey {
    site: Name,
    dimension: usize,
    name: Name,
}

impl OpenDay {
    /// The rollups so far.
    pub(super) fn sites(&self) -> &SiteRollups {
        &self.sites
    }

    /// The rollups, without who was seen.
    pub(super) fn into_sites(self) -> SiteRollups {
        self.sites
    }

    /// Counts a pageview of the day.
    pub(super) fn add(&mut self, view: &Pageview, begins_session: bool) {
        let hour = usize::try_from(view.at.rem_euclid(DAY_MILLIS) / HOUR_MILLIS).unwrap_or_default();
        let rollup = self.sites.entry(view.site).or_default();
        let seen = self.visitors.entry(view.visitor.today).or_insert_with(|| {
            rollup.visitors += 1;
            self.last_visitor =
                self.last_visitor.checked_add(1).expect("memory runs out before 2^32 visitors are counted");
            SeenVisitor { site: view.site, number: self.last_visitor, hours: 0 }
        });
        let visitor = seen.number;
        let figures = &mut rollup.hours[hour];
        figures.pageviews += 1;
        figures.visitors += u64::from(seen.hours & (1 << hour) == 0);
        seen.hours |= 1 << hour;

        let key = PageKey { site: view.site, path: view.path };
        let index = *self.page_indexes.entry(key).or_insert_with(|| {
            rollup.pages.push(Page { path: view.path, views: 0, visitors: 0 });
            rollup.pages.len() - 1
        });
        let page = &mut rollup.pages[index];
        page.views += 1;
        page.visitors += u32::from(self.page_visits.insert(PageVisit { path: view.path, visitor }));

        if begins_session {
            figures.sessions += 1;
            rollup.bounces += 1;
        }
        // A referrer counts only for the session that it began.
        let first = if begins_session { Dimension::Referrer } else { Dimension::Device };
        for (dimension, name) in view.dimensions.into_iter().enumerate().skip(first as usize) {
            if self.share_visits.insert(ShareVisit { dimension: dimension as u8, name, visitor }) {
                let key = ShareKey { site: view.site, dimension, name };
                let index = *self.share_indexes.entry(key).or_insert_with(|| {
                    rollup.shares[dimension].push(Share { name, visitors: 0 });
                    rollup.shares[dimension].len() - 1
                });
                rollup.shares[dimension][index].visitors += 1;
            }
        }
    }

    /// Notes that a session that began on this day went on for `gap`.
    pub(super) fn lengthen_session(&mut self, site: Name, gap: Millis, was_bounce: bool) {
        let rollup = self.sites.entry(site).or_default();
        rollup.duration += gap;
        rollup.bounces -= i64::from(was_bounce);
    }

    /// Removes a site.
    pub(super) fn remove(&mut self, site: Name) {
        self.sites.remove(&site);
        let mut removed = HashSet::new();
        self.visitors.retain(|_, seen| seen.site != site || !removed.insert(seen.number));
        self.page_visits.retain(|visit| !removed.contains(&visit.visitor));
        self.share_visits.retain(|visit| !removed.contains(&visit.visitor));
        self.page_indexes.retain(|key, _| key.site != site);
        self.share_indexes.retain(|key, _| key.site != site);
    }

    /// Drops who was seen, and keeps the rollups. No pageview of the day may be added afterwards.
    pub(super) fn forget_visitors(&mut self) {
        *self = OpenDay { sites: std::mem::take(&mut self.sites), ..OpenDay::default() };
    }

    /// Appends the day to a record; `text` gives the number by which the record writes a name.
    pub(super) fn encode(&self, out: &mut Vec<u8>, names: &Names, mut text: impl FnMut(Name) -> u64) {
        let sites = encode_sites(&self.sites, names);
        put(out, sites.len() as u64);
        out.extend_from_slice(&sites);
        put(out, self.last_visitor.into());
        put(out, self.visitors.len() as u64);
        for (visitor, seen) in &self.visitors {
            out.extend_from_slice(&visitor.to_le_bytes());
            [text(seen.site), seen.number.into(), seen.hours.into()].iter().for_each(|number| put(out, *number));
        }
        put(out, self.page_visits.len() as u64);
        for visit in &self.page_visits {
            [text(visit.path), visit.visitor.into()].iter().for_each(|number| put(out, *number));
        }
        put(out, self.share_visits.len() as u64);
        for visit in &self.share_visits {
            let numbers = [u64::from(visit.dimension), text(visit.name), visit.visitor.into()];
            numbers.iter().for_each(|number| put(out, *number));
        }
    }

    /// Reads what [`OpenDay::encode`] appended; `name` reads a name.
    pub(super) fn decode(
        input: &mut Input,
        names: &Names,
        name: impl Fn(&mut Input) -> Result<Name, Damaged>,
    ) -> Result<OpenDay, Damaged> {
        let bytes = input.count()?;
        let sites = decode_sites(input.bytes(bytes)?, names)?;
        let mut day = OpenDay { sites, last_visitor: input.small()?, ..OpenDay::default() };
        for _ in 0..input.count()? {
            let (visitor, site) = (input.wide()?, name(input)?);
            day.visitors.insert(visitor, SeenVisitor { site, number: input.small()?, hours: input.small()? });
        }
        for _ in 0..input.count()? {
            day.page_visits.insert(PageVisit { path: name(input)?, visitor: input.small()? });
        }
        for _ in 0..input.count()? {
            let dimension = input.bytes(1)?[0];
            day.share_visits.insert(ShareVisit { dimension, name: name(input)?, visitor: input.small()? });
        }
        day.index_rollups();
        Ok(day)
    }

    fn index_rollups(&mut self) {
        for (site, Rollup { pages, shares, .. }) in &self.sites {
            let site = *site;
            let keys = pages.iter().map(|page| PageKey { site, path: page.path });
            self.page_indexes.extend(keys.zip(0..));
            for (dimension, shares) in shares.iter().enumerate() {
                let keys = shares.iter().map(|share| ShareKey { site, dimension, name: share.name });
                self.share_indexes.extend(keys.zip(0..));
            }
        }
    }
}
