//! Visits: the parts of sessions by day, in order. Filters select visits, because the figures of a rollup cannot be
//! separated again. It does not know files and filters.
//!
//! A visit holds no hash. Its visitor is a number that is valid only within its day.

use std::collections::BTreeMap;

use bindery_model::time::Millis;

use super::names::Name;
use super::pageview::{Dimension, Pageview, Property};
use super::session::{SessionEntry, VisitNumber};

/// The most visits that are kept for one site and day, and the most steps of all of them. Visitors determine their
/// numbers; visits beyond the limit count only in reports without filters.
const MAX_VISITS: usize = 200_000;
const MAX_STEPS: usize = 1_000_000;

/// The activity of a session on one day.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Visit {
    /// The number of the visitor within the day.
    pub(super) visitor: u32,
    /// True if the session began on this day. If so, the visit has the length of the whole session and its last page.
    pub(super) begins: bool,
    pub(super) is_bounce: bool,
    pub(super) duration: Millis,
    pub(super) entry: SessionEntry,
    /// The last page of the session if it began on this day, otherwise the last page of the day.
    pub(super) exit: Name,
    pub(super) steps: Vec<VisitStep>,
}

/// A pageview or an event of a visit.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum VisitStep {
    View {
        hour: u8,
        path: Name,
        /// The device, the browser and the country.
        client: [Name; 3],
    },
    Event {
        name: Name,
        properties: Box<[Property]>,
    },
}

/// The visits of one site and day.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SiteVisits {
    pub(super) visits: Vec<Visit>,
    /// The total number of steps.
    pub(super) steps: usize,
    /// The number of pageviews and events that are in no visit because there were too many.
    pub(super) left_out: u64,
}

/// The rest of a session whose visit is already in a day file.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Extension {
    pub(super) gap: Millis,
    pub(super) exit: Name,
}

/// The key that identifies a visit within a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct VisitKey {
    pub(super) site: Name,
    pub(super) number: VisitNumber,
}

/// The visits of a day that is being counted, and the additions to those of its file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct DayVisits {
    pub(super) sites: BTreeMap<Name, SiteVisits>,
    pub(super) extensions: BTreeMap<VisitKey, Extension>,
}

/// Returns the entry of a session that begins with a pageview.
pub(super) fn entry_of(view: &Pageview) -> SessionEntry {
    let mut of_session = Dimension::ALL.into_iter().filter(|dimension| dimension.is_of_session());
    std::array::from_fn(|index| match index {
        0 => view.path,
        _ => of_session.next().map_or(view.path, |dimension| view.dimensions[dimension as usize]),
    })
}

impl DayVisits {
    /// Begins a visit with its first step and returns its number; `None` if there are too many.
    pub(super) fn begin(&mut self, site: Name, visit: Visit) -> Option<VisitNumber> {
        let known = self.sites.entry(site).or_default();
        if known.visits.len() >= MAX_VISITS || known.steps >= MAX_STEPS {
            known.left_out += 1;
            return None;
        }
        known.steps += visit.steps.len();
        known.visits.push(visit);
        VisitNumber::try_from(known.visits.len() - 1).ok()
    }

    /// Adds a step to a visit of the day.
    pub(super) fn add_step(&mut self, site: Name, number: VisitNumber, step: VisitStep) {
        let Some(known) = self.sites.get_mut(&site) else { return };
        let Some(visit) = known.visits.get_mut(number as usize) else { return };
        if known.steps >= MAX_STEPS {
            known.left_out += 1;
            return;
        }
        known.steps += 1;
        if let VisitStep::View { path, .. } = &step {
            visit.exit = *path;
        }
        visit.steps.push(step);
    }

    /// Notes that the session of a visit that began on this day continued after `gap`, to the page `exit`.
    pub(super) fn lengthen(&mut self, key: VisitKey, gap: Millis, exit: Name) {
        let visit = self.sites.get_mut(&key.site).and_then(|known| known.visits.get_mut(key.number as usize));
        match visit {
            Some(visit) => Extension { gap, exit }.apply(visit),
            None => {
                let extension = self.extensions.entry(key).or_default();
                *extension = Extension { gap: extension.gap + gap, exit };
            }
        }
    }

    /// Removes a site.
    pub(super) fn remove(&mut self, site: Name) {
        self.sites.remove(&site);
        self.extensions.retain(|key, _| key.site != site);
    }

    /// Adds the visits that were counted after `stored` was written.
    pub(super) fn add_to(&self, stored: &mut BTreeMap<Name, SiteVisits>) {
        for (key, extension) in &self.extensions {
            let known = stored.get_mut(&key.site);
            if let Some(visit) = known.and_then(|known| known.visits.get_mut(key.number as usize)) {
                extension.apply(visit);
            }
        }
        for (site, more) in &self.sites {
            let known = stored.entry(*site).or_default();
            known.visits.extend(more.visits.iter().cloned());
            known.steps += more.steps;
            known.left_out += more.left_out;
        }
    }
}

impl Extension {
    pub(super) fn apply(self, visit: &mut Visit) {
        visit.duration += self.gap;
        visit.is_bounce = false;
        visit.exit = self.exit;
    }
}
