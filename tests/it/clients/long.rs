//! The attacks at full size. Each takes a minute or more, and some gigabytes of kernel memory for the sockets:
//! `cargo test --release --test it -- --ignored --test-threads 1 clients::long`.

use std::time::Duration;

use super::EXPORT;
use super::attack::{Beside, Raw, fill, head, is_well, memory, with_body};
use crate::support::Server;

const P99: Duration = Duration::from_millis(250);
const MOST_MIB: usize = 1024;

/// Opens this many connections, calls `send` for each, and holds them for a while beside ordinary requests.
fn attack(server: &Server, count: usize, hold: Duration, may_fail: usize, send: impl Fn(&mut Raw, usize)) {
    let before = memory(server);
    let beside = Beside::begin(server);
    let (mut most, mut open) = (before, Vec::new());
    for n in 0..count {
        let mut raw = Raw::with_small_buffer(server.address());
        send(&mut raw, n);
        open.push(raw);
        if n % 50 == 0 {
            most = most.max(memory(server));
        }
    }
    most = most.max(memory(server));
    std::thread::sleep(hold);
    most = most.max(memory(server));
    drop(open);
    std::thread::sleep(Duration::from_secs(3));
    let after = memory(server);
    eprintln!("memory: {before} MiB before, {most} MiB at most, {after} MiB after");
    beside.end(may_fail, P99);
    assert!(most < MOST_MIB && after < before + 200, "{before} MiB, {most} MiB, {after} MiB");
    is_well(server);
}

#[test]
#[ignore = "long: see the top of the file"]
fn idle_connections() {
    let server = Server::start_with_open_files(1024, &[]);
    fill(&server, 1, 10);
    attack(&server, 5_000, Duration::from_secs(40), 0, |_, _| {});
}

#[test]
#[ignore = "long: see the top of the file"]
fn heads_without_an_end() {
    let server = Server::start();
    fill(&server, 1, 10);
    let line = format!("x: {}\r\n", "y".repeat(60));
    attack(&server, 3_000, Duration::from_secs(35), 0, |raw, _| {
        raw.send(format!("GET / HTTP/1.1\r\n{}", line.repeat(85)));
        raw.send(format!("x: {}", "y".repeat(55_000)));
    });
}

#[test]
#[ignore = "long: see the top of the file"]
fn nearly_complete_bodies() {
    let server = Server::start();
    fill(&server, 1, 10);
    let body = "x".repeat(10_000_000);
    attack(&server, 200, Duration::from_secs(35), 0, |raw, _| {
        raw.send(with_body("/v2/resources/notes", 10_000_001, &body));
    });
}

#[test]
#[ignore = "long: see the top of the file"]
fn lists_that_nobody_reads() {
    let server = Server::start();
    fill(&server, 100, 47_000);
    // Most of these answers are refused. Ordinary ones are small, and there is memory left for them.
    attack(&server, 1_500, Duration::from_secs(35), 0, |raw, _| {
        raw.send(format!("{}\r\n", head("GET", "/v2/resources/things?per_page=100", "")));
    });
}

#[test]
#[ignore = "long: see the top of the file"]
fn exports_that_nobody_reads() {
    let server = Server::start();
    fill(&server, 2_000, 10_000);
    attack(&server, 2_000, Duration::from_secs(35), 0, |raw, _| {
        raw.send(format!("{}\r\n", head("GET", EXPORT, "")));
    });
}
