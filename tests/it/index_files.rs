//! Damaged index files, and failures while they are written: answers are right or refused, and no data is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::folders::{refused_start, run};
use crate::support::{Failures, Server};

fn start(folder: &Path, points: &str) -> Server {
    Server::start_failing(folder, &[], points)
}

/// Creates notes, some of them long.
fn write(server: &Server, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let text = format!("note {number:04} ").repeat(if number % 10 == 0 { 200 } else { 1 });
        server.create("notes", json!({ "text": text, "number": number }));
    }
}

fn define(server: &Server) {
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    server.blueprint("notes", json!([field("text", "text"), field("number", "number")]));
}

const QUERIES: [&str; 5] = [
    "filter[text][contains]=ote 00&sort=-text",
    "filter[text][not_contains]=7&sort=number",
    "filter[number][gte]=5&sort=-number",
    "filter[text][gt]=note 0003&sort=text",
    "filter[text]=note 0004 ",
];

/// Returns the ids that each query finds; `None` for a query that is refused for now.
fn answers(server: &Server) -> Vec<Option<Vec<String>>> {
    let ask = |query: &&str| {
        let reply = server.get(&format!("/v2/resources/notes?per_page=100&{}", query.replace(' ', "%20")));
        if reply.outcome() == "503 OVERLOADED" {
            assert!(reply.header("retry-after").is_some());
            return None;
        }
        let data = reply.expect(200).data();
        Some(data.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect())
    };
    QUERIES.iter().map(ask).collect()
}

/// Repeats the queries until none is refused. Until then, each answer must be refused or as expected.
#[track_caller]
fn wait_for(server: &Server, expected: &[Option<Vec<String>>]) {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let found = answers(server);
        for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!(found.is_none() || found == expected, "{}: {found:?}", QUERIES[number]);
        }
        if found.iter().all(Option::is_some) {
            return;
        }
        assert!(Instant::now() < end, "the index is not rebuilt");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => files.extend(self::files(&entry.path())),
            false => files.push(entry.path()),
        }
    }
    files
}

#[test]
fn a_damaged_index_is_rebuilt_while_reads_and_writes_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path(), "");
    define(&server);
    write(&server, 0..60);
    let id = server.ids("notes?filter[number]=5").remove(0);
    let mut expected = answers(&server);
    for damaged in ["columns", "orders", "dictionary", "sums", "slots-0", "MANIFEST"] {
        assert!(server.terminate().success());
        for path in files(&folder.path().join("index")) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.ends_with(damaged) || name.starts_with(damaged) {
                let mut bytes = fs::read(&path).unwrap();
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0x20;
                fs::write(&path, bytes).unwrap();
            }
        }
        server = start(folder.path(), "");
        // Reads of one resource, and writes, do not need the damaged files.
        server.get(&format!("/v2/resources/notes/{id}")).expect(200);
        wait_for(&server, &expected);
        write(&server, 100..101);
        expected = answers(&server);
        assert!(expected.iter().all(Option::is_some));
    }
}

#[test]
fn a_rebuilt_index_is_kept_by_a_server_that_stops() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path(), "");
    define(&server);
    write(&server, 0..60);
    let expected = answers(&server);
    assert!(server.terminate().success());
    // These files are not on disk yet at the first stop.
    server = start(folder.path(), "");
    assert!(server.terminate().success());
    for path in files(&folder.path().join("index")) {
        if path.to_string_lossy().ends_with("columns") {
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x20;
            fs::write(&path, bytes).unwrap();
        }
    }
    assert_ne!(run(&["verify"], folder.path()).code, Some(0));
    server = start(folder.path(), "");
    wait_for(&server, &expected);
    assert!(server.terminate().success());
    let checked = run(&["verify"], folder.path());
    assert_eq!(checked.code, Some(0), "{}", checked.text);
    server = start(folder.path(), "");
    assert_eq!(answers(&server), expected);
}

#[test]
fn an_unreadable_sector_of_the_index_is_healed_and_not_answered_from() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path(), "");
    define(&server);
    write(&server, 0..60);
    let mut expected = answers(&server);
    for healthy_reads in [0, 1, 2, 3, 5, 8] {
        assert!(server.terminate().success());
        server = start(folder.path(), &format!("run::read={healthy_reads}*off->1*return(EIO)"));
        wait_for(&server, &expected);
        write(&server, 100..101);
        expected = answers(&server);
    }
}

/// Every step at which a checkpoint of the index can fail.
const POINTS: [&str; 15] = [
    "index::checkpoint",
    "index::run",
    "run::columns",
    "run::orders",
    "run::dictionary",
    "run::sync",
    "run::sums",
    "index::slots",
    "index::slots_sync",
    "index::folder_sync",
    "index::manifest",
    "index::manifest_sync",
    "index::manifest_rename",
    "index::manifest_renamed",
    "index::remove",
];

/// Fails at each point with each action while the server stops, and starts it again. Each case has its own folder: with
/// more runs, a start would merge some of them, and fail before the server listens.
fn fail_at(actions: &[&str]) {
    let mut failures = Failures::default();
    for point in POINTS {
        for action in actions {
            let folder = tempfile::tempdir().unwrap();
            let mut server = start(folder.path(), "");
            define(&server);
            write(&server, 0..12);
            server.terminate();
            server = start(folder.path(), &format!("{point}=return({action})"));
            write(&server, 12..14);
            let expected = answers(&server);
            let status = server.terminate();
            failures.check(status.success() != (*action == "kill"), || format!("{point} {action}: {status}"));
            server = start(folder.path(), "");
            let found = answers(&server);
            failures.check(found == expected, || format!("{point} {action}: {found:?} instead of {expected:?}"));
        }
    }
    failures.assert_none();
}

#[test]
fn a_kill_at_any_step_of_a_checkpoint_of_the_index_loses_nothing() {
    fail_at(&["kill"]);
}

#[test]
#[ignore = "long: every error at every step; run with `cargo test --test it -- index_files --ignored`"]
fn a_failure_at_any_step_of_a_checkpoint_of_the_index_loses_nothing() {
    fail_at(&["EIO", "ENOSPC", "EMFILE", "short"]);
}

/// Deletes most documents of one run, so that the next start rewrites the run. Returns the answers after that.
fn thin_out(folder: &Path, server: &mut Server) -> Vec<Option<Vec<String>>> {
    assert!(server.terminate().success());
    *server = start(folder, "");
    write(server, 0..8);
    assert!(server.terminate().success());
    *server = start(folder, "");
    for id in server.ids("notes?sort=-created_at&per_page=6") {
        server.delete(&format!("/v2/resources/notes/{id}")).expect(204);
    }
    let expected = answers(server);
    assert!(server.terminate().success());
    expected
}

#[test]
fn a_failure_while_runs_are_merged_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path(), "");
    define(&server);
    for action in ["kill", "EIO", "ENOSPC", "EMFILE"] {
        let mut expected = thin_out(folder.path(), &mut server);
        let points = format!("index::merge=return({action})");
        match action {
            // The server ends by itself, which shows that the merge was reached.
            "kill" => drop(refused_start(folder.path(), &points)),
            _ => {
                server = start(folder.path(), &points);
                assert_eq!(answers(&server), expected, "{action}");
                write(&server, 20..22);
                expected = answers(&server);
                assert!(server.terminate().success(), "{action}");
            }
        }
        server = start(folder.path(), "");
        assert_eq!(answers(&server), expected, "{action}");
        assert!(server.terminate().success());
        let checked = run(&["verify"], folder.path());
        assert_eq!(checked.code, Some(0), "{action}: {}", checked.text);
        server = start(folder.path(), "");
    }
}

#[test]
fn a_blueprint_is_not_deleted_by_an_answer_of_a_damaged_index() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path(), "");
    define(&server);
    let line =
        |number: u32| json!({ "attributes": { "text": format!("note {number}"), "number": number } }).to_string();
    let lines: Vec<String> = (0..20_000).map(line).collect();
    let types = [("content-type", "application/x-ndjson")];
    server.raw("POST", "/v2/resources/notes/import", &types, lines.join("\n").as_bytes()).expect(200);
    // The start itself reads some blocks; if one of them is damaged, it rebuilds the index.
    let is_found_by_a_search = (0..20).any(|healthy_reads| {
        assert!(server.terminate().success());
        server = start(folder.path(), &format!("run::read={healthy_reads}*off->return(EIO)"));
        server.get("/v2/resources/notes?filter[text][contains]=note%207").outcome() == "503 OVERLOADED"
    });
    assert!(is_found_by_a_search);
    // A rebuild takes a large part of a second.
    let mut outcomes = Vec::new();
    let end = Instant::now() + Duration::from_secs(60);
    while outcomes.last().is_none_or(|last| last != "409 CONFLICT") {
        assert!(Instant::now() < end, "{outcomes:?}");
        outcomes.push(server.delete("/v2/blueprints/notes").outcome());
        outcomes.dedup();
    }
    assert_eq!(outcomes, ["503 OVERLOADED", "409 CONFLICT"]);
}
