//! The script in a browser: opens pages in headless Chromium. `BINDERY_TEST_CHROMIUM` names the program; otherwise the
//! tests look for it in `PATH`. Without Chromium they say so and check nothing.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::AGENTS;
use crate::support::Server;

/// How long the browser may take for a test.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the tests wait for pageviews that must not arrive.
const SILENCE: Duration = Duration::from_millis(700);

/// A web server for the pages under test. It answers every path with a page.
struct Pages {
    port: u16,
    reports: Receiver<String>,
}

impl Pages {
    /// `page` makes the page for a path. A page reports to the test by requesting `/done?…`.
    fn serve(page: impl Fn(&str) -> String + Send + Sync + 'static) -> Pages {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (report, reports) = channel();
        let page = std::sync::Arc::new(page);
        std::thread::spawn(move || {
            // A browser opens connections in advance and may never use them, so each has its own thread.
            for connection in listener.incoming().map_while(Result::ok) {
                let (page, report) = (std::sync::Arc::clone(&page), report.clone());
                std::thread::spawn(move || answer(&connection, &*page, &report));
            }
        });
        Pages { port, reports }
    }

    /// Waits for a page's report.
    fn wait(&self) -> Value {
        let report = self.reports.recv_timeout(PATIENCE).expect("the page must report in time");
        serde_json::from_str(&percent_encoding::percent_decode_str(&report).decode_utf8().unwrap()).unwrap()
    }
}

/// Answers one request. `None` if the connection closes without one.
fn answer(mut connection: &TcpStream, page: &dyn Fn(&str) -> String, reports: &Sender<String>) -> Option<()> {
    let mut lines = BufReader::new(connection).lines().map_while(Result::ok);
    let target = lines.next()?.split(' ').nth(1)?.to_owned();
    while !lines.next()?.is_empty() {}
    let body = match target.strip_prefix("/done?") {
        Some(report) => {
            // The test may have given up.
            let _ = reports.send(report.to_owned());
            String::new()
        }
        None => page(target.split('?').next().unwrap_or_default()),
    };
    let length = body.len();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close\r\n";
    connection.write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes()).ok()
}

/// A running browser; dropping it ends it.
struct Browser {
    child: Child,
    _profile: tempfile::TempDir,
}

impl Browser {
    fn open(chromium: &Path, address: &str, user_agent: Option<&str>, preferences: &Value) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        std::fs::create_dir(profile.path().join("Default")).unwrap();
        std::fs::write(profile.path().join("Default/Preferences"), preferences.to_string()).unwrap();
        let mut command = Command::new(chromium);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.args(user_agent.map(|user_agent| format!("--user-agent={user_agent}")));
        let child = command.arg(address).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Browser { child, _profile: profile }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // On SIGTERM it ends its own processes too; otherwise they would write to the profile while it is removed.
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let ended = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && ended.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The path of Chromium, if it is installed.
fn chromium(test: &str) -> Option<PathBuf> {
    let named = std::env::var_os("BINDERY_TEST_CHROMIUM").filter(|named| !named.is_empty()).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = || {
        let names = ["chromium", "chromium-browser", "google-chrome"];
        std::env::split_paths(&path)
            .flat_map(|folder| names.map(|name| folder.join(name)))
            .find(|program| program.is_file())
    };
    let chromium = named.or_else(found);
    if chromium.is_none() {
        // Written directly, since the test harness captures the output of tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "{test} is skipped: Chromium was not found; set BINDERY_TEST_CHROMIUM to its path"
        );
    }
    chromium
}

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

/// The steps of the page at `/start`. The page after it reports what the browser stores.
const STEPS: &str = r##"
const pause = () => new Promise(done => setTimeout(done, 60));
const back = () => new Promise(done => { addEventListener("popstate", () => done(pause()), {once: true}); history.back() });
addEventListener("load", async () => {
  if (location.pathname === "/start") {
    await pause();
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
