//! No acknowledged write is lost, no matter how the process ends.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{ADMIN, Server, kill_process};

const WRITERS: usize = 4;
const KILLS: usize = 10;

/// The known state of a resource: the last acknowledged value (`None` if it was deleted), and the result of a write
/// that was in flight at the kill.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    value: Option<u64>,
    pending: Option<Option<u64>>,
}

#[test]
fn every_acknowledged_write_survives_kills_at_random_moments() {
    let mut server = Server::start();
    define_notes(&server);
    let known: Mutex<BTreeMap<String, Known>> = Mutex::new(BTreeMap::new());
    let counter = AtomicU64::new(0);
    for kill in 0..KILLS {
        let stop = AtomicBool::new(false);
        let address = server.address().to_owned();
        std::thread::scope(|scope| {
            for _ in 0..WRITERS {
                scope.spawn(|| {
                    let refused = write_until(&address, &stop, &known, &counter);
                    assert_eq!(refused, None, "no write is refused");
                });
            }
            // The kills are spread over the first half second, when starts, syncs and checkpoints happen.
            std::thread::sleep(Duration::from_millis(40 + (kill as u64 * 61) % 500));
            kill_process(server.process());
            stop.store(true, Ordering::SeqCst);
        });
        server.kill_and_restart();
        check_everything(&server, &mut known.lock().unwrap());
    }
    assert!(known.lock().unwrap().len() > 50, "the writers wrote something");
}

/// The system may release the lock of a killed process after a supervisor starts the next one.
#[test]
fn a_start_waits_for_a_lock_that_is_about_to_be_released() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    std::fs::create_dir(&folder).unwrap();
    let held = std::fs::File::create(folder.join("LOCK")).unwrap();
    held.lock().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(400));
            drop(held);
        });
        Server::start_in(&folder, &[]).get("/v2/blueprints").expect(200);
    });
}

pub(crate) fn define_notes(server: &Server) {
    server.blueprint(
        "notes",
        json!([{ "name": "Value", "slug": "value", "type": "number" },
        { "name": "Text", "slug": "text", "type": "text" }]),
    );
}

/// Creates, changes and deletes resources until the server is gone or refuses a write. Records the acknowledged writes
/// in `known`. Returns the status and the value of the refused write.
pub(crate) fn write_until(
    address: &str,
    stop: &AtomicBool,
    known: &Mutex<BTreeMap<String, Known>>,
    counter: &AtomicU64,
) -> Option<(u16, u64)> {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let bearer = format!("Bearer {ADMIN}");
    let mut mine: Vec<String> = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let value = counter.fetch_add(1, Ordering::SeqCst);
        let body = json!({ "attributes": { "value": value, "text": "x".repeat((value % 3000) as usize) } });
        let (method, path, id) = match (value % 4, mine.last().cloned()) {
            (1, Some(id)) => ("PATCH", format!("/{id}"), Some(id)),
            (3, Some(id)) if value % 8 == 7 => ("DELETE", format!("/{id}"), Some(id)),
            _ => ("POST", String::new(), None),
        };
        let intended = (method != "DELETE").then_some(value);
        if let Some(id) = &id {
            known.lock().unwrap().entry(id.clone()).and_modify(|known| known.pending = Some(intended));
        }
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{address}/v2/resources/notes{path}"))
            .header("authorization", &bearer)
            .header("content-type", "application/json");
        let sent = match method {
            "DELETE" => agent.run(request.body(()).unwrap()),
            _ => agent.run(request.body(body.to_string()).unwrap()),
        };
        let Ok(mut response) = sent else { return None };
        let status = response.status().as_u16();
        let Ok(text) = response.body_mut().read_to_string() else { return None };
        if status >= 500 {
            // After a 503, nothing was applied. After a 500, the outcome is unknown.
            if status == 503
                && let Some(id) = id
                && let Some(known) = known.lock().unwrap().get_mut(&id)
            {
                known.pending = None;
            }
            return Some((status, value));
        }
        assert!(status < 300, "{method} {path}: {status} {text}");
        let id = id.unwrap_or_else(|| {
            let body: Value = serde_json::from_str(&text).unwrap();
            body["data"]["id"].as_str().unwrap().to_owned()
        });
        known.lock().unwrap().insert(id.clone(), Known { value: intended, pending: None });
        match method {
            "POST" => mine.push(id),
            "DELETE" => {
                mine.pop();
            }
            _ => {}
        }
    }
    None
}

/// Checks that every resource has its acknowledged value or the value of the write that was in flight, and that list
/// and get agree.
pub(crate) fn check_everything(server: &Server, known: &mut BTreeMap<String, Known>) {
    let mut listed: BTreeMap<String, u64> = BTreeMap::new();
    let mut page = 1;
    let total = loop {
        let reply = server.get(&format!("/v2/resources/notes?per_page=100&page={page}&sort=value")).expect(200).json();
        for item in reply["data"].as_array().unwrap() {
            let value = item["attributes"]["value"].as_u64().unwrap();
            listed.insert(item["id"].as_str().unwrap().to_owned(), value);
        }
        if reply["links"]["next"].is_null() {
            break reply["meta"]["total"].as_u64().unwrap();
        }
        page += 1;
    };
    assert_eq!(total, listed.len() as u64, "the total agrees with the pages");
    for (id, known) in known.iter_mut() {
        let stored = listed.get(id).copied();
        let is_explained = stored == known.value || known.pending.is_some_and(|pending| pending == stored);
        assert!(is_explained, "{id}: {stored:?}, but {known:?}");
        *known = Known { value: stored, pending: None };
        let get = server.get(&format!("/v2/resources/notes/{id}"));
        assert_eq!(get.status == 200, stored.is_some(), "get and list agree on {id}");
    }
    // A resource that is listed but was never acknowledged was in flight at the kill. It must be complete, and counts
    // as acknowledged from now on.
    for (id, value) in listed {
        let export = server.get(&format!("/v2/resources/notes?filter[id]={id}&filter[value]={value}")).expect(200);
        assert_eq!(export.json()["meta"]["total"], 1, "the index finds {id} by its value");
        known.entry(id).or_insert(Known { value: Some(value), pending: None });
    }
}

#[test]
fn a_write_is_always_in_the_next_list_and_search() {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    for round in 0..1000u64 {
        let text = format!("needle-{round}-end");
        let id = server.create("notes", json!({ "text": text }));
        let list = server.get("/v2/resources/notes?per_page=1").expect(200).json();
        assert_eq!(list["meta"]["total"], round + 1);
        assert_eq!(list["data"][0]["id"], id.as_str());
        assert_eq!(server.ids(&format!("notes?search={text}")), [id.as_str()]);
    }
}

#[test]
fn a_terminated_server_exits_with_success_and_keeps_its_data() {
    let mut server = Server::start();
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    let ids: Vec<String> = (0..20).map(|n| server.create("notes", json!({ "text": format!("note {n}") }))).collect();
    assert!(server.terminate().success());
    server.restart();
    assert_eq!(server.get("/readyz").expect(200).status, 200);
    let mut listed = server.ids("notes?per_page=100&sort=id");
    assert_eq!(listed, ids);
    listed.reverse();
    assert_eq!(server.ids("notes?per_page=100"), listed, "newest first by default");
}

#[test]
fn a_point_of_failure_ends_the_process_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start_failing(folder.path(), &[], "log::append=40*off->return(kill)");
    define_notes(&server);
    let known: Mutex<BTreeMap<String, Known>> = Mutex::new(BTreeMap::new());
    write_until(server.address(), &AtomicBool::new(false), &known, &AtomicU64::new(0));
    assert!(known.lock().unwrap().len() > 10, "the point was reached by the writer, not before");
    server.kill_and_restart();
    check_everything(&server, &mut known.lock().unwrap());
}
