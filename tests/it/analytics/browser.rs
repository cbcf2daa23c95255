//! The script in a browser.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::AGENTS;
use crate::browser::{Browser, PATIENCE, Pages, chromium};
use crate::support::Server;

/// The time that the tests wait for pageviews that must not arrive.
const SILENCE: Duration = Duration::from_millis(700);

fn counted(server: &Server) -> u64 {
    server.get("/v2/analytics/pageviews").expect(200).json()["pageviews"].as_u64().unwrap()
}

/// Waits for `count` pageviews, and a little longer for those that must not arrive.
fn expect_pageviews(server: &Server, count: u64) {
    let began = Instant::now();
    while counted(server) < count && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(SILENCE);
    assert_eq!(counted(server), count);
}

/// The steps of the page at `/start`. The next page reports the data that the browser stores.
const STEPS: &str = r##"
const pause = () => new Promise(done => setTimeout(done, 60));
const back = () => new Promise(done => { addEventListener("popstate", () => done(pause()), {once: true}); history.back() });
addEventListener("load", async () => {
  if (location.pathname === "/start") {
    await pause();
    bindery("Signup", {plan: "large"}); bindery("Plain");
    history.pushState({}, "", "/second?q=1"); await pause();
    history.pushState({}, "", "/über uns/"); await pause();
    history.pushState({}, "", "?page=2"); await pause();
    location.hash = "part"; await pause();
    history.replaceState({}, "", "/replaced"); await pause();
    await back(); await back();
    await back();
    location.href = "/last/";
  } else {
    const state = {cookie: document.cookie, kept: localStorage.length + sessionStorage.length, state: history.length,
      databases: (await indexedDB.databases()).length, agent: navigator.userAgent};
    fetch("/done?" + encodeURIComponent(JSON.stringify(state)));
  }
});"##;

#[test]
fn the_script_counts_navigation_within_and_between_pages_and_stores_nothing() {
    let Some(chromium) = chromium("the script in a browser") else { return };
    let server = Server::start_with(&["--analytics-sites=127.0.0.1"]);
    let script = format!("{}/v2/analytics/script.js", server.address());
    let pages = Pages::serve(move |path| {
        match path {
        // A page of another host that redirects to the site.
        "/elsewhere" => "<script>location = location.href.replace('localhost', '127.0.0.1').replace('elsewhere', 'start?a=b#c')</script>".to_owned(),
        _ => format!("<!doctype html><title>{path}</title><script defer src={script}></script><script>{STEPS}</script>"),
    }
    });
    let address = format!("http://localhost:{}/elsewhere", pages.port);
    let _browser = Browser::open(&chromium, &address, Some(AGENTS[0].0), &json!({}));
    let kept = pages.wait();
    assert_eq!((&kept["cookie"], &kept["kept"], &kept["databases"]), (&json!(""), &json!(0), &json!(0)));
    // The start, two pushed pages, one reached by going back, and another page. A change of only the query or fragment
    // and a replaced address do not count.
    expect_pageviews(&server, 5);
    let events = server.get("/v2/analytics/custom-events").expect(200).json();
    let row = |name: &str| json!({ "name": name, "count": 1, "visitors": 1, "conversion_rate": 100 });
    assert_eq!(events, json!([row("Plain"), row("Signup")]));
    let signup = server.get("/v2/analytics/custom-events/Signup").expect(200).json();
    assert_eq!(signup["properties"][0]["values"][0]["value"], "large");
    let views = [("/second", 2), ("/last", 1), ("/start", 1), ("/über uns", 1)];
    let views = views.map(|(path, views)| json!({ "path": path, "views": views, "visitors": 1 }));
    assert_eq!(server.get("/v2/analytics/pages").json(), json!(views));
    assert_eq!(
        server.get("/v2/analytics/referrers").json(),
        json!([{ "referrer": "localhost", "visitors": 1, "percentage": 100 }])
    );
    let summary = server.get("/v2/analytics/summary?site=127.0.0.1").json();
    let figures = ["visitors", "sessions", "live_users", "bounce_rate"].map(|name| summary[name].as_f64().unwrap());
    assert_eq!(figures, [1.0, 1.0, 1.0, 0.0]);
}

#[test]
fn browsers_that_ask_not_to_be_tracked_and_headless_ones_are_not_counted() {
    let Some(chromium) = chromium("the script in a browser that asks not to be tracked") else { return };
    // One page with the scripts of two servers: one ignores the request not to be tracked, the other respects it.
    let (counts, heeds) = (
        Server::start_with(&["--analytics-sites=127.0.0.1"]),
        Server::start_with(&["--analytics-sites=127.0.0.1", "--analytics-do-not-track"]),
    );
    let scripts =
        [&counts, &heeds].map(|server| format!("<script src={}/v2/analytics/script.js></script>", server.address()));
    let scripts = scripts.concat();
    let say = "fetch('/done?' + encodeURIComponent(JSON.stringify(navigator.doNotTrack)))";
    let pages = Pages::serve(move |_| format!("<!doctype html>{scripts}<script>onload = () => {say}</script>"));
    let address = format!("http://127.0.0.1:{}/page", pages.port);
    for (preferences, user_agent, asks, expected) in [
        (json!({ "enable_do_not_track": true }), Some(AGENTS[0].0), json!("1"), [1, 0]),
        (json!({}), Some(AGENTS[0].0), Value::Null, [2, 1]),
        // The default user agent says that it is headless.
        (json!({}), None, Value::Null, [2, 1]),
    ] {
        let _browser = Browser::open(&chromium, &address, user_agent, &preferences);
        assert_eq!(pages.wait(), asks, "what the browser asks");
        expect_pageviews(&counts, expected[0]);
        assert_eq!(counted(&heeds), expected[1]);
    }
}

#[test]
fn the_script_reports_clicks_within_results() {
    let Some(chromium) = chromium("clicks on results in a browser") else { return };
    let server = Server::start_with(&["--analytics-sites=127.0.0.1"]);
    server.blueprint("articles", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let linen = server.create("articles", json!({ "title": "Linen" }));
    let headers = [("user-agent", AGENTS[0].0), ("origin", "http://127.0.0.1")];
    let list = server.raw("GET", "/v2/resources/articles?q=linen&track=true", &headers, b"").expect(200).json();
    let search = list["meta"]["search_id"].as_str().unwrap().to_owned();
    let script = format!("{}/v2/analytics/script.js", server.address());
    let pages = Pages::serve(move |_| {
        format!(
            "<!doctype html><script src={script}></script><p>no result</p><a href='#x' data-search=''><b>not counted</b></a>\
             <a href='#y' data-search='{search} {linen} 3'><b>a result</b></a>\
             <script>onload = () => {{ for (const each of document.querySelectorAll('p, b')) each.click();\
             document.dispatchEvent(new Event('click')); fetch('/done?' + encodeURIComponent(JSON.stringify(location.hash))) }}</script>"
        )
    });
    let address = format!("http://127.0.0.1:{}/page", pages.port);
    let _browser = Browser::open(&chromium, &address, Some(AGENTS[0].0), &json!({}));
    assert_eq!(pages.wait(), json!("#y"));
    let began = Instant::now();
    let clicks = || {
        server
            .get("/metrics")
            .text
            .lines()
            .find_map(|line| line.strip_prefix("bindery_analytics_clicks_total ").map(str::to_owned))
    };
    while clicks().as_deref() == Some("0") && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(SILENCE);
    assert_eq!(clicks().as_deref(), Some("1"));
}
