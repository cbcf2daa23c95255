//! The reports: which parameters each one takes, and the JSON body that it answers with (`API.md` 4.8).

use serde_json::{Value, json};

use super::figures::{average_duration, change, percentage, trend};
use super::params;
use crate::analytics::{
    Analytics, Breakdown, Comparison, Dimension, Figures, Interval, Metric, PageCount, Period, ReferrerTrend,
    SeriesPoint, Totals, page_path,
};
use crate::model::error::Result;
use crate::model::time::format_millis;
use crate::query::{RawParams, strict};

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
    Series(Metric),
}

impl Report {
    /// The parameters that the report takes.
    fn parameters(&self) -> &'static [&'static str] {
        match self {
            Report::Live => &["site"],
            Report::Pages | Report::Referrers | Report::ReferrersTrends => &["start", "end", "limit", "site"],
            Report::Series(_) => &["start", "end", "interval", "site"],
            _ => &["start", "end", "site"],
        }
    }

    /// Answers the report. `raw_query` is the query string; parameters that the report does not take are ignored, unless it
    /// has `strict`.
    /// Blocks for some milliseconds.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`; `INTERNAL` if figures of the period are damaged or the disk fails; `OVERLOADED` while the server shuts down.
    pub fn answer(&self, analytics: &Analytics, raw_query: &str) -> Result<Value> {
        let request = Request { analytics, params: RawParams::parse(raw_query) };
        strict::check(&request.params, self.parameters())?;
        match self {
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
            Report::Series(metric) => request.series(*metric),
        }
    }
}

/// The parameters of a request. Its methods read those that their reports take: first the period, at last the site.
struct Request<'a> {
    analytics: &'a Analytics,
    params: RawParams,
}

impl Request<'_> {
    fn live(&self) -> Result<Value> {
        self.figures(|figures| Ok(json!({ "live_users": figures.live_users() })))
    }

    fn period(&self, body: impl FnOnce(&Figures, Period) -> Result<Value>) -> Result<Value> {
        let period = self.read_period()?;
        self.figures(|figures| body(figures, period))
    }

    /// A report that also needs the previous period.
    fn compared(&self, body: impl FnOnce(&Figures, Period) -> Result<Value>) -> Result<Value> {
        self.analytics.preload(self.read_period()?.previous());
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

    fn series(&self, metric: Metric) -> Result<Value> {
        let period = self.read_period()?;
        let interval = params::interval(&self.params, period)?;
        self.figures(|figures| {
            let points = figures.series(period, interval, metric)?;
            Ok(points.iter().map(|point| series_point(point, interval)).collect())
        })
    }

    fn read_period(&self) -> Result<Period> {
        let period = params::period(&self.params, self.analytics.now())?;
        self.analytics.preload(period);
        Ok(period)
    }

    fn figures(&self, body: impl FnOnce(&Figures) -> Result<Value>) -> Result<Value> {
        let site = params::site(&self.params)?;
        body(&self.analytics.figures(site.as_deref())?)
    }
}

fn summary(figures: &Figures, period: Period) -> Result<Value> {
    let (current, previous) = (figures.totals(period)?, figures.totals(period.previous())?);
    let change_of = |figure: fn(&Totals) -> u64| change(compare(&current, &previous, figure));
    Ok(json!({
        "period": {
            "start": format_millis(period.first_millisecond()),
            "end": format_millis(period.last_millisecond()),
        },
        "live_users": figures.live_users(),
        "visitors": current.visitors,
        "sessions": current.sessions,
        "pageviews": current.pageviews,
        "average_session_duration": average_duration(&current),
        "bounce_rate": percentage(current.bounces, current.sessions),
        "visitors_change": change_of(|totals| totals.visitors),
        "sessions_change": change_of(|totals| totals.sessions),
        "pageviews_change": change_of(|totals| totals.pageviews),
    }))
}

fn visitors_trends(figures: &Figures, period: Period) -> Result<Value> {
    let (current, previous) = (figures.totals(period)?, figures.totals(period.previous())?);
    let visitors = compare(&current, &previous, |totals| totals.visitors);
    Ok(json!({
        "current": visitors.current,
        "previous": visitors.previous,
        "change": change(visitors),
        "trend": trend(visitors),
    }))
}

fn compare(current: &Totals, previous: &Totals, figure: fn(&Totals) -> u64) -> Comparison {
    Comparison { current: figure(current), previous: figure(previous) }
}

fn page(page: &PageCount) -> Value {
    json!({ "path": &*page.path, "views": page.views, "visitors": page.visitors })
}

/// The rows of a breakdown; `name_key` and `count_key` are the keys of the value and of its visitors.
fn shares(breakdown: &Breakdown, name_key: &str, count_key: &str) -> Value {
    let rows = breakdown.rows.iter().map(|row| {
        let percentage = percentage(row.visitors, breakdown.total);
        json!({ name_key: &*row.name, count_key: row.visitors, "percentage": percentage })
    });
    rows.collect()
}

fn referrer_trend(ReferrerTrend { referrer, visitors }: &ReferrerTrend) -> Value {
    json!({
        "referrer": &**referrer,
        "current": visitors.current,
        "previous": visitors.previous,
        "change": change(*visitors),
        "trend": trend(*visitors),
    })
}

fn series_point(point: &SeriesPoint, interval: Interval) -> Value {
    let instant = format_millis(point.start);
    let date = match interval {
        Interval::Hour => format!("{}:00", &instant[.."YYYY-MM-DDTHH".len()]),
        Interval::Day | Interval::Week => instant[.."YYYY-MM-DD".len()].to_owned(),
        Interval::Month => instant[.."YYYY-MM".len()].to_owned(),
    };
    json!({ "date": date, "value": point.value })
}
