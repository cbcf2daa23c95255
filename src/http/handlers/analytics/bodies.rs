//! The JSON bodies of reports (`API.md` 4.8). Must not know parameters.

use bindery_analytics::{
    Breakdown, Comparison, Dimension, EventCount, Figures, Interval, Occurrences, PageCount, PageSessionCounts, Period,
    PropertyCount, ReferrerTrend, SearchCount, SeriesPoint, Totals,
};
use bindery_model::error::Result;
use bindery_model::time::format_millis;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::figures::{average_duration, change, mean, percentage, trend};

pub(super) fn summary(figures: &Figures, period: Period) -> Result<Value> {
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

pub(super) fn visitors_trends(figures: &Figures, period: Period) -> Result<Value> {
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

pub(super) fn page(page: &PageCount) -> Value {
    json!({ "path": &*page.path, "views": page.views, "visitors": page.visitors })
}

/// Returns the rows of a breakdown; `name_key` and `count_key` are the keys of the value and of its visitors.
pub(super) fn shares(breakdown: &Breakdown, name_key: &str, count_key: &str) -> Value {
    let rows = breakdown.rows.iter().map(|row| {
        let percentage = percentage(row.visitors, breakdown.total);
        json!({ name_key: &*row.name, count_key: row.visitors, "percentage": percentage })
    });
    rows.collect()
}

pub(super) fn search(count: &SearchCount) -> Value {
    json!({
        "question": &*count.question,
        "searches": count.searches,
        "visitors": count.visitors,
        "without_results": count.without_results,
        "without_clicks": count.without_clicks(),
        "click_rate": percentage(count.clicked, count.searches),
        "mean_position": mean(count.positions, count.clicks),
    })
}

pub(super) fn referrer_trend(ReferrerTrend { referrer, visitors }: &ReferrerTrend) -> Value {
    json!({
        "referrer": &**referrer,
        "current": visitors.current,
        "previous": visitors.previous,
        "change": change(*visitors),
        "trend": trend(*visitors),
    })
}

/// Returns the text of a time series. As a [`Value`], each of up to 120,000 points would take some 500 bytes.
pub(super) fn series(points: &[SeriesPoint], interval: Interval) -> String {
    let date_length = match interval {
        Interval::Hour => "YYYY-MM-DDTHH:MM".len(),
        Interval::Day | Interval::Week => "YYYY-MM-DD".len(),
        Interval::Month => "YYYY-MM".len(),
    };
    // A point with the longest date and a value of three digits takes 40 bytes.
    let mut text = String::with_capacity(2 + 40 * points.len());
    text.push('[');
    for SeriesPoint { start, value } in points {
        let separator = if text.len() > 1 { "," } else { "" };
        let date = &format_millis(*start)[..date_length];
        text += &format!("{separator}{{\"date\":\"{date}\",\"value\":{value}}}");
    }
    text.push(']');
    text
}

/// Returns the key of a row's value.
pub(super) fn utm_key(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Medium => "medium",
        Dimension::Campaign => "campaign",
        Dimension::Content => "content",
        Dimension::Term => "term",
        _ => "source",
    }
}

pub(super) fn session_pages(pages: &PageSessionCounts) -> Value {
    let rows = pages.rows.iter().map(|row| {
        json!({ "path": &*row.path, "sessions": row.sessions, "percentage": percentage(row.sessions, pages.total) })
    });
    rows.collect()
}

/// Returns the name of an event as the rest of a URL's path has it.
pub(super) fn event_name(encoded: &str) -> String {
    percent_decode_str(encoded).decode_utf8_lossy().into_owned()
}

pub(super) fn custom_events(figures: &Figures, period: Period, limit: usize) -> Result<Value> {
    let visitors = figures.totals(period)?.visitors;
    let rows = figures.events(period, limit)?;
    Ok(rows.iter().map(|event| custom_event_row(&event.name, event.occurrences, visitors)).collect())
}

pub(super) fn custom_event(figures: &Figures, period: Period, name: &str, limit: usize) -> Result<Value> {
    let details = figures.event(period, name, limit)?;
    let mut body = custom_event_row(name, details.occurrences, figures.totals(period)?.visitors);
    body["properties"] = details.properties.iter().map(property).collect();
    Ok(body)
}

fn custom_event_row(name: &str, Occurrences { count, visitors }: Occurrences, all_visitors: u64) -> Value {
    let conversion_rate = percentage(visitors, all_visitors);
    json!({ "name": name, "count": count, "visitors": visitors, "conversion_rate": conversion_rate })
}

fn property(property: &PropertyCount) -> Value {
    let values = property.values.iter().map(|EventCount { name, occurrences }| {
        let Occurrences { count, visitors } = *occurrences;
        json!({ "value": &**name, "count": count, "visitors": visitors, "percentage": percentage(count, property.count) })
    });
    json!({ "name": &*property.name, "count": property.count, "values": values.collect::<Value>() })
}
