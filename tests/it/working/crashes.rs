//! The process ends at named points of a publication, a restoration, a deletion into the trash and the like. Afterwards
//! the request is whole or not at all: everything that can be read is as it was before it, or as it is after it.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bindery_store::{Prefix, Store, StoreOptions};
use serde_json::{Value, json};

use super::{edit, notes, path, publish};
use crate::failures::copy_folder;
use crate::support::{Reply, Server};

/// The points, and whether the request has happened if the process ends there; `None` if both are right.
const POINTS: [(&str, Option<bool>); 5] = [
    ("committer::decided", Some(false)),
    ("log::sync", None),
    ("committer::committed", Some(true)),
    ("apply::stored", Some(true)),
    ("committer::applied", Some(true)),
];

type Request = fn(&Server, &Ids) -> Reply;

/// The requests, by name.
const REQUESTS: [(&str, Request); 9] = [
    ("publish", |server, ids| publish(server, &ids.edited, &json!({}))),
    ("publish one variant", |server, ids| publish(server, &ids.edited, &json!({ "variants": ["de"] }))),
    ("plan", |server, ids| publish(server, &ids.edited, &json!({ "at": "2126-01-01T00:00:00Z" }))),
    ("edit", |server, ids| edit(server, &ids.edited, json!({ "rank": 77 }))),
    ("discard", |server, ids| server.delete(&format!("{}?copy=working", path(&ids.edited)))),
    ("restore a revision", |server, ids| server.post(&format!("{}/history/1/restore", path(&ids.edited)), &json!({}))),
    ("delete", |server, ids| server.delete(&path(&ids.edited))),
    ("restore from the trash", |server, ids| server.post(&format!("/v2/trash/{}/restore", ids.deleted), &json!({}))),
    ("delete for good", |server, ids| server.delete(&format!("/v2/trash/{}", ids.deleted))),
];

/// The resources that the requests name.
struct Ids {
    /// A published resource with a history and a working copy of both variants.
    edited: String,
    /// A resource in the trash, otherwise like `edited`.
    deleted: String,
}

fn prepare(server: &Server) -> Ids {
    let mut blueprint = notes();
    blueprint["history"] = json!({ "keep": 50, "days": 365 });
    blueprint["trash"] = json!({ "days": 30 });
    server.post("/v2/blueprints", &blueprint).expect(201);
    let make = |code: &str| {
        let id = server.create("notes", json!({ "title": "one", "code": code, "body": "<p>text</p>" }));
        server.patch(&path(&id), &json!({ "attributes": { "title": "two" } })).expect(200);
        edit(server, &id, json!({ "title": "three", "rank": 5 })).expect(200);
        let german = json!({ "attributes": { "title": "drei", "code": format!("{code}-de") } });
        server.patch(&format!("{}?copy=working&variant=de", path(&id)), &german).expect(200);
        id
    };
    let ids = Ids { edited: make("a"), deleted: make("b") };
    server.delete(&path(&ids.deleted)).expect(204);
    ids
}

/// Everything that can be read: the answers by their paths.
type Answers = BTreeMap<String, Value>;

/// Returns everything that can be read, without the times, which differ between two servers.
fn everything(server: &Server, ids: &Ids) -> Answers {
    let get = |url: String| {
        let reply = server.get(&url);
        let text = reply.text.replace(server.address(), "");
        let mut answer = json!([reply.status, text.lines().map(parsed).collect::<Vec<_>>()]);
        without_times(&mut answer);
        (url, answer)
    };
    let mut urls = vec!["/v2/trash".to_owned(), "/v2/changes?since=0".to_owned()];
    for query in ["variant=en", "variant=de", "variant=en&copy=working", "variant=de&copy=working"] {
        urls.push(format!("/v2/resources/notes?{query}&facets=rank,title&sort=title"));
    }
    for (id, variant) in [&ids.edited, &ids.deleted].into_iter().flat_map(|id| [(id, "en"), (id, "de")]) {
        urls.push(format!("{}/history?variant={variant}", path(id)));
        urls.extend((1..8).map(|number| format!("{}/history/{number}?variant={variant}", path(id))));
    }
    urls.into_iter().map(get).collect()
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

fn without_times(value: &mut Value) {
    match value {
        Value::String(text) if text.ends_with("+00:00") && !text.starts_with("2026-01-01T00:00:00") => {
            "a time".clone_into(text);
        }
        Value::Array(values) => values.iter_mut().for_each(without_times),
        Value::Object(values) => values.values_mut().for_each(without_times),
        _ => {}
    }
}

/// Ends the process at a point of a request, and compares the folder afterwards.
fn run_case(template: &Path, ids: &Ids, point: &str, happened: Option<bool>, request: Request, states: &[Answers; 2]) {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    copy_folder(template, &folder);
    let mut server = Server::start_failing(&folder, &[], &format!("{point}=return(kill)"));
    let outcome = catch_unwind(AssertUnwindSafe(|| request(&server, ids).status));
    assert!(outcome.is_err(), "{point}: the process was not ended, but answered {outcome:?}");
    server.kill_and_restart();
    let found = everything(&server, ids);
    let [before, after] = states;
    let expected = match happened {
        Some(true) => after,
        Some(false) => before,
        None => {
            if found == *after {
                after
            } else {
                before
            }
        }
    };
    for (url, answer) in expected {
        assert_eq!(&found[url], answer, "{point}: {url}");
    }
    if expected == before {
        // The request can be sent again.
        let reply = request(&server, ids);
        assert!(reply.status < 300, "{point}: {}", reply.text);
        assert_eq!(everything(&server, ids), *after, "{point}: again");
    }
}

#[test]
fn a_request_that_ends_with_the_process_is_whole_or_not_at_all() {
    let temp = tempfile::tempdir().unwrap();
    let template = temp.path().join("data");
    let mut server = Server::start_in(&template, &[]);
    let ids = prepare(&server);
    let before = everything(&server, &ids);
    assert!(server.terminate().success());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((name, request)) = REQUESTS.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let temp = tempfile::tempdir().unwrap();
                    let folder = temp.path().join("data");
                    copy_folder(&template, &folder);
                    let server = Server::start_in(&folder, &[]);
                    let reply = request(&server, &ids);
                    assert!(reply.status < 300, "{name}: {}", reply.text);
                    let after = everything(&server, &ids);
                    assert_ne!(before, after, "{name}");
                    let states = [before.clone(), after];
                    for (point, happened) in POINTS {
                        run_case(&template, &ids, point, happened, *request, &states);
                    }
                }
            });
        }
    });
}

/// The points of a transaction of the server itself.
const POINTS_OF_SWEEP: [&str; 2] = ["log::sync", "apply::stored"];

/// The transactions that are let through before the process ends.
const STEPS_BEFORE: [usize; 3] = [0, 2, 6];

/// Counts keys of the store: of the histories of `notes`, and of the blueprint that was deleted.
pub(crate) fn left_to_sweep(folder: &Path) -> [usize; 4] {
    let store = Store::open(&folder.join("store"), &StoreOptions::default()).unwrap();
    [Prefix::Revisions(1), Prefix::FormerCopies(1), Prefix::Resources(2), Prefix::Copies(2)]
        .map(|prefix| store.scan(prefix).count())
}

/// The number of the last record of the log.
pub(crate) fn last_number(server: &Server) -> u64 {
    server.get("/v2/status").expect(200).data()["number"].as_u64().unwrap()
}

/// Waits until the server writes nothing more by itself.
pub(crate) fn wait_until_swept(server: &Server) {
    // A sweep begins within a second of the start.
    std::thread::sleep(Duration::from_millis(1_200));
    let mut last = last_number(server);
    loop {
        // Several times the pause between two steps.
        std::thread::sleep(Duration::from_millis(700));
        let now = last_number(server);
        if now == last {
            return;
        }
        last = now;
    }
}

/// Waits until the server writes nothing more by itself, and stops it. Returns what can be read.
fn swept(server: &mut Server, ids: &Ids) -> Answers {
    wait_until_swept(server);
    let found = everything(server, ids);
    assert!(server.terminate().success());
    found
}

#[test]
fn a_sweep_that_ends_with_the_process_is_finished_by_the_next_start() {
    let temp = tempfile::tempdir().unwrap();
    let template = temp.path().join("data");
    let mut server = Server::start_in(&template, &[]);
    let ids = prepare(&server);
    for number in 0..250 {
        server.patch(&path(&ids.edited), &json!({ "attributes": { "title": format!("title {number}") } })).expect(200);
    }
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
    server.post("/v2/blueprints", &json!({ "name": "Gone", "slug": "gone", "fields": fields })).expect(201);
    for part in 0..9 {
        let items: Vec<Value> = (0..100).map(|n| json!({ "attributes": { "title": format!("{part} {n}") } })).collect();
        server.post("/v2/resources/gone/bulk", &json!({ "resources": items })).expect(201);
    }
    let mut blueprint = server.get("/v2/blueprints/notes").expect(200).data();
    blueprint["history"] = json!({ "keep": 1, "days": 365 });
    server.put("/v2/blueprints/notes", &blueprint).expect(200);
    server.delete("/v2/blueprints/gone?force=true").expect(204);
    server.kill();

    let folder = temp.path().join("whole");
    copy_folder(&template, &folder);
    let expected = swept(&mut Server::start_in(&folder, &[]), &ids);
    let left = left_to_sweep(&folder);
    assert_eq!(left[2..], [0, 0]);
    assert!(left[0] < 10 && left[1] < 10, "{left:?}");
    for point in POINTS_OF_SWEEP {
        for n_steps in STEPS_BEFORE {
            let folder = temp.path().join(format!("{}-{n_steps}", point.replace(':', "")));
            copy_folder(&template, &folder);
            let points = format!("{point}={n_steps}*off->return(kill)");
            // It may end before it listens.
            if let Ok(server) = catch_unwind(AssertUnwindSafe(|| Server::start_failing(&folder, &[], &points))) {
                let deadline = Instant::now() + Duration::from_secs(20);
                while TcpStream::connect(server.address().trim_start_matches("http://")).is_ok() {
                    assert!(Instant::now() < deadline, "{points}: the process was not ended");
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            let found = swept(&mut Server::start_in(&folder, &[]), &ids);
            assert_eq!(left_to_sweep(&folder), left, "{points}");
            for (url, answer) in &expected {
                assert_eq!(&found[url], answer, "{points}: {url}");
            }
        }
    }
}
