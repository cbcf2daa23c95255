//! The limits of a client: connections, memory and time (`API.md` 1.9 and 8). The attacks here are small; `long` has
//! those of full size.

pub(crate) mod attack;
mod long;
mod parser;

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Failures, Server};
use attack::{Beside, Raw, ask, fill, head, is_well, memory, with_body};

/// The limit of the 99th percentile. Other tests run at the same time, so it is far above the time on an idle machine.
const P99: Duration = Duration::from_millis(1500);

const EXPORT: &str = "/v2/resources/things/export?format=ndjson";

#[test]
fn connections_without_a_request_yield_to_new_ones() {
    let server = Server::start_with(&["--max-connections", "40"]);
    fill(&server, 1, 10);
    let beside = Beside::begin(&server);
    let mut open = Vec::new();
    for n in 0..400 {
        let mut raw = Raw::connect(server.address());
        match n % 3 {
            0 => {}
            1 => assert!(raw.send("GET /v2/resources/notes HTT")),
            _ => {
                raw.send(format!("{}\r\n", head("GET", "/healthz", "")));
                assert_eq!(raw.answer().unwrap().status, 200);
            }
        }
        open.push(raw);
    }
    beside.end(0, P99);
    let mut last = open.pop().unwrap();
    assert!(open[0].closed_after(Duration::from_secs(2)).is_some(), "the one that waited longest is closed");
    last.send(format!("{}\r\n", head("GET", "/healthz", "")));
    assert_eq!(last.answer().unwrap().status, 200, "the newest is not");
    is_well(&server);
}

#[test]
fn writes_go_on_when_clients_take_all_the_files_that_they_may_open() {
    let server = Server::start_with_open_files(300, &[]);
    fill(&server, 1, 10);
    let beside = Beside::begin(&server);
    let open: Vec<Raw> = (0..600).map(|_| Raw::connect(server.address())).collect();
    std::thread::sleep(Duration::from_secs(1));
    let files = std::fs::read_dir(format!("/proc/{}/fd", server.process())).unwrap().count();
    assert!(files < 250, "{files} files are open");
    beside.end(0, P99);
    is_well(&server);
    drop(open);
}

#[test]
fn connections_beyond_the_limit_are_refused_while_all_have_a_request() {
    let server = Server::start_with(&["--max-connections", "4"]);
    fill(&server, 1, 10);
    let mut busy: Vec<Raw> = (0..4).map(|_| Raw::connect(server.address())).collect();
    for raw in &mut busy {
        raw.send(with_body("/v2/resources/notes", 40, "{\"attributes\":"));
    }
    std::thread::sleep(Duration::from_millis(300));
    let refused = ask(server.address(), "GET", "/v2/resources/notes", None).unwrap();
    assert_eq!((refused.status, refused.code().as_str()), (503, "OVERLOADED"), "{refused:?}");
    for header in ["retry-after", "x-request-id"] {
        assert!(refused.header(header).is_some(), "{header}: {refused:?}");
    }
    for mut raw in busy {
        raw.send(format!("{:<26}", "{}}"));
        assert_eq!(raw.answer().unwrap().status, 201);
    }
    is_well(&server);
}

/// Half a request to sign in, which needs no token.
const HALF_SIGN_IN: &str =
    "POST /v2/session HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9000\r\n\r\n{";

#[test]
fn bodies_that_do_not_end_yield_to_new_connections_and_probes_never_wait_for_a_place() {
    let server = Server::start_with(&["--max-connections", "40"]);
    fill(&server, 1, 10);
    let mut open: Vec<Raw> = (0..60)
        .map(|_| {
            let mut raw = Raw::connect(server.address());
            raw.send(HALF_SIGN_IN);
            raw
        })
        .collect();
    for path in ["/healthz", "/readyz", "/healthz?strict=true"] {
        let started = Instant::now();
        let probe = ask(server.address(), "GET", path, None).unwrap();
        assert_eq!((probe.status, probe.header("connection")), (200, Some("close")), "{path}: {probe:?}");
        assert!(started.elapsed() < Duration::from_secs(1), "{path}: {:?}", started.elapsed());
    }
    for path in ["/healthzz", "/v2/resources/notes"] {
        assert_eq!(ask(server.address(), "GET", path, None).unwrap().status, 503, "{path}");
    }
    // A byte now and then does not count as progress.
    for _ in 0..6 {
        std::thread::sleep(Duration::from_millis(200));
        open.iter_mut().for_each(|raw| {
            raw.send("x");
        });
    }
    let beside = Beside::begin(&server);
    std::thread::sleep(Duration::from_secs(1));
    beside.end(0, P99);
    is_well(&server);
}

#[test]
fn streams_of_events_leave_places_to_everybody_else() {
    let server = Server::start_with(&["--max-connections", "40"]);
    fill(&server, 1, 10);
    let tokens = [server.token(&["view"]), server.token(&["view"])];
    let begin = |path: &str, token: &str, headers: &str| {
        let mut raw = Raw::connect(server.address());
        raw.send(format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n{headers}\r\n"));
        raw
    };
    let mut open = Vec::new();
    for n in 0..50 {
        let token = &tokens[0];
        open.push(match n % 2 {
            0 => begin("/v2/changes?since=now", token, "accept: text/event-stream\r\n"),
            _ => begin("/v2/changes?since=now&wait=60", token, ""),
        });
        std::thread::sleep(Duration::from_millis(10));
    }
    let refused = begin("/v2/changes?wait=1&since=now", &tokens[0], "").answer().unwrap();
    assert_eq!((refused.status, refused.code().as_str()), (503, "OVERLOADED"), "{refused:?}");
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    let beside = Beside::begin(&server);
    std::thread::sleep(Duration::from_secs(1));
    beside.end(0, P99);
    // A request that does not wait is answered, and a wait that has ended no longer counts.
    assert_eq!(begin("/v2/changes?since=now", &tokens[0], "").answer().unwrap().status, 200);
    drop(open);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(begin("/v2/changes?wait=1&since=now", &tokens[1], "").answer().unwrap().status, 200);
    is_well(&server);
}

/// Returns a body with this many spaces in it, compressed.
fn bomb(spaces: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(b"{\"attributes\": {\"t\": 1").unwrap();
    encoder.write_all(&vec![b' '; spaces]).unwrap();
    encoder.write_all(b"}}").unwrap();
    encoder.finish().unwrap()
}

#[test]
fn bodies_that_are_compressed_take_turns_instead_of_all_the_memory() {
    let server = Server::start();
    fill(&server, 1, 10);
    let body = bomb(10_000_000);
    let before = memory(&server);
    let beside = Beside::begin(&server);
    let headers =
        format!("content-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n", body.len());
    let refused = AtomicUsize::new(0);
    let most = std::thread::scope(|scope| {
        let sending: Vec<_> = (0..32)
            .map(|_| {
                let (headers, body, refused, address) = (&headers, &body, &refused, server.address());
                scope.spawn(move || {
                    for _ in 0..3 {
                        let mut raw = Raw::connect(address);
                        raw.send(format!("{}\r\n", head("POST", "/v2/resources/notes", headers)));
                        raw.send(body);
                        let status = raw.answer().map(|answer| answer.status);
                        refused.fetch_add(usize::from(status != Some(422)), Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let mut most = before;
        while sending.iter().any(|thread| !thread.is_finished()) {
            most = most.max(memory(&server));
            std::thread::sleep(Duration::from_millis(5));
        }
        most
    });
    let refused = refused.into_inner();
    eprintln!("memory: {before} MiB before, {most} MiB at most; {refused} of 96 bodies refused");
    beside.end(0, P99);
    assert!(refused < 10, "{refused} of 96 bodies were refused");
    assert!(most < before + 600, "{before} MiB, {most} MiB");
    is_well(&server);
}

#[test]
fn streams_that_are_compressed_stay_within_their_memory() {
    let server = Server::start();
    fill(&server, 300, 10_000);
    for encoding in ["br", "zstd"] {
        let before = memory(&server);
        let beside = Beside::begin(&server);
        let unread: Vec<Raw> = (0..400)
            .map(|_| {
                let mut raw = Raw::with_small_buffer(server.address());
                raw.send(format!("{}\r\n", head("GET", EXPORT, &format!("accept-encoding: {encoding}\r\n"))));
                raw
            })
            .collect();
        std::thread::sleep(Duration::from_secs(1));
        let most = memory(&server);
        drop(unread);
        eprintln!("{encoding}: {before} MiB before, {most} MiB with 400 streams");
        beside.end(0, P99);
        assert!(most < before + 250, "{encoding}: {before} MiB, {most} MiB");
    }
    is_well(&server);
}

#[test]
fn clients_that_send_or_read_nothing_are_disconnected() {
    let server = Server::start_with(&["--client-timeout", "1", "--keepalive-timeout", "3"]);
    fill(&server, 400, 10_000);
    let body = |length: usize, body: &str| with_body("/v2/resources/notes", length, body);
    // Each case: the bytes that are sent, the status of the answer if there is one, and the earliest and latest time of
    // the close in seconds.
    let mut cases: Vec<(&str, String, Option<u16>, [f64; 2])> = vec![
        ("nothing", String::new(), None, [0.9, 2.9]),
        ("half a head", head("GET", "/healthz", ""), None, [0.9, 2.9]),
        ("half a body", body(100, "{\"attributes\""), Some(400), [0.9, 2.9]),
        ("no body", body(100, ""), Some(400), [0.9, 2.9]),
        (
            "half a line",
            format!(
                "{}\r\n{{\"key\"",
                head(
                    "POST",
                    "/v2/resources/notes/import",
                    "content-type: application/x-ndjson\r\ncontent-length: 100\r\n"
                )
            ),
            Some(200),
            [0.9, 2.9],
        ),
        ("one request", format!("{}\r\n", head("GET", "/healthz", "")), Some(200), [2.9, 5.0]),
        ("an export that is not read", format!("{}\r\n", head("GET", EXPORT, "")), None, [0.9, 2.9]),
    ];
    let attacks: Vec<_> = cases
        .drain(..)
        .map(|(case, sent, status, [from, to])| {
            let address = server.address().to_owned();
            std::thread::spawn(move || {
                let mut failures = Failures::default();
                let mut raw = Raw::with_small_buffer(&address);
                let started = Instant::now();
                raw.send(&sent);
                if let Some(status) = status {
                    let answer = raw.answer();
                    failures.check_eq(case, answer.as_ref().map(|answer| answer.status), Some(status));
                    if status == 400 {
                        let body = answer.map(|answer| answer.body).unwrap_or_default();
                        failures.check(body.contains("in time"), || format!("{case}: {body}"));
                    }
                } else if case.contains("export") {
                    std::thread::sleep(Duration::from_secs_f64(to));
                }
                let closed = raw.closed_after(Duration::from_secs(6)).map(|_| started.elapsed().as_secs_f64());
                let to = if case.contains("export") { to + 1.0 } else { to };
                failures
                    .check(closed.is_some_and(|after| (from..to).contains(&after)), || format!("{case}: {closed:?}"));
                failures
            })
        })
        .collect();
    attacks.into_iter().for_each(|attack| attack.join().unwrap().assert_none());
    is_well(&server);
}

#[test]
fn clients_that_are_slow_but_steady_are_served() {
    let server = Server::start_with(&["--client-timeout", "1", "--keepalive-timeout", "1"]);
    fill(&server, 100, 10_000);
    let address = server.address().to_owned();
    std::thread::scope(|scope| {
        // An import that sends one line from time to time: a stream may be slow.
        scope.spawn(|| {
            let mut raw = Raw::connect(&address);
            let line = "{\"attributes\":{\"t\":\"slow\"}}\n";
            let headers = format!(
                "connection: close\r\ncontent-type: application/x-ndjson\r\ncontent-length: {}\r\n",
                5 * line.len()
            );
            raw.send(format!("{}\r\n", head("POST", "/v2/resources/notes/import", &headers)));
            for _ in 0..5 {
                std::thread::sleep(Duration::from_millis(600));
                assert!(raw.send(line));
            }
            let text = String::from_utf8(raw.rest().unwrap()).unwrap();
            assert_eq!(text.matches("\"op\":\"created\"").count(), 5, "{text}");
        });
        // A large body that is sent in pieces.
        scope.spawn(|| {
            let mut raw = Raw::connect(&address);
            let body = json!({ "resources": [{ "attributes": { "t": "y".repeat(60_000) } }, { "attributes": { "t": "z".repeat(60_000) } }] });
            let body = body.to_string();
            raw.send(with_body("/v2/resources/notes/bulk", body.len(), ""));
            for piece in body.as_bytes().chunks(20_000) {
                std::thread::sleep(Duration::from_millis(400));
                assert!(raw.send(piece));
            }
            assert_eq!(raw.answer().unwrap().status, 201);
        });
        // An export that is read in pieces.
        scope.spawn(|| {
            use std::io::Read;
            let mut raw = Raw::with_small_buffer(&address);
            raw.send(format!("{}\r\n", head("GET", EXPORT, "connection: close\r\n")));
            let (mut piece, mut text) = (vec![0; 100_000], Vec::new());
            for _ in 0..10 {
                std::thread::sleep(Duration::from_millis(250));
                raw.0.read_exact(&mut piece).unwrap();
                text.extend_from_slice(&piece);
            }
            while let Ok(count @ 1..) = raw.0.read(&mut piece) {
                text.extend_from_slice(&piece[..count]);
            }
            assert_eq!(String::from_utf8(text).unwrap().matches("\"id\"").count() / 2, 100);
        });
    });
}

#[test]
fn exports_that_are_not_read_hold_no_thread_and_do_not_delay_a_stop() {
    let mut server = Server::start_with(&["--client-timeout", "60"]);
    fill(&server, 300, 10_000);
    let unread: Vec<Raw> = (0..600)
        .map(|_| {
            let mut raw = Raw::with_small_buffer(server.address());
            raw.send(format!("{}\r\n", head("GET", EXPORT, "")));
            raw
        })
        .collect();
    std::thread::sleep(Duration::from_secs(1));
    // On a busy machine some exports still make their first pieces then.
    let threads = || std::fs::read_dir(format!("/proc/{}/task", server.process())).unwrap().count();
    let until = Instant::now() + Duration::from_secs(10);
    while threads() >= 100 {
        assert!(Instant::now() < until, "{} threads", threads());
        std::thread::sleep(Duration::from_millis(100));
    }
    let started = Instant::now();
    let long = json!({ "attributes": { "t": "x".repeat(40_000) } });
    server.post("/v2/resources/notes", &long).expect(201);
    let types = [("content-type", "application/x-ndjson")];
    let lines = server.raw("POST", "/v2/resources/notes/import", &types, b"{\"attributes\":{}}\n").expect(200).lines();
    assert_eq!(lines[0]["op"], "created");
    server.get("/v2/analytics/summary").expect(200);
    assert_eq!(ask(server.address(), "GET", "/v2/backup", None).unwrap().status, 200);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    is_well(&server);
    let started = Instant::now();
    assert!(server.terminate().success());
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    drop(unread);
}

#[test]
fn a_stopping_server_finishes_what_runs() {
    let mut server = Server::start();
    fill(&server, 300, 10_000);
    let mut idle = Raw::connect(server.address());
    idle.send(format!("{}\r\n", head("GET", "/healthz", "")));
    idle.answer().unwrap();
    let half = Raw::connect(server.address());
    let mut export = Raw::with_small_buffer(server.address());
    export.send(format!("{}\r\n", head("GET", EXPORT, "connection: close\r\n")));
    let mut write = Raw::connect(server.address());
    write.send(with_body("/v2/resources/notes", 40, "{\"attributes\":"));
    std::thread::sleep(Duration::from_millis(300));
    let reading = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(700));
        write.send(format!("{:<26}", "{}}"));
        (write.answer().map(|answer| answer.status), export.rest().map(|bytes| String::from_utf8(bytes).unwrap()))
    });
    let started = Instant::now();
    assert!(server.terminate().success());
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let (status, export) = reading.join().unwrap();
    assert_eq!(status, Some(201));
    assert_eq!(export.unwrap().matches("\"type\":\"resource\"").count(), 300);
    drop((idle, half));
}

#[test]
fn bodies_and_answers_stay_within_their_memory() {
    let server = Server::start_with(&["--max-buffer-mib", "24"]);
    fill(&server, 100, 60_000);
    let before = memory(&server);
    let beside = Beside::begin(&server);
    // The load: 120 lists of 6 MB that nobody reads, then 60 bodies of 4 MB that are cut before their end.
    let mut open = Vec::new();
    for n in 0..180 {
        let mut raw = Raw::with_small_buffer(server.address());
        match n {
            0..120 => raw.send(format!("{}\r\n", head("GET", "/v2/resources/things?per_page=100", ""))),
            _ => raw.send(with_body("/v2/resources/notes", 4_100_000, &"x".repeat(4_000_000))),
        };
        open.push(raw);
        std::thread::sleep(Duration::from_millis(10));
    }
    let most = memory(&server);
    drop(open);
    std::thread::sleep(Duration::from_millis(1500));
    // Memory is left to ordinary requests.
    beside.end(0, P99);
    let after = memory(&server);
    eprintln!("memory: {before} MiB before, {most} MiB at most, {after} MiB after");
    assert!(most < before + 200 && after < before + 100, "{before} MiB, {most} MiB, {after} MiB");
    is_well(&server);
}
