//! Power cuts: no acknowledged write is lost, and a publication, a deletion or a restoration is whole or not at all. A
//! disk forgets the writes that were not flushed. Its images, taken at random moments under load, must start with all
//! writes that were acknowledged before.
//!
//! The test needs root, FUSE and loop devices. Otherwise it prints that it is skipped. `power::two_hundred_cuts` is the
//! long run: `cargo test --test it -- --ignored power`.

mod disk;
mod media;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::folders::run;
use crate::support::{Reply, Server};
use crate::working::crashes::{last_number, left_to_sweep, wait_until_swept};
use disk::{Disk, Mounted, Programs};

const WRITERS: u64 = 3;
const POLICIES: [&str; 5] = ["none", "prefix", "blocks", "sectors", "all"];

/// The known state of a resource. Its writes set `value` to 1, 2, 3 …; the last one may delete it.
#[derive(Debug, Clone, Default)]
struct Known {
    acknowledged: u64,
    sent: u64,
    deletion_acknowledged: bool,
    deletion_sent: bool,
}

type Ledger = BTreeMap<String, Known>;

/// An image, with the known states just before and just after it was taken.
struct Cut {
    image: std::path::PathBuf,
    policy: &'static str,
    before: Ledger,
    after: Ledger,
}

#[test]
fn acknowledged_writes_survive_power_cuts() {
    let Some(programs) = programs("acknowledged_writes_survive_power_cuts") else { return };
    cut_and_check(&programs, "ext4", 1, 10);
}

#[test]
#[ignore = "long: 200 cuts, some ten minutes"]
fn two_hundred_cuts() {
    let Some(programs) = programs("two_hundred_cuts") else { return };
    for round in 0..10 {
        cut_and_check(&programs, if round % 2 == 0 { "ext4" } else { "xfs" }, round, 20);
    }
}

/// While revisions that are no longer kept are removed, the power is cut: every value, and every revision that is kept,
/// is there, and the next start removes the rest.
#[test]
fn a_sweep_survives_power_cuts() {
    const NOTES: u64 = 90;
    const WRITES: u64 = 40;
    let Some(programs) = programs("a_sweep_survives_power_cuts") else { return };
    let disk = Disk::new(&programs, "ext4").unwrap();
    let data = disk.path().join("data");
    let mut server = Server::start_in(&data, &[]);
    define(&server, 1_000);
    let attributes = |value: u64| json!({ "value": value, "text": format!("text {value} ").repeat(100) });
    let ids: Vec<String> = (0..NOTES).map(|_| server.create("notes", attributes(1))).collect();
    for value in 2..=WRITES {
        let update = |id: &String| json!({ "id": id, "attributes": attributes(value) });
        let updates: Vec<Value> = ids.iter().map(update).collect();
        server.patch("/v2/resources/notes/bulk", &json!({ "updates": updates })).expect(200);
    }
    let mut blueprint = server.get("/v2/blueprints/notes").expect(200).data();
    blueprint["history"] = json!({ "keep": 4, "days": 365 });
    server.put("/v2/blueprints/notes", &blueprint).expect(200);
    server.kill_and_restart();
    let known = Known { acknowledged: WRITES, sent: WRITES, ..Known::default() };
    let ledger: Ledger = ids.into_iter().map(|id| (id, known.clone())).collect();
    let images = tempfile::tempdir().unwrap();
    let before = last_number(&server);
    let deadline = Instant::now() + Duration::from_secs(20);
    while last_number(&server) == before {
        assert!(Instant::now() < deadline, "the removal has not begun");
    }
    let mut numbers = Vec::new();
    let cuts = (0..6).map(|number| {
        let (image, policy) = (images.path().join(format!("cut-{number}")), POLICIES[number % POLICIES.len()]);
        disk.cut(&image, policy, number as u64);
        numbers.push(last_number(&server));
        Cut { image, policy, before: ledger.clone(), after: ledger.clone() }
    });
    let cuts: Vec<Cut> = cuts.collect();
    wait_until_swept(&server);
    assert!(numbers[0] < last_number(&server), "no cut was in the middle of the removal");
    for cut in &cuts {
        check(cut, "ext4");
        let mounted = Mounted::image(&cut.image, "ext4").unwrap();
        let data = mounted.path.join("data");
        let mut server = Server::start_in(&data, &[]);
        wait_until_swept(&server);
        assert!(server.terminate().success());
        let left = left_to_sweep(&data)[0];
        assert!(left <= 5 * NOTES as usize, "{}: {left} revisions are left", cut.policy);
    }
}

/// Without syncs, acknowledged writes are lost. If this does not fail, the cuts prove nothing.
#[test]
fn without_syncs_acknowledged_writes_are_lost() {
    let Some(programs) = programs("without_syncs_acknowledged_writes_are_lost") else { return };
    let preload = programs.no_sync();
    let environment = [("LD_PRELOAD", preload.to_str().unwrap())];
    let images = tempfile::tempdir().unwrap();
    let cuts = take_cuts(&programs, "ext4", images.path(), &environment, 3, 3);
    let lost = cuts.iter().filter(|cut| catch_unwind(AssertUnwindSafe(|| check(cut, "ext4"))).is_err()).count();
    assert!(lost > 0, "a server that never syncs lost nothing in {} cuts", cuts.len());
}

/// After a failed sync, the system's cache has data that the disk lacks. A restart must not rely on it.
#[test]
fn writes_after_a_failed_flush_and_a_restart_survive_a_power_cut() {
    let Some(programs) = programs("writes_after_a_failed_flush_and_a_restart_survive_a_power_cut") else { return };
    let disk = Disk::new(&programs, "ext4").unwrap();
    let mut server = Server::start_in(&disk.path().join("data"), &[]);
    define(&server, 4);
    // Each record fills its own pages, so that later writes do not bring the lost pages to the disk by accident.
    let body = |value: u32| json!({ "attributes": { "value": value, "text": "x".repeat(20_000) } });
    let create = |server: &Server, value: u32| server.post("/v2/resources/notes", &body(value));
    let id = |reply: &Reply| reply.data()["id"].as_str().unwrap().to_owned();
    let mut acknowledged: Vec<String> = (0..20).map(|value| id(&create(&server, value).expect(201))).collect();
    disk.fail_next_flush();
    let refused = loop {
        assert!(acknowledged.len() < 100, "a write whose sync fails");
        let reply = create(&server, 20);
        if reply.status != 201 {
            break reply;
        }
        acknowledged.push(id(&reply));
    };
    assert!([500, 503].contains(&refused.status), "{}", refused.text);
    server.kill();
    server.restart();
    acknowledged.extend((0..50).map(|value| id(&create(&server, value).expect(201))));
    let images = tempfile::tempdir().unwrap();
    let image = images.path().join("cut");
    disk.cut(&image, "none", 1);
    let mounted = Mounted::image(&image, "ext4").unwrap();
    let server = Server::start_in(&mounted.path.join("data"), &[]);
    let values = values(&server);
    let lost: Vec<&String> = acknowledged.iter().filter(|id| !values.contains_key(*id)).collect();
    assert!(lost.is_empty(), "{} of {} acknowledged writes are lost", lost.len(), acknowledged.len());
}

/// Returns the programs, or the reason why the test is skipped. One test runs at a time, because the devices are
/// shared.
fn programs(test: &str) -> Option<Held> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    match Programs::build() {
        Ok(programs) => Some(Held { programs, _guard: guard }),
        Err(reason) => {
            let _ = writeln!(std::io::stderr(), "power::{test} is skipped: {reason}");
            None
        }
    }
}

struct Held {
    programs: Programs,
    _guard: MutexGuard<'static, ()>,
}

impl std::ops::Deref for Held {
    type Target = Programs;

    fn deref(&self) -> &Programs {
        &self.programs
    }
}

fn cut_and_check(programs: &Programs, system: &str, seed: u64, cuts: usize) {
    let images = tempfile::tempdir().unwrap();
    for cut in take_cuts(programs, system, images.path(), &[], seed, cuts) {
        check(&cut, system);
    }
}

/// Runs a server under load on a new disk, and cuts its power `cuts` times.
fn take_cuts(
    programs: &Programs,
    system: &str,
    images: &std::path::Path,
    environment: &[(&str, &str)],
    seed: u64,
    cuts: usize,
) -> Vec<Cut> {
    let disk = Disk::new(programs, system).unwrap();
    let server = Server::start_in_environment(&disk.path().join("data"), &[], environment);
    define(&server, 4);
    let ledger = Mutex::new(Ledger::new());
    let stop = AtomicBool::new(false);
    let taken = std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (server, stop, ledger) = (&server, &stop, &ledger);
            scope.spawn(move || write_until(server, stop, ledger, seed * 100 + writer));
        }
        let taken = (0..cuts).map(|number| {
            let pause = (seed * 37 + number as u64 * 61) % 250;
            std::thread::sleep(Duration::from_millis(50 + pause));
            let policy = POLICIES[(number + seed as usize) % POLICIES.len()];
            let image = images.join(format!("cut-{number}"));
            let before = ledger.lock().unwrap().clone();
            disk.cut(&image, policy, seed * 1000 + number as u64);
            let after = ledger.lock().unwrap().clone();
            Cut { image, policy, before, after }
        });
        let taken: Vec<Cut> = taken.collect();
        stop.store(true, Ordering::SeqCst);
        taken
    });
    assert!(taken.last().is_some_and(|cut| cut.before.len() > 5), "the writers wrote something");
    taken
}

/// Makes a blueprint with working copies, a trash and a history that keeps `keep` revisions.
fn define(server: &Server, keep: u32) {
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    let fields =
        json!([field("value", "number"), field("text", "text"), { "name": "key", "type": "text", "unique": true }]);
    let body = json!({ "name": "Notes", "slug": "notes", "fields": fields, "working_copy": true,
        "history": { "keep": keep, "days": 365 }, "trash": { "days": 30 } });
    server.post("/v2/blueprints", &body).expect(201);
}

/// Creates, changes, publishes, deletes and restores resources until it is told to stop. The texts are long and do not
/// compress, so that checkpoints and merges happen, too.
fn write_until(server: &Server, stop: &AtomicBool, ledger: &Mutex<Ledger>, seed: u64) {
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut mine: Vec<String> = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let length = if next() % 4 == 0 { 3000 } else { 3 };
        let text: String = (0..length).map(|_| format!("{:016x}", next())).collect();
        let key = format!("{:016x}", next());
        if mine.is_empty() || next() % 3 == 0 {
            let id = server.create("notes", json!({ "value": 1, "text": text, "key": key }));
            ledger.lock().unwrap().insert(id.clone(), Known { acknowledged: 1, sent: 1, ..Known::default() });
            mine.push(id);
            continue;
        }
        let index = (next() % mine.len() as u64) as usize;
        let id = mine[index].clone();
        let path = format!("/v2/resources/notes/{id}");
        let known = |change: &dyn Fn(&mut Known)| change(ledger.lock().unwrap().get_mut(&id).unwrap());
        if next() % 8 == 0 {
            mine.swap_remove(index);
            known(&|known| known.deletion_sent = true);
            server.send("DELETE", &path, None).expect(204);
            match next() % 2 {
                0 => known(&|known| known.deletion_acknowledged = true),
                _ => {
                    server.post(&format!("/v2/trash/{id}/restore"), &json!({})).expect(200);
                    // From now on it may be there or in the trash at the moment of a cut.
                    mine.push(id);
                }
            }
        } else {
            let value = ledger.lock().unwrap()[&id].sent + 1;
            known(&|known| known.sent = value);
            let body = json!({ "attributes": { "value": value, "text": text, "key": key } });
            match next() % 2 {
                0 => drop(server.patch(&path, &body).expect(200)),
                _ => {
                    server.patch(&format!("{path}?copy=working"), &body).expect(200);
                    server.post(&format!("{path}/publish"), &json!({})).expect(200);
                }
            }
            known(&|known| known.acknowledged = value);
        }
    }
}

/// Starts a server on the image and compares its values with the known states.
fn check(cut: &Cut, system: &str) {
    let mounted = Mounted::image(&cut.image, system).unwrap();
    let data = mounted.path.join("data");
    let mut server = Server::start_in(&data, &[]);
    let listed = values(&server);
    let waiting = trashed(&server);
    for (id, before) in &cut.before {
        let after = &cut.after[id];
        let value = listed.get(id).copied();
        let is_explained = match value {
            None => after.deletion_sent,
            Some(value) => !before.deletion_acknowledged && (before.acknowledged..=after.sent).contains(&value),
        };
        assert!(is_explained, "{} ({system}): {id} has {value:?}: {before:?}, {after:?}", cut.policy);
        let path = format!("/v2/resources/notes/{id}");
        assert_eq!(server.get(&path).status == 200, value.is_some(), "get and list agree on {id}");
        assert_eq!(waiting.contains(id), value.is_none(), "{id} is there or in the trash");
        if value.is_some() {
            check_history(&server, &path);
        }
    }
    server.create("notes", json!({ "value": 1, "text": "written behind the cut" }));
    server.terminate();
    // Among other things, this verifies that each unique value is claimed by its resource.
    let ran = run(&["verify"], &data);
    assert_eq!(ran.code, Some(0), "{} ({system}): {}", cut.policy, ran.text);
}

/// Reads every revision. The newest one that is not one of the working copy has the live value.
fn check_history(server: &Server, path: &str) {
    let revisions = server.get(&format!("{path}/history")).expect(200).data();
    let revisions = revisions.as_array().unwrap();
    for revision in revisions {
        server.get(&format!("{path}/history/{}", revision["number"])).expect(200);
    }
    if let Some(live) = revisions.iter().find(|revision| revision["op"] != "edited") {
        let compared = server.get(&format!("{path}/history/{}?compare=live", live["number"])).expect(200).json();
        assert_eq!(compared["changes"], json!({}), "{path}: {revisions:?}");
    }
}

/// Returns the ids in the trash.
fn trashed(server: &Server) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for page in 1.. {
        let reply = server.get(&format!("/v2/trash?per_page=100&page={page}")).expect(200).json();
        ids.extend(reply["data"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()));
        if reply["links"]["next"] == Value::Null {
            return ids;
        }
    }
    unreachable!("there is a last page")
}

/// Returns the value of each resource, from the index.
fn values(server: &Server) -> BTreeMap<String, u64> {
    let mut values = BTreeMap::new();
    for page in 1.. {
        let reply = server.get(&format!("/v2/resources/notes?per_page=100&sort=id&page={page}")).expect(200).json();
        for resource in reply["data"].as_array().unwrap() {
            let value = &resource["attributes"]["value"];
            values.insert(resource["id"].as_str().unwrap().to_owned(), value.as_u64().unwrap());
        }
        if reply["links"]["next"] == Value::Null {
            return values;
        }
    }
    unreachable!("there is a last page")
}
