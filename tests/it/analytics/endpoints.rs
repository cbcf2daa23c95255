//! The report endpoints: permissions, parameters and bodies.

use serde_json::{Value, json};

use super::naive::assert_same;
use crate::support::Server;

const PATHS: [&str; 29] = [
    "summary",
    "live",
    "visitors",
    "visitors/trends",
    "sessions",
    "sessions/average-duration",
    "pageviews",
    "pages",
    "pages/about",
    "referrers",
    "referrers/trends",
    "demographics/devices",
    "demographics/browsers",
    "demographics/countries",
    "timeseries/visitors",
    "timeseries/pageviews",
    "timeseries/sessions",
    "entry-pages",
    "exit-pages",
    "utm/source",
    "utm/medium",
    "utm/campaign",
    "utm/content",
    "utm/term",
    "searches",
    "searches/without-results",
    "searches/without-clicks",
    "custom-events",
    "custom-events/Sign%20up",
];

/// A visitor with two sessions on one day and one on the day before.
const LOG: &str = r#"192.0.2.1 - - [19/Nov/2026:23:50:00 +0000] "GET / HTTP/1.1" 200 9 "https://www.search.example/?q" "UA"
192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "GET /caf%C3%A9/men%C3%BC/ HTTP/1.1" 200 9 "-" "UA"
192.0.2.1 - - [20/Nov/2026:10:10:01 +0000] "GET /a%2Fb?x=1 HTTP/1.1" 304 9 "https://a.example/" "UA"
192.0.2.1 - - [20/Nov/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 9 "https://www.search.example/?q" "UA"
"#;

fn server() -> Server {
    let server = Server::start();
    let log = LOG.replace("UA", super::AGENTS[1].0);
    let reply = server.as_token(crate::support::ADMIN).raw(
        "POST",
        "/v2/analytics/import?site=a.example",
        &[("content-type", "text/plain")],
        log.as_bytes(),
    );
    assert_eq!(reply.expect(200).json()["added"], 4);
    server
}

fn get(server: &Server, path: &str) -> Value {
    server.get(&format!("/v2/analytics/{path}")).expect(200).json()
}

#[test]
fn reports_require_the_analytics_view_ability() {
    let server = Server::start();
    let (reader, other) = (server.token(&["analytics:view"]), server.token(&["view", "preview", "manage", "create"]));
    for path in PATHS {
        let path = format!("/v2/analytics/{path}");
        server.as_token("").get(&path).expect(401);
        let refused = server.as_token(&other).get(&format!("{path}?start=nonsense")).expect(403);
        assert_eq!(refused.code(), "FORBIDDEN", "{path}");
        assert!(refused.message().contains("analytics:view"), "{}", refused.message());
        let reply = server.as_token(&reader).get(&path).expect(200);
        assert_eq!(reply.header("content-type"), Some("application/json"), "{path}");
        assert!(server.as_token(&reader).send("HEAD", &path, None).expect(200).text.is_empty());
        assert_eq!(
            server.as_token(&reader).send("POST", &path, Some(&json!({}))).expect(405).header("allow"),
            Some("GET,HEAD")
        );
    }
    for path in ["", "/", "/nothing", "/demographics", "/timeseries/bounces", "/summary/x"] {
        server.get(&format!("/v2/analytics{path}")).expect(404);
    }
}

#[test]
fn an_invalid_value_is_rejected_only_by_reports_that_take_the_parameter() {
    let server = Server::start();
    let table = [
        ("start=2026-02-29", "start"),
        ("end=20261120", "end"),
        ("end=", "end"),
        ("start=2026-11-21&end=2026-11-20", "start"),
        ("start=2999-01-01", "start"),
        ("start=2026-11-20&start=2026-11-20", "start"),
        ("site=", "site"),
        ("site=https://a.example", "site"),
        ("end=%FF", "end"),
    ];
    for path in PATHS {
        for (query, name) in table {
            let reply = server.get(&format!("/v2/analytics/{path}?{query}"));
            if path == "live" && name != "site" {
                reply.expect(200);
                continue;
            }
            let reply = reply.expect(422);
            assert_eq!(reply.code(), "INVALID_PARAMETER", "{path} {query}");
            assert!(reply.message().contains(&format!("`{name}`")), "{}", reply.message());
        }
        for (query, part) in [
            ("filter[pages]=/a", "`page`, `entry_page`"),
            ("filter[page][contains]=/a", "`not_in`"),
            ("filter=/a", "`filter`"),
            ("filter[page=/a", "`filter[page`"),
            ("filter[page]=%FF", "UTF-8"),
        ] {
            let reply = server.get(&format!("/v2/analytics/{path}?{query}")).expect(422);
            assert_eq!(reply.code(), "INVALID_FILTER", "{path} {query}");
            assert!(reply.message().contains(part), "{}", reply.message());
        }
        let status = |query: &str| server.get(&format!("/v2/analytics/{path}?{query}")).status;
        for limit in ["0", "1001", "-1", "1.0", "+1", "", "x"] {
            let is_new = ["entry", "exit", "utm", "custom", "searches"].iter().any(|start| path.starts_with(start));
            let takes = is_new || ["pages", "referrers", "referrers/trends"].contains(&path);
            assert_eq!(status(&format!("limit={limit}")), if takes { 422 } else { 200 }, "{path} limit={limit}");
        }
        for interval in ["year", "", "Day"] {
            let takes = path.starts_with("timeseries");
            assert_eq!(status(&format!("interval={interval}")), if takes { 422 } else { 200 }, "{path} {interval}");
        }
        let many = |count: usize| vec!["filter[page]=/a"; count].join("&");
        // Reports of searches accept none.
        let most = if path.starts_with("searches") { 0 } else { 20 };
        assert_eq!((status(&many(most)), status(&many(most + 1))), (200, 422), "{path}");
        for good in ["limit=1", "limit=1000", "interval=hour", "unknown=1", "start=0001-01-01&end=0001-01-02"] {
            assert_eq!(status(good), 200, "{path} {good}");
        }
    }
}

#[test]
fn a_value_in_a_list_may_have_a_comma() {
    let server = Server::start();
    let visit = |(number, path): (u8, &str)| {
        let (time, agent) = ("20/Nov/2026:10:00:00 +0000", super::AGENTS[1].0);
        format!("192.0.2.{number} - - [{time}] \"GET {path} HTTP/1.1\" 200 9 \"-\" \"{agent}\"\n")
    };
    let log: String = [(1, "/a,b"), (2, "/a"), (3, "/b"), (4, "/c")].map(visit).concat();
    let import = "/v2/analytics/import?site=a.example";
    server.raw("POST", import, &[("content-type", "text/plain")], log.as_bytes()).expect(200);
    for (filter, expected) in [
        ("filter[page]=/a,b", 1),
        ("filter[page][in]=/a%5C,b", 1),
        ("filter[page][in]=/a%5C,b,/c", 2),
        ("filter[page][in]=/a,/b", 2),
        ("filter[page][not_in]=/a%5C,b", 3),
    ] {
        let path = format!("/v2/analytics/pageviews?start=2026-11-20&end=2026-11-20&{filter}");
        assert_eq!(server.get(&path).expect(200).json(), json!({ "pageviews": expected }), "{filter}");
    }
}

#[test]
fn bodies_have_the_documented_shape() {
    let server = server();
    let day = "start=2026-11-20&end=2026-11-20";
    let table = [
        ("live", json!({ "live_users": 0 })),
        ("visitors", json!({ "visitors": 1 })),
        ("visitors/trends", json!({ "current": 1, "previous": 1, "change": 0, "trend": "stable" })),
        ("sessions", json!({ "sessions": 2 })),
        // The average of 601 and 0 seconds is 300.5, rounded half away from zero.
        ("sessions/average-duration", json!({ "average_session_duration": "00:05:01" })),
        ("pageviews", json!({ "pageviews": 3 })),
        (
            "pages",
            json!([{ "path": "/", "views": 1, "visitors": 1 }, { "path": "/a/b", "views": 1, "visitors": 1 },
                { "path": "/café/menü", "views": 1, "visitors": 1 }]),
        ),
        (
            "referrers",
            json!([{ "referrer": "direct", "visitors": 1, "percentage": 50 },
                { "referrer": "search.example", "visitors": 1, "percentage": 50 }]),
        ),
        (
            "referrers/trends",
            json!([{ "referrer": "direct", "current": 1, "previous": 0, "change": 100, "trend": "up" },
                { "referrer": "search.example", "current": 1, "previous": 1, "change": 0, "trend": "stable" }]),
        ),
        ("demographics/devices", json!([{ "device": "desktop", "count": 1, "percentage": 100 }])),
        ("demographics/browsers", json!([{ "browser": "Firefox", "count": 1, "percentage": 100 }])),
        ("demographics/countries", json!([{ "country": "unknown", "count": 1, "percentage": 100 }])),
        ("timeseries/pageviews", json!([{ "date": "2026-11-20", "value": 3 }])),
        (
            "entry-pages",
            json!([{ "path": "/", "sessions": 1, "percentage": 50 },
                { "path": "/café/menü", "sessions": 1, "percentage": 50 }]),
        ),
        (
            "exit-pages",
            json!([{ "path": "/", "sessions": 1, "percentage": 50 }, { "path": "/a/b", "sessions": 1, "percentage": 50 }]),
        ),
        ("utm/source", json!([])),
        ("custom-events", json!([])),
        (
            "custom-events/Sign%20up",
            json!({ "name": "Sign up", "count": 0, "visitors": 0, "conversion_rate": 0, "properties": [] }),
        ),
        (
            "summary",
            json!({ "period": { "start": "2026-11-20T00:00:00.000+00:00", "end": "2026-11-20T23:59:59.999+00:00" },
                "live_users": 0, "visitors": 1, "sessions": 2, "pageviews": 3, "average_session_duration": "00:05:01",
                "bounce_rate": 50, "visitors_change": 0, "sessions_change": 100, "pageviews_change": 200 }),
        ),
    ];
    for (path, expected) in table {
        assert_same(&get(&server, &format!("{path}?{day}")), &expected, path);
        assert_same(&get(&server, &format!("{path}?{day}&site=A.example:80")), &expected, path);
    }
    let two = "start=2026-11-19&end=2026-11-20";
    assert_eq!(get(&server, &format!("visitors?{two}")), json!({ "visitors": 2 }));
    assert_eq!(
        get(&server, &format!("timeseries/sessions?{two}&interval=week")),
        json!([{ "date": "2026-11-16", "value": 3 }])
    );
    assert_eq!(
        get(&server, "timeseries/visitors?start=2026-10-31&end=2026-11-20&interval=month"),
        json!([{ "date": "2026-10", "value": 0 }, { "date": "2026-11", "value": 2 }])
    );
    let hours = get(&server, &format!("timeseries/visitors?{day}&interval=hour"));
    assert_eq!(hours.as_array().unwrap().len(), 24);
    assert_eq!(
        (&hours[10], &hours[11]),
        (&json!({ "date": "2026-11-20T10:00", "value": 1 }), &json!({ "date": "2026-11-20T11:00", "value": 0 }))
    );
    assert_eq!(get(&server, &format!("pages?{day}&limit=1")).as_array().unwrap().len(), 1);
}

#[test]
fn nothing_counted_is_zeros() {
    let server = server();
    for query in ["start=2020-01-01&end=2020-01-01", "start=2026-11-20&end=2026-11-20&site=never.example"] {
        let summary = get(&server, &format!("summary?{query}"));
        assert_eq!(summary["average_session_duration"], "00:00:00");
        assert_eq!((&summary["bounce_rate"], &summary["visitors_change"]), (&json!(0), &json!(0)));
        for path in ["pages", "referrers", "referrers/trends", "demographics/countries"] {
            assert_eq!(get(&server, &format!("{path}?{query}")), json!([]), "{path}");
        }
        assert_eq!(get(&server, &format!("pages/x?{query}")), json!({ "path": "/x", "views": 0, "visitors": 0 }));
    }
    let month = get(&server, "timeseries/pageviews?start=2020-02-01&end=2020-02-29");
    assert_eq!(month.as_array().unwrap().len(), 29, "empty intervals are included");
}

#[test]
fn defaults_are_the_last_thirty_days_by_day() {
    let server = Server::start();
    let series = get(&server, "timeseries/visitors");
    assert_eq!(series.as_array().unwrap().len(), 30);
    let period = get(&server, "summary")["period"].clone();
    let end = period["end"].as_str().unwrap().replace("T23:59:59.999+00:00", "");
    assert_eq!(series[29]["date"], end.as_str());
    assert_eq!(get(&server, "timeseries/visitors?end=2026-03-01")[0]["date"], "2026-01-31");
}

#[test]
fn a_series_has_at_most_100_000_hours_days_or_weeks() {
    let server = Server::start();
    let series = |query: &str| server.get(&format!("/v2/analytics/timeseries/visitors?{query}"));
    for (query, count) in [
        ("start=0001-01-01&end=9999-12-31&interval=hour", 87_649_416),
        ("start=0001-01-01&end=9999-12-31&interval=day", 3_652_059),
        ("start=0001-01-01&end=9999-12-31&interval=week", 521_723),
        ("start=2000-01-01&end=2273-10-16&interval=day", 100_001),
    ] {
        let reply = series(query).expect(422);
        assert_eq!(reply.code(), "INVALID_PARAMETER", "{query}");
        let expected = format!(
            "the period has {count} intervals of that `interval`; choose a shorter period or a longer `interval`, with \
             at most 100000 intervals"
        );
        assert_eq!(reply.message(), expected, "{query}");
    }
    let longest = series("start=2000-01-01&end=2273-10-15&interval=day").expect(200).json();
    let longest = longest.as_array().unwrap();
    assert_eq!(longest.len(), 100_000);
    assert_eq!(longest[0], json!({ "date": "2000-01-01", "value": 0 }));
    assert_eq!(longest[99_999], json!({ "date": "2273-10-15", "value": 0 }));
}

#[test]
fn the_rest_of_the_url_path_names_the_page() {
    let server = server();
    let table = [
        ("caf%C3%A9/men%C3%BC", "/café/menü", 1),
        ("caf%c3%a9%2fmen%C3%BC/", "/café/menü", 1),
        ("%2Fcaf%C3%A9%2Fmen%C3%BC", "/café/menü", 1),
        ("/caf%C3%A9/men%C3%BC", "/café/menü", 1),
        ("a/b", "/a/b", 1),
        ("", "/", 2),
        ("%2F", "/", 2),
        ("caf%25C3", "/caf%C3", 0),
        ("trends", "/trends", 0),
    ];
    for (sent, path, views) in table {
        let page = get(&server, &format!("pages/{sent}?start=2026-11-19&end=2026-11-20"));
        assert_eq!(page, json!({ "path": path, "views": views, "visitors": views }), "{sent}");
    }
}
