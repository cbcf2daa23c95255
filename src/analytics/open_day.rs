//! A day that is being counted: its rollups so far, and the sets of seen visitors that distinct counts need. It does
//! not know files; its bytes are part of a log record.

use std::collections::{HashMap, HashSet};

use bindery_model::time::{DAY_MILLIS, Millis};

use super::codec::{DecodeError, Input, put, put_signed};
use super::day_searches::DaySearches;
use super::names::{NONE, Name, Names};
use super::pageview::{CustomEvent, Dimension, Pageview};
use super::rollup::{EventKey, EventRow, Page, PageSessions, Rollup, Share, SiteRollups};
use super::rollup_codec::{decode_sites, encode_sites};
use super::search::{Click, Search};
use super::series::HOUR_MILLIS;
use super::session::VisitorHash;
use super::visit_codec;
use super::visits::{DayVisits, Extension, VisitKey};

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
    event_visits: HashSet<EventVisit>,
    page_indexes: HashMap<PageKey, usize>,
    share_indexes: HashMap<ShareKey, usize>,
    entry_indexes: HashMap<PageKey, usize>,
    exit_indexes: HashMap<PageKey, usize>,
    event_indexes: HashMap<(Name, EventKey), usize>,
    visits: DayVisits,
    searches: DaySearches,
}

/// A visitor, who belongs to one site.
#[derive(Debug, Clone, PartialEq)]
struct SeenVisitor {
    site: Name,
    number: VisitorNumber,
    /// One bit for each hour in which the visitor viewed a page. No bit is set for a visitor who only sent events.
    hours: u32,
}

/// Marks that a visitor saw a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PageVisit {
    path: Name,
    visitor: VisitorNumber,
}

/// Marks that a visitor has this value in a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ShareVisit {
    dimension: u8,
    name: Name,
    visitor: VisitorNumber,
}

/// Marks that a visitor sent an event, or one with this value of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct EventVisit {
    key: EventKey,
    visitor: VisitorNumber,
}

/// The key of a page in the rollup of its site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PageKey {
    site: Name,
    path: Name,
}

/// The key of a share in the rollup of its site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ShareKey {
    site: Name,
    dimension: usize,
    name: Name,
}

impl OpenDay {
    /// Returns the rollups so far.
    pub(super) fn sites(&self) -> &SiteRollups {
        &self.sites
    }

    /// Returns the rollups and the visits, without the seen visitors.
    pub(super) fn into_parts(self) -> (SiteRollups, DayVisits) {
        (self.sites, self.visits)
    }

    /// Returns the visits so far.
    pub(super) fn visits(&self) -> &DayVisits {
        &self.visits
    }

    /// Returns the visits so far.
    pub(super) fn visits_mut(&mut self) -> &mut DayVisits {
        &mut self.visits
    }

    /// Returns the number of a visitor who was seen.
    pub(super) fn visitor(&self, hash: VisitorHash) -> Option<u32> {
        self.visitors.get(&hash).map(|seen| seen.number)
    }

    /// Counts a pageview of the day.
    pub(super) fn add(&mut self, view: &Pageview, begins_session: bool) {
        let hour = usize::try_from(view.at.rem_euclid(DAY_MILLIS) / HOUR_MILLIS).unwrap_or_default();
        let seen = see(&mut self.visitors, &mut self.last_visitor, view.visitor.today, view.site);
        let visitor = seen.number;
        let rollup = self.sites.entry(view.site).or_default();
        rollup.visitors += u64::from(seen.hours == 0);
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
            add_sessions(&mut rollup.entries, &mut self.entry_indexes, key, 1);
            add_sessions(&mut rollup.exits, &mut self.exit_indexes, key, 1);
        }
        for (which, name) in Dimension::ALL.into_iter().zip(view.dimensions) {
            if name == NONE || which.is_of_session() && !begins_session {
                continue;
            }
            let dimension = which as usize;
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

    /// Counts an event of the day.
    pub(super) fn add_event(&mut self, event: &CustomEvent) {
        let visitor = see(&mut self.visitors, &mut self.last_visitor, event.visitor.today, event.site).number;
        let rollup = self.sites.entry(event.site).or_default();
        let values = event.properties.iter().map(|property| EventKey {
            event: event.name,
            property: property.name,
            value: property.value,
        });
        for key in std::iter::once(EventKey::of(event.name)).chain(values) {
            let index = *self.event_indexes.entry((event.site, key)).or_insert_with(|| {
                rollup.events.push(EventRow { key, count: 0, visitors: 0 });
                rollup.events.len() - 1
            });
            let row = &mut rollup.events[index];
            row.count += 1;
            row.visitors += u64::from(self.event_visits.insert(EventVisit { key, visitor }));
        }
    }

    /// Counts a search of the day.
    pub(super) fn add_search(&mut self, search: &Search) {
        let visitor = see(&mut self.visitors, &mut self.last_visitor, search.visitor.today, search.site).number;
        self.searches.add(search, visitor, self.sites.entry(search.site).or_default());
    }

    /// Returns whether a search of the day is counted that can still be clicked.
    pub(super) fn has_search(&self, number: u64) -> bool {
        self.searches.has(number)
    }

    /// Returns whether a click on a search of the day counts.
    pub(super) fn accepts(&self, click: &Click) -> bool {
        self.searches.accepts(click)
    }

    /// Counts a click on a search of the day.
    pub(super) fn add_click(&mut self, click: &Click) {
        self.searches.add_click(click, |site| self.sites.get_mut(&site));
    }

    /// Notes that a session of this day continued after `gap`, from the page `left` to the page `path`.
    pub(super) fn lengthen_session(&mut self, site: Name, gap: Millis, was_bounce: bool, left: Name, path: Name) {
        let rollup = self.sites.entry(site).or_default();
        rollup.duration += gap;
        rollup.bounces -= i64::from(was_bounce);
        if left != path {
            add_sessions(&mut rollup.exits, &mut self.exit_indexes, PageKey { site, path: left }, -1);
            add_sessions(&mut rollup.exits, &mut self.exit_indexes, PageKey { site, path }, 1);
        }
    }

    /// Removes a site.
    pub(super) fn remove(&mut self, site: Name) {
        self.sites.remove(&site);
        self.visits.remove(site);
        let mut removed = HashSet::new();
        self.visitors.retain(|_, seen| seen.site != site || !removed.insert(seen.number));
        self.searches.remove(site, &removed);
        self.page_visits.retain(|visit| !removed.contains(&visit.visitor));
        self.share_visits.retain(|visit| !removed.contains(&visit.visitor));
        self.event_visits.retain(|visit| !removed.contains(&visit.visitor));
        for indexes in [&mut self.page_indexes, &mut self.entry_indexes, &mut self.exit_indexes] {
            indexes.retain(|key, _| key.site != site);
        }
        self.event_indexes.retain(|(of_site, _), _| *of_site != site);
        self.share_indexes.retain(|key, _| key.site != site);
    }

    /// Drops the seen visitors and keeps the rollups. No pageview of the day may be added afterwards, but its sessions
    /// may continue.
    pub(super) fn forget_visitors(&mut self) {
        let OpenDay { sites, exit_indexes, visits, .. } = std::mem::take(self);
        *self = OpenDay { sites, exit_indexes, visits, ..OpenDay::default() };
    }

    /// Appends the day to a record; `text` returns a name's number in the record.
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
        put(out, self.event_visits.len() as u64);
        for EventVisit { key, visitor } in &self.event_visits {
            let numbers = [key.event, key.property, key.value].map(&mut text);
            numbers.iter().chain([&u64::from(*visitor)]).for_each(|number| put(out, *number));
        }
        let visits = visit_codec::encode(&self.visits.sites, names);
        put(out, visits.len() as u64);
        out.extend_from_slice(&visits);
        put(out, self.visits.extensions.len() as u64);
        for (key, extension) in &self.visits.extensions {
            [text(key.site), key.number.into(), text(extension.exit)].iter().for_each(|number| put(out, *number));
            put_signed(out, extension.gap);
        }
    }

    /// Appends who searched for what, which [`OpenDay::encode`] leaves out because earlier versions did not know it.
    pub(super) fn encode_searches(&self, out: &mut Vec<u8>, text: impl FnMut(Name) -> u64) {
        self.searches.encode(out, text);
    }

    /// Reads what [`OpenDay::encode_searches`] appended.
    pub(super) fn decode_searches(
        &mut self,
        input: &mut Input,
        name: impl Fn(&mut Input) -> Result<Name, DecodeError>,
    ) -> Result<(), DecodeError> {
        self.searches = DaySearches::decode(input, name)?;
        self.index_searches();
        Ok(())
    }

    fn index_searches(&mut self) {
        for (site, rollup) in &self.sites {
            self.searches.index(*site, &rollup.searches);
        }
    }

    /// Reads a day that [`OpenDay::encode`] appended; `name` reads a name.
    pub(super) fn decode(
        input: &mut Input,
        names: &Names,
        name: impl Fn(&mut Input) -> Result<Name, DecodeError>,
    ) -> Result<OpenDay, DecodeError> {
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
        for _ in 0..input.count()? {
            let key = EventKey { event: name(input)?, property: name(input)?, value: name(input)? };
            day.event_visits.insert(EventVisit { key, visitor: input.small()? });
        }
        let bytes = input.count()?;
        day.visits.sites = visit_codec::decode(input.bytes(bytes)?, names)?;
        for _ in 0..input.count()? {
            let key = VisitKey { site: name(input)?, number: input.small()? };
            let extension = Extension { exit: name(input)?, gap: input.signed()? };
            day.visits.extensions.insert(key, extension);
        }
        day.index_rollups();
        day.index_searches();
        Ok(day)
    }

    fn index_rollups(&mut self) {
        for (site, Rollup { pages, shares, entries, exits, events, .. }) in &self.sites {
            let site = *site;
            let keys = pages.iter().map(|page| PageKey { site, path: page.path });
            self.page_indexes.extend(keys.zip(0..));
            let keys = |rows: &[PageSessions]| -> Vec<PageKey> {
                rows.iter().map(|row| PageKey { site, path: row.path }).collect()
            };
            self.entry_indexes.extend(keys(entries).into_iter().zip(0..));
            self.exit_indexes.extend(keys(exits).into_iter().zip(0..));
            self.event_indexes.extend(events.iter().map(|row| (site, row.key)).zip(0..));
            for (dimension, shares) in shares.iter().enumerate() {
                let keys = shares.iter().map(|share| ShareKey { site, dimension, name: share.name });
                self.share_indexes.extend(keys.zip(0..));
            }
        }
    }
}

/// Returns the visitor with a hash. A new one gets the next number.
fn see<'a>(
    visitors: &'a mut HashMap<VisitorHash, SeenVisitor>,
    last: &mut VisitorNumber,
    hash: VisitorHash,
    site: Name,
) -> &'a mut SeenVisitor {
    visitors.entry(hash).or_insert_with(|| {
        *last = last.checked_add(1).expect("memory runs out before 2^32 visitors are counted");
        SeenVisitor { site, number: *last, hours: 0 }
    })
}

fn add_sessions(rows: &mut Vec<PageSessions>, indexes: &mut HashMap<PageKey, usize>, key: PageKey, sessions: i64) {
    let index = *indexes.entry(key).or_insert_with(|| {
        rows.push(PageSessions { path: key.path, sessions: 0 });
        rows.len() - 1
    });
    rows[index].sessions += sessions;
}
