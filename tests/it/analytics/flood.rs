//! Floods: names that visitors choose have bounds, and the totals stay exact beyond them.

use bindery::http::analytics::Report;

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
