//! HTTP/2 without TLS (`API.md` 1.13): the same answers as over HTTP/1.1, many at once on a connection, and the same
//! limits for clients that mean no good.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason, SendStream};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use super::EXPORT;
use super::attack::{Beside, Raw, ask, fill, head, is_well, memory};
use crate::support::{ADMIN, Server};

const P99: Duration = Duration::from_millis(1500);

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The types of frames that tests look at.
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;

/// An answer over HTTP/2.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: axum::http::HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// A connection of HTTP/2, and the runtime that drives it.
struct Client {
    runtime: Runtime,
    requests: SendRequest<Bytes>,
    connection: tokio::task::JoinHandle<Result<(), h2::Error>>,
}

impl Client {
    fn connect(server: &Server) -> Client {
        Client::with(server, Builder::new().initial_window_size(1 << 20).initial_connection_window_size(8 << 20))
    }

    fn with(server: &Server, builder: &Builder) -> Client {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let address = server.address().trim_start_matches("http://").to_owned();
        let (requests, connection) = runtime.block_on(async {
            let stream = TcpStream::connect(address).await.unwrap();
            let (requests, connection) = builder.handshake(stream).await.unwrap();
            (requests, tokio::spawn(connection))
        });
        Client { runtime, requests, connection }
    }

    fn begin(&self, method: &str, path: &str, headers: &[(&str, &str)], ends: bool) -> Begun {
        let mut request = axum::http::Request::builder()
            .method(method)
            .uri(format!("http://site.example{path}"))
            .header("authorization", format!("Bearer {ADMIN}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(()).unwrap();
        let requests = self.requests.clone();
        self.runtime.block_on(async { requests.ready().await.unwrap().send_request(request, ends).unwrap() })
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.ask_with(method, path, &[("content-type", "application/json")], body)
    }

    fn ask_with(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Answer {
        let (answer, mut sender) = self.begin(method, path, headers, body.is_none());
        if let Some(body) = body {
            sender.send_data(Bytes::from(body.to_string()), true).unwrap();
        }
        self.runtime.block_on(read(answer)).unwrap()
    }

    /// How the connection ended; `None` if it did not in time.
    fn ended(self, within: Duration) -> Option<Result<(), h2::Error>> {
        let Client { runtime, requests, connection } = self;
        let ended = runtime.block_on(async { tokio::time::timeout(within, connection).await });
        drop(requests);
        ended.ok().map(|joined| joined.unwrap())
    }
}

type Begun = (ResponseFuture, SendStream<Bytes>);

async fn read(answer: ResponseFuture) -> Result<Answer, h2::Error> {
    let (parts, mut body) = answer.await?.into_parts();
    let mut bytes = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        bytes.extend_from_slice(&piece);
    }
    Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body: bytes })
}

/// A frame as it is on the wire.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The head of `GET /healthz`, uncompressed, with the bytes of one more header.
fn block(value: &str) -> Vec<u8> {
    // Indexed `:method: GET` and `:scheme: http`; a literal `:path`.
    let mut block = vec![0x82, 0x86, 0x04, 8];
    block.extend_from_slice(b"/healthz");
    if !value.is_empty() {
        block.extend_from_slice(&[0x00, 1, b'x', 0x7f]);
        let mut left = value.len() - 127;
        while left >= 128 {
            block.push(u8::try_from(left % 128 + 128).unwrap());
            left /= 128;
        }
        block.push(u8::try_from(left).unwrap());
        block.extend_from_slice(value.as_bytes());
    }
    block
}

/// A raw connection that has sent the preface and empty settings.
fn raw(server: &Server) -> Raw {
    let mut raw = Raw::connect(server.address());
    assert!(raw.send([PREFACE, &frame(4, 0, 0, &[])].concat()));
    raw
}

/// The kind, the stream and the payload of each frame until the connection ends or the time is over, and whether it
/// ended.
fn frames(raw: &mut Raw, within: Duration) -> (Vec<(u8, u32, Vec<u8>)>, bool) {
    raw.0.set_read_timeout(Some(within)).unwrap();
    let mut found = Vec::new();
    loop {
        let mut head = [0; 9];
        match raw.0.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                return (found, false);
            }
            Err(_) => return (found, true),
        }
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        if raw.0.read_exact(&mut payload).is_err() {
            return (found, true);
        }
        found.push((head[3], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload));
    }
}

/// Why the server ended the connection.
fn goaway(frames: &[(u8, u32, Vec<u8>)]) -> Option<Reason> {
    let (_, _, payload) = frames.iter().rfind(|(kind, _, _)| *kind == GOAWAY)?;
    Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()).into())
}

#[test]
fn answers_are_those_of_http1() {
    let server = Server::start_with(&["--log-format=json", "--analytics-trusted-proxies=127.0.0.1"]);
    fill(&server, 3, 100);
    let client = Client::connect(&server);
    for (method, path) in [
        ("GET", "/v2/resources/things?sort=id"),
        ("HEAD", "/v2/resources/things?sort=id"),
        ("GET", "/healthz"),
        ("GET", "/nowhere"),
        ("PUT", "/v2/resources/things"),
        ("GET", "/v2/resources/things/export?format=csv"),
        ("OPTIONS", "/v2/analytics/events"),
    ] {
        let mut one = Raw::connect(server.address());
        one.send(format!(
            "{}\r\n",
            head(method, path, "connection: close\r\n").replace("host: x", "host: site.example")
        ));
        let first = String::from_utf8(one.rest().unwrap()).unwrap();
        let (first_head, first_body) = first.split_once("\r\n\r\n").unwrap();
        let second = client.ask_with(method, path, &[], None);
        let mut names: Vec<&str> = second.headers.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let mut expected: Vec<&str> = first_head.lines().skip(1).map(|line| line.split_once(':').unwrap().0).collect();
        expected.retain(|name| !["connection", "transfer-encoding"].contains(name));
        expected.sort_unstable();
        assert_eq!(names, expected, "{method} {path}");
        assert_eq!(first_head.split(' ').nth(1), Some(second.status.to_string().as_str()), "{method} {path}");
        if !first_head.contains("transfer-encoding") {
            assert_eq!(
                first_body.replace("http://x/", "http://site.example/"),
                String::from_utf8(second.body).unwrap()
            );
        }
    }
    let body = json!({ "attributes": { "t": "over HTTP/2" } });
    let headers = [
        ("content-type", "application/json"),
        ("x-request-id", "by-http2"),
        ("x-forwarded-for", "203.0.113.9"),
        ("expect", "100-continue"),
    ];
    let made = client.ask_with("POST", "/v2/resources/notes", &headers, Some(&body));
    assert_eq!((made.status, made.header("x-request-id")), (201, "by-http2"), "{made:?}");
    assert!(made.header("location").starts_with("http://site.example/v2/"), "{made:?}");
    let read = client.ask("GET", made.header("location").trim_start_matches("http://site.example"), None);
    assert_eq!(read.json()["data"]["attributes"]["t"], "over HTTP/2");
    let started = Instant::now();
    let line = loop {
        let line = server.printed_lines().into_iter().find(|line| line.contains("by-http2"));
        match line {
            Some(line) => break serde_json::from_str::<Value>(&line).unwrap(),
            None => assert!(started.elapsed() < Duration::from_secs(10), "no line was logged"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(
        (&line["status"], &line["complete"], &line["client"]),
        (&json!(201), &json!(true), &json!("203.0.113.9"))
    );
    assert_eq!(line["bytes"], json!(made.body.len()), "{line}");
}

#[test]
fn curl_speaks_it_with_prior_knowledge() {
    let server = Server::start();
    let url = format!("{}/healthz", server.address());
    let arguments = ["-s", "--http2-prior-knowledge", "-w", "%{http_version} %{http_code}", "-o", "/dev/null", &url];
    let output = std::process::Command::new("curl").args(arguments).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2 200");
}

#[test]
fn many_requests_run_at_once_on_a_connection() {
    let server = Server::start();
    fill(&server, 50, 1_000);
    let client = Client::connect(&server);
    client.ask("GET", "/healthz", None);
    // One that waits does not hold up the others.
    let (waiting, _) = client.begin("GET", "/v2/changes?wait=20&since=now", &[], true);
    let begun: Vec<Begun> = (0..40)
        .map(|n| {
            let (method, path) =
                if n % 4 == 0 { ("POST", "/v2/resources/notes") } else { ("GET", "/v2/resources/things") };
            let (answer, mut sender) = client.begin(method, path, &[("content-type", "application/json")], n % 4 != 0);
            if n % 4 == 0 {
                let body = json!({ "attributes": { "t": n.to_string() } });
                sender.send_data(Bytes::from(body.to_string()), true).unwrap();
            }
            (answer, sender)
        })
        .collect();
    for (n, (answer, _)) in begun.into_iter().enumerate() {
        let answer = client.runtime.block_on(read(answer)).unwrap();
        assert_eq!(answer.status, if n % 4 == 0 { 201 } else { 200 }, "{answer:?}");
    }
    for n in 0..200 {
        assert_eq!(client.ask("GET", "/v2/resources/notes", None).status, 200, "{n}");
    }
    drop(waiting);
    is_well(&server);
}

#[test]
fn exports_are_streamed_beside_other_requests() {
    let server = Server::start_with(&["--client-timeout", "2"]);
    fill(&server, 300, 10_000);
    // The window of the connection has room for another answer beside what of the export is not read yet.
    let windows = &mut Builder::new();
    windows.initial_window_size(65_535).initial_connection_window_size(1 << 20);
    let client = Client::with(&server, windows);
    let (answer, _) = client.begin("GET", EXPORT, &[], true);
    let mut body = client.runtime.block_on(answer).unwrap().into_body();
    let mut text = Vec::new();
    let mut pieces = 0;
    while let Some(piece) = client.runtime.block_on(body.data()) {
        let piece = piece.unwrap();
        body.flow_control().release_capacity(piece.len()).unwrap();
        text.extend_from_slice(&piece);
        pieces += 1;
        if pieces % 20 == 0 {
            std::thread::sleep(Duration::from_millis(100));
        }
        if pieces == 5 {
            assert_eq!(client.ask("GET", "/v2/resources/notes", None).status, 200);
        }
    }
    assert_eq!(String::from_utf8(text).unwrap().matches("\"type\":\"resource\"").count(), 300);
}

#[test]
fn a_stream_that_is_not_read_is_reset_and_the_others_go_on() {
    let server = Server::start_with(&["--client-timeout", "1"]);
    fill(&server, 300, 10_000);
    // The window of a stream is full after a thousand bytes, that of the connection never.
    let client =
        Client::with(&server, Builder::new().initial_window_size(1_000).initial_connection_window_size(8 << 20));
    for path in [EXPORT, "/v2/resources/things?per_page=100"] {
        let started = Instant::now();
        let (answer, _) = client.begin("GET", path, &[], true);
        let mut body = client.runtime.block_on(answer).unwrap().into_body();
        let error = loop {
            assert_eq!(client.ask("GET", "/healthz", None).status, 200);
            match client.runtime.block_on(async { tokio::time::timeout(Duration::from_millis(50), body.data()).await })
            {
                Ok(Some(Err(error))) => break error,
                Ok(None) => panic!("{path}: the answer ended"),
                Ok(Some(Ok(_))) | Err(_) => assert!(started.elapsed() < Duration::from_secs(5), "{path}: not reset"),
            }
        };
        assert_eq!(error.reason(), Some(Reason::CANCEL), "{path}");
        assert!(started.elapsed() > Duration::from_millis(900), "{path}: {:?}", started.elapsed());
    }
    is_well(&server);
}

#[test]
fn a_window_that_opens_by_a_byte_is_no_progress() {
    let server = Server::start_with(&["--client-timeout", "1"]);
    fill(&server, 100, 10_000);
    let mut raw = Raw::connect(server.address());
    let closed = [0, 4, 0, 0, 0, 0];
    let mut block = vec![0x82, 0x86, 0x04, u8::try_from(EXPORT.len()).unwrap()];
    block.extend_from_slice(EXPORT.as_bytes());
    let token = format!("Bearer {ADMIN}");
    block.extend_from_slice(&[0x0f, 0x08, u8::try_from(token.len()).unwrap()]);
    block.extend_from_slice(token.as_bytes());
    raw.send([PREFACE, &frame(4, 0, 0, &closed), &frame(1, 5, 1, &block)].concat());
    let mut trickling = raw.0.try_clone().unwrap();
    let trickle = std::thread::spawn(move || {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(4) {
            if trickling.write_all(&frame(8, 0, 1, &1u32.to_be_bytes())).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let (found, _) = frames(&mut raw, Duration::from_millis(3_000));
    let resets: Vec<u32> =
        found.iter().filter(|(kind, _, _)| *kind == RST_STREAM).map(|(_, stream, _)| *stream).collect();
    assert_eq!(resets, [1], "{found:?}");
    trickle.join().unwrap();
    is_well(&server);
}

#[test]
fn a_body_that_does_not_end_is_answered_and_the_others_go_on() {
    let server = Server::start_with(&["--client-timeout", "1"]);
    fill(&server, 1, 10);
    let client = Client::connect(&server);
    let started = Instant::now();
    let types = [("content-type", "application/json")];
    let (answer, mut sender) = client.begin("POST", "/v2/resources/notes", &types, false);
    sender.send_data(Bytes::from_static(b"{\"attributes\":"), false).unwrap();
    for _ in 0..5 {
        assert_eq!(client.ask("GET", "/healthz", None).status, 200);
    }
    let answer = client.runtime.block_on(read(answer)).unwrap();
    let message = answer.json()["errors"]["message"].to_string();
    assert_eq!(answer.status, 400, "{answer:?}");
    assert!(message.contains("in time"), "{message}");
    assert!((0.9..2.9).contains(&started.elapsed().as_secs_f64()), "{:?}", started.elapsed());
    assert_eq!(client.ask("POST", "/v2/resources/notes", Some(&json!({ "attributes": {} }))).status, 201);
}

#[test]
fn bodies_that_do_not_end_yield_to_new_streams_and_connections() {
    let types = [("content-type", "application/json")];
    let half = |client: &Client| {
        let (answer, mut sender) = client.begin("POST", "/v2/session", &types, false);
        sender.send_data(Bytes::from_static(b"{"), false).unwrap();
        (answer, sender)
    };
    let server = Server::start_with(&["--max-connections", "40"]);
    fill(&server, 1, 10);
    let clients = [Client::connect(&server), Client::connect(&server)];
    let open: Vec<_> = (0..40).map(|n| half(&clients[n % 2])).collect();
    let client = Client::connect(&server);
    assert_eq!(client.ask("GET", "/healthz", None).status, 200, "a probe waits for no place");
    std::thread::sleep(Duration::from_millis(1200));
    for _ in 0..5 {
        assert_eq!(client.ask("POST", "/v2/resources/notes", Some(&json!({ "attributes": {} }))).status, 201);
    }
    drop(open);
    // Connections whose streams all wait for their clients.
    let server = Server::start_with(&["--max-connections", "4"]);
    fill(&server, 1, 10);
    let clients: Vec<Client> = (0..4).map(|_| Client::connect(&server)).collect();
    let open: Vec<_> = clients.iter().map(|client| (half(client), half(client))).collect();
    std::thread::sleep(Duration::from_millis(1200));
    is_well(&server);
    drop(open);
}

#[test]
fn streams_that_are_reset_at_once_end_the_connection() {
    let server = Server::start();
    fill(&server, 1, 10);
    let beside = Beside::begin(&server);
    // At full speed, and slowly enough that each request is begun.
    for pause in [Duration::ZERO, Duration::from_millis(2)] {
        let mut raw = raw(&server);
        let path = "/v2/changes?wait=20&since=now";
        let mut block = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
        block.extend_from_slice(path.as_bytes());
        let token = format!("Bearer {ADMIN}");
        block.extend_from_slice(&[0x0f, 0x08, u8::try_from(token.len()).unwrap()]);
        block.extend_from_slice(token.as_bytes());
        let mut sent = 0;
        for n in 0..5_000 {
            let stream = 2 * n + 1;
            if !raw.send(frame(1, 5, stream, &block)) {
                break;
            }
            std::thread::sleep(pause);
            if !raw.send(frame(RST_STREAM, 0, stream, &8u32.to_be_bytes())) {
                break;
            }
            sent += 1;
            if !pause.is_zero() && sent > 400 {
                break;
            }
        }
        let (found, is_ended) = frames(&mut raw, Duration::from_secs(5));
        assert!(is_ended, "{pause:?}: still open after {sent} streams");
        if !found.is_empty() && goaway(&found).is_some() {
            assert_eq!(goaway(&found), Some(Reason::ENHANCE_YOUR_CALM), "{pause:?}");
        }
    }
    beside.end(0, P99);
    is_well(&server);
}

#[test]
fn heads_are_limited() {
    let server = Server::start();
    fill(&server, 1, 10);
    let before = memory(&server);
    // A little too large is answered with an error object.
    let client = Client::connect(&server);
    let (long, many): (String, Vec<String>) = ("x".repeat(70_000), (0..101).map(|n| format!("x-{n}")).collect());
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "y")).collect();
    for headers in [vec![("x-long", long.as_str())], many] {
        let answer = client.ask_with("GET", "/healthz", &headers, None);
        assert_eq!((answer.status, &answer.json()["errors"]["code"]), (431, &json!("PAYLOAD_TOO_LARGE")));
        assert_eq!(answer.header("x-request-id").len(), 36, "{answer:?}");
    }
    let near = "y".repeat(60_000);
    assert_eq!(client.ask_with("GET", "/healthz", &[("x-long", &near)], None).status, 200);
    // Far too large.
    for size in [200_000, 4_000_000] {
        let mut raw = raw(&server);
        let block = block(&"z".repeat(size));
        let mut pieces = block.chunks(16_000);
        raw.send(frame(1, 1, 1, pieces.next().unwrap()));
        let count = pieces.len();
        for (n, piece) in pieces.enumerate() {
            if !raw.send(frame(9, if n + 1 == count { 4 } else { 0 }, 1, piece)) {
                break;
            }
        }
        let (found, is_ended) = frames(&mut raw, Duration::from_secs(2));
        // 431 is a literal in the answer's head, since no table has it.
        let is_refused = found.iter().any(|(kind, _, payload)| *kind == 1 && payload.windows(3).any(|s| s == b"431"));
        assert!(is_ended || is_refused || found.iter().any(|(kind, ..)| *kind == 1), "{size}: {found:?}");
    }
    // Without an end.
    let mut endless = raw(&server);
    endless.send(frame(1, 1, 1, &block("")));
    let piece = frame(9, 0, 1, &block(&"w".repeat(16_000))[12..]);
    let sent = (0..5_000).take_while(|_| endless.send(&piece)).count();
    assert!(sent < 5_000, "80 MB of a head were accepted");
    assert!(memory(&server) < before + 100);
    is_well(&server);
}

#[test]
fn idle_connections_are_asked_to_leave() {
    let server = Server::start_with(&["--client-timeout", "1", "--keepalive-timeout", "2"]);
    let client = Client::connect(&server);
    assert_eq!(client.ask("GET", "/healthz", None).status, 200);
    let started = Instant::now();
    assert!(client.ended(Duration::from_secs(6)).is_some_and(|ended| ended.is_ok()), "closed with no error");
    assert!((1.9..5.0).contains(&started.elapsed().as_secs_f64()), "{:?}", started.elapsed());
    // One that does not leave, however often it sends a ping.
    let mut stubborn = raw(&server);
    stubborn.send(frame(1, 5, 1, &block("")));
    let mut pinging = stubborn.0.try_clone().unwrap();
    let pings = std::thread::spawn(move || {
        while pinging.write_all(&frame(6, 0, 0, &[1; 8])).is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let started = Instant::now();
    let (found, is_ended) = frames(&mut stubborn, Duration::from_secs(8));
    assert!(is_ended && goaway(&found) == Some(Reason::NO_ERROR), "{found:?}");
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    pings.join().unwrap();
    // Silence after the preface, and within it.
    for sent in [[PREFACE, &frame(4, 0, 0, &[])].concat(), PREFACE[..20].to_vec(), b"PRI * HTTP/2.0\r\n".to_vec()] {
        let mut raw = Raw::connect(server.address());
        raw.send(&sent);
        let closed = raw.closed_after(Duration::from_secs(6)).map(|after| after.as_secs_f64());
        assert!(closed.is_some_and(|after| (0.9..5.0).contains(&after)), "{sent:?}: {closed:?}");
    }
}

#[test]
fn both_protocols_are_told_apart_byte_by_byte() {
    let server = Server::start();
    fill(&server, 1, 10);
    for (sent, status) in [
        (format!("{}\r\n", head("GET", "/healthz", "")), 200),
        (format!("{}\r\n", head("PUT", "/v2/resources/notes", "")), 405),
        ("PRI * HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(), 404),
        ("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n".to_owned(), 400),
    ] {
        let mut raw = Raw::connect(server.address());
        for byte in sent.as_bytes() {
            raw.send([*byte]);
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(raw.answer().map(|answer| answer.status), Some(status), "{sent}");
    }
    let mut raw = Raw::connect(server.address());
    for byte in [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 5, 1, &block(""))].concat() {
        raw.send([byte]);
        std::thread::sleep(Duration::from_millis(2));
    }
    let (found, _) = frames(&mut raw, Duration::from_secs(1));
    // Indexed `:status: 200`.
    assert!(
        found.iter().any(|(kind, stream, payload)| (*kind, *stream, payload.first()) == (1, 1, Some(&0x88))),
        "{found:?}"
    );
    // An upgrade is not offered: the answer is one of HTTP/1.1.
    let upgrade = "connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n";
    let mut raw = Raw::connect(server.address());
    raw.send(format!("{}\r\n", head("GET", "/healthz", upgrade)));
    assert_eq!(raw.answer().map(|answer| answer.status), Some(200));
}

#[test]
fn a_stopping_server_finishes_the_streams_that_run() {
    let mut server = Server::start();
    fill(&server, 300, 10_000);
    let (client, idle) = (Client::connect(&server), Client::connect(&server));
    assert_eq!(idle.ask("GET", "/healthz", None).status, 200);
    let (export, _) = client.begin("GET", EXPORT, &[], true);
    let types = [("content-type", "application/json")];
    let (made, mut sender) = client.begin("POST", "/v2/resources/notes", &types, false);
    sender.send_data(Bytes::from_static(b"{\"attributes\":"), false).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let reading = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(700));
        sender.send_data(Bytes::from_static(b"{}}"), true).unwrap();
        let made = client.runtime.block_on(read(made)).unwrap();
        let export = client.runtime.block_on(read(export)).unwrap();
        (made.status, export, client.ended(Duration::from_secs(5)))
    });
    let started = Instant::now();
    assert!(server.terminate().success());
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let (status, export, ended) = reading.join().unwrap();
    assert_eq!(status, 201);
    assert_eq!(String::from_utf8(export.body).unwrap().matches("\"type\":\"resource\"").count(), 300);
    assert!(ended.is_some_and(|ended| ended.is_ok()));
    assert!(idle.ended(Duration::from_secs(1)).is_some_and(|ended| ended.is_ok()), "closed with no error");
}

#[test]
fn unread_answers_of_many_streams_stay_within_their_memory() {
    let server = Server::start_with(&["--max-buffer-mib", "24", "--max-connections", "200"]);
    fill(&server, 100, 60_000);
    let before = memory(&server);
    let beside = Beside::begin(&server);
    // 10 connections with 30 lists of 6 MB each, of which nothing can be sent.
    let clients: Vec<Client> = (0..10).map(|_| Client::with(&server, Builder::new().initial_window_size(0))).collect();
    let begun: Vec<Begun> = clients
        .iter()
        .flat_map(|client| (0..30).map(|_| client.begin("GET", "/v2/resources/things?per_page=100", &[], true)))
        .collect();
    std::thread::sleep(Duration::from_secs(2));
    let most = memory(&server);
    // Streams beyond `max_connections` are refused, and all others are answered or refused too.
    assert!(ask(server.address(), "GET", "/healthz", None).is_some_and(|answer| answer.status == 200));
    drop((begun, clients));
    std::thread::sleep(Duration::from_millis(1500));
    beside.end(0, P99);
    let after = memory(&server);
    eprintln!("memory: {before} MiB before, {most} MiB at most, {after} MiB after");
    assert!(most < before + 200 && after < before + 100, "{before} MiB, {most} MiB, {after} MiB");
    is_well(&server);
}
