//! Reads and writes continue while a blueprint is being changed (`API.md` 4.9.7), and a crash in between loses nothing.

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{text, typed};
use crate::support::{Server, binary};

/// The number of resources. It keeps a change running for a large part of a second.
const RESOURCES: u64 = 30_000;

fn filled() -> Server {
    let server = Server::start();
    server.blueprint("notes", before());
    let lines: Vec<String> = (0..RESOURCES)
        .map(|n| {
            let attributes = json!({ "t": format!("<p>number {n}</p>"), "code": format!("c{n}"), "e": "a" });
            json!({ "key": format!("k{n}"), "attributes": attributes }).to_string()
        })
        .collect();
    let headers = [("Content-Type", "application/x-ndjson")];
    let reply = server.raw("POST", "/v2/resources/notes/import", &headers, lines.join("\n").as_bytes());
    assert_eq!(reply.status, 200);
    server
}

fn before() -> Value {
    json!([text("t"), text("code"), typed("e", "enum", json!({ "values": ["a", "b"] }))])
}

/// Returns fields with every kind of change that has to read stored values: a new type, unique values, fewer allowed
/// values.
fn after() -> Value {
    let code = json!({ "name": "code", "slug": "code", "type": "text", "unique": true });
    json!([typed("t", "rich-text", json!({})), code, typed("e", "enum", json!({ "values": ["a"] }))])
}

fn total(server: &Server, query: &str) -> u64 {
    server.get(&format!("/v2/resources/notes?{query}")).expect(200).json()["meta"]["total"].as_u64().unwrap()
}

#[test]
fn reads_and_writes_continue_until_the_change_is_in_force() {
    let server = filled();
    let is_done = AtomicBool::new(false);
    let (mut created, mut rejected, mut rejected_changes, mut longest) = (0, 0, 0, Duration::ZERO);
    let body = json!({ "name": "notes", "fields": after() });
    std::thread::scope(|scope| {
        let change = scope.spawn(|| {
            let reply = server.put("/v2/blueprints/notes", &body);
            is_done.store(true, Ordering::SeqCst);
            reply
        });
        for n in 0.. {
            if is_done.load(Ordering::SeqCst) {
                break;
            }
            let started = Instant::now();
            let good = json!({ "attributes": { "t": "<p>new</p>", "code": format!("new{n}"), "e": "a" } });
            server.post("/v2/resources/notes", &good).expect(201);
            created += 1;
            longest = longest.max(started.elapsed());
            assert!(total(&server, "filter[t][contains]=number%207") > 0);
            let bad = server.post("/v2/resources/notes", &json!({ "attributes": { "code": "c29999" } }));
            match (bad.status, bad.code().as_str()) {
                // The outcomes are those before the change begins, during the change, and when it is in force.
                (201, _) => drop(server.delete(&format!("/v2/resources/notes/{}", bad.data()["id"].as_str().unwrap()))),
                (409, "CONFLICT") => rejected += 1,
                (422, "VALIDATION_FAILED") => {}
                _ => panic!("{} {}", bad.status, bad.text),
            }
            let other = server.put("/v2/blueprints/notes", &json!({ "name": "other", "fields": before() }));
            match other.status {
                409 => rejected_changes += 1,
                // The request came before the change began or after it was in force. Neither affects stored values.
                200 => {}
                _ => panic!("{}", other.text),
            }
        }
        let reply = change.join().unwrap();
        assert!([200, 409].contains(&reply.status), "{}", reply.text);
    });
    assert!(
        rejected > 0 && rejected_changes > 0,
        "{created} writes accepted, {rejected} rejected, {rejected_changes} changes rejected"
    );
    assert!(longest < Duration::from_secs(5), "a write waited {longest:?}");
    assert_eq!(total(&server, ""), RESOURCES + created);
    assert_eq!(total(&server, "filter[t][contains]=number%207"), total(&server, "search=number%207"));
}

#[test]
fn a_crash_or_a_stop_during_a_change_loses_nothing() {
    let mut server = filled();
    let mut fields = after();
    for (round, pause) in [5, 60, 150, 400].into_iter().enumerate() {
        let body = json!({ "name": format!("notes {round}"), "fields": fields });
        let mut stream = TcpStream::connect(server.address().trim_start_matches("http://")).unwrap();
        let body = body.to_string();
        let head = format!("PUT /v2/blueprints/notes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}", server.secret());
        write!(stream, "{head}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            .unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        if round % 2 == 0 {
            server.kill_and_restart();
        } else {
            let started = Instant::now();
            assert!(server.terminate().success());
            assert!(started.elapsed() < Duration::from_secs(10), "the stop waited for the change");
            server.restart();
        }
        // If the change had begun, it continues after the start. Otherwise the same request begins it now.
        let started = Instant::now();
        let body = json!({ "name": format!("notes {round}"), "fields": fields });
        while server.put("/v2/blueprints/notes", &body).status != 200 {
            assert!(started.elapsed() < Duration::from_secs(30), "the change does not finish");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(total(&server, ""), RESOURCES);
        assert_eq!(total(&server, "filter[t][ends_with]=7%3C/p%3E") + total(&server, "filter[t][ends_with]=7"), 3_000);
        let duplicate = server.post("/v2/resources/notes", &json!({ "attributes": { "code": "c5" } }));
        assert_eq!(duplicate.status, if round % 2 == 0 { 422 } else { 201 }, "{}", duplicate.text);
        if let Some(id) = duplicate.json()["data"]["id"].as_str() {
            server.delete(&format!("/v2/resources/notes/{id}")).expect(204);
        }
        fields = if round % 2 == 0 { before() } else { after() };
    }
    assert!(server.terminate().success());
    let folder = server.folder().to_str().unwrap();
    let verified = Command::new(binary()).args(["verify", "--data", folder]).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}
