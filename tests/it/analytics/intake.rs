//! The intake of events: the accepted events and senders, the dropped events, and the losses by a kill.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{AGENTS, SITES};
use crate::support::{Reply, Server};

const EVENTS: &str = "/v2/analytics/events";

fn start(more: &[&str]) -> Server {
    let sites = format!("--analytics-sites={}", SITES.join(","));
    let arguments: Vec<&str> = std::iter::once(sites.as_str()).chain(more.iter().copied()).collect();
    Server::start_with(&arguments)
}

fn send(server: &Server, url: &str, headers: &[(&str, &str)]) -> Reply {
    let agent = [("user-agent", AGENTS[0].0)];
    let agent: &[_] = if headers.iter().any(|(name, _)| *name == "user-agent") { &[] } else { &agent };
    let json = [("content-type", "application/json")];
    let json: &[_] = if headers.iter().any(|(name, _)| *name == "content-type") { &[] } else { &json };
    let body = json!({ "name": "pageview", "url": url, "referrer": "" }).to_string();
    server.as_token("").raw("POST", EVENTS, &[headers, agent, json].concat(), body.as_bytes())
}

fn summary(server: &Server) -> Value {
    server.get("/v2/analytics/summary").expect(200).json()
}

fn pageviews(server: &Server) -> u64 {
    summary(server)["pageviews"].as_u64().unwrap()
}

#[test]
fn a_pageview_is_counted_before_the_next_report() {
    let server = start(&[]);
    let page = "https://a.example/page?x#y";
    for (count, media_type) in (1..).zip(["application/json", "text/plain;charset=UTF-8", "text/plain"]) {
        let reply = send(&server, page, &[("content-type", media_type)]).expect(202);
        assert_eq!(reply.text, "");
        assert_eq!(pageviews(&server), count);
    }
    let summary = summary(&server);
    assert_eq!((&summary["live_users"], &summary["visitors"], &summary["sessions"]), (&json!(1), &json!(1), &json!(1)));
    send(&server, page, &[("user-agent", AGENTS[1].0)]).expect(202);
    assert_eq!(server.get("/v2/analytics/live").json(), json!({ "live_users": 2 }));
    let page = server.get("/v2/analytics/pages/page").json();
    assert_eq!(page, json!({ "path": "/page", "views": 4, "visitors": 2 }));
}

#[test]
fn events_of_robots_and_other_hosts_are_accepted_but_not_counted() {
    let server = start(&[]);
    let robots = [
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "curl/8.5.0",
        "python-requests/2.31",
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/131.0.0.0 Safari/537.36",
        "",
    ];
    for robot in robots {
        assert_eq!(send(&server, "https://a.example/", &[("user-agent", robot)]).expect(202).text, "");
    }
    for url in ["https://other.example/", "https://www.a.example/", "http://127.0.0.1/"] {
        assert_eq!(send(&server, url, &[]).expect(202).text, "");
    }
    assert_eq!(pageviews(&server), 0);
    send(&server, "http://A.EXAMPLE:8080/", &[]).expect(202);
    assert_eq!(pageviews(&server), 1);
}

#[test]
fn invalid_events_are_rejected_with_the_errors_of_all_fields() {
    let server = start(&[]);
    let post = |media_type: &str, body: &str| {
        let headers = [("content-type", media_type), ("user-agent", AGENTS[0].0)];
        server.as_token("").raw("POST", EVENTS, &headers, body.as_bytes())
    };
    let (url, name) = (r#""url":"https://a.example/""#, r#""name":"pageview""#);
    let table = [
        ("application/json", String::new(), 400, "MALFORMED_JSON"),
        ("text/plain", "{".to_owned(), 400, "MALFORMED_JSON"),
        ("application/x-www-form-urlencoded", format!("{{{name},{url}}}"), 415, "UNSUPPORTED_MEDIA_TYPE"),
        ("text/plain", format!("[{}]", "1,".repeat(40_000)), 413, "PAYLOAD_TOO_LARGE"),
        ("text/plain", "[]".to_owned(), 422, "VALIDATION_FAILED"),
        ("text/plain", format!("{{{url}}}"), 422, "VALIDATION_FAILED"),
        ("text/plain", format!("{{{name}}}"), 422, "VALIDATION_FAILED"),
        ("text/plain", format!("{{{name},\"url\":\"/relative\"}}"), 422, "VALIDATION_FAILED"),
        ("text/plain", format!("{{{name},{url},\"referrer\":1}}"), 422, "VALIDATION_FAILED"),
        ("text/plain", format!("{{{name},{url},\"screen_width\":\"wide\"}}"), 422, "VALIDATION_FAILED"),
        ("text/plain", format!("{{{name},{url},\"cookie\":\"x\"}}"), 422, "VALIDATION_FAILED"),
    ];
    for (media_type, body, status, code) in table {
        let reply = post(media_type, &body).expect(status);
        assert_eq!(reply.code(), code, "{body}");
    }
    let all = post("text/plain", r#"{"name":"click","url":1}"#).expect(422).json();
    assert_eq!(all["errors"]["fields"].as_object().unwrap().keys().collect::<Vec<_>>(), ["name", "url"]);
    for body in [format!("{{{name},{url}}}"), format!("{{{name},{url},\"referrer\":null,\"screen_width\":390}}")] {
        post("text/plain", &body).expect(202);
    }
    assert_eq!(pageviews(&server), 2);
    assert_eq!(server.get(EVENTS).expect(405).code(), "METHOD_NOT_ALLOWED");
}

#[test]
fn events_with_names_of_their_own_are_counted_with_their_properties() {
    let server = start(&[]);
    let post = |body: &Value, agent: &str| {
        let headers = [("content-type", "text/plain"), ("user-agent", agent)];
        server.as_token("").raw("POST", EVENTS, &headers, body.to_string().as_bytes())
    };
    let url = "https://a.example/pricing";
    send(&server, url, &[]).expect(202);
    for (name, plan) in [("Sign up/now", json!("large")), ("Sign up/now", json!(1.5)), ("Video", json!(true))] {
        post(&json!({ "name": name, "url": url, "properties": { "plan": plan } }), AGENTS[0].0).expect(202);
    }
    for number in ["18446744073709551616", "18446744073709551617", "1.10", "1e400"] {
        let body = format!(r#"{{"name": "Order", "url": "{url}", "properties": {{ "number": {number} }}}}"#);
        let headers = [("content-type", "text/plain"), ("user-agent", AGENTS[0].0)];
        server.as_token("").raw("POST", EVENTS, &headers, body.as_bytes()).expect(202);
    }
    let orders = server.get("/v2/analytics/custom-events/Order").expect(200).json();
    let mut numbers: Vec<&str> = Vec::new();
    for value in orders["properties"][0]["values"].as_array().unwrap() {
        numbers.push(value["value"].as_str().unwrap());
    }
    assert_eq!(numbers, ["1.10", "18446744073709551616", "18446744073709551617", "1e400"], "as they are written");
    post(&json!({ "name": "Video", "url": url, "properties": {} }), AGENTS[1].0).expect(202);
    // The events come from a robot, and for a site that is not counted.
    post(&json!({ "name": "Video", "url": url, "properties": {} }), "curl/8.5.0").expect(202);
    post(&json!({ "name": "Video", "url": "https://other.example/", "properties": {} }), AGENTS[0].0).expect(202);
    let rows = server.get("/v2/analytics/custom-events").expect(200).json();
    let row = |name: &str, visitors: u64, rate: u64| json!({ "name": name, "count": 2, "visitors": visitors, "conversion_rate": rate });
    let orders = json!({ "name": "Order", "count": 4, "visitors": 1, "conversion_rate": 100 });
    assert_eq!(rows, json!([orders, row("Sign up/now", 1, 100), row("Video", 2, 200)]));
    let value = |value: &str| json!({ "value": value, "count": 1, "visitors": 1, "percentage": 50 });
    for path in ["Sign%20up%2Fnow", "Sign%20up/now"] {
        let one = server.get(&format!("/v2/analytics/custom-events/{path}")).expect(200).json();
        let values = [value("1.5"), value("large")];
        assert_eq!(one["properties"], json!([{ "name": "plan", "count": 2, "values": values }]), "{path}");
    }
    assert_eq!(summary(&server)["pageviews"], 1, "events are no pageviews");
    assert_eq!(summary(&server)["visitors"], 1);
    // Only the event of the visitor with a pageview belongs to a visit.
    let of_page = server.get("/v2/analytics/custom-events/Video?filter[page]=/pricing").expect(200).json();
    assert_eq!((&of_page["count"], &of_page["conversion_rate"]), (&json!(1), &json!(100)));
    assert_eq!(server.get("/v2/analytics/pageviews?filter[event]=Video").json(), json!({ "pageviews": 1 }));
    assert_eq!(server.get("/v2/analytics/live?filter[event]=Video").json(), json!({ "live_users": 1 }));
    assert_eq!(server.get("/v2/analytics/live?filter[event]=never").json(), json!({ "live_users": 0 }));
}

#[test]
fn invalid_names_and_properties_are_rejected() {
    let server = start(&[]);
    let many: Value = (0..11).map(|number| (number.to_string(), json!(number))).collect();
    let large: Value = (0..5).map(|number| (number.to_string(), json!("x".repeat(512)))).collect();
    let long = "x".repeat(65);
    for (name, properties, field) in [
        ("", json!({}), "name"),
        (long.as_str(), json!({}), "name"),
        ("a\u{7}", json!({}), "name"),
        ("click", Value::Null, "name"),
        ("pageview", json!({ "plan": 1 }), "properties"),
        ("click", json!([]), "properties"),
        ("click", json!("plan"), "properties"),
        ("click", json!({ "plan": null }), "properties"),
        ("click", json!({ "plan": { "size": 1 } }), "properties"),
        ("click", json!({ "": 1 }), "properties"),
        ("click", json!({ "\n": 1 }), "properties"),
        ("click", json!({ long.as_str(): 1 }), "properties"),
        ("click", json!({ "plan": "x".repeat(513) }), "properties"),
        ("click", many, "properties"),
        ("click", large, "properties"),
    ] {
        let body = json!({ "name": name, "url": "https://a.example/", "properties": properties }).to_string();
        let headers = [("content-type", "text/plain"), ("user-agent", AGENTS[0].0)];
        let reply = server.as_token("").raw("POST", EVENTS, &headers, body.as_bytes()).expect(422);
        assert_eq!(reply.code(), "VALIDATION_FAILED", "{body}");
        let fields = reply.json()["errors"]["fields"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(fields, [field], "{body}");
    }
    assert_eq!(server.get("/v2/analytics/custom-events").json(), json!([]));
}

#[test]
fn an_address_over_the_rate_limit_is_rejected() {
    let server = start(&["--analytics-events-per-minute=5", "--analytics-trusted-proxies=127.0.0.0/8"]);
    let from = |address: &str| send(&server, "https://a.example/", &[("x-forwarded-for", address)]);
    for _ in 0..5 {
        from("192.0.2.1").expect(202);
    }
    let refused = from("192.0.2.1").expect(429);
    assert_eq!(refused.code(), "RATE_LIMITED");
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=12).contains(&seconds), "{seconds}");
    from("192.0.2.2").expect(202);
    assert_eq!(pageviews(&server), 6);
}

#[test]
fn forwarding_headers_count_only_from_trusted_proxies() {
    let headers = |address| [("x-forwarded-for", address), ("x-country", "de"), ("user-agent", AGENTS[0].0)];
    let sent = [
        "192.0.2.1",
        "192.0.2.2",
        "203.0.113.9, 192.0.2.2",
        "192.0.2.2:80, 127.0.0.1",
        "[2001:db8::1]:443",
        "nonsense",
    ];
    let count = |more: &[&str]| {
        let server = start(more);
        for address in sent {
            send(&server, "https://a.example/", &headers(address)).expect(202);
        }
        let countries = server.get("/v2/analytics/demographics/countries").json();
        (summary(&server)["visitors"].as_u64().unwrap(), countries[0]["country"].as_str().unwrap().to_owned())
    };
    let country = "--analytics-country-header=X-Country";
    // If the header names no valid address, the proxy itself counts as the client.
    assert_eq!(count(&["--analytics-trusted-proxies=10.0.0.0/8,127.0.0.1", country]), (4, "DE".to_owned()));
    assert_eq!(count(&["--analytics-trusted-proxies=10.0.0.0/8", country]), (1, "unknown".to_owned()));
    assert_eq!(count(&[country]), (1, "unknown".to_owned()));
}

#[test]
fn cors_allows_the_configured_sites_to_send_events() {
    let server = start(&["--cors-origins=https://app.example"]);
    for (origin, allowed) in [
        ("https://a.example", true),
        ("http://a.example:8080", true),
        ("https://www.b.example", true),
        ("https://app.example", true),
        ("https://other.example", false),
        ("null", false),
    ] {
        let reply = send(&server, "https://a.example/", &[("origin", origin)]).expect(202);
        assert_eq!(reply.header("access-control-allow-origin"), allowed.then_some(origin), "{origin}");
        let asked = [
            ("origin", origin),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "content-type"),
        ];
        let preflight = server.as_token("").raw("OPTIONS", EVENTS, &asked, b"").expect(200);
        assert_eq!(preflight.header("access-control-allow-origin"), allowed.then_some(origin), "{origin}");
        let reports = server.as_token("").raw("GET", "/v2/analytics/live", &[("origin", origin)], b"");
        let reads = (origin == "https://app.example").then_some(origin);
        assert_eq!(reports.header("access-control-allow-origin"), reads, "{origin}");
    }
}

#[test]
fn do_not_track_is_respected_if_configured() {
    for (arguments, expected) in [(&["--analytics-do-not-track"][..], 1), (&[][..], 3)] {
        let server = start(arguments);
        for header in [("dnt", "1"), ("sec-gpc", "1"), ("dnt", "0")] {
            send(&server, "https://a.example/", &[header]).expect(202);
        }
        assert_eq!(pageviews(&server), expected);
        assert_eq!(server.get("/v2/analytics/script.js").text.contains("doNotTrack"), expected == 1);
    }
}

#[test]
fn the_script_is_small_and_cacheable() {
    for arguments in [&[][..], &["--analytics-do-not-track"]] {
        let server = start(arguments);
        let script = server.as_token("").get("/v2/analytics/script.js").expect(200);
        assert!(script.text.len() < 1024, "{} bytes", script.text.len());
        assert!(!script.text.contains("cookie") && !script.text.contains("localStorage"));
        assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
        assert_eq!(script.header("cache-control"), Some("public, max-age=86400"));
        let tag = script.header("etag").unwrap();
        let kept =
            server.as_token("").raw("GET", "/v2/analytics/script.js", &[("if-none-match", tag)], b"").expect(304);
        let sent = send(&server, "https://a.example/", &[]).expect(202);
        for reply in [&script, &kept, &sent] {
            assert_eq!(reply.header("set-cookie"), None);
        }
    }
}

#[test]
fn a_kill_loses_at_most_the_last_second() {
    let mut server = start(&["--analytics-events-per-minute=0"]);
    let mut kept = 0;
    for round in 0..3 {
        let began = Instant::now();
        let mut times: Vec<Instant> = Vec::new();
        while began.elapsed() < Duration::from_millis(1_300 + round * 170) {
            send(&server, &format!("https://a.example/{}", times.len() % 7), &[]).expect(202);
            times.push(Instant::now());
        }
        let killed = Instant::now();
        server.kill_and_restart_with(&[
            &format!("--analytics-sites={}", SITES.join(",")),
            "--analytics-events-per-minute=0",
        ]);
        let old = times.iter().filter(|time| killed - **time >= Duration::from_secs(1)).count() as u64;
        let summary = summary(&server);
        let found = summary["pageviews"].as_u64().unwrap();
        assert!(
            (kept + old..=kept + times.len() as u64).contains(&found),
            "{kept} + {old} <= {found} <= {kept} + {}",
            times.len()
        );
        // All figures agree, the session continues, and the visitor is the same.
        let views = |path: &str, key: &str| -> u64 {
            let rows = server.get(&format!("/v2/analytics/{path}")).expect(200).json();
            rows.as_array().unwrap().iter().map(|row| row[key].as_u64().unwrap()).sum()
        };
        assert_eq!(views("pages", "views"), found);
        assert_eq!(views("timeseries/pageviews", "value"), found);
        assert_eq!(
            (&summary["visitors"], &summary["sessions"], &summary["live_users"]),
            (&json!(1), &json!(1), &json!(1))
        );
        kept = found;
    }
}

/// Returns a file in MaxMind's format that places the lower half of all IPv4 addresses in Germany.
fn country_file() -> Vec<u8> {
    let text = |text: &str| [&[0x40 | text.len() as u8], text.as_bytes()].concat();
    let short = |number: u8| vec![0xa1, number];
    // One node: branch 0 leads to the record at offset 0 of the data (after 16 zeros), branch 1 to no record.
    let mut file = vec![0, 0, 17, 0, 0, 1];
    file.extend([0; 16]);
    file.extend([&[0xe1][..], &text("country"), &[0xe1], &text("iso_code"), &text("DE")].concat());
    file.extend(b"\xab\xcd\xefMaxMind.com\xe9");
    for (key, value) in [
        ("node_count", vec![0xc1, 1]),
        ("record_size", short(24)),
        ("ip_version", short(4)),
        ("database_type", text("Test")),
        ("languages", vec![0x00, 0x04]),
        ("binary_format_major_version", short(2)),
        ("binary_format_minor_version", short(0)),
        ("build_epoch", vec![0x01, 0x02, 1]),
        ("description", vec![0xe0]),
    ] {
        // This encoding holds for strings of fewer than 29 bytes.
        file.extend([text(key), value].concat());
    }
    file
}

#[test]
fn a_country_file_takes_precedence_over_the_country_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countries.mmdb");
    std::fs::write(&path, country_file()).unwrap();
    let file = format!("--analytics-country-file={}", path.display());
    let server = start(&[&file, "--analytics-trusted-proxies=127.0.0.1", "--analytics-country-header=x-country"]);
    for address in ["10.0.0.1", "127.9.9.9", "192.0.2.1"] {
        let headers = [("x-forwarded-for", address), ("x-country", "fr"), ("user-agent", AGENTS[0].0)];
        send(&server, "https://a.example/", &headers).expect(202);
    }
    let countries = server.get("/v2/analytics/demographics/countries").json();
    let expected = json!([{ "country": "DE", "count": 2, "percentage": 66.7 }, { "country": "unknown", "count": 1, "percentage": 33.3 }]);
    assert_eq!(countries, expected);
}
