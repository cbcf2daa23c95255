//! The figures that are being counted: the open days, and the sessions that may continue. It does not know files.

use std::collections::BTreeMap;

use bindery_model::time::{DAY_MILLIS, Millis, day_number};

use super::names::Name;
use super::open_day::OpenDay;
use super::pageview::{Activity, CustomEvent, Dimension, Pageview};
use super::period::{Day, Period};
use super::rollup::Rollup;
use super::search::Click;
use super::series::HOUR_MILLIS;
use super::session::{SessionStep, Sessions, VisitPlace};
use super::visits::{Visit, VisitKey, VisitStep, entry_of};

/// The open days and sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Traffic {
    pub(super) days: BTreeMap<Day, OpenDay>,
    pub(super) sessions: Sessions,
}

impl Traffic {
    /// Counts a pageview, an event, a search or a click. They must come in the order of their times. Days that are not
    /// open according to `is_open` are left unchanged.
    pub(super) fn add(&mut self, activity: &Activity, is_open: impl Fn(Day) -> bool) {
        match activity {
            Activity::Pageview(view) => self.add_view(view, is_open),
            Activity::Event(event) => self.add_event(event, is_open),
            Activity::Search(search) => {
                if is_open(day_number(search.at)) {
                    self.days.entry(day_number(search.at)).or_default().add_search(search);
                }
            }
            Activity::Click(click) => {
                let number = day_number(click.at);
                if let Some(day) = self.days.get_mut(&number).filter(|_| is_open(number)) {
                    day.add_click(click);
                }
            }
        }
    }

    /// Returns whether a search is counted that can still be clicked.
    pub(super) fn has_search(&self, number: u64) -> bool {
        self.days.values().any(|day| day.has_search(number))
    }

    /// Returns whether a click at a time counts: its search is one of the same day, and can be clicked.
    pub(super) fn accepts(&self, click: &Click) -> bool {
        self.days.get(&day_number(click.at)).is_some_and(|day| day.accepts(click))
    }

    /// Counts a pageview. Pageviews must come in the order of their times. Days that are not open according to
    /// `is_open` are left unchanged, because a file already includes the pageview.
    pub(super) fn add_view(&mut self, view: &Pageview, is_open: impl Fn(Day) -> bool) {
        let step = self.sessions.track(view.site, view.visitor, view.at, entry_of(view));
        let day = day_number(view.at);
        if is_open(day) {
            self.days.entry(day).or_default().add(view, step == SessionStep::Began);
        }
        if let SessionStep::Continued { began, gap, was_bounce, left } = step
            && is_open(day_number(began))
        {
            let day = self.days.entry(day_number(began)).or_default();
            day.lengthen_session(view.site, gap, was_bounce, left, view.path);
            let first = self.sessions.at(view.visitor.today, view.at).and_then(|session| session.first_visit);
            if let Some(number) = first {
                day.visits_mut().lengthen(VisitKey { site: view.site, number }, gap, view.path);
            }
        }
        if is_open(day) {
            self.add_to_visit(view, step == SessionStep::Began);
        }
    }

    /// Adds a pageview to the visit of its session and day, or begins one.
    fn add_to_visit(&mut self, view: &Pageview, begins: bool) {
        let (day, open_day) = (day_number(view.at), self.days.entry(day_number(view.at)).or_default());
        let Some(session) = self.sessions.at(view.visitor.today, view.at) else { return };
        let hour = view.at.rem_euclid(DAY_MILLIS) / HOUR_MILLIS;
        let client = [Dimension::Device, Dimension::Browser, Dimension::Country].map(|of| view.dimensions[of as usize]);
        let step = VisitStep::View { hour: hour as u8, path: view.path, client };
        if let Some(visit) = session.visit.filter(|visit| visit.day == day) {
            return open_day.visits_mut().add_step(view.site, visit.number, step);
        }
        let Some(visitor) = open_day.visitor(view.visitor.today) else { return };
        let (entry, exit, steps) = (session.entry, view.path, vec![step]);
        let visit = Visit { visitor, begins, is_bounce: begins, duration: 0, entry, exit, steps };
        let number = open_day.visits_mut().begin(view.site, visit);
        session.visit = number.map(|number| VisitPlace { day, number });
        if begins {
            session.first_visit = number;
        }
    }

    /// Counts an event. It neither begins nor lengthens a session, and belongs to the open visit.
    fn add_event(&mut self, event: &CustomEvent, is_open: impl Fn(Day) -> bool) {
        let day = day_number(event.at);
        if is_open(day) {
            let open_day = self.days.entry(day).or_default();
            open_day.add_event(event);
            let session = self.sessions.at(event.visitor.today, event.at);
            if let Some(visit) = session.and_then(|session| session.visit).filter(|visit| visit.day == day) {
                let step = VisitStep::Event { name: event.name, properties: event.properties.clone().into() };
                open_day.visits_mut().add_step(event.site, visit.number, step);
            }
        }
    }

    /// Removes a site from the days of a period, with the sessions that began on them: the next pageview of such a
    /// visitor begins a new session. The part of an earlier session on these days stays with the day on which it began.
    pub(super) fn remove(&mut self, site: Name, period: Period) {
        self.sessions.remove(|session| session.site == site && period.contains(day_number(session.began)));
        self.sessions.forget_visits(site, period);
        for (_, day) in self.days.range_mut(period.start()..=period.end()) {
            day.remove(site);
        }
    }

    /// Returns the number of pageviews that are counted.
    pub(super) fn pageviews(&self) -> u64 {
        self.days.values().flat_map(|day| day.sites().values()).map(Rollup::pageviews).sum()
    }

    /// Drops the seen visitors of the days before that of `now`, which get no more pageviews, and the ended sessions.
    /// The figures stay.
    pub(super) fn forget_visitors(&mut self, now: Millis) {
        self.sessions.drop_ended(now);
        self.days.range_mut(..day_number(now)).for_each(|(_, day)| day.forget_visitors());
    }
}
