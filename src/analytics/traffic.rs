//! What is being counted: the open days, and the sessions that may still go on. Knows no files.

use std::collections::BTreeMap;

use super::names::Name;
use super::open_day::OpenDay;
use super::pageview::{Activity, CustomEvent, Pageview};
use super::period::{Day, Period};
use super::rollup::Rollup;
use super::session::{SessionStep, Sessions};
use crate::model::time::{Millis, day_number};

/// The open days and sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Traffic {
    pub(super) days: BTreeMap<Day, OpenDay>,
    pub(super) sessions: Sessions,
}

impl Traffic {
    /// Counts a pageview or an event, as [`Traffic::add_view`] and [`Traffic::add_event`] do.
    pub(super) fn add(&mut self, activity: &Activity, is_open: impl Fn(Day) -> bool) {
        match activity {
            Activity::Pageview(view) => self.add_view(view, is_open),
            Activity::Event(event) => self.add_event(event, is_open),
        }
    }

    /// Counts a pageview. Pageviews must come in the order of their times. Skips what the pageview does to a day that
    /// is not open according to `is_open`, because a file counts that already.
    pub(super) fn add_view(&mut self, view: &Pageview, is_open: impl Fn(Day) -> bool) {
        let step = self.sessions.track(view.site, view.visitor, view.at, view.path);
        let day = day_number(view.at);
        if is_open(day) {
            self.days.entry(day).or_default().add(view, step == SessionStep::Began);
        }
        if let SessionStep::Continued { began, gap, was_bounce, left } = step
            && is_open(day_number(began))
        {
            let day = self.days.entry(day_number(began)).or_default();
            day.lengthen_session(view.site, gap, was_bounce, left, view.path);
        }
    }

    /// Counts an event. It neither begins nor lengthens a session.
    fn add_event(&mut self, event: &CustomEvent, is_open: impl Fn(Day) -> bool) {
        let day = day_number(event.at);
        if is_open(day) {
            self.days.entry(day).or_default().add_event(event);
        }
    }

    /// Removes a site from the days of a period, with the sessions that began on them: the next pageview of such a
    /// visitor begins a new session. What an earlier session did on these days stays with the day that it began on.
    pub(super) fn remove(&mut self, site: Name, period: Period) {
        self.sessions.remove(|session| session.site == site && period.contains(day_number(session.began)));
        for (_, day) in self.days.range_mut(period.start()..=period.end()) {
            day.remove(site);
        }
    }

    /// How many pageviews are counted.
    pub(super) fn pageviews(&self) -> u64 {
        self.days.values().flat_map(|day| day.sites().values()).map(Rollup::pageviews).sum()
    }

    /// Drops who was seen on the days before that of `now`, which get no more pageviews, and the sessions that have
    /// ended. The figures stay.
    pub(super) fn forget_visitors(&mut self, now: Millis) {
        self.sessions.drop_ended(now);
        self.days.range_mut(..day_number(now)).for_each(|(_, day)| day.forget_visitors());
    }
}
