//! Failures of the disk below the log and the checkpoints. No acknowledged write may be lost by damaged bytes, errors
//! of the system, or the end of the process at any step of a write and of a checkpoint.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::recovery::{Known, check_everything, define_notes, write_until};
use crate::support::{ADMIN, Failures, Server, binary};

const HEADER_BYTES: usize = 32;
const RECORD_HEADER_BYTES: usize = 28;

/// Returns the newest segment of the content's log.
fn newest_segment(folder: &Path) -> PathBuf {
    let entries = std::fs::read_dir(folder.join("log")).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "log")).max().unwrap()
}

/// Returns the position of each record of a segment, and the end of the last one.
fn positions(bytes: &[u8]) -> Vec<usize> {
    let mut positions = vec![HEADER_BYTES];
    loop {
        let at = *positions.last().unwrap();
        let number = u64::from_le_bytes(bytes[at + 12..at + 20].try_into().unwrap());
        if number == 0 {
            return positions;
        }
        let length = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap());
        positions.push(at + 20 + length as usize);
    }
}

/// Starts a server that must refuse this folder. Returns its error message.
fn refused(folder: &Path) -> String {
    let child = Command::new(binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--log-filter", "warn", "--data"])
        .arg(folder)
        .env("BINDERY_ADMIN_TOKEN", ADMIN)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // If the server starts after all, it must not run for ever.
    let id = child.id();
    let done = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            let started = Instant::now();
            while !done.load(Ordering::SeqCst) && started.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(10));
            }
            if !done.load(Ordering::SeqCst) {
                crate::support::kill_process(id);
            }
        });
        let output = child.wait_with_output().unwrap();
        done.store(true, Ordering::SeqCst);
        output
    });
    assert!(!output.status.success(), "the server started");
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

#[test]
fn a_flipped_bit_in_an_acknowledged_record_is_refused_and_with_the_bit_back_everything_is_there() {
    let mut server = Server::start();
    define_notes(&server);
    let count = 150;
    (0..count).for_each(|value| drop(server.create("notes", json!({ "value": value, "text": "a note" }))));
    let folder = server.folder().to_owned();
    crate::support::kill_process(server.process());
    let path = newest_segment(&folder);
    let bytes = std::fs::read(&path).unwrap();
    let positions = positions(&bytes);
    let last = positions.len() - 2;
    let mut failures = Failures::default();
    // The damage is in a record in the middle, or in the last one, behind which there is only the mark that it was
    // synced.
    for record in [123, last] {
        let at = positions[record];
        let end = positions[record + 1];
        for (region, byte) in [
            ("checksum", at + 1),
            ("length", at + 4),
            ("length, far", at + 6),
            ("number", at + 12),
            ("synced", at + 20),
            ("payload", at + RECORD_HEADER_BYTES + 20),
            ("last byte", end - 1),
        ] {
            let mut flipped = bytes.clone();
            flipped[byte] ^= 4;
            std::fs::write(&path, &flipped).unwrap();
            let text = refused(&folder);
            let name = path.file_name().unwrap().to_str().unwrap();
            for part in [name, &format!("at byte {at}:"), &format!("record {}", record + 1), "bindery salvage"] {
                failures.check(text.contains(part), || format!("{record} {region}: {part:?} is not in {text}"));
            }
            failures.check(std::fs::read(&path).unwrap() == flipped, || format!("{record} {region}: changed"));
        }
    }
    failures.assert_none();
    std::fs::write(&path, &bytes).unwrap();
    server.kill_and_restart();
    assert_eq!(server.get("/v2/resources/notes").expect(200).json()["meta"]["total"], count);
}

#[test]
fn a_store_or_an_index_ahead_of_the_log_is_proof_of_damage() {
    let mut server = Server::start();
    define_notes(&server);
    (0..40).for_each(|value| drop(server.create("notes", json!({ "value": value }))));
    let folder = server.folder().to_owned();
    assert!(server.terminate().success());
    let path = newest_segment(&folder);
    let whole = std::fs::read(&path).unwrap();
    let mut cut = whole.clone();
    cut[positions(&whole)[20]..].fill(0);
    // Three places show that the log was longer: the checkpoint, the index and the store. The first two are removed one
    // by one.
    let checkpoint = folder.join("store/CHECKPOINT");
    let number = std::fs::read(&checkpoint).unwrap();
    for step in 0..3 {
        if step == 1 {
            let zero = [&number[..1], &0u64.to_le_bytes()].concat();
            std::fs::write(&checkpoint, [&zero[..], &crc32fast::hash(&zero).to_le_bytes()].concat()).unwrap();
        }
        if step == 2 {
            std::fs::remove_dir_all(folder.join("index")).unwrap();
        }
        std::fs::write(&path, &cut).unwrap();
        let text = refused(&folder);
        assert!(text.contains("the log ends at record 20, but record"), "{step}: {text}");
        assert_eq!(std::fs::read(&path).unwrap(), cut, "{step}");
    }
    std::fs::write(&checkpoint, number).unwrap();
    std::fs::write(&path, whole).unwrap();
    server.restart();
    assert_eq!(server.ids("notes?per_page=100").len(), 40);
}

/// Makes a data folder whose log is nearly at the end of its first segment, so that a few writes need the next segment.
fn nearly_full_segment() -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    let mut server = Server::start_in(&temp.path().join("data"), &[]);
    define_notes(&server);
    // Each resource takes 400 KiB in the log. More is not possible, because the length of its texts is limited.
    let fields: Vec<_> =
        (0..7).map(|n| json!({ "name": format!("F{n}"), "slug": format!("f{n}"), "type": "text" })).collect();
    server.blueprint("long", json!(fields));
    let text = "y".repeat(60_000);
    let attributes = serde_json::Map::from_iter((0..7).map(|n| (format!("f{n}"), json!(text))));
    (0..9).for_each(|_| drop(server.create("long", json!(attributes))));
    let folder = server.folder().to_owned();
    let used = || *positions(&std::fs::read(newest_segment(&folder)).unwrap()).last().unwrap();
    while used() < (4 << 20) - (150 << 10) {
        server.create("long", json!({ "f0": text }));
    }
    assert!(server.terminate().success());
    let _ = std::fs::remove_file(folder.join("log/next.zeros"));
    temp
}

pub(crate) fn copy_folder(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-r").args([from, to]).status().unwrap().success());
}

/// Creates a resource of 60 KiB in the log.
fn create_large(server: &Server) -> crate::support::Reply {
    let body = json!({ "attributes": { "value": 1, "text": "z".repeat(60_000) } });
    server.post("/v2/resources/notes", &body)
}

fn total(server: &Server) -> u64 {
    server.get("/v2/resources/notes").expect(200).json()["meta"]["total"].as_u64().unwrap()
}

#[test]
fn without_a_new_segment_writes_are_refused_with_nothing_applied_and_go_on_by_themselves() {
    let template = nearly_full_segment();
    let mut failures = Failures::default();
    for points in [
        "log::segment=5*return(EMFILE)",
        "log::segment=5*return(ENOSPC)",
        "log::segment_header=2*return(ENOSPC)",
        "log::segment_header=2*return(EIO)",
        "log::segment_name=2*return(ENOSPC)",
        "log::spare=return(EMFILE);log::segment=2*return(EMFILE)",
    ] {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("data");
        copy_folder(&template.path().join("data"), &folder);
        let mut server = Server::start_failing(&folder, &[], points);
        let (mut created, mut refused, mut created_after) = (0, 0, 0);
        while created_after < 3 && created + refused < 60 {
            let reply = create_large(&server);
            match reply.status {
                201 => {
                    created += 1;
                    created_after += u64::from(refused > 0);
                }
                _ => {
                    refused += 1;
                    failures.check_eq(points, reply.outcome(), "503 OVERLOADED".to_owned());
                    failures.check(reply.message().contains("nothing was applied"), || reply.message());
                }
            }
            failures.check_eq(points, server.get("/readyz").status, 200);
            failures.check_eq(points, total(&server), created);
        }
        failures.check(refused > 0 && created_after == 3, || format!("{points}: {created} created, {refused} refused"));
        server.kill_and_restart();
        failures.check_eq(points, total(&server), created);
    }
    failures.assert_none();
}

#[test]
fn an_import_that_ends_on_a_full_disk_says_how_much_it_applied() {
    let template = nearly_full_segment();
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    copy_folder(&template.path().join("data"), &folder);
    let server = Server::start_failing(&folder, &[], "log::segment=return(ENOSPC);log::spare=return(ENOSPC)");
    let before = total(&server);
    let line = |text: &str| format!("{}\n", json!({ "attributes": { "value": 1, "text": text } }));
    // The first of four commands of 128 lines must not share a group with those that have no room.
    let (small, large) = (line("x").repeat(512), line(&"z".repeat(60_000)).repeat(200));
    let mut stream = TcpStream::connect(server.address().trim_start_matches("http://")).unwrap();
    let head = format!(
        "POST /v2/resources/notes/import HTTP/1.0\r\nAuthorization: Bearer {}\r\nContent-Type: application/x-ndjson\r\n\
         Content-Length: {}\r\n\r\n",
        server.secret(),
        small.len() + large.len()
    );
    stream.write_all((head + &small).as_bytes()).unwrap();
    let began = Instant::now();
    while total(&server) < before + 128 {
        assert!(began.elapsed() < Duration::from_secs(30), "the first command was not applied");
        std::thread::sleep(Duration::from_millis(10));
    }
    stream.write_all(large.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let lines: Vec<Value> = reply.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let applied = lines.iter().filter(|line| line["op"] == "created").count();
    let message = lines.last().unwrap()["errors"]["message"].as_str().unwrap().to_owned();
    assert!(applied >= 128 && !message.contains("nothing was applied"), "{applied}: {message}");
    assert!(message.contains(&format!("{applied} lines of the import were applied, and no other")), "{message}");
    assert_eq!(total(&server), before + applied as u64);
}

#[test]
fn a_server_that_stops_gives_up_the_base_that_it_writes() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    let mut server = Server::start_in(&folder, &[]);
    define_notes(&server);
    (0..60).for_each(|value| drop(server.create("notes", json!({ "value": value }))));
    assert!(server.terminate().success());
    // A base would take at least half a minute.
    let points = "checkpoint::is_due=return;checkpoint::base_is_due=return;base::write=sleep(500)";
    let mut server = Server::start_failing(&folder, &[], points);
    server.create("notes", json!({ "value": 60 }));
    let base = folder.join("base/next.unfinished");
    let began = Instant::now();
    while !base.exists() {
        assert!(began.elapsed() < Duration::from_secs(30), "no base is written");
        std::thread::sleep(Duration::from_millis(10));
    }
    let began = Instant::now();
    assert!(server.terminate().success());
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(std::fs::read_dir(folder.join("base")).unwrap().count(), 0);
    assert_eq!(total(&Server::start_in(&folder, &[])), 61);
}

/// A small file system. Unmounted when dropped.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts the file system. If this process may not, says so and returns `None`.
    pub(crate) fn mount(folder: &Path, megabytes: u32) -> Option<SmallDisk> {
        std::fs::create_dir_all(folder).unwrap();
        let size = format!("size={megabytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(SmallDisk(folder.to_owned()));
        }
        eprintln!("skipped: this process may not mount a file system");
        None
    }

    fn resize(&self, megabytes: u32) {
        let size = format!("remount,size={megabytes}m");
        assert!(Command::new("mount").args(["-o", &size]).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_of_the_log_refuses_writes_until_there_is_room() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    let Some(disk) = SmallDisk::mount(&folder.join("log"), 7) else { return };
    let template = nearly_full_segment();
    copy_folder(&template.path().join("data/."), &folder);
    let mut server = Server::start_in(&folder, &[]);
    let mut created = 0;
    let reply = loop {
        let reply = create_large(&server);
        if reply.status != 201 {
            break reply;
        }
        created += 1;
        assert!(created < 60, "the disk was never full");
    };
    assert_eq!(reply.outcome(), "503 OVERLOADED");
    assert!(reply.message().contains("the disk is full; nothing was applied"), "{}", reply.message());
    assert_eq!((server.get("/readyz").status, total(&server)), (200, created));
    disk.resize(64);
    create_large(&server).expect(201);
    server.kill_and_restart();
    assert_eq!(total(&server), created + 1);
    drop(server);
}

#[test]
fn a_committer_that_panics_ends_writing_and_readiness_alike() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    let mut server = Server::start_failing(&folder, &[], "committer::decided=2*off->1*panic(in a test)");
    // The start makes the invitation of the owner, then the blueprint is decided.
    define_notes(&server);
    let body = json!({ "attributes": { "value": 1 } });
    assert_eq!(server.post("/v2/resources/notes", &body).outcome(), "500 INTERNAL");
    let deadline = Instant::now() + Duration::from_secs(5);
    while server.get("/readyz").status == 200 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(server.get("/readyz").status, 503);
    // A write that arrives while the committer ends may still be put into its queue. Then its outcome is unknown, too.
    let mut outcome = server.post("/v2/resources/notes", &body).outcome();
    while outcome == "500 INTERNAL" && Instant::now() < deadline {
        outcome = server.post("/v2/resources/notes", &body).outcome();
    }
    assert_eq!(outcome, "503 OVERLOADED");
    server.get("/v2/resources/notes").expect(200);
    server.kill_and_restart();
    server.post("/v2/resources/notes", &body).expect(201);
}

#[test]
fn after_a_failed_sync_nothing_is_believed_that_a_later_sync_says() {
    let of_the_store = ["store::sync=1*return(EIO)", "store::sync=1*off->1*return(EIO)", "store::flush=1*return(EIO)"];
    let of_the_store = of_the_store.map(|point| format!("checkpoint::is_due=return;{point}"));
    for points in of_the_store.iter().map(String::as_str).chain(["log::sync=3*off->1*return(EIO)"]) {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("data");
        let mut server = Server::start_in(&folder, &[]);
        define_notes(&server);
        (0..5).for_each(|value| drop(server.create("notes", json!({ "value": value }))));
        assert!(server.terminate().success());
        let before = std::fs::read(folder.join("store/CHECKPOINT")).unwrap();
        let mut server = Server::start_failing(&folder, &[], points);
        let mut created = 5;
        let deadline = Instant::now() + Duration::from_secs(10);
        let ended = loop {
            let reply = server.post("/v2/resources/notes", &json!({ "attributes": { "value": created } }));
            if reply.status != 201 {
                break reply;
            }
            created += 1;
            assert!(Instant::now() < deadline, "{points}: writing goes on");
        };
        assert!([500, 503].contains(&ended.status), "{points}: {}", ended.text);
        assert_eq!(server.get("/readyz").status, 503, "{points}");
        assert!(folder.join("store/CONDEMNED").exists(), "{points}");
        let _ = server.terminate();
        assert_eq!(std::fs::read(folder.join("store/CHECKPOINT")).unwrap(), before, "{points}: no later checkpoint");
        server.restart();
        let found = total(&server);
        assert!(
            found == created || found == created + u64::from(ended.status == 500),
            "{points}: {found} of {created}"
        );
        server.create("notes", json!({ "value": 99 }));
        drop(server);
    }
}

/// Starts on a folder with five notes, and writes until a write is refused. Returns the number of acknowledged notes,
/// and the answer to the refused write.
fn write_until_refused(server: &Server, points: &str) -> (u64, crate::support::Reply) {
    let mut created = 5;
    let deadline = Instant::now() + Duration::from_secs(15);
    loop {
        let reply = server.post("/v2/resources/notes", &json!({ "attributes": { "value": created } }));
        if reply.status != 201 {
            return (created, reply);
        }
        created += 1;
        assert!(Instant::now() < deadline, "{points}: writing goes on");
    }
}

#[test]
fn a_sync_that_fails_in_any_thread_ends_writing_and_loses_nothing() {
    for passes in [40, 43, 47, 52, 58, 65] {
        let points =
            format!("checkpoint::is_due=return;checkpoint::base_is_due=return;sync::file={passes}*off->1*return(EIO)");
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("data");
        let mut server = Server::start_in(&folder, &[]);
        define_notes(&server);
        (0..5).for_each(|value| drop(server.create("notes", json!({ "value": value }))));
        assert!(server.terminate().success());
        let mut server = Server::start_failing(&folder, &[], &points);
        let (created, ended) = write_until_refused(&server, &points);
        assert!([500, 503].contains(&ended.status), "{points}: {}", ended.text);
        assert_eq!(server.get("/readyz").status, 503, "{points}");
        assert!(folder.join("store/CONDEMNED").exists(), "{points}");
        let checkpoint = std::fs::read(folder.join("store/CHECKPOINT")).unwrap();
        let _ = server.terminate();
        assert_eq!(std::fs::read(folder.join("store/CHECKPOINT")).unwrap(), checkpoint, "{points}: a later checkpoint");
        server.restart();
        let found = total(&server);
        assert!(
            (created..=created + u64::from(ended.status == 500)).contains(&found),
            "{points}: {found} of {created}"
        );
    }
}

/// The source of a library that fails the next sync of the process once a file exists, and then removes the file.
const FAIL_ONE_SYNC: &str = r#"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
static int fails(void) { const char *file = getenv("FAIL_ONE_SYNC"); return file && !unlink(file); }
int fsync(int fd) { if (fails()) { errno = EIO; return -1; } return syscall(SYS_fsync, fd); }
int fdatasync(int fd) { if (fails()) { errno = EIO; return -1; } return syscall(SYS_fdatasync, fd); }
"#;

#[test]
fn no_write_is_acknowledged_after_a_sync_failed_while_nothing_was_written() {
    let temp = tempfile::tempdir().unwrap();
    let (source, library) = (temp.path().join("fail.c"), temp.path().join("fail.so"));
    std::fs::write(&source, FAIL_ONE_SYNC).unwrap();
    let compiled = Command::new("gcc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    if !compiled.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no gcc");
        return;
    }
    let trigger = temp.path().join("fail");
    let variables = [("LD_PRELOAD", library.to_str().unwrap()), ("FAIL_ONE_SYNC", trigger.to_str().unwrap())];
    let server = Server::start_in_environment(&temp.path().join("data"), &[], &variables);
    define_notes(&server);
    std::fs::write(&trigger, "").unwrap();
    // The wait is long enough for every thread that syncs from time to time.
    std::thread::sleep(Duration::from_millis(2500));
    let reply = server.post("/v2/resources/notes", &json!({ "attributes": { "value": 1 } }));
    assert!([500, 503].contains(&reply.status), "{}", reply.text);
    assert!(!trigger.exists());
    assert_eq!(server.get("/readyz").status, 503);
}

#[test]
fn a_full_disk_is_reported_before_anybody_writes() {
    let temp = tempfile::tempdir().unwrap();
    let mount = temp.path().join("mount");
    let Some(_disk) = SmallDisk::mount(&mount, 100) else { return };
    let mut server = Server::start_in(&mount.join("data"), &[]);
    define_notes(&server);
    let health = |server: &Server| {
        let output = Command::new(binary()).args(["health", server.address()]).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let metric = |server: &Server, name: &str| {
        let text = server.get("/metrics").expect(200).text;
        let line = text.lines().find(|line| line.split(' ').next() == Some(name)).map(str::to_owned);
        line.unwrap_or_else(|| panic!("no {name}")).split(' ').nth(1).unwrap().parse::<u64>().unwrap()
    };
    server.get("/readyz").expect(200);
    assert_eq!(health(&server).0, Some(0));
    assert_eq!(metric(&server, "bindery_writable"), 1);
    let free = metric(&server, "bindery_disk_free_bytes");
    assert!((33 << 20..100 << 20).contains(&free), "{free}");
    let filler = mount.join("filler");
    std::fs::write(&filler, vec![1; usize::try_from(free).unwrap() - (8 << 20)]).unwrap();
    let reply = server.get("/readyz").expect(503);
    assert_eq!(reply.outcome(), "503 OVERLOADED");
    assert!(reply.message().contains("its disk is full"), "{}", reply.message());
    let (code, text) = health(&server);
    assert_eq!(code, Some(1));
    assert!(text.contains("its disk is full"), "{text}");
    assert_eq!(metric(&server, "bindery_writable"), 0);
    assert!(metric(&server, "bindery_disk_free_bytes") < 9 << 20);
    server.get("/healthz").expect(200);
    server.get("/v2/resources/notes").expect(200);
    std::fs::remove_file(&filler).unwrap();
    server.get("/readyz").expect(200);
    assert_eq!(health(&server).0, Some(0));
    server.create("notes", json!({ "value": 1 }));
    server.kill();
}

/// A failure point, and the event that reaches it.
struct Point {
    name: &'static str,
    reach: Reach,
    is_write: bool,
}

#[derive(PartialEq)]
enum Reach {
    /// Every write reaches the point.
    Write,
    /// A new segment of the log reaches the point.
    Segment,
    /// A checkpoint reaches the point.
    Checkpoint,
}

const fn point(name: &'static str, reach: Reach) -> Point {
    Point { name, reach, is_write: false }
}

const fn writing(name: &'static str, reach: Reach) -> Point {
    Point { name, reach, is_write: true }
}

const POINTS: [Point; 21] = [
    writing("log::append", Reach::Write),
    point("log::sync", Reach::Write),
    writing("log::mark", Reach::Write),
    point("committer::decided", Reach::Write),
    point("committer::committed", Reach::Write),
    point("apply::stored", Reach::Write),
    point("committer::applied", Reach::Write),
    point("log::spare", Reach::Segment),
    point("log::segment", Reach::Segment),
    writing("log::segment_header", Reach::Segment),
    point("log::segment_name", Reach::Segment),
    point("log::folder", Reach::Segment),
    point("checkpoint::store", Reach::Checkpoint),
    point("store::flush", Reach::Checkpoint),
    point("store::sync", Reach::Checkpoint),
    point("checkpoint::index", Reach::Checkpoint),
    point("index::manifest", Reach::Checkpoint),
    point("checkpoint::base", Reach::Checkpoint),
    point("base::verify", Reach::Checkpoint),
    point("base::rename_next", Reach::Checkpoint),
    point("log::remove", Reach::Checkpoint),
];

const ACTIONS: [&str; 5] = ["kill", "EIO", "ENOSPC", "EMFILE", "short"];

#[test]
fn no_step_of_a_write_or_a_checkpoint_can_fail_so_that_an_acknowledged_write_is_lost() {
    run_matrix(|point, action| action == 0 || (point + action) % 7 == 0);
}

/// To run it: `cargo test --test it -- --ignored failures`
#[test]
#[ignore = "long: every step with every failure, about a minute"]
fn every_step_of_a_write_or_a_checkpoint_fails_in_every_way() {
    run_matrix(|_, _| true);
}

fn run_matrix(is_wanted: impl Fn(usize, usize) -> bool) {
    let template = nearly_full_segment();
    let mut cases = Vec::new();
    for (number, point) in POINTS.iter().enumerate() {
        for (action_number, action) in ACTIONS.iter().enumerate() {
            if (*action != "short" || point.is_write) && is_wanted(number, action_number) {
                cases.push((point, *action));
            }
        }
    }
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((point, action)) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    run_case(&template.path().join("data"), point, action);
                }
            });
        }
    });
}

fn run_case(template: &Path, point: &Point, action: &str) {
    let case = format!("{} {action}", point.name);
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    copy_folder(template, &folder);
    // The number of passes of the point during a start, or during writes that must succeed.
    let passes = match (point.name, &point.reach) {
        ("log::mark", _) => "3*off->",
        ("log::folder", _) => "2*off->",
        ("log::remove", _) | (_, Reach::Segment) => "",
        _ => "1*off->",
    };
    let due = match point.reach {
        Reach::Checkpoint => "checkpoint::is_due=return;checkpoint::base_is_due=return;",
        _ => "",
    };
    let points = format!("{due}{}={passes}return({action})", point.name);
    let mut server = Server::start_failing(&folder, &[], &points);
    let known: Mutex<BTreeMap<String, Known>> = Mutex::new(BTreeMap::new());
    let mut refused = BTreeSet::new();
    // The texts of the writer have the length of its numbers: 2 KiB.
    let counter = AtomicU64::new(2_000);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| write_until(server.address(), &stop, &known, &counter));
        let started = Instant::now();
        // The run must be long enough to fill the segment, and for checkpoints to follow.
        let is_long = point.reach == Reach::Segment || point.name == "log::remove";
        // A base that is not complete is given up at the shutdown, so its steps must be reached before.
        let until_killed = action == "kill" && point.name.contains("base");
        let is_enough = |count| !until_killed && count > if is_long { 2_160 } else { 2_030 };
        while !writer.is_finished() && started.elapsed() < Duration::from_secs(20) {
            if is_enough(counter.load(Ordering::SeqCst)) {
                stop.store(true, Ordering::SeqCst);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        stop.store(true, Ordering::SeqCst);
        if let Some((503, value)) = writer.join().unwrap() {
            refused.insert(value);
        }
    });
    if action == "kill" {
        // The point was reached, at the latest in the checkpoint of the shutdown.
        assert!(!server.terminate().success(), "{case}: the process was not ended");
    } else {
        let is_ready = server.get("/readyz").status == 200;
        let reply = server.post("/v2/resources/notes", &json!({ "attributes": { "value": 1_000_000 } }));
        let agrees = match reply.status {
            201 => is_ready,
            503 => true,
            // This write itself reached the point.
            _ => is_ready,
        };
        assert!(agrees, "{case}: ready {is_ready}, and a write {}", reply.outcome());
    }
    server.kill_and_restart();
    check_everything(&server, &mut known.lock().unwrap());
    for value in refused {
        let found = server.get(&format!("/v2/resources/notes?filter[value]={value}")).expect(200).json();
        assert_eq!(found["meta"]["total"], 0, "{case}: a write that was refused was applied");
    }
    assert_eq!(server.get("/readyz").status, 200, "{case}");
    server.create("notes", json!({ "value": 2_000_000 }));
}
