//! The reports: which parameters each one takes, and what it answers with (`API.md` 4.8).

use std::cell::RefCell;

use bindery_analytics::{
    Analytics, Day, Dimension, Figures, Metric, Period, SearchReport, SessionPage, Totals, VisitFilter, page_path,
};
use bindery_model::error::{Code, Error, Result};
use bindery_query::RawParams;
use bindery_query::strict::{self, FILTERS};
use serde_json::{Value, json};

use super::bodies::{
    custom_event, custom_events, event_name, page, referrer_trend, search, series, session_pages, shares, summary,
    utm_key, visitors_trends,
};
use super::figures::average_duration;
use super::{filters, params};

/// A report.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // The names are the paths of API.md 4.8.
pub enum Report {
    Summary,
    Live,
    Visitors,
    VisitorsTrends,
    Sessions,
    AverageDuration,
    Pageviews,
    Pages,
    /// One page: the rest of the URL's path, still encoded.
    Page(String),
    Referrers,
    ReferrersTrends,
    Devices,
    Browsers,
    Countries,
    Utm(Dimension),
    SessionPages(SessionPage),
    Searches(SearchReport),
    CustomEvents,
    /// One event: the rest of the URL's path, still encoded.
    CustomEvent(String),
    Series(Metric),
}

impl Report {
    /// Returns the parameters that the report takes.
    fn parameters(&self) -> &'static [&'static str] {
        match self {
            Report::Live => &["site", FILTERS],
            Report::Pages
            | Report::Referrers
            | Report::ReferrersTrends
            | Report::Utm(_)
            | Report::SessionPages(_)
            | Report::CustomEvents
            | Report::CustomEvent(_) => &["start", "end", "limit", "site", FILTERS],
            // Visits do not know searches.
            Report::Searches(_) => &["start", "end", "limit", "site", "blueprint"],
            Report::Series(_) => &["start", "end", "interval", "site", FILTERS],
            _ => &["start", "end", "site", FILTERS],
        }
    }

    /// Answers the report. `raw_query` is the query string. Parameters that the report does not take are ignored,
    /// unless `strict` is set. Blocks for some milliseconds.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`; `INVALID_FILTER`, also if a day of the period has no visits; `INTERNAL` if figures of the
    /// period are damaged or the disk fails; `OVERLOADED` while the server shuts down, or if a report with filters
    /// takes too long.
    pub fn answer(&self, analytics: &Analytics, raw_query: &str) -> Result<Value> {
        let (text, _) = self.answer_noting(analytics, raw_query, &|_| true)?;
        serde_json::from_str(&text).map_err(Error::internal)
    }

    /// Like [`Report::answer`], but returns the text of the answer, and the days for which filters did not see every
    /// visit. A blueprint of a slug that `sees` rejects is like one that does not exist.
    ///
    /// # Errors
    /// The errors of [`Report::answer`].
    pub fn answer_noting(
        &self,
        analytics: &Analytics,
        raw_query: &str,
        sees: &dyn Fn(&str) -> bool,
    ) -> Result<(String, Vec<Day>)> {
        let params = RawParams::parse(raw_query);
        strict::check(&params, self.parameters())?;
        let filters = filters::filters(&params)?;
        if matches!(self, Report::Searches(_)) && !filters.is_empty() {
            let message = "reports of searches have no filters; `site` and `blueprint` say which searches count";
            return Err(Error::new(Code::InvalidFilter, message));
        }
        let request = Request { analytics, params, filters, sees, cut_days: RefCell::default() };
        let body = self.body(&request)?;
        Ok((body, request.cut_days.into_inner()))
    }

    fn body(&self, request: &Request) -> Result<String> {
        let body = match self {
            Report::Series(metric) => return request.series(*metric),
            Report::Summary => request.compared(summary),
            Report::Live => request.live(),
            Report::Visitors => request.totals(|totals| json!({ "visitors": totals.visitors })),
            Report::VisitorsTrends => request.compared(visitors_trends),
            Report::Sessions => request.totals(|totals| json!({ "sessions": totals.sessions })),
            Report::AverageDuration => {
                request.totals(|totals| json!({ "average_session_duration": average_duration(totals) }))
            }
            Report::Pageviews => request.totals(|totals| json!({ "pageviews": totals.pageviews })),
            Report::Pages => {
                request.limited(|figures, period, limit| Ok(figures.pages(period, limit)?.iter().map(page).collect()))
            }
            Report::Page(path) => request.period(|figures, period| Ok(page(&figures.page(period, &page_path(path))?))),
            Report::Referrers => request.limited(|figures, period, limit| {
                let breakdown = figures.breakdown(period, Dimension::Referrer, limit)?;
                Ok(shares(&breakdown, "referrer", "visitors"))
            }),
            Report::ReferrersTrends => request.limited(|figures, period, limit| {
                Ok(figures.referrer_trends(period, limit)?.iter().map(referrer_trend).collect())
            }),
            Report::Devices => request.demographics(Dimension::Device, "device"),
            Report::Browsers => request.demographics(Dimension::Browser, "browser"),
            Report::Countries => request.demographics(Dimension::Country, "country"),
            Report::Utm(dimension) => request.limited(|figures, period, limit| {
                Ok(shares(&figures.breakdown(period, *dimension, limit)?, utm_key(*dimension), "visitors"))
            }),
            Report::SessionPages(page) => request
                .limited(|figures, period, limit| Ok(session_pages(&figures.session_pages(period, *page, limit)?))),
            Report::Searches(report) => request.limited(|figures, period, limit| {
                let blueprint = request.params.single("blueprint")?;
                if blueprint.is_some_and(|slug| !(request.sees)(slug)) {
                    return Ok(json!([]));
                }
                let rows = figures.searches(period, *report, blueprint, limit)?;
                Ok(rows.iter().map(search).collect())
            }),
            Report::CustomEvents => request.limited(custom_events),
            Report::CustomEvent(name) => {
                request.limited(|figures, period, limit| custom_event(figures, period, &event_name(name), limit))
            }
        };
        body.map(|body| body.to_string())
    }
}

/// The parameters of a request. Its methods read those that their reports take: first the period, at last the site.
struct Request<'a> {
    analytics: &'a Analytics,
    params: RawParams,
    filters: Vec<VisitFilter>,
    sees: &'a dyn Fn(&str) -> bool,
    cut_days: RefCell<Vec<Day>>,
}

impl Request<'_> {
    fn live(&self) -> Result<Value> {
        self.figures(|figures| Ok(json!({ "live_users": figures.live_users() })))
    }

    fn period(&self, body: impl FnOnce(&Figures, Period) -> Result<Value>) -> Result<Value> {
        let period = self.read_period()?;
        self.figures(|figures| body(figures, period))
    }

    /// Returns a report that also needs the previous period.
    fn compared(&self, body: impl FnOnce(&Figures, Period) -> Result<Value>) -> Result<Value> {
        self.preload(self.read_period()?.previous());
        self.period(body)
    }

    fn totals(&self, body: impl FnOnce(&Totals) -> Value) -> Result<Value> {
        self.period(|figures, period| Ok(body(&figures.totals(period)?)))
    }

    fn limited(&self, body: impl FnOnce(&Figures, Period, usize) -> Result<Value>) -> Result<Value> {
        let period = self.read_period()?;
        let limit = params::limit(&self.params)?;
        self.figures(|figures| body(figures, period, limit))
    }

    fn demographics(&self, dimension: Dimension, key: &str) -> Result<Value> {
        self.period(|figures, period| Ok(shares(&figures.breakdown(period, dimension, usize::MAX)?, key, "count")))
    }

    fn series(&self, metric: Metric) -> Result<String> {
        let period = self.read_period()?;
        let interval = params::interval(&self.params, period)?;
        let points = self.figures(|figures| figures.series(period, interval, metric))?;
        // Nothing is counted while figures are held, and the text of a long series takes a while.
        Ok(series(&points, interval))
    }

    fn read_period(&self) -> Result<Period> {
        let period = params::period(&self.params, self.analytics.now())?;
        self.preload(period);
        Ok(period)
    }

    fn preload(&self, period: Period) {
        if self.filters.is_empty() {
            self.analytics.preload(period);
        }
    }

    fn figures<T>(&self, read: impl FnOnce(&Figures) -> Result<T>) -> Result<T> {
        let site = params::site(&self.params)?;
        let figures = match self.filters.is_empty() {
            true => self.analytics.figures(site.as_deref())?,
            false => self.analytics.filtered_figures(site.as_deref(), &self.filters)?,
        };
        let found = read(&figures)?;
        *self.cut_days.borrow_mut() = figures.cut_days();
        Ok(found)
    }
}
