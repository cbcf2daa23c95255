//! The access log (`API.md` 1.11).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::clients::attack::{Raw, head};
use crate::support::{ADMIN, Server};

fn start(format: &str) -> Server {
    let server = Server::start_with(&[
        &format!("--log-format={format}"),
        "--analytics-sites=a.example",
        "--analytics-trusted-proxies=127.0.0.1",
    ]);
    server.blueprint("notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    server
}

/// Waits for lines with this request id, and returns them.
fn lines_of(server: &Server, id: &str) -> Vec<String> {
    let started = Instant::now();
    loop {
        let lines: Vec<String> = server.printed_lines().into_iter().filter(|line| line.contains(id)).collect();
        if !lines.is_empty() || started.elapsed() > Duration::from_secs(10) {
            return lines;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the only line of a request with this id.
fn logged(server: &Server, id: &str) -> Value {
    let lines = lines_of(server, id);
    assert_eq!(lines.len(), 1, "{id}: {lines:?}");
    serde_json::from_str(&lines[0]).unwrap()
}

#[test]
fn each_request_has_a_line_with_what_was_asked_and_answered() {
    let server = start("json");
    let secret = server.token(&["view"]);
    let id = server.get("/v2/tokens").data().as_array().unwrap().last().unwrap()["id"].clone();
    let list = "/v2/resources/notes?filter[title]=a%20b&page=1";
    for (request, token, method, path, headers, status) in [
        ("r-list", secret.as_str(), "GET", list, &[][..], 200),
        ("r-again", &secret, "GET", list, &[], 200),
        ("r-none", "", "GET", list, &[], 401),
        ("r-wrong", "bnd_wrong", "GET", list, &[], 401),
        ("r-admin", ADMIN, "DELETE", "/v2/resources/notes/x", &[], 404),
        ("r-head", &secret, "HEAD", list, &[], 200),
        ("r-lost", &secret, "GET", "/nowhere?x", &[("x-forwarded-for", "203.0.113.7, 127.0.0.1")], 404),
        ("r-export", &secret, "GET", "/v2/resources/notes/export?format=csv", &[], 200),
    ] {
        let headers = [headers, &[("x-request-id", request)]].concat();
        let reply = server.as_token(token).raw(method, path, &headers, b"").expect(status);
        let line = logged(&server, request);
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        assert_eq!((&line["method"], &line["path"], &line["query"]), (&json!(method), &json!(path), &json!(query)));
        assert_eq!((&line["status"], &line["complete"]), (&json!(status), &json!(true)), "{line}");
        assert_eq!(line["bytes"], reply.text.len(), "{line}");
        assert!(line["ms"].as_f64().unwrap() > 0.0, "{line}");
        let expected = match token {
            "" | "bnd_wrong" => Value::Null,
            ADMIN => json!("admin"),
            _ if request == "r-lost" => Value::Null,
            _ => id.clone(),
        };
        assert_eq!(line["token"], expected, "{line}");
        let client = if request == "r-lost" { "203.0.113.7" } else { "127.0.0.1" };
        assert_eq!(line["client"], client, "{line}");
    }
    assert_eq!(server.printed_lines().iter().filter(|line| line.contains("r-list")).count(), 1);
}

#[test]
fn no_line_has_a_secret_or_the_address_of_a_visitor() {
    let server = start("json");
    let secret = server.token(&["view"]);
    let admin = ADMIN.replace('-', "%2D");
    for (number, path) in [
        format!("/v2/resources/notes?token={secret}"),
        format!("/v2/resources/notes?x={secret}&{secret}"),
        format!("/v2/resources/notes?search={}", secret.replace("bnd", "%62nd")),
        format!("/v2/tokens/{secret}"),
        format!("/nowhere/{ADMIN}?{ADMIN}=1&y={admin}"),
        "/v2/invitation?secret=anything".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let request = format!("s-{number}");
        server.raw("GET", path, &[("x-request-id", &request)], b"");
        logged(&server, &request);
    }
    server.raw("GET", "/healthz", &[("x-request-id", &secret)], b"").expect(200);
    let event = br#"{"name":"pageview","url":"https://a.example/","referrer":""}"#;
    for (request, method, path, body) in [
        ("v-event", "POST", "/v2/analytics/events", event.as_slice()),
        ("v-script", "GET", "/v2/analytics/script.js", b""),
        ("v-health", "GET", "/healthz", b""),
    ] {
        let headers = [
            ("content-type", "application/json"),
            ("x-request-id", request),
            ("x-forwarded-for", "203.0.113.9"),
            ("user-agent", "Mozilla/5.0 Firefox/140.0"),
        ];
        server.as_token("").raw(method, path, &headers, body);
        let expected = if request == "v-health" { json!("203.0.113.9") } else { Value::Null };
        assert_eq!(logged(&server, request)["client"], expected, "{request}");
    }
    let secrets = [secret.as_str(), &secret[4..], ADMIN, &admin, "anything", "bnd_"];
    let lines = server.printed_lines();
    assert!(lines.len() > 10);
    for line in lines.iter().filter(|line| line.starts_with('{')) {
        assert!(secrets.iter().all(|secret| !line.contains(secret)), "{line}");
    }
}

#[test]
fn a_line_is_written_when_the_last_byte_went_out_or_the_client_left() {
    let server = start("json");
    let titles = vec![json!({ "attributes": { "title": "word ".repeat(2_000) } }); 100];
    let bulk = json!({ "resources": titles });
    (0..8).for_each(|_| drop(server.post("/v2/resources/notes/bulk", &bulk).expect(201)));
    let mut raw = Raw::with_small_buffer(server.address());
    raw.send(format!("{}\r\n", head("GET", "/v2/resources/notes/export", "x-request-id: slow-reader\r\n")));
    std::thread::sleep(Duration::from_millis(500));
    assert!(!server.printed_lines().iter().any(|line| line.contains("slow-reader")), "logged before it was sent");
    drop(raw);
    let line = logged(&server, "slow-reader");
    assert_eq!((&line["status"], &line["complete"]), (&json!(200), &json!(false)), "{line}");
    assert!(line["ms"].as_f64().unwrap() > 400.0, "{line}");
    let export = server.raw("GET", "/v2/resources/notes/export", &[("x-request-id", "prompt")], b"").expect(200);
    let line = logged(&server, "prompt");
    assert_eq!((&line["bytes"], &line["complete"]), (&json!(export.text.len()), &json!(true)));
}

#[test]
fn people_read_text_and_by_default_there_is_no_line() {
    let mut server = start("text");
    server.raw("GET", "/v2/resources/notes?page=1", &[("x-request-id", "as-text")], b"").expect(200);
    let lines = lines_of(&server, "as-text");
    assert!(lines[0].contains(" 127.0.0.1 token=admin GET /v2/resources/notes?page=1 200 "), "{lines:?}");
    // The last lines are written before the server ends.
    let long = "x".repeat(5_000);
    server.raw("GET", &format!("/{long}?{long}"), &[("x-request-id", "the-last")], b"").expect(404);
    assert!(server.terminate().success());
    let last = lines_of(&server, "the-last");
    assert!(last[0].len() < 3_500, "{last:?}");
    let server = start("off");
    server.raw("GET", "/healthz", &[("x-request-id", "silent")], b"").expect(200);
    std::thread::sleep(Duration::from_millis(200));
    assert!(!server.printed_lines().iter().any(|line| line.contains("silent")));
}
