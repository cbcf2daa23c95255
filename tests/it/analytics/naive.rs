//! The reports by their definitions, computed over a list of pageviews. Slow and simple.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bindery_analytics::{Dimension, Metric, SessionPage};
use bindery_http::analytics::Report;
use chrono::{DateTime, Datelike, NaiveDate, TimeDelta, Utc};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{DAY, Seen, SentEvent};

/// The parameters of a report.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) site: Option<String>,
    pub(crate) start: NaiveDate,
    pub(crate) end: NaiveDate,
    pub(crate) interval: &'static str,
    pub(crate) limit: usize,
    pub(crate) filters: Vec<Filter>,
}

/// A filter: the field, the operator and the values.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    pub(crate) field: &'static str,
    pub(crate) operator: &'static str,
    pub(crate) values: Vec<String>,
}

/// The activity of a session on one day.
struct Visit<'a> {
    /// The number of the session.
    session: usize,
    begins: bool,
    entry: &'a Seen,
    exit: &'a Seen,
    views: Vec<&'a Seen>,
    events: Vec<&'a Seen>,
}

impl Visit<'_> {
    fn has(&self, field: &str, value: &String) -> bool {
        let any = |of: fn(&Seen) -> &String| self.views.iter().any(|view| of(view) == value);
        let utm = ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"];
        match field {
            "page" => any(|view| &view.path),
            "device" => any(|view| &view.device),
            "browser" => any(|view| &view.browser),
            "country" => any(|view| &view.country),
            "entry_page" => self.entry.path == *value,
            "exit_page" => self.exit.path == *value,
            "referrer" => self.entry.referrer == *value,
            "event" => self.events.iter().any(|seen| seen.event.as_ref().is_some_and(|(name, _)| name == value)),
            field => self.entry.utm[utm.iter().position(|known| *known == field).unwrap()] == *value,
        }
    }
}

struct Session<'a> {
    site: &'a str,
    who: &'a (String, usize),
    views: Vec<&'a Seen>,
}

impl Session<'_> {
    fn began(&self) -> i64 {
        self.views[0].at
    }

    fn ended(&self) -> i64 {
        self.views.last().unwrap().at
    }
}

impl Asked {
    pub(crate) fn query(&self) -> String {
        let site = self.site.as_ref().map_or(String::new(), |site| format!("&site={site}"));
        let filters = self.filters.iter().map(|Filter { field, operator, values }| {
            format!("&filter[{field}][{operator}]={}", utf8_percent_encode(&values.join(","), NON_ALPHANUMERIC))
        });
        let filters: String = filters.collect();
        format!("start={}&end={}&interval={}&limit={}{site}{filters}", self.start, self.end, self.interval, self.limit)
    }

    fn previous(&self) -> Asked {
        let days = self.end - self.start + TimeDelta::days(1);
        Asked { start: self.start - days, end: self.start - TimeDelta::days(1), ..self.clone() }
    }

    fn has(&self, at: i64) -> bool {
        (self.start..=self.end).contains(&date(at))
    }

    fn views<'a>(&self, all: &'a [Seen]) -> Vec<&'a Seen> {
        let here = |seen: &&Seen| self.site.as_ref().is_none_or(|site| *site == seen.site);
        if !self.filters.is_empty() {
            let views = self.visits(all).into_iter().flat_map(|visit| visit.views);
            return views.filter(here).filter(|seen| self.has(seen.at)).collect();
        }
        let views = all.iter().filter(here).filter(|seen| self.has(seen.at) && !seen.is_gone);
        views.filter(|seen| seen.event.is_none()).collect()
    }

    fn events<'a>(&self, all: &'a [Seen]) -> Vec<(&'a Seen, &'a SentEvent)> {
        let here = |seen: &&Seen| self.site.as_ref().is_none_or(|site| *site == seen.site);
        let seen: Vec<&Seen> = match self.filters.is_empty() {
            true => all.iter().collect(),
            false => self.visits(all).into_iter().flat_map(|visit| visit.events).collect(),
        };
        let events = seen.into_iter().filter(here).filter(|seen| self.has(seen.at) && !seen.is_gone);
        events.filter_map(|seen| Some((seen, seen.event.as_ref()?))).collect()
    }

    fn sessions<'a>(&self, all: &'a [Seen]) -> Vec<Session<'a>> {
        let here = |session: &Session| self.site.as_ref().is_none_or(|site| *site == session.site);
        let begun: BTreeSet<usize> =
            self.visits(all).iter().filter(|visit| visit.begins).map(|visit| visit.session).collect();
        let sessions = sessions(all).into_iter().enumerate().filter(|(number, _)| begun.contains(number));
        sessions.map(|(_, session)| session).filter(here).filter(|session| self.has(session.began())).collect()
    }

    /// Returns the visits that the filters select.
    fn visits<'a>(&self, all: &'a [Seen]) -> Vec<Visit<'a>> {
        let is_selected = |visit: &Visit| {
            self.filters.iter().all(|Filter { field, operator, values }| {
                values.iter().any(|value| visit.has(field, value)) != matches!(*operator, "ne" | "not_in")
            })
        };
        visits(all).into_iter().filter(is_selected).collect()
    }
}

/// Deletes a site's pageviews of some days and the sessions that began on them.
pub(crate) fn delete(all: &mut [Seen], site: &str, days: std::ops::RangeInclusive<NaiveDate>) {
    let gone: BTreeSet<_> = sessions(all)
        .into_iter()
        .filter(|session| session.site == site && days.contains(&date(session.began())))
        .flat_map(|session| session.views.into_iter().map(move |view| (session.who.clone(), view.at)))
        .collect();
    for seen in all.iter_mut().filter(|seen| seen.site == site) {
        seen.is_gone |= days.contains(&date(seen.at));
        seen.is_of_gone_session |= gone.contains(&(seen.who.clone(), seen.at));
    }
}

fn time(at: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(at).unwrap()
}

pub(crate) fn date(at: i64) -> NaiveDate {
    time(at).date_naive()
}

/// Returns all sessions except deleted ones. A deleted session also ends the session before it. The list is in the
/// order of arrival, which the stable sort keeps for equal times.
fn sessions(all: &[Seen]) -> Vec<Session<'_>> {
    let mut by_visitor: BTreeMap<(&String, &(String, usize)), Vec<&Seen>> = BTreeMap::new();
    for seen in all.iter().filter(|seen| seen.event.is_none()) {
        by_visitor.entry((&seen.site, &seen.who)).or_default().push(seen);
    }
    let mut sessions: Vec<Session> = Vec::new();
    for ((site, who), mut views) in by_visitor {
        views.sort_by_key(|seen| seen.at);
        let mut last: Option<i64> = None;
        for seen in views {
            if seen.is_of_gone_session {
                last = None;
                continue;
            }
            if last.is_some_and(|last| seen.at - last <= 30 * 60 * 1000) {
                sessions.last_mut().unwrap().views.push(seen);
            } else {
                sessions.push(Session { site, who, views: vec![seen] });
            }
            last = Some(seen.at);
        }
    }
    sessions
}

/// Returns the visits of all sessions. An event belongs to the visit of the pageview before it, if that is of the same
/// day and at most 30 minutes earlier.
fn visits(all: &[Seen]) -> Vec<Visit<'_>> {
    let mut visits: Vec<Visit> = Vec::new();
    let mut visit_of_view: HashMap<*const Seen, usize> = HashMap::new();
    for (number, session) in sessions(all).into_iter().enumerate() {
        let (entry, last) = (session.views[0], *session.views.last().unwrap());
        for view in session.views {
            let goes_on =
                visits.last().is_some_and(|visit| visit.session == number && date(visit.views[0].at) == date(view.at));
            if !goes_on {
                let begins = std::ptr::eq(view, entry);
                visits.push(Visit { session: number, begins, entry, exit: last, views: vec![], events: vec![] });
            }
            let visit = visits.last_mut().unwrap();
            visit.exit = if visit.begins { last } else { view };
            visit.views.push(view);
            visit_of_view.insert(view, visits.len() - 1);
        }
    }
    let mut last_view: HashMap<(&String, &(String, usize)), &Seen> = HashMap::new();
    for seen in all {
        let key = (&seen.site, &seen.who);
        if seen.event.is_none() {
            last_view.insert(key, seen);
        } else if let Some(view) = last_view.get(&key)
            && date(view.at) == date(seen.at)
            && seen.at - view.at <= 30 * 60 * 1000
            && let Some(visit) = visit_of_view.get(&std::ptr::from_ref(*view))
        {
            visits[*visit].events.push(seen);
        }
    }
    visits
}

/// Returns the distinct visitors of each day, added up.
fn visitors<'a>(views: impl IntoIterator<Item = &'a Seen>) -> u64 {
    let distinct: BTreeSet<_> = views.into_iter().map(|seen| (date(seen.at), &seen.site, &seen.who)).collect();
    distinct.len() as u64
}

fn one_decimal(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

fn percentage(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 * 1000.0 / whole as f64).round() / 10.0 }
}

fn change(current: u64, previous: u64) -> f64 {
    match (current, previous) {
        (0, 0) => 0.0,
        (_, 0) => 100.0,
        _ => one_decimal((current as f64 - previous as f64) * 100.0 / previous as f64),
    }
}

fn trend(current: u64, previous: u64) -> &'static str {
    match change(current, previous) {
        change if change > 0.0 => "up",
        change if change < 0.0 => "down",
        _ => "stable",
    }
}

fn duration(sessions: &[Session]) -> String {
    let total: i64 = sessions.iter().map(|session| session.ended() - session.began()).sum();
    let seconds = if sessions.is_empty() { 0 } else { (total as f64 / 1000.0 / sessions.len() as f64).round() as i64 };
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn live(asked: &Asked, all: &[Seen], now: i64) -> usize {
    let here = |session: &&Session| asked.site.as_ref().is_none_or(|site| *site == session.site);
    if !asked.filters.is_empty() {
        let (sessions, visits) = (sessions(all), asked.visits(all));
        let live = |visit: &&Visit| {
            let session = &sessions[visit.session];
            let is_last = std::ptr::eq(*visit.views.last().unwrap(), *session.views.last().unwrap());
            here(&session) && is_last && date(session.ended()) == date(now) && now - session.ended() <= 5 * 60 * 1000
        };
        return visits.iter().filter(live).count();
    }
    let sessions = sessions(all);
    sessions.iter().filter(here).filter(|session| now - session.ended() <= 5 * 60 * 1000).count()
}

/// Returns the expected body of the report.
pub(crate) fn expected_body(report: &Report, asked: &Asked, all: &[Seen], now: i64) -> Value {
    let (views, sessions, before) = (asked.views(all), asked.sessions(all), asked.previous());
    let counted = |asked: &Asked| visitors(asked.views(all));
    match report {
        Report::Summary => {
            let bounces = sessions.iter().filter(|session| session.views.len() == 1).count() as u64;
            json!({
                "period": { "start": format!("{}T00:00:00.000+00:00", asked.start), "end": format!("{}T23:59:59.999+00:00", asked.end) },
                "live_users": live(asked, all, now),
                "visitors": counted(asked),
                "sessions": sessions.len(),
                "pageviews": views.len(),
                "average_session_duration": duration(&sessions),
                "bounce_rate": percentage(bounces, sessions.len() as u64),
                "visitors_change": change(counted(asked), counted(&before)),
                "sessions_change": change(sessions.len() as u64, before.sessions(all).len() as u64),
                "pageviews_change": change(views.len() as u64, before.views(all).len() as u64),
            })
        }
        Report::Live => json!({ "live_users": live(asked, all, now) }),
        Report::Visitors => json!({ "visitors": counted(asked) }),
        Report::VisitorsTrends => {
            let (current, previous) = (counted(asked), counted(&before));
            json!({ "current": current, "previous": previous, "change": change(current, previous), "trend": trend(current, previous) })
        }
        Report::Sessions => json!({ "sessions": sessions.len() }),
        Report::AverageDuration => json!({ "average_session_duration": duration(&sessions) }),
        Report::Pageviews => json!({ "pageviews": views.len() }),
        Report::Pages => {
            let mut rows: Vec<Value> = groups(&views, |seen| seen.path.clone())
                .into_iter()
                .map(|(path, views)| json!({ "path": path, "views": views.len(), "visitors": visitors(views) }))
                .collect();
            rows.sort_by_key(|row| std::cmp::Reverse(row["views"].as_u64().unwrap()));
            rows.truncate(asked.limit);
            rows.into()
        }
        Report::Page(path) => {
            let path = format!("/{path}");
            let of_page: Vec<&Seen> = views.into_iter().filter(|seen| seen.path == path).collect();
            json!({ "path": path, "views": of_page.len(), "visitors": visitors(of_page) })
        }
        Report::Referrers => rows(begun(&sessions, |view| &view.referrer), ["referrer", "visitors"], asked.limit),
        Report::Utm(dimension) => {
            let which = *dimension as usize - Dimension::Source as usize;
            let mut counts = begun(&sessions, |view| &view.utm[which]);
            counts.remove("");
            rows(counts, [["source", "medium", "campaign", "content", "term"][which], "visitors"], asked.limit)
        }
        Report::SessionPages(page) => {
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for session in &sessions {
                let view = match page {
                    SessionPage::First => session.views[0],
                    SessionPage::Last => session.views.last().unwrap(),
                };
                *counts.entry(view.path.clone()).or_default() += 1;
            }
            rows(counts, ["path", "sessions"], asked.limit)
        }
        // A pageview is no search; `searches.rs` has the definition.
        Report::Searches(_) => json!([]),
        Report::CustomEvents => {
            let mut names: BTreeMap<&String, Vec<&Seen>> = BTreeMap::new();
            for (seen, (name, _)) in asked.events(all) {
                names.entry(name).or_default().push(seen);
            }
            let rows = names.into_iter().map(|(name, events)| event_row(name, &events, counted(asked)));
            most_frequent(rows.collect(), asked.limit)
        }
        Report::CustomEvent(name) => {
            let events: Vec<_> = asked.events(all).into_iter().filter(|(_, (sent, _))| sent == name).collect();
            let seen: Vec<&Seen> = events.iter().map(|(seen, _)| *seen).collect();
            let mut row = event_row(name, &seen, counted(asked));
            row["properties"] = properties(&events, asked.limit);
            row
        }
        Report::ReferrersTrends => {
            let referrers = |sessions: &[Session]| begun(sessions, |view| &view.referrer);
            let (current, previous) = (referrers(&sessions), referrers(&before.sessions(all)));
            let names: BTreeSet<&String> = current.keys().chain(previous.keys()).collect();
            let of = |counts: &BTreeMap<String, u64>, name: &String| counts.get(name).copied().unwrap_or(0);
            let mut rows: Vec<Value> = names
                .into_iter()
                .map(|name| {
                    let (current, previous) = (of(&current, name), of(&previous, name));
                    json!({ "referrer": name, "current": current, "previous": previous,
                        "change": change(current, previous), "trend": trend(current, previous) })
                })
                .collect();
            rows.sort_by_key(|row| std::cmp::Reverse(row["current"].as_u64().unwrap()));
            rows.truncate(asked.limit);
            rows.into()
        }
        Report::Devices => shares(&views, "device", |seen| seen.device.clone()),
        Report::Browsers => shares(&views, "browser", |seen| seen.browser.clone()),
        Report::Countries => shares(&views, "country", |seen| seen.country.clone()),
        Report::Series(Metric::Visitors) => {
            let mut distinct: BTreeSet<(String, String, &(String, usize))> = BTreeSet::new();
            let step = if asked.interval == "hour" { "hour" } else { "day" };
            let firsts =
                views.iter().filter(|seen| distinct.insert((bucket(seen.at, step), seen.site.clone(), &seen.who)));
            series(asked, firsts.map(|seen| seen.at))
        }
        Report::Series(Metric::Pageviews) => series(asked, views.iter().map(|seen| seen.at)),
        Report::Series(Metric::Sessions) => series(asked, sessions.iter().map(|session| session.began())),
    }
}

fn groups<'a>(views: &[&'a Seen], key: impl Fn(&Seen) -> String) -> BTreeMap<String, Vec<&'a Seen>> {
    let mut groups: BTreeMap<String, Vec<&Seen>> = BTreeMap::new();
    for seen in views {
        groups.entry(key(seen)).or_default().push(seen);
    }
    groups
}

/// Returns the visitors who began a session, by something of its first pageview.
fn begun(sessions: &[Session], key: impl Fn(&Seen) -> &String) -> BTreeMap<String, u64> {
    let begun: BTreeSet<_> = sessions
        .iter()
        .map(|session| (key(session.views[0]).clone(), date(session.began()), session.site, session.who))
        .collect();
    let mut counts = BTreeMap::new();
    for (name, ..) in begun {
        *counts.entry(name).or_default() += 1;
    }
    counts
}

fn event_row(name: &str, events: &[&Seen], all_visitors: u64) -> Value {
    let from = visitors(events.iter().copied());
    json!({ "name": name, "count": events.len(), "visitors": from, "conversion_rate": percentage(from, all_visitors) })
}

/// Returns the rows with the greatest count; equal ones stay in their order.
fn most_frequent(mut rows: Vec<Value>, limit: usize) -> Value {
    rows.sort_by_key(|row| std::cmp::Reverse(row["count"].as_u64().unwrap()));
    rows.truncate(limit);
    rows.into()
}

fn properties(events: &[(&Seen, &SentEvent)], limit: usize) -> Value {
    let mut properties: BTreeMap<&String, BTreeMap<&String, Vec<&Seen>>> = BTreeMap::new();
    for (seen, (_, sent)) in events {
        for (name, value) in sent {
            properties.entry(name).or_default().entry(value).or_default().push(seen);
        }
    }
    let rows = properties.into_iter().map(|(name, values)| {
        let count: usize = values.values().map(Vec::len).sum();
        let rows = values.into_iter().map(|(value, events)| {
            json!({ "value": value, "count": events.len(), "visitors": visitors(events.iter().copied()),
                "percentage": percentage(events.len() as u64, count as u64) })
        });
        json!({ "name": name, "count": count, "values": most_frequent(rows.collect(), limit) })
    });
    most_frequent(rows.collect(), limit)
}

fn shares(views: &[&Seen], key: &str, name: impl Fn(&Seen) -> String) -> Value {
    let counts = groups(views, name).into_iter().map(|(name, views)| (name, visitors(views))).collect();
    rows(counts, [key, "count"], usize::MAX)
}

fn rows(counts: BTreeMap<String, u64>, keys: [&str; 2], limit: usize) -> Value {
    let all: u64 = counts.values().sum();
    let mut rows: Vec<(String, u64)> = counts.into_iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    rows.truncate(limit);
    let rows = rows.into_iter();
    rows.map(|(name, count)| json!({ keys[0]: name, keys[1]: count, "percentage": percentage(count, all) })).collect()
}

fn bucket(at: i64, interval: &str) -> String {
    match interval {
        "hour" => time(at).format("%Y-%m-%dT%H:00").to_string(),
        "week" => {
            let date = date(at);
            (date - TimeDelta::days(date.weekday().num_days_from_monday().into())).to_string()
        }
        "month" => time(at).format("%Y-%m").to_string(),
        _ => date(at).to_string(),
    }
}

fn series(asked: &Asked, times: impl Iterator<Item = i64>) -> Value {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let first = asked.start.and_hms_opt(0, 0, 0).unwrap().and_utc().timestamp_millis();
    let hours = (asked.end - asked.start).num_days() * 24 + 24;
    for hour in 0..hours {
        counts.entry(bucket(first + hour * DAY / 24, asked.interval)).or_default();
    }
    for at in times {
        *counts.get_mut(&bucket(at, asked.interval)).unwrap() += 1;
    }
    counts.into_iter().map(|(date, value)| json!({ "date": date, "value": value })).collect()
}

/// Compares two bodies; `1` equals `1.0`.
#[track_caller]
pub(crate) fn assert_same(body: &Value, expected: &Value, what: &str) {
    assert!(same(body, expected), "{what}\n      body {body}\n  expected {expected}");
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}
