//! The change feed over kills, restarts and restores, and its limit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};

use super::{draft, last_change, ops, with_notes};
use crate::support::{ADMIN, Server, kill_process, succeed};

const KILLS: u64 = 6;
const WRITERS: usize = 3;

/// Reads all changes from a number on, in pieces.
fn read_from(server: &Server, mut since: u64) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let piece = server.get(&format!("/v2/changes?since={since}&limit=100")).expect(200);
        if piece.lines().is_empty() {
            return all;
        }
        since = last_change(&piece);
        all.extend(piece.lines());
    }
}

/// Creates, changes and deletes until the server is gone. Records the acknowledged changes, by resource, in order.
fn write_until(address: &str, stop: &AtomicBool, acknowledged: &Mutex<BTreeMap<String, Vec<&'static str>>>) {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let send = |method: &str, path: &str, body: &str| {
        let request = ureq::http::Request::builder().method(method).uri(format!("{address}{path}"));
        let request =
            request.header("authorization", format!("Bearer {ADMIN}")).header("content-type", "application/json");
        let mut answer = agent.run(request.body(body.to_owned()).ok()?).ok()?;
        let text = answer.body_mut().read_to_string().ok()?;
        answer.status().is_success().then_some(text)
    };
    while !stop.load(Ordering::SeqCst) {
        let Some(text) = send("POST", "/v2/resources/notes", r#"{"attributes":{}}"#) else { return };
        let created: Value = serde_json::from_str(&text).unwrap();
        let id = created["data"]["id"].as_str().unwrap().to_owned();
        let note = |op| acknowledged.lock().unwrap().entry(id.clone()).or_default().push(op);
        note("created");
        let path = format!("/v2/resources/notes/{id}");
        if send("PATCH", &path, r#"{"attributes":{"title":"t"}}"#).is_none() {
            return;
        }
        note("updated");
        if send("DELETE", &path, "").is_none() {
            return;
        }
        note("deleted");
    }
}

#[test]
fn after_kills_each_acknowledged_write_is_there_once_and_in_order() {
    let mut server = with_notes();
    let acknowledged = Mutex::new(BTreeMap::new());
    let mut before = Vec::new();
    for kill in 0..KILLS {
        let stop = AtomicBool::new(false);
        let address = server.address().to_owned();
        std::thread::scope(|scope| {
            for _ in 0..WRITERS {
                scope.spawn(|| write_until(&address, &stop, &acknowledged));
            }
            std::thread::sleep(Duration::from_millis(60 + kill * 83));
            let seen = read_from(&server, before.last().map_or(0, |line: &Value| line["number"].as_u64().unwrap()));
            before.extend(seen);
            kill_process(server.process());
            stop.store(true, Ordering::SeqCst);
        });
        server.kill_and_restart();
        let after = read_from(&server, 0);
        assert_eq!(after[..before.len()], before[..], "what was seen stays");
        before = after;
        let numbers: Vec<u64> = before.iter().map(|line| line["number"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
        let mut by_resource: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for line in &before {
            by_resource.entry(line["id"].as_str().unwrap()).or_default().push(line["op"].as_str().unwrap());
        }
        for (id, written) in acknowledged.lock().unwrap().iter() {
            let found = by_resource.get(id.as_str()).unwrap_or_else(|| panic!("{id} is missing"));
            // The next write may have been applied although its answer was lost.
            assert!(found.starts_with(written) && found.len() <= written.len() + 1, "{id}: {found:?}, not {written:?}");
        }
    }
    assert!(before.len() > 50, "the writers wrote something");
}

#[test]
fn a_client_that_fell_behind_what_is_kept_is_told_so() {
    let mut server = Server::start_with(&["--changes-kept", "50"]);
    server.blueprint("notes", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let bulk = json!({ "resources": vec![json!({ "attributes": {} }); 100] });
    for _ in 0..8 {
        server.post("/v2/resources/notes/bulk", &bulk).expect(201);
    }
    let check = |server: &Server| {
        for since in [0, 1, 30] {
            let gone = server.get(&format!("/v2/changes?since={since}"));
            assert_eq!((gone.outcome(), last_change(&gone)), ("410 GONE".to_owned(), 800), "{since}");
        }
        assert_eq!(ops(&server.get("/v2/changes?since=751").expect(200)).len(), 49);
    };
    // The feed in memory is larger than the kept feed on disk.
    server.kill_and_restart_with(&["--changes-kept", "50"]);
    check(&server);
    server.kill_and_restart_with(&["--changes-kept", "50"]);
    check(&server);
}

#[test]
fn a_client_of_another_history_is_told_so_after_a_restore() {
    let temp = tempfile::tempdir().unwrap();
    let (backup, folder) = (temp.path().join("backup"), temp.path().join("restored"));
    let server = with_notes();
    let kept = [draft(&server, "notes"), draft(&server, "notes")];
    succeed(&["backup", "--url", server.address(), "--token", ADMIN, backup.to_str().unwrap()]);
    (0..3).for_each(|_| drop(draft(&server, "notes")));
    succeed(&["restore", "--data", folder.to_str().unwrap(), backup.to_str().unwrap()]);
    let restored = Server::start_in(&folder, &[]);
    for _ in 0..2 {
        for since in [3, 4, 5, 6] {
            assert_eq!(restored.get(&format!("/v2/changes?since={since}")).outcome(), "410 GONE", "{since}");
        }
        let common = ops(&restored.get("/v2/changes?since=0").expect(200));
        assert_eq!(common.iter().take(2).map(|(_, id)| id).collect::<Vec<_>>(), kept.iter().collect::<Vec<_>>());
        draft(&restored, "notes");
    }
    // A client at the position of the backup has missed nothing, and continues.
    let later = restored.get("/v2/changes?since=2").expect(200);
    assert_eq!(later.lines().len(), 2);
    assert!(last_change(&later) > 1_000_000_000_000, "{}", later.text);
    let number = later.lines()[0]["number"].as_u64().unwrap();
    assert_eq!(ops(&restored.get(&format!("/v2/changes?since={number}")).expect(200)).len(), 1);
    assert_eq!(restored.get(&format!("/v2/changes?since={}", number - 1)).outcome(), "410 GONE");
}

/// Returns the time in this many milliseconds.
fn at(milliseconds: i64) -> String {
    (Utc::now() + TimeDelta::milliseconds(milliseconds)).to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[test]
fn a_scheduled_publication_is_recorded_at_its_moment_and_once() {
    let mut server = Server::start();
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
    let body = json!({ "name": "News", "slug": "news", "fields": fields, "scheduled": true });
    server.post("/v2/blueprints", &body).expect(201);
    let publish = |server: &Server, at: &str| {
        let body = json!({ "attributes": {}, "published_at": at });
        server.post("/v2/resources/news", &body).expect(201).data()["id"].as_str().unwrap().to_owned()
    };
    let past = publish(&server, &at(-1000));
    let soon: Vec<String> = (0..20).map(|n| publish(&server, &at(400 + 120 * n))).collect();
    let moved = publish(&server, &at(500));
    server.patch(&format!("/v2/resources/news/{moved}"), &json!({ "published_at": at(3_600_000) })).expect(200);
    let view = server.token(&["view"]);
    let end = Instant::now() + Duration::from_secs(30);
    let published = |server: &Server| -> Vec<String> {
        let changes = server.as_token(&view).get("/v2/changes?since=0").expect(200);
        ops(&changes)
            .into_iter()
            .map(|(op, id)| {
                if id == past {
                    id
                } else {
                    assert_eq!(op, "published");
                    id
                }
            })
            .collect()
    };
    let mut kills = 0;
    while published(&server).len() < 21 {
        assert!(Instant::now() < end, "not all publications are recorded");
        // Some publications become due while the server runs, some while it does not, some before a write.
        if kills < 3 {
            kills += 1;
            server.kill_and_restart();
        }
        draft(&server, "news");
        std::thread::sleep(Duration::from_millis(100));
    }
    let found = published(&server);
    assert_eq!(found[0], past);
    assert_eq!(found[1..], soon[..], "in the order of their moments");
    assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), 21);
    // With `preview`, they are updates before their date, and nothing is added later.
    let all = server.get("/v2/changes?since=0&limit=10000").expect(200);
    let of_first: Vec<String> = ops(&all).into_iter().filter(|(_, id)| *id == soon[0]).map(|(op, _)| op).collect();
    assert_eq!(of_first, ["created", "published"]);
    let of_moved: Vec<String> = ops(&all).into_iter().filter(|(_, id)| *id == moved).map(|(op, _)| op).collect();
    assert_eq!(of_moved, ["created", "updated"]);
}
