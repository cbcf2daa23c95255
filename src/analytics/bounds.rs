//! The bound on names: the number of paths, referrers and other texts of one site that are counted separately on one
//! day. Visitors choose them, so without a bound they would decide how much memory and disk a day takes.
//!
//! The first names of a day are counted by name, and all others together as [`OTHER`]. Only admitted names are
//! interned, logged and counted. So a log record contains exactly the names that were counted, and a replay counts the
//! same.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::event::{DIRECT, NamedEvent, Utm};
use super::names::{NONE, Name, Names};
use super::pageview::{Dimension, Property};
use super::period::Day;
use super::rollup::{EventKey, Rollup, SearchKey};
use super::search::QueuedSearch;
use super::traffic::Traffic;

/// The name for everything beyond the bounds. It is neither a path nor a host.
pub(super) const OTHER: &str = "(other)";
const MAX_PATHS: usize = 10_000;
const MAX_REFERRERS: usize = 5_000;
/// The bound for each UTM parameter.
const MAX_UTM: usize = 1_000;
const MAX_EVENTS: usize = 200;
/// The bound for the properties of all events together, and for their values.
const MAX_PROPERTIES: usize = 1_000;
const MAX_VALUES: usize = 10_000;
const MAX_QUESTIONS: usize = 10_000;
/// The bound for questions by blueprint.
const MAX_ASKED: usize = 20_000;

/// The names of one day so far.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    day: Day,
    sites: HashMap<Name, SiteNames>,
}

#[derive(Debug, Default)]
struct SiteNames {
    paths: HashSet<Name>,
    referrers: HashSet<Name>,
    utm: [HashSet<Name>; 5],
    events: HashSet<Name>,
    /// The properties by event: keys without a value.
    properties: HashSet<EventKey>,
    values: HashSet<EventKey>,
    questions: HashSet<Name>,
    /// The questions by blueprint.
    asked: HashSet<SearchKey>,
}

impl SiteNames {
    /// Returns the names in a rollup.
    fn of(rollup: &Rollup, other: Name) -> SiteNames {
        let shares = |which: usize| {
            rollup.shares[which].iter().map(|share| share.name).filter(|name| *name != other).collect::<HashSet<Name>>()
        };
        let keys = || rollup.events.iter().map(|row| row.key).filter(|key| key.event != other);
        let properties = || keys().filter(|key| key.property != NONE && key.property != other);
        let searches = || rollup.searches.iter().map(|row| row.key).filter(|key| key.question != other);
        SiteNames {
            paths: rollup.pages.iter().map(|page| page.path).filter(|path| *path != other).collect(),
            referrers: shares(Dimension::Referrer as usize),
            utm: std::array::from_fn(|which| shares(Dimension::Source as usize + which)),
            events: keys().map(|key| key.event).collect(),
            properties: properties().map(|key| EventKey { value: NONE, ..key }).collect(),
            values: properties().filter(|key| key.value != other).collect(),
            questions: searches().map(|key| key.question).collect(),
            asked: searches().filter(|key| key.blueprint != NONE).collect(),
        }
    }
}

impl Bounds {
    /// Returns the names of a day in `traffic`.
    pub(super) fn of(traffic: &Traffic, day: Day, names: &Names) -> Bounds {
        let mut bounds = Bounds { day, sites: HashMap::new() };
        let other = names.intern(OTHER);
        for (site, rollup) in traffic.days.get(&day).into_iter().flat_map(|open_day| open_day.sites()) {
            bounds.sites.insert(*site, SiteNames::of(rollup, other));
        }
        bounds
    }

    /// Returns the name under which a path is counted on a day. Days must come in order.
    pub(super) fn path(&mut self, day: Day, site: Name, path: &str, names: &Names) -> Name {
        admit(&mut self.of_site(day, site).paths, MAX_PATHS, path, names)
    }

    /// Returns the name under which a referrer is counted on a day. Days must come in order. Direct traffic is always
    /// counted separately.
    pub(super) fn referrer(&mut self, day: Day, site: Name, referrer: &str, names: &Names) -> Name {
        match referrer {
            DIRECT => names.intern(DIRECT),
            _ => admit(&mut self.of_site(day, site).referrers, MAX_REFERRERS, referrer, names),
        }
    }

    /// Returns the names under which UTM parameters are counted on a day. Days must come in order.
    pub(super) fn utm(&mut self, day: Day, site: Name, utm: &Utm, names: &Names) -> [Name; 5] {
        let known = &mut self.of_site(day, site).utm;
        std::array::from_fn(|which| match &utm[which] {
            None => NONE,
            Some(text) => admit(&mut known[which], MAX_UTM, text, names),
        })
    }

    /// Returns the names under which an event and its properties are counted on a day. Days must come in order. An
    /// event beyond the bound is counted without its properties.
    pub(super) fn event(&mut self, day: Day, site: Name, event: &NamedEvent, names: &Names) -> (Name, Vec<Property>) {
        let known = self.of_site(day, site);
        let (name, other) = (admit(&mut known.events, MAX_EVENTS, &event.name, names), names.intern(OTHER));
        let mut properties: Vec<Property> = Vec::new();
        if name == other {
            return (name, properties);
        }
        for (property, value) in &event.properties {
            let key = |property| EventKey { event: name, property, value: NONE };
            let property = admit_key(&mut known.properties, MAX_PROPERTIES, property, key, names);
            let key = |value| EventKey { event: name, property, value };
            let value = match property == other {
                true => other,
                false => admit_key(&mut known.values, MAX_VALUES, value, key, names),
            };
            let admitted = Property { name: property, value };
            // Several properties beyond the bound count once.
            if !properties.contains(&admitted) {
                properties.push(admitted);
            }
        }
        (name, properties)
    }

    /// Returns the rows under which a search counts on a day: first that of its question. Days must come in order. Also
    /// returns whether the question is counted separately.
    pub(super) fn search(
        &mut self,
        day: Day,
        site: Name,
        search: &QueuedSearch,
        names: &Names,
    ) -> (Vec<SearchKey>, bool) {
        let known = self.of_site(day, site);
        let other = names.intern(OTHER);
        let question = admit(&mut known.questions, MAX_QUESTIONS, &search.question, names);
        let mut keys = vec![SearchKey { question, blueprint: NONE }];
        for blueprint in &search.blueprints {
            // Only the content names blueprints, so they need no bound of their own.
            let key = SearchKey { question, blueprint: names.intern(blueprint) };
            let is_admitted = question != other && (known.asked.contains(&key) || known.asked.len() < MAX_ASKED);
            if is_admitted {
                known.asked.insert(key);
            }
            keys.push(if is_admitted { key } else { SearchKey { question: other, ..key } });
        }
        (keys, question != other)
    }

    fn of_site(&mut self, day: Day, site: Name) -> &mut SiteNames {
        if day != self.day {
            *self = Bounds { day, sites: HashMap::new() };
        }
        self.sites.entry(site).or_default()
    }
}

fn admit(known: &mut HashSet<Name>, most: usize, text: &str, names: &Names) -> Name {
    admit_key(known, most, text, |name| name, names)
}

/// Returns the name of a text whose key is admitted; [`OTHER`] if the bound is reached.
fn admit_key<K: Eq + Hash>(
    known: &mut HashSet<K>,
    most: usize,
    text: &str,
    key: impl Fn(Name) -> K,
    names: &Names,
) -> Name {
    match names.find(text) {
        Some(name) if known.contains(&key(name)) => name,
        _ if known.len() < most => {
            let name = names.intern(text);
            known.insert(key(name));
            name
        }
        _ => names.intern(OTHER),
    }
}
