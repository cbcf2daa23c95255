//! Floods: the number of names that visitors choose is limited, and the totals stay exact beyond the limit.

use bindery_analytics::Dimension;
use bindery_http::analytics::Report;

use super::private::files;
use super::{Counter, DAY, SITES};

#[test]
fn beyond_the_bounds_names_are_counted_together_and_totals_stay_exact() {
    const PATHS: u64 = 10_300;
    const REFERRERS: u64 = 5_200;
    let folder = tempfile::tempdir().unwrap();
    let mut counter = Counter::open(folder.path(), 20_000 * DAY);
    let long = "x".repeat(2_000);
    for number in 0..PATHS {
        let address = format!("10.{}.{}.7", number / 256, number % 256);
        let referrer = format!("https://r{}.example/", number.min(REFERRERS - 1));
        counter.submit(&format!("https://{}/{number}-{long}", SITES[0]), &referrer, &address, 0, None);
        if number % 2_000 == 0 {
            counter.report(&Report::Live, "");
        }
    }
    counter.submit(&format!("https://{}/", SITES[0]), "", "192.0.2.1", 0, None);
    let check = |counter: &Counter, when: &str| {
        let total = |report: Report, key: &str| counter.report(&report, "")[key].as_u64().unwrap();
        assert_eq!(total(Report::Pageviews, "pageviews"), PATHS + 1, "{when}");
        assert_eq!(total(Report::Visitors, "visitors"), PATHS + 1, "{when}");
        assert_eq!(total(Report::Sessions, "sessions"), PATHS + 1, "{when}");
        let pages = counter.report(&Report::Pages, "limit=1000");
        let other = &pages[0];
        assert_eq!(
            (&other["path"], &other["views"], &other["visitors"]),
            (&"(other)".into(), &301.into(), &301.into())
        );
        assert_eq!(pages[1]["path"].as_str().unwrap().len(), 512, "{when}");
        let referrers = counter.report(&Report::Referrers, "limit=1000");
        let find = |name: &str| referrers.as_array().unwrap().iter().find(|row| row["referrer"] == name).cloned();
        let other = PATHS - 5_000;
        assert_eq!(find("(other)").unwrap()["visitors"], other, "{when}");
        assert_eq!(find("direct").unwrap()["visitors"], 1, "{when}: direct traffic has no bound");
        let trends = counter.report(&Report::ReferrersTrends, "limit=3");
        assert_eq!((trends.as_array().unwrap().len(), &trends[0]["current"]), (3, &other.into()), "{when}");
    };
    check(&counter, "counted");
    counter.restart();
    check(&counter, "counted again from the log");
    let bytes: u64 = files(folder.path()).iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!(bytes < 24 << 20, "{bytes} bytes on disk");
    counter.set_clock(20_001 * DAY);
    counter.submit(&format!("https://{}/", SITES[0]), "", "192.0.2.1", 0, None);
    counter.restart();
    let query = "start=2024-10-04&end=2024-10-04&limit=1";
    assert_eq!(counter.report(&Report::Pages, query)[0]["views"], 301);
    counter.analytics.unwrap().close();
}

#[test]
fn beyond_the_bounds_events_and_campaigns_are_counted_together() {
    const EVENTS: u64 = 60_000;
    let folder = tempfile::tempdir().unwrap();
    let mut counter = Counter::open(folder.path(), 20_000 * DAY);
    let event = |name: String, property: String, value: String| (name, vec![(property, value)]);
    for number in 0..EVENTS {
        // The flood has first values of one property, then properties of one event, then events.
        let (name, property, value) = match number / 20_000 {
            0 => ("first".to_owned(), "id".to_owned(), format!("{number}-{}", "x".repeat(400))),
            1 => ("first".to_owned(), format!("p{number}"), "same".to_owned()),
            _ => (format!("e{number}"), "id".to_owned(), "same".to_owned()),
        };
        counter.submit_event(SITES[0], &event(name, property, value), "192.0.2.1", 0);
        if number < 1_200 {
            let url = format!("https://{}/?utm_campaign={number}{}", SITES[0], "y".repeat(500));
            counter.submit(&url, "", &format!("10.0.{}.{}", number / 256, number % 256), 0, None);
        }
        if number % 5_000 == 0 {
            counter.report(&Report::Live, "");
        }
    }
    let check = |counter: &Counter, when: &str| {
        let events = counter.report(&Report::CustomEvents, "limit=1000");
        let events = events.as_array().unwrap();
        assert_eq!(
            (events.len(), &events[0]["name"], &events[0]["count"]),
            (201, &"first".into(), &40_000.into()),
            "{when}"
        );
        let total: u64 = events.iter().map(|event| event["count"].as_u64().unwrap()).sum();
        assert_eq!(total, EVENTS, "{when}");
        let first = counter.report(&Report::CustomEvent("first".to_owned()), "limit=1000");
        let properties = first["properties"].as_array().unwrap();
        let find = |rows: &Vec<serde_json::Value>, key: &str, name: &str| {
            rows.iter().find(|row| row[key] == name).map_or(0, |row| row["count"].as_u64().unwrap())
        };
        assert_eq!(
            (find(properties, "name", "id"), find(properties, "name", "(other)")),
            (20_000, 20_000 - 999),
            "{when}"
        );
        let id = properties.iter().find(|property| property["name"] == "id").unwrap();
        let values = id["values"].as_array().unwrap();
        assert_eq!(find(values, "value", "(other)"), 10_000, "{when}");
        let campaigns = counter.report(&Report::Utm(Dimension::Campaign), "limit=1000");
        assert_eq!(campaigns[0]["campaign"], "(other)", "{when}");
        assert_eq!(campaigns[0]["visitors"], 200, "{when}");
        assert_eq!(campaigns[1]["campaign"].as_str().unwrap().len(), 128, "{when}");
    };
    check(&counter, "before a restart");
    counter.restart();
    check(&counter, "after a restart");
    counter.submit_event(SITES[0], &event("late".to_owned(), "a".to_owned(), "b".to_owned()), "192.0.2.1", 0);
    let late = counter.report(&Report::CustomEvent("late".to_owned()), "");
    assert_eq!(late["count"], 0, "the bound holds after a restart");
}

#[test]
fn beyond_the_bound_visits_count_without_filters_only_and_the_day_is_named() {
    const VISITS: usize = 200_000;
    let folder = tempfile::tempdir().unwrap();
    let counter = Counter::open(folder.path(), 20_000 * DAY);
    let mut import = counter.analytics.as_ref().unwrap().import(SITES[0]).unwrap();
    for number in 0..VISITS + 7 {
        let address = std::net::Ipv4Addr::from_bits(number as u32);
        let request = "[04/Oct/2024:10:00:00 +0000] \"GET /a HTTP/1.1\" 200 1";
        import.push(format!("{address} - - {request} \"-\" \"{}\"\n", super::AGENTS[0].0).as_bytes());
    }
    assert_eq!(import.finish().unwrap().added, VISITS as u64 + 7);
    let query = "start=2024-10-04&end=2024-10-04";
    assert_eq!(counter.report(&Report::Pageviews, query)["pageviews"], VISITS + 7);
    let ask =
        |query: &str| Report::Pageviews.answer_noting(counter.analytics.as_ref().unwrap(), query, &|_| true).unwrap();
    let (body, days) = ask(&format!("{query}&filter[page]=/a"));
    assert_eq!((body, days), (format!("{{\"pageviews\":{VISITS}}}"), vec![20_000]));
    assert_eq!(ask(query).1, Vec::<i64>::new());
}
