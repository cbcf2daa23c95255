//! The attacks of a hostile client: raw connections that are slow, silent or malformed. Ordinary requests run beside
//! them, and must not be affected.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use crate::support::{ADMIN, Server};

/// The time that a test waits for bytes.
const WAIT: Duration = Duration::from_secs(20);

/// A raw connection, without an HTTP client.
pub(crate) struct Raw(pub(crate) TcpStream);

/// An answer as it was received: the head, and the body unless it was cut off.
#[derive(Debug)]
pub(crate) struct RawAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl RawAnswer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn code(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        body["errors"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Raw {
    pub(crate) fn connect(address: &str) -> Raw {
        Raw::wrap(TcpStream::connect(address.trim_start_matches("http://")).unwrap())
    }

    /// Opens a connection whose system accepts only a few kilobytes that nobody reads.
    pub(crate) fn with_small_buffer(address: &str) -> Raw {
        let address: SocketAddr = address.trim_start_matches("http://").parse().unwrap();
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.connect(&address.into()).unwrap();
        Raw::wrap(socket.into())
    }

    fn wrap(stream: TcpStream) -> Raw {
        stream.set_read_timeout(Some(WAIT)).unwrap();
        stream.set_write_timeout(Some(WAIT)).unwrap();
        Raw(stream)
    }

    /// Sends bytes. Returns whether the connection was still open.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.0.write_all(bytes.as_ref()).is_ok()
    }

    /// Returns one answer, by its `Content-Length`.
    pub(crate) fn answer(&mut self) -> Option<RawAnswer> {
        let mut bytes = Vec::new();
        let mut byte = [0];
        while !bytes.ends_with(b"\r\n\r\n") {
            match self.0.read(&mut byte) {
                Ok(1) => bytes.push(byte[0]),
                _ => return None,
            }
        }
        let head = String::from_utf8(bytes).unwrap();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let mut answer = RawAnswer { status, head, body: String::new() };
        let length = answer.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
        let mut body = Vec::new();
        (&mut self.0).take(length).read_to_end(&mut body).ok()?;
        answer.body = String::from_utf8_lossy(&body).into_owned();
        Some(answer)
    }

    /// Reads everything until the end. Fails if the connection is reset or stays open.
    pub(crate) fn rest(&mut self) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Returns the time after which the server closes the connection; `None` if it stays open for the whole time.
    pub(crate) fn closed_after(&mut self, within: Duration) -> Option<Duration> {
        let started = Instant::now();
        let mut bytes = [0; 4096];
        while let Some(left) = within.checked_sub(started.elapsed()).filter(|left| !left.is_zero()) {
            self.0.set_read_timeout(Some(left)).unwrap();
            match self.0.read(&mut bytes) {
                Ok(0) => return Some(started.elapsed()),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                }
                Err(_) => return Some(started.elapsed()),
            }
        }
        None
    }
}

/// Returns the head of a request by the admin, without the empty line at its end.
pub(crate) fn head(method: &str, path: &str, headers: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ADMIN}\r\n{headers}")
}

/// Makes a request by the admin with a body.
pub(crate) fn with_body(path: &str, length: usize, body: &str) -> String {
    let headers = format!("content-type: application/json\r\ncontent-length: {length}\r\n");
    format!("{}\r\n{body}", head("POST", path, &headers))
}

/// Sends one request on a separate connection.
pub(crate) fn ask(address: &str, method: &str, path: &str, body: Option<&Value>) -> Option<RawAnswer> {
    let mut raw = Raw::connect(address);
    let sent = body.map(Value::to_string).unwrap_or_default();
    let headers = format!("connection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", sent.len());
    raw.send(format!("{}\r\n{sent}", head(method, path, &headers)));
    raw.answer()
}

/// Makes a blueprint `things` with resources of this many bytes each.
pub(crate) fn fill(server: &Server, count: usize, bytes: usize) {
    server.blueprint("things", json!([{ "name": "t", "slug": "t", "type": "text" }]));
    server.blueprint("notes", json!([{ "name": "t", "slug": "t", "type": "text" }]));
    let text = "x".repeat(bytes);
    let published = "2026-01-01T00:00:00Z";
    let lines = (0..count).map(|_| format!("{}\n", json!({ "attributes": { "t": text }, "published_at": published })));
    let lines: Vec<String> = lines.collect();
    for lines in lines.chunks(2000) {
        let types = [("content-type", "application/x-ndjson")];
        server.raw("POST", "/v2/resources/things/import", &types, lines.concat().as_bytes()).expect(200);
    }
}

/// Ordinary requests, one after the other, each on a separate connection: a list, a write, a probe.
pub(crate) struct Beside {
    is_over: Arc<AtomicBool>,
    running: JoinHandle<(Vec<Duration>, Vec<String>)>,
}

impl Beside {
    pub(crate) fn begin(server: &Server) -> Beside {
        let is_over = Arc::new(AtomicBool::new(false));
        let (stop, address) = (Arc::clone(&is_over), server.address().to_owned());
        let running = std::thread::spawn(move || {
            let (mut times, mut failures) = (Vec::new(), Vec::new());
            let body = json!({ "attributes": { "t": "beside" } });
            while !stop.load(Ordering::Relaxed) {
                for (method, path, body, expected) in [
                    ("GET", "/v2/resources/notes?per_page=5", None, 200),
                    ("POST", "/v2/resources/notes", Some(&body), 201),
                    ("GET", "/healthz", None, 200),
                ] {
                    let started = Instant::now();
                    let answer = ask(&address, method, path, body);
                    times.push(started.elapsed());
                    if answer.as_ref().is_none_or(|answer| answer.status != expected) {
                        failures.push(format!("{method} {path}: {answer:?}"));
                    }
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            (times, failures)
        });
        Beside { is_over, running }
    }

    /// Ends the requests. Panics if more than this many failed, or if the 99th percentile of their times is too long.
    #[track_caller]
    pub(crate) fn end(self, may_fail: usize, p99: Duration) {
        self.is_over.store(true, Ordering::Relaxed);
        let (mut times, failures) = self.running.join().unwrap();
        times.sort_unstable();
        let slow = times[times.len() * 99 / 100];
        eprintln!(
            "beside: {} requests, median {:?}, p99 {slow:?}, {} failed",
            times.len(),
            times[times.len() / 2],
            failures.len()
        );
        assert!(failures.len() <= may_fail, "{} of {}: {:?}", failures.len(), times.len(), &failures[0]);
        assert!(slow < p99, "p99 {slow:?}");
    }
}

/// Returns the resident memory of the server, in MiB.
pub(crate) fn memory(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() >> 10
}

/// Checks that lists, reads, writes and probes work as before.
#[track_caller]
pub(crate) fn is_well(server: &Server) {
    for (method, path, body, expected) in [
        ("GET", "/readyz", None, 200),
        ("GET", "/v2/resources/notes", None, 200),
        ("POST", "/v2/resources/notes", Some(json!({ "attributes": { "t": "well" } })), 201),
        ("GET", "/v2/resources/notes/export", None, 200),
    ] {
        let answer = ask(server.address(), method, path, body.as_ref());
        assert_eq!(answer.as_ref().map(|answer| answer.status), Some(expected), "{method} {path}: {answer:?}");
    }
}
