//! Clients that wait for changes: long polls and server-sent events.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{draft, ops, with_notes};
use crate::support::{ADMIN, Server};

/// Sends a request whose answer is read later.
fn begin(server: &Server, path: &str, token: &str, headers: &str) -> BufReader<TcpStream> {
    let host = server.address().trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    BufReader::new(stream)
}

/// Returns the lines that follow, until one holds the text.
fn lines_until(stream: &mut BufReader<TcpStream>, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the answer ended without {text}: {lines:?}");
        let is_last = line.contains(text);
        lines.push(line.trim_end().to_owned());
        if is_last {
            return lines;
        }
    }
}

fn threads_of(server: &Server) -> usize {
    std::fs::read_dir(format!("/proc/{}/task", server.process())).unwrap().count()
}

#[test]
fn a_client_waits_for_the_next_change() {
    let server = with_notes();
    let started = Instant::now();
    assert_eq!(server.get("/v2/changes?since=0&wait=1").expect(200).text, "");
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
    let started = Instant::now();
    let id = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.get("/v2/changes?since=0&wait=30").expect(200));
        std::thread::sleep(Duration::from_millis(300));
        let id = draft(&server, "notes");
        assert_eq!(ops(&waiting.join().unwrap()), [("created".to_owned(), id.clone())]);
        id
    });
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    // Existing changes are answered at once. Changes that the token does not see do not end the wait.
    assert_eq!(ops(&server.get("/v2/changes?since=0&wait=30").expect(200)), [("created".to_owned(), id)]);
    let view = server.token(&["view"]);
    let published = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.as_token(&view).get("/v2/changes?since=0&wait=30").expect(200));
        for _ in 0..3 {
            draft(&server, "notes");
            std::thread::sleep(Duration::from_millis(50));
        }
        let id = server.create("notes", serde_json::json!({}));
        (ops(&waiting.join().unwrap()), id)
    });
    assert_eq!(published.0, [("created".to_owned(), published.1)]);
}

#[test]
fn clients_that_wait_hold_no_thread_and_end_when_the_server_stops_or_their_token() {
    let mut server = with_notes();
    let threads = threads_of(&server);
    let token =
        server.post("/v2/tokens", &serde_json::json!({ "name": "t", "abilities": ["view"] })).expect(201).data();
    let secret = token["secret"].as_str().unwrap().to_owned();
    let mut waiting: Vec<_> = (0..500).map(|_| begin(&server, "/v2/changes?since=0&wait=60", ADMIN, "")).collect();
    draft(&server, "notes");
    let started = Instant::now();
    for client in &mut waiting {
        lines_until(client, "\"op\":\"created\"");
    }
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert!(threads_of(&server) <= threads + 4, "{} threads, {threads} before", threads_of(&server));
    let mut revoked = begin(&server, "/v2/changes?since=1&wait=60", &secret, "");
    std::thread::sleep(Duration::from_millis(300));
    server.delete(&format!("/v2/tokens/{}", token["id"].as_str().unwrap())).expect(204);
    draft(&server, "notes");
    lines_until(&mut revoked, "UNAUTHENTICATED");
    let mut last = begin(&server, "/v2/changes?since=now&wait=60", ADMIN, "");
    let mut events = begin(&server, "/v2/changes?since=now", ADMIN, "accept: text/event-stream\r\n");
    lines_until(&mut events, "text/event-stream");
    std::thread::sleep(Duration::from_millis(300));
    let started = Instant::now();
    assert!(server.terminate().success());
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    lines_until(&mut last, "200 OK");
}

#[test]
fn events_are_streamed_and_a_client_goes_on_where_it_was() {
    let server = with_notes();
    let first = draft(&server, "notes");
    let mut stream = begin(&server, "/v2/changes", ADMIN, "accept: text/event-stream\r\n");
    let data = |lines: &[String]| -> Value {
        let line = lines.iter().find_map(|line| line.strip_prefix("data: ")).unwrap();
        serde_json::from_str(line).unwrap()
    };
    let lines = lines_until(&mut stream, "data: ");
    assert!(lines.contains(&"content-type: text/event-stream".to_owned()), "{lines:?}");
    assert!(lines.contains(&"id: 1".to_owned()), "{lines:?}");
    assert_eq!((&data(&lines)["id"], &data(&lines)["op"]), (&first.into(), &"created".into()));
    let second = draft(&server, "notes");
    assert_eq!(data(&lines_until(&mut stream, "data: "))["id"], second);
    drop(stream);
    let third = draft(&server, "notes");
    // The request has the address of the first connection, as browsers repeat it.
    let headers = "accept: text/event-stream\r\nlast-event-id: 2\r\n";
    let mut stream = begin(&server, "/v2/changes?since=0", ADMIN, headers);
    assert_eq!(data(&lines_until(&mut stream, "data: "))["id"], third);
    let headers = "accept: text/event-stream\r\nlast-event-id: 99\r\n";
    lines_until(&mut begin(&server, "/v2/changes", ADMIN, headers), "410 Gone");
    let headers = "accept: text/event-stream\r\nlast-event-id: x\r\n";
    lines_until(&mut begin(&server, "/v2/changes", ADMIN, headers), "INVALID_PARAMETER");
}

#[test]
fn a_stream_goes_on_behind_changes_that_its_token_does_not_see() {
    let server = with_notes();
    let view = server.token(&["view"]);
    let stream =
        |path: &str, headers: &str| begin(&server, path, &view, &format!("accept: text/event-stream\r\n{headers}"));
    let seen = server.create("notes", serde_json::json!({}));
    (0..3).for_each(|_| drop(draft(&server, "notes")));
    let mut first = stream("/v2/changes?since=0", "");
    let lines = lines_until(&mut first, "id: 4\n");
    let events: Vec<&String> = lines.iter().filter(|line| line.starts_with("data: ")).collect();
    assert!(events.len() == 1 && events[0].contains(&seen), "{lines:?}");
    // An id without data ends at an empty line, and is no event.
    // The second empty line ends the chunk.
    assert_eq!(lines_until(&mut first, "\r\n"), ["", ""], "{lines:?}");
    // A client of new changes knows its number before there are any.
    lines_until(&mut stream("/v2/changes?since=now", ""), "id: 4\n");
    let next = server.create("notes", serde_json::json!({}));
    let lines = lines_until(&mut stream("/v2/changes?since=now", "last-event-id: 4\r\n"), "data: ");
    assert!(lines.last().unwrap().contains(&next), "{lines:?}");
}
