//! The bound on names: how many paths and referrers of one site are told apart on one day. Visitors choose both, so
//! without a bound they would decide how much memory and disk a day takes.
//!
//! The first names of a day are counted by name, and all others together as [`OTHER`]. Only admitted names are interned,
//! logged and counted, so what a record of the log says is what was counted, and a start counts the same.

use std::collections::{HashMap, HashSet};

use super::event::DIRECT;
use super::names::{Name, Names};
use super::pageview::Dimension;
use super::period::Day;
use super::traffic::Traffic;

/// The name of what is beyond the bounds. It is neither a path nor a host.
pub(super) const OTHER: &str = "(other)";
const MAX_PATHS: usize = 10_000;
const MAX_REFERRERS: usize = 5_000;

/// The names that one day has so far.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    day: Day,
    sites: HashMap<Name, SiteNames>,
}

#[derive(Debug, Default)]
struct SiteNames {
    paths: HashSet<Name>,
    referrers: HashSet<Name>,
}

impl Bounds {
    /// The names that a day has in `traffic`.
    pub(super) fn of(traffic: &Traffic, day: Day, names: &Names) -> Bounds {
        let mut bounds = Bounds { day, sites: HashMap::new() };
        let other = names.intern(OTHER);
        for (site, rollup) in traffic.days.get(&day).into_iter().flat_map(|open_day| open_day.sites()) {
            let known = bounds.sites.entry(*site).or_default();
            known.paths.extend(rollup.pages.iter().map(|page| page.path).filter(|path| *path != other));
            let shares = &rollup.shares[Dimension::Referrer as usize];
            known.referrers.extend(shares.iter().map(|share| share.name).filter(|name| *name != other));
        }
        bounds
    }

    /// The name by which a path counts on a day. Days must come in order.
    pub(super) fn path(&mut self, day: Day, site: Name, path: &str, names: &Names) -> Name {
        admit(&mut self.of_site(day, site).paths, MAX_PATHS, path, names)
    }

    /// The name by which a referrer counts on a day. Days must come in order. Direct traffic is always told apart.
    pub(super) fn referrer(&mut self, day: Day, site: Name, referrer: &str, names: &Names) -> Name {
        match referrer {
            DIRECT => names.intern(DIRECT),
            _ => admit(&mut self.of_site(day, site).referrers, MAX_REFERRERS, referrer, names),
        }
    }

    fn of_site(&mut self, day: Day, site: Name) -> &mut SiteNames {
        if day != self.day {
            *self = Bounds { day, sites: HashMap::new() };
        }
        self.sites.entry(site).or_default()
    }
}

fn admit(known: &mut HashSet<Name>, most: usize, text: &str, names: &Names) -> Name {
    match names.find(text) {
        Some(name) if known.contains(&name) => name,
        _ if known.len() < most => {
            let name = names.intern(text);
            known.insert(name);
            name
        }
        _ => names.intern(OTHER),
    }
}
