//! The figures of events, and of the pages at which sessions begin and end (`API.md` 4.8). Like `figures`, it leaves
//! percentages and rounding to its callers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bindery_model::error::Result;

use super::figures::Figures;
use super::names::{NONE, Name};
use super::period::Period;
use super::rollup::{EventKey, PageSessions, Rollup};

/// The sessions that began or ended at one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSessionCount {
    /// The page's path.
    pub path: Arc<str>,
    /// The sessions.
    pub sessions: u64,
}

/// The sessions by page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSessionCounts {
    /// The pages with the most sessions, most first, equal ones by path.
    pub rows: Vec<PageSessionCount>,
    /// The sessions of all pages, including those beyond the limit.
    pub total: u64,
}

/// The page of a session that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum SessionPage {
    First,
    Last,
}

/// The number of occurrences, and of the visitors that caused them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occurrences {
    /// The number of times.
    pub count: u64,
    /// The visitors of each day, added up.
    pub visitors: u64,
}

/// An event, or a value of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCount {
    /// The name or the value.
    pub name: Arc<str>,
    /// The number of occurrences.
    pub occurrences: Occurrences,
}

/// The values of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyCount {
    /// The name of the property.
    pub name: Arc<str>,
    /// The number of events with the property.
    pub count: u64,
    /// The most frequent values; equally frequent ones are sorted by value.
    pub values: Vec<EventCount>,
}

/// One event with its properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventDetails {
    /// The number of occurrences.
    pub occurrences: Occurrences,
    /// The most frequent properties; equally frequent ones are sorted by name.
    pub properties: Vec<PropertyCount>,
}

impl Figures<'_> {
    /// Returns the sessions of a period by their first or last page, for the first `limit` pages.
    ///
    /// # Errors
    /// `INTERNAL` if a day file cannot be read.
    pub fn session_pages(&self, period: Period, page: SessionPage, limit: usize) -> Result<PageSessionCounts> {
        let mut counts: HashMap<Name, i64> = HashMap::new();
        self.each_rollup(period, |_, rollup| {
            for PageSessions { path, sessions } in of_sessions(rollup, page) {
                *counts.entry(*path).or_default() += sessions;
            }
        })?;
        let rows: Vec<(Name, u64)> =
            counts.into_iter().filter_map(|(path, sessions)| Some((path, u64::try_from(sessions).ok()?))).collect();
        let rows: Vec<(Name, u64)> = rows.into_iter().filter(|(_, sessions)| *sessions > 0).collect();
        let total = rows.iter().map(|(_, sessions)| sessions).sum();
        let rows = self.top(rows, limit, |sessions| *sessions).into_iter();
        Ok(PageSessionCounts {
            rows: rows.map(|(path, sessions)| PageSessionCount { path, sessions }).collect(),
            total,
        })
    }

    /// Returns the first `limit` events of a period, the most frequent first, equally frequent ones by name.
    ///
    /// # Errors
    /// `INTERNAL` if a day file cannot be read.
    pub fn events(&self, period: Period, limit: usize) -> Result<Vec<EventCount>> {
        let mut counts: HashMap<Name, Occurrences> = HashMap::new();
        self.each_event(period, |key, more| {
            if key.property == NONE {
                counts.entry(key.event).or_default().add(more);
            }
        })?;
        Ok(self.most_frequent(counts, limit))
    }

    /// Returns one event of a period, with its first `limit` properties, each with its first `limit` values.
    ///
    /// # Errors
    /// `INTERNAL` if a day file cannot be read.
    pub fn event(&self, period: Period, event: &str, limit: usize) -> Result<EventDetails> {
        let mut occurrences = Occurrences::default();
        let mut values: HashMap<Name, HashMap<Name, Occurrences>> = HashMap::new();
        self.each_event(period, |key, more| {
            if self.name(event) != Some(key.event) {
                return;
            }
            match key.property {
                NONE => occurrences.add(more),
                property => values.entry(property).or_default().entry(key.value).or_default().add(more),
            }
        })?;
        let counted: Vec<(Name, u64)> = values
            .iter()
            .map(|(property, values)| (*property, values.values().map(|value| value.count).sum()))
            .collect();
        let names: BTreeMap<Arc<str>, Name> = values.keys().map(|name| (self.text(*name), *name)).collect();
        let properties = self.top(counted, limit, |count| *count).into_iter().map(|(name, count)| {
            let values = names.get(&name).and_then(|number| values.remove(number)).unwrap_or_default();
            PropertyCount { name, count, values: self.most_frequent(values, limit) }
        });
        Ok(EventDetails { occurrences, properties: properties.collect() })
    }

    fn each_event(&self, period: Period, mut visit: impl FnMut(EventKey, Occurrences)) -> Result<()> {
        self.each_rollup(period, |_, rollup| {
            for row in &rollup.events {
                visit(row.key, Occurrences { count: row.count, visitors: row.visitors });
            }
        })
    }

    fn most_frequent(&self, counts: HashMap<Name, Occurrences>, limit: usize) -> Vec<EventCount> {
        let rows = self.top(counts.into_iter().collect(), limit, |occurrences| occurrences.count).into_iter();
        rows.map(|(name, occurrences)| EventCount { name, occurrences }).collect()
    }
}

impl Occurrences {
    fn add(&mut self, more: Occurrences) {
        self.count += more.count;
        self.visitors += more.visitors;
    }
}

fn of_sessions(rollup: &Rollup, page: SessionPage) -> &[PageSessions] {
    match page {
        SessionPage::First => &rollup.entries,
        SessionPage::Last => &rollup.exits,
    }
}
