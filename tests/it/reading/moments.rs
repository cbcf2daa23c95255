//! Consistent reads: all changes of one transaction become visible at the same time, also for reads of single
//! resources.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::support::Server;

/// The number of bulks that are written while others read.
const BULKS: u64 = 60;

#[test]
fn a_bulk_is_seen_whole_by_reads_of_single_resources() {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "Round", "slug": "round", "type": "number" }]));
    let ids: Vec<String> = (0..100).map(|_| server.create("notes", json!({ "round": 0 }))).collect();
    let mut last = 0;
    let (stop, n_new) = (AtomicBool::new(false), AtomicU64::new(0));
    let round_of = |id: &str| {
        let data = server.find(&format!("notes/{id}"));
        data["attributes"]["round"].as_u64().unwrap()
    };
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                // Everything that the first read shows must exist for the second, in whichever order the bulk wrote
                // them.
                for (first, second) in [(&ids[0], &ids[99]), (&ids[99], &ids[0]), (&ids[7], &ids[50])] {
                    let (one, other) = (round_of(first), round_of(second));
                    assert!(other >= one, "a read shows bulk {one}, a later read of another resource {other}");
                    n_new.fetch_add(u64::from(one > 0), Ordering::SeqCst);
                }
            }
        });
        // On a busy machine, the reader may not run for a while. It must have read while bulks were written.
        while last < BULKS || n_new.load(Ordering::SeqCst) <= 100 && !reader.is_finished() {
            last += 1;
            let updates: Vec<Value> =
                ids.iter().map(|id| json!({ "id": id, "attributes": { "round": last } })).collect();
            server.patch("/v2/resources/notes/bulk", &json!({ "updates": updates })).expect(200);
        }
        stop.store(true, Ordering::SeqCst);
        reader.join().unwrap();
    });
    assert!(ids.iter().all(|id| round_of(id) == last));
}
