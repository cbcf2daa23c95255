//! Many clients at once: exactly one of several conflicting requests succeeds.

use std::collections::BTreeSet;
use std::sync::Barrier;

use serde_json::{Value, json};

use crate::support::{ADMIN, Reply, Server, kill_process};

const CLIENTS: usize = 32;
const NOTES: &str = "/v2/resources/notes";

fn notes() -> Server {
    let server = Server::start();
    server.blueprint(
        "notes",
        json!([
            { "name": "Code", "slug": "code", "type": "text", "unique": true },
            { "name": "Count", "slug": "count", "type": "number" },
        ]),
    );
    server
}

/// Sends one request per client, all at the same time.
fn race(request: impl Fn(usize) -> Reply + Sync) -> Vec<Reply> {
    let barrier = Barrier::new(CLIENTS);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (barrier, request) = (&barrier, &request);
                scope.spawn(move || {
                    barrier.wait();
                    request(client)
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

fn statuses(replies: &[Reply], status: u16) -> usize {
    replies.iter().filter(|reply| reply.status == status).count()
}

fn total(server: &Server, query: &str) -> u64 {
    server.get(&format!("{NOTES}?{query}")).expect(200).json()["meta"]["total"].as_u64().unwrap()
}

#[test]
fn only_one_client_gets_a_unique_value() {
    let server = notes();
    let ids: Vec<String> = (0..CLIENTS).map(|_| server.create("notes", json!({}))).collect();
    for round in 0..8 {
        let attributes = json!({ "code": format!("value {round}") });
        // Uses every kind of write that can claim a value.
        let replies = race(|client| {
            let id = &ids[client];
            match client % 5 {
                0 => server.post(NOTES, &json!({ "attributes": attributes })),
                1 => server.patch(&format!("{NOTES}/{id}"), &json!({ "attributes": attributes })),
                2 => server.put(&format!("{NOTES}/{id}"), &json!({ "attributes": attributes })),
                3 => server.post(&format!("{NOTES}/bulk"), &json!({ "resources": [{ "attributes": attributes }] })),
                _ => {
                    let updates = json!([{ "id": id, "attributes": attributes }]);
                    server.patch(&format!("{NOTES}/bulk"), &json!({ "updates": updates }))
                }
            }
        });
        let won = statuses(&replies, 200) + statuses(&replies, 201);
        let lost = statuses(&replies, 422) + statuses(&replies, 207);
        assert_eq!((won, lost), (1, CLIENTS - 1), "round {round}");
        assert_eq!(total(&server, &format!("filter[code]=value {round}").replace(' ', "+")), 1);
    }
}

#[test]
fn only_one_client_changes_a_given_version() {
    let server = notes();
    let id = server.create("notes", json!({ "count": 0 }));
    let path = format!("{NOTES}/{id}");
    for round in 1..=8 {
        let tag = server.get(&path).header("etag").unwrap().to_owned();
        let headers = [("content-type", "application/json"), ("if-match", tag.as_str())];
        let replies = race(|client| {
            let body = json!({ "attributes": { "count": round * 1000 + client } }).to_string();
            let method = if client % 2 == 0 { "PUT" } else { "PATCH" };
            server.raw(method, &path, &headers, body.as_bytes())
        });
        assert_eq!((statuses(&replies, 200), statuses(&replies, 412)), (1, CLIENTS - 1), "round {round}");
        let winner = replies.iter().find(|reply| reply.status == 200).unwrap();
        assert_eq!(server.get(&path).data(), winner.data());
    }
    let tag = server.get(&path).header("etag").unwrap().to_owned();
    let replies = race(|_| server.raw("DELETE", &path, &[("if-match", tag.as_str())], b""));
    assert_eq!((statuses(&replies, 204), statuses(&replies, 404)), (1, CLIENTS - 1));
}

#[test]
fn concurrent_requests_with_one_key_run_once() {
    let server = notes();
    for round in 0..8u64 {
        let key = format!("same-{round}");
        let headers = [("content-type", "application/json"), ("idempotency-key", key.as_str())];
        let body = json!({ "attributes": { "count": round } }).to_string();
        let replies = race(|_| server.raw("POST", NOTES, &headers, body.as_bytes()));
        let answers: BTreeSet<&str> = replies.iter().map(|reply| reply.text.as_str()).collect();
        assert_eq!((statuses(&replies, 201), answers.len()), (CLIENTS, 1), "round {round}");
        assert_eq!(total(&server, ""), 2 * round + 1);

        let key = format!("different-{round}");
        let headers = [("content-type", "application/json"), ("idempotency-key", key.as_str())];
        let replies = race(|client| {
            let body = json!({ "attributes": { "count": client } }).to_string();
            server.raw("POST", NOTES, &headers, body.as_bytes())
        });
        assert_eq!((statuses(&replies, 201), statuses(&replies, 422)), (1, CLIENTS - 1), "round {round}");
        assert_eq!(total(&server, ""), 2 * round + 2);
    }
}

#[test]
fn requests_cut_off_by_a_kill_run_once_when_retried() {
    let mut server = notes();
    let path = format!("{NOTES}/bulk");
    let bodies: Vec<Value> = (0..CLIENTS)
        .map(|client| {
            let item = |n: usize| json!({ "attributes": { "code": format!("{client}-{n}") } });
            json!({ "resources": (0..20).map(item).collect::<Vec<_>>() })
        })
        .collect();
    for kill in 0..4 {
        let (address, process) = (server.address().to_owned(), server.process());
        std::thread::scope(|scope| {
            for (client, body) in bodies.iter().enumerate() {
                let (address, path) = (&address, &path);
                scope.spawn(move || {
                    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
                    let request = ureq::http::Request::builder()
                        .method("POST")
                        .uri(format!("{address}{path}"))
                        .header("authorization", format!("Bearer {ADMIN}"))
                        .header("content-type", "application/json")
                        .header("idempotency-key", format!("{kill}-{client}"));
                    // The kill decides whether an answer arrives.
                    let _ = agent.run(request.body(body.to_string()).unwrap());
                });
            }
            std::thread::sleep(std::time::Duration::from_millis(1 + kill * 4));
            kill_process(process);
        });
        server.kill_and_restart();
        for (client, body) in bodies.iter().enumerate() {
            let key = format!("{kill}-{client}");
            let headers = [("content-type", "application/json"), ("idempotency-key", key.as_str())];
            let reply = server.raw("POST", &path, &headers, body.to_string().as_bytes());
            // The first attempt was applied in full or not at all. If it were half applied, the retry would find some
            // of its unique values in use.
            assert_eq!(reply.json()["meta"]["created"], 20, "kill {kill}, client {client}: {}", reply.text);
        }
        assert_eq!(total(&server, ""), CLIENTS as u64 * 20);
        let ids = server.get(&format!("{NOTES}/export?fields=id")).expect(200).data();
        let ids: Vec<&str> = ids.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
        for chunk in ids.chunks(100) {
            server.send("DELETE", &path, Some(&json!({ "ids": chunk }))).expect(200);
        }
    }
}
