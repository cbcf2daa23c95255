//! Power cuts while files of media are uploaded, replaced, deleted and swept: no acknowledged file is lost, and none
//! stays that nothing names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::disk::{Disk, Mounted};
use super::{POLICIES, programs};
use crate::folders::run;
use crate::media::files::{SWEEPS, wait_for_files};
use crate::media::{Part, definition, fetch, send_form, text, upload};
use crate::support::Server;

const WRITERS: u64 = 2;
const CUTS: u64 = 8;

/// The files that a resource was sent, by their hashes, and how many of them were acknowledged.
#[derive(Debug, Clone, Default)]
struct Known {
    hashes: Vec<String>,
    acknowledged: usize,
    deletion_sent: bool,
    deletion_acknowledged: bool,
}

type Ledger = BTreeMap<String, Known>;

#[test]
fn acknowledged_files_survive_power_cuts_and_no_other_stays() {
    let Some(programs) = programs("acknowledged_files_survive_power_cuts_and_no_other_stays") else { return };
    let disk = Disk::new(&programs, "ext4").unwrap();
    let data = disk.path().join("data");
    let images = tempfile::tempdir().unwrap();
    let ledger = Mutex::new(Ledger::new());
    let cut = |number: u64| {
        let image = images.path().join(format!("cut-{number}"));
        let policy = POLICIES[number as usize % POLICIES.len()];
        let before = ledger.lock().unwrap().clone();
        disk.cut(&image, policy, number);
        (image, policy, before, ledger.lock().unwrap().clone())
    };
    let mut server = Server::start_in(&data, &[]);
    server.post("/v2/blueprints", &definition()).expect(201);
    let stop = AtomicBool::new(false);
    let mut taken = std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (server, stop, ledger) = (&server, &stop, &ledger);
            scope.spawn(move || write_until(server, stop, ledger, writer));
        }
        let taken = (0..CUTS).map(|number| {
            std::thread::sleep(Duration::from_millis(150 + number * 67 % 250));
            cut(number)
        });
        let taken: Vec<_> = taken.collect();
        stop.store(true, Ordering::SeqCst);
        taken
    });
    assert!(taken.last().is_some_and(|(_, _, before, _)| before.len() > 5), "the writers wrote something");
    server.terminate();
    // The sweep removes what the writers left.
    let server = Server::start_failing(&data, &[], SWEEPS);
    taken.extend((CUTS..2 * CUTS).map(|number| {
        std::thread::sleep(Duration::from_millis(15));
        cut(number)
    }));
    drop(server);
    for (image, policy, before, after) in taken {
        check(&image, policy, &before, &after);
    }
}

/// Uploads, replaces and deletes files until it is told to stop.
fn write_until(server: &Server, stop: &AtomicBool, ledger: &Mutex<Ledger>, writer: u64) {
    let mut mine: Vec<String> = Vec::new();
    for number in 0_usize.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let contents = format!("file {number} of writer {writer}\n").repeat(1 + number % 7 * 1_000).into_bytes();
        let hash = blake3::hash(&contents).to_hex().to_string();
        if mine.is_empty() || number % 3 == 0 {
            let resource = upload(server, "a.txt", &contents);
            let id = resource["id"].as_str().unwrap().to_owned();
            let known = Known { hashes: vec![hash], acknowledged: 1, ..Known::default() };
            ledger.lock().unwrap().insert(id.clone(), known);
            mine.push(id);
            continue;
        }
        let index = number * 7 % mine.len();
        let id = mine[index].clone();
        let known = |change: &dyn Fn(&mut Known)| change(ledger.lock().unwrap().get_mut(&id).unwrap());
        if number % 4 == 1 {
            mine.swap_remove(index);
            known(&|known| known.deletion_sent = true);
            server.delete(&format!("/v2/resources/media/{id}")).expect(204);
            known(&|known| known.deletion_acknowledged = true);
        } else {
            known(&|known| known.hashes.push(hash.clone()));
            let file: Part<'_> = ("file", Some("a.txt"), &contents);
            send_form(server, "PUT", &format!("/v2/media/media/{id}/content"), &[file]).expect(200);
            known(&|known| known.acknowledged = known.hashes.len());
        }
    }
}

/// Starts a server on the image, and compares its files with the known ones.
fn check(image: &Path, policy: &str, before: &Ledger, after: &Ledger) {
    let mounted = Mounted::image(image, "ext4").unwrap();
    let data = mounted.path.join("data");
    let mut server = Server::start_failing(&data, &[], SWEEPS);
    for (id, before) in before {
        let (after, reply) = (&after[id], server.get(&format!("/v2/resources/media/{id}")));
        if reply.status == 404 {
            assert!(after.deletion_sent, "{policy}: {id} is missing: {before:?}, {after:?}");
            continue;
        }
        let resource = reply.expect(200).data();
        let hash = text(&resource, "hash").to_owned();
        let is_explained = !before.deletion_acknowledged && after.hashes[before.acknowledged - 1..].contains(&hash);
        assert!(is_explained, "{policy}: {id} has {hash}: {before:?}, {after:?}");
        let served = fetch(&server, text(&resource, "url")).expect(200);
        assert_eq!(blake3::hash(&served.bytes).to_hex().to_string(), hash, "{policy}: {id}");
    }
    let named: BTreeSet<String> = all(&server).iter().map(|resource| text(resource, "hash").to_owned()).collect();
    wait_for_files(&server, named.len());
    server.terminate();
    let ran = run(&["verify"], &data);
    assert_eq!(ran.code, Some(0), "{policy}: {}", ran.text);
    assert!(!ran.text.contains("that nothing names"), "{policy}: {}", ran.text);
}

fn all(server: &Server) -> Vec<Value> {
    let mut all = Vec::new();
    for page in 1.. {
        let reply = server.get(&format!("/v2/resources/media?per_page=100&sort=id&page={page}")).expect(200).json();
        all.extend(reply["data"].as_array().unwrap().iter().cloned());
        if reply["links"]["next"] == Value::Null {
            break;
        }
    }
    all
}
