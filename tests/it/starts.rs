//! Starts, restores and backups that are interrupted or that the system stops. No data is lost, and intact data is not
//! abandoned.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::folders::{copy, listing, refused_start, run, run_failing};
use crate::media;
use crate::support::{ADMIN, Failures, Reply, Server};

const NOTES: usize = 30;

/// Makes the folder of a killed server with some notes, of which some are in the log only.
fn killed() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start_in(&folder.path().join("data"), &[]);
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    for n in 0..NOTES {
        server.create("notes", json!({ "text": format!("note {n}") }));
        if n == NOTES / 2 {
            server.terminate();
            server.restart();
        }
    }
    server.kill();
    folder
}

fn copy_of(folder: &TempDir) -> (TempDir, PathBuf) {
    let other = tempfile::tempdir().unwrap();
    let data = other.path().join("data");
    copy(&folder.path().join("data"), &data);
    (other, data)
}

/// Returns the problem of a folder that must hold all notes.
fn fault(data: &Path) -> Option<String> {
    let server = Server::start_in(data, &[]);
    let total = server.get("/v2/resources/notes?per_page=1").expect(200).json()["meta"]["total"].as_u64();
    server.create("notes", json!({ "text": "one more" }));
    let mut server = server;
    server.terminate();
    let verified = run(&["verify"], data);
    let holds = total == Some(NOTES as u64) && verified.code == Some(0);
    (!holds).then(|| format!("{total:?} notes; {}", verified.text))
}

fn without_store(data: &Path) {
    fs::remove_dir_all(data.join("store")).unwrap();
}

fn with_condemned_store(data: &Path) {
    fs::write(data.join("store/CONDEMNED"), "for a test").unwrap();
}

#[test]
fn a_start_that_ends_or_fails_at_any_step_loses_nothing() {
    let folder = killed();
    type Damage = fn(&Path);
    let steps: [(&str, Damage); 12] = [
        ("recover::log", |_| {}),
        ("store::open", |_| {}),
        ("store::read", |_| {}),
        ("recover::replay", |_| {}),
        ("recover::replay=3*off->", |_| {}),
        ("recover::checkpoint", |_| {}),
        ("store::checkpoint", |_| {}),
        ("store::checkpoint_rename", |_| {}),
        ("recover::built", without_store),
        ("recover::build", with_condemned_store),
        ("recover::move_store", with_condemned_store),
        ("recover::replay=20*off->", with_condemned_store),
    ];
    let mut failures = Failures::default();
    for (step, damage) in steps {
        for action in ["kill", "ENOSPC"] {
            let (_temp, data) = copy_of(&folder);
            damage(&data);
            let point =
                if step.contains('=') { format!("{step}return({action})") } else { format!("{step}=return({action})") };
            refused_start(&data, &point);
            let fault = fault(&data);
            failures.check(fault.is_none(), || format!("{point}: {}", fault.unwrap_or_default()));
        }
    }
    failures.assert_none();
}

#[test]
fn an_error_of_the_environment_ends_the_start_and_the_store_stays() {
    let folder = killed();
    let cases = [
        ("ENOSPC", "free at least"),
        ("EMFILE", "raise the limit of open files"),
        ("EACCES", "let the user"),
        ("EIO", "its disk fails"),
        ("EROFS", "mount its disk"),
    ];
    for (code, advice) in cases {
        for point in ["store::open", "store::read"] {
            let (_temp, data) = copy_of(&folder);
            let ran = refused_start(&data, &format!("{point}=return({code})"));
            assert!(ran.text.contains(advice), "{code}: {}", ran.text);
            assert!(data.join("store/sled/db").exists() && !data.join("store.broken-1").exists(), "{code}");
        }
    }
    let fault = fault(&folder.path().join("data"));
    assert_eq!(fault, None);
}

#[test]
fn a_start_with_any_limit_of_open_files_succeeds_or_leaves_everything_as_it_is() {
    let folder = killed();
    let data = folder.path().join("data");
    for limit in [8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 22, 24, 28, 32] {
        let script = format!("ulimit -n {limit}; exec \"$0\" export notes --data \"$1\"");
        let ran = Command::new("sh").args(["-c", &script]).arg(crate::support::binary()).arg(&data).output().unwrap();
        assert!(!data.join("store.broken-1").exists(), "{limit}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    assert_eq!(fault(&data), None);
}

#[test]
fn the_two_newest_of_the_stores_that_were_moved_aside_are_kept() {
    let folder = killed();
    let (_temp, data) = copy_of(&folder);
    for _ in 0..4 {
        with_condemned_store(&data);
        assert_eq!(run(&["export", "notes"], &data).code, Some(0));
    }
    let moved = fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut moved: Vec<String> = moved.filter(|name| name.starts_with("store.")).collect();
    moved.sort();
    assert_eq!(moved, ["store.broken-3", "store.broken-4"]);
}

#[test]
fn an_interrupted_backup_or_restore_is_repeated_and_never_half_there() {
    let folder = killed();
    let (temp, data) = copy_of(&folder);
    let file = temp.path().join("all.backup");
    let backup = ["backup", file.to_str().unwrap()];
    let mut failures = Failures::default();
    for point in ["base::write", "base::write=5*off->", "base::rename"] {
        for action in ["kill", "ENOSPC"] {
            let point = if point.contains('=') {
                format!("{point}return({action})")
            } else {
                format!("{point}=return({action})")
            };
            let ran = run_failing(&backup, &data, &point);
            failures.check(ran.code != Some(0) && !file.exists(), || format!("{point}: {ran:?}"));
        }
    }
    assert_eq!(run(&backup, &data).code, Some(0));
    let restore = ["restore", file.to_str().unwrap()];
    let points = ["base::place", "base::rename_placed", "recover::log", "recover::build", "base::restore=9*off->"];
    let of_content = ["recover::restored", "recover::checkpoint", "start::epoch", "start::epoch_begun"];
    for point in points.into_iter().chain(of_content).chain(["restoring::finish"]) {
        let point = if point.contains('=') { format!("{point}return(kill)") } else { format!("{point}=return(kill)") };
        let new = temp.path().join("new");
        let ran = run_failing(&restore, &new, &point);
        failures.check(ran.code != Some(0), || format!("{point}: {ran:?}"));
        let says = "a restore into this folder was interrupted; remove the folder and restore the backup again";
        let again = run(&restore, &new);
        failures.check(again.code == Some(1) && again.text.contains(says), || format!("{point}: {again:?}"));
        // A start could finish the content, but not the analytics and the media.
        let started = refused_start(&new, "");
        failures.check(started.text.contains(says), || format!("{point}: {}", started.text));
        let verified = run(&["verify"], &new);
        failures.check(verified.code == Some(1), || format!("{point}: {verified:?}"));
        fs::remove_dir_all(&new).unwrap();
    }
    assert_eq!(run(&restore, &temp.path().join("new")).code, Some(0));
    let fault = fault(&temp.path().join("new"));
    failures.check(fault.is_none(), || fault.unwrap_or_default());
    failures.assert_none();
}

#[test]
fn an_entity_tag_from_before_a_restore_matches_no_version_after_it() {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    let id = server.create("notes", json!({ "text": "one" }));
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("all.backup");
    let file = file.to_str().unwrap();
    let path = format!("/v2/resources/notes/{id}");
    let change = |server: &Server, text: &str, tag: &str| {
        let headers = [("content-type", "application/json"), ("if-match", tag)];
        server.raw("PATCH", &path, &headers, json!({ "attributes": { "text": text } }).to_string().as_bytes())
    };
    let tag = |reply: &Reply| reply.header("etag").unwrap().to_owned();
    let address = server.address().to_owned();
    let backed_up = Command::new(crate::support::binary())
        .args(["backup", file, "--url", &address, "--token", ADMIN])
        .status()
        .unwrap();
    assert!(backed_up.success());
    let before = tag(&server.get(&path));
    let list_before = tag(&server.get("/v2/resources/notes"));
    let later = tag(&change(&server, "two", &before).expect(200));
    let data = temp.path().join("new");
    assert_eq!(run(&["restore", file], &data).code, Some(0));
    let restored = Server::start_in(&data, &[]);
    assert_ne!(tag(&restored.get("/v2/resources/notes")), list_before);
    for old in [&before, &later] {
        change(&restored, "three", old).expect(412);
        let headers = [("if-none-match", old.as_str())];
        assert_eq!(restored.raw("GET", &path, &headers, b"").status, 200);
    }
    let now = tag(&restored.get(&path));
    change(&restored, "three", &now).expect(200);
    // A restart is not a restore.
    let mut restored = restored;
    let now = tag(&restored.get(&path));
    restored.kill_and_restart();
    change(&restored, "four", &now).expect(200);
}

#[test]
fn a_kill_while_a_large_value_is_replaced_or_deleted_leaves_no_pieces() {
    for point in ["store::replace_chunks", "store::delete_chunks"] {
        let temp = tempfile::tempdir().unwrap();
        let data = temp.path().join("data");
        let large =
            |n: u32| blake3::hash(&n.to_le_bytes()).to_hex().repeat(1).chars().cycle().take(10).collect::<String>();
        let body = |n: u32| (0..6000).map(|at| large(n * 10_000 + at)).collect::<String>();
        let mut server = Server::start_in(&data, &[]);
        server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
        let id = server.create("notes", json!({ "text": body(1) }));
        server.terminate();
        drop(server);
        let failing = Server::start_failing(&data, &[], &format!("{point}=return(kill)"));
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let request = ureq::http::Request::builder()
            .method("PATCH")
            .uri(format!("{}/v2/resources/notes/{id}", failing.address()))
            .header("authorization", format!("Bearer {ADMIN}"))
            .header("content-type", "application/json");
        // The write may be answered, because superseded versions are removed afterwards.
        let _ = agent.run(request.body(json!({ "attributes": { "text": body(2) } }).to_string()).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(1500));
        drop(failing);
        let mut server = Server::start_in(&data, &[]);
        assert_eq!(server.find(&format!("notes/{id}"))["attributes"]["text"], body(2).as_str());
        server.terminate();
        let ran = run(&["verify"], &data);
        assert!(ran.code == Some(0) && !ran.text.contains("unreferenced pieces"), "{point}: {}", ran.text);
        assert!(!ran.text.contains("pieces of large values"), "{point}: {}", ran.text);
    }
}

/// A separate file system. It needs root.
pub(crate) struct Disk(pub(crate) TempDir);

impl Disk {
    /// Mounts a file system in memory, with these options. If this process may not, says so and returns `None`.
    pub(crate) fn in_memory(options: &str) -> Option<Disk> {
        let disk = Disk::mount(&["-t", "tmpfs", "-o", options, "tmpfs"]);
        if disk.is_none() {
            eprintln!("not tested: mounting a file system needs root");
        }
        disk
    }

    fn mount(arguments: &[&str]) -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount").args(arguments).arg(folder.path()).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Disk(folder))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn writes_are_refused_on_a_full_disk_and_succeed_again_without_a_restart() {
    let Some(disk) = Disk::in_memory("size=120m") else { return };
    let server = Server::start_in(&disk.0.path().join("data"), &[]);
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    let filler = disk.0.path().join("filler");
    let text = "x".repeat(60_000);
    for round in 0..3 {
        fill(&filler);
        for _ in 0..20 {
            let body = json!({ "attributes": { "text": text } });
            let refused = server.post("/v2/resources/notes", &body).expect(503);
            assert!(refused.message().contains("nothing was applied"), "{}", refused.message());
        }
        fs::remove_file(&filler).unwrap();
        server.create("notes", json!({ "text": format!("{round}") }));
        let total = server.get("/v2/resources/notes").expect(200).json()["meta"]["total"].as_u64();
        assert_eq!(total, Some(round + 1));
        assert_eq!(server.get("/readyz").status, 200);
    }
}

#[test]
fn a_store_that_could_not_write_is_reported_until_a_restart_and_nothing_is_lost() {
    let Some(disk) = Disk::in_memory("size=120m") else { return };
    let mut server = Server::start_in(&disk.0.path().join("data"), &[]);
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    let mut created = 0;
    for _ in 0..3 {
        // Another program takes the last byte before the store has written the notes.
        (0..20).for_each(|_| drop(server.create("notes", json!({ "text": noise(20_000) }))));
        created += 20;
        let filler = disk.0.path().join("filler");
        fill(&filler);
        std::thread::sleep(Duration::from_millis(2500));
        fs::remove_file(&filler).unwrap();
        let is_ready = server.get("/readyz").status == 200;
        let status = server.post("/v2/resources/notes", &json!({ "attributes": { "text": "x" } })).status;
        assert_eq!(status, if is_ready { 201 } else { 503 }, "never 500: {:?}", server.logged("ERROR", ""));
        created += u64::from(status == 201);
        if !is_ready {
            server.terminate();
            server.restart();
        }
        let total = server.get("/v2/resources/notes").expect(200).json()["meta"]["total"].as_u64();
        assert_eq!(total, Some(created));
    }
}

/// Returns a text that does not become shorter when it is compressed.
fn noise(length: usize) -> String {
    let mut bytes = vec![0; length / 2];
    getrandom::fill(&mut bytes).unwrap();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Takes all free space of a disk, until the file is removed.
fn fill(filler: &Path) {
    Command::new("sh").args(["-c", "cat /dev/zero > \"$0\""]).arg(filler).output().unwrap();
}

/// Shortens the file by this many bytes. The file is then closed, because otherwise the disk would keep its space after
/// its removal.
fn give_back(filler: &Path, bytes: u64) {
    let file = fs::File::options().write(true).open(filler).unwrap();
    file.set_len(file.metadata().unwrap().len() - bytes).unwrap();
}

#[test]
fn the_log_says_once_when_a_full_disk_begins_to_refuse_writes_and_once_when_that_ends() {
    let Some(disk) = Disk::in_memory("size=120m") else { return };
    let server = Server::start_in(&disk.0.path().join("data"), &[]);
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    let filler = disk.0.path().join("filler");
    let create = || {
        let body = json!({ "attributes": { "text": "x" }, "published_at": "2020-01-01" });
        server.post("/v2/resources/notes", &body).status
    };
    for round in 1..=2 {
        fill(&filler);
        // The store has not written everything yet. For that it keeps more than this free.
        give_back(&filler, 8 << 20);
        (0..20).for_each(|_| assert_eq!(create(), 503));
        // The committer also checks the space every second.
        std::thread::sleep(Duration::from_millis(2500));
        assert_eq!(create(), 503);
        let begun = server.logged("ERROR", "no room for writes");
        assert_eq!(begun.len(), round, "{begun:?}");
        assert!(begun[0].contains(disk.0.path().to_str().unwrap()), "it names the disk: {begun:?}");
        fs::remove_file(&filler).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        // Writes are accepted again even if nobody writes.
        while server.logged("INFO", "writes are accepted again").len() < round {
            assert!(Instant::now() < deadline, "the end is not reported");
            std::thread::sleep(Duration::from_millis(50));
        }
        (0..20).for_each(|_| assert_eq!(create(), 201));
        let all = [server.logged("ERROR", ""), server.logged("WARN", "")].concat();
        assert_eq!(all.len(), round, "{all:?}");
    }
}

#[test]
fn an_upload_that_a_full_disk_refuses_takes_none_of_its_space() {
    let Some(disk) = Disk::in_memory("size=160m") else { return };
    let data = disk.0.path().join("data");
    let server = Server::start_in(&data, &[]);
    server.post("/v2/blueprints", &media::definition()).expect(201);
    media::upload(&server, "first.txt", b"opens the folders");
    let stored = || {
        let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries(data.join("media")).flat_map(entries).chain(entries(data.join("media-cache/uploads"))).count()
    };
    let filler = disk.0.path().join("filler");
    fill(&filler);
    // Room for the store, and for a part of the file. Then for the store alone.
    for free in [40 << 20, 20 << 20] {
        give_back(&filler, free);
        let text = "a line of text\n".repeat(1 << 20);
        let file = [("file", Some("large.txt"), text.as_bytes())];
        assert_eq!(media::send_form(&server, "POST", "/v2/media/media", &file).status, 503);
        assert_eq!(stored(), 1);
        fill(&filler);
    }
    fs::remove_file(&filler).unwrap();
    media::upload(&server, "second.txt", b"there is room again");
    assert_eq!(stored(), 2);
}

#[test]
fn a_start_on_a_full_disk_says_how_much_to_free_and_succeeds_with_that() {
    let Some(disk) = Disk::in_memory("size=200m") else { return };
    let data = disk.0.path().join("data");
    let server = Server::start_in(&data, &[]);
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    // The notes are written after the last checkpoint, so a start has to write them again.
    (0..300).for_each(|_| drop(server.create("notes", json!({ "text": noise(60_000) }))));
    drop(server);
    let filler = disk.0.path().join("filler");
    fill(&filler);
    let refused = refused_start(&data, "");
    let (_, behind) = refused.text.split_once("free at least ").unwrap_or_else(|| panic!("{}", refused.text));
    let mebibytes: u64 = behind.split_once(" MiB").unwrap().0.parse().unwrap();
    give_back(&filler, mebibytes << 20);
    let server = Server::start_in(&data, &[]);
    assert_eq!(server.get("/v2/resources/notes?per_page=1").expect(200).json()["meta"]["total"], 300);
    assert_eq!(server.get("/readyz").status, 200);
}

#[test]
fn a_backup_that_finds_no_room_on_the_disk_says_so_and_leaves_nothing_behind() {
    let Some(disk) = Disk::in_memory("size=256m") else { return };
    let data = disk.0.path().join("data");
    let mut server = Server::start_in(&data, &["--demo"]);
    // The store must have nothing left to write when the disk becomes full.
    assert!(server.terminate().success());
    server.restart();
    let filler = disk.0.path().join("filler");
    fill(&filler);
    // The disk has no free space, space for a part of the backup, or for all of it but then not for writes.
    for free in [0, 64 << 10, 48 << 20] {
        give_back(&filler, free);
        let refused = server.get("/v2/backup").expect(503);
        assert_eq!(refused.outcome(), "503 OVERLOADED");
        let disk = format!("the disk of {}", data.display());
        let message = refused.message();
        assert!(message.contains(&disk) && message.contains("is full; free some space"), "{message}");
        let left = fs::read_dir(data.join("backups")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{free}");
    }
    fs::remove_file(&filler).unwrap();
    let file = disk.0.path().join("all.backup");
    let arguments = ["backup", file.to_str().unwrap(), "--url", server.address(), "--token", server.secret()];
    assert!(Command::new(crate::support::binary()).args(arguments).output().unwrap().status.success());
}

#[test]
fn the_index_leaves_the_store_the_last_bytes_of_the_disk() {
    let Some(disk) = Disk::in_memory("size=200m") else { return };
    let data = disk.0.path().join("data");
    let mut server = Server::start_in(&data, &[]);
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    (0..100).for_each(|_| drop(server.create("notes", json!({ "text": noise(60_000) }))));
    // The store has written everything by then, and no checkpoint is due yet.
    std::thread::sleep(Duration::from_secs(3));
    let filler = disk.0.path().join("filler");
    fill(&filler);
    give_back(&filler, 36 << 20);
    server.terminate();
    let in_index = listing(&data.join("index")).values().map(|(bytes, ..)| bytes).sum::<u64>();
    assert!(in_index < 4 << 20, "{in_index} bytes");
    fs::remove_file(&filler).unwrap();
    server.restart();
    assert_eq!(server.get("/v2/resources/notes?per_page=1").expect(200).json()["meta"]["total"], 100);
    server.create("notes", json!({ "text": "there is room again" }));
    server.terminate();
    let in_index = listing(&data.join("index")).values().map(|(bytes, ..)| bytes).sum::<u64>();
    assert!(in_index > 4 << 20, "{in_index} bytes");
}

#[test]
fn a_server_whose_disk_became_read_only_stops_without_a_panic() {
    let image = tempfile::NamedTempFile::new().unwrap();
    image.as_file().set_len(200 << 20).unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(image.path()).output();
    let mounted = made.is_ok_and(|output| output.status.success());
    let disk = mounted.then(|| Disk::mount(&["-o", "loop", image.path().to_str().unwrap()])).flatten();
    let Some(disk) = disk else {
        eprintln!("not tested: mounting a file system needs root and a loop device");
        return;
    };
    let data = disk.0.path().join("data");
    let mut server = Server::start_in(&data, &[]);
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    server.create("notes", json!({ "text": "kept" }));
    // The kernel does this after an error of the device.
    let aborted = Command::new("mount").args(["-o", "remount,abort"]).arg(disk.0.path()).output().unwrap();
    assert!(aborted.status.success(), "{aborted:?}");
    let status = server.terminate();
    assert!(status.code().is_some(), "it ended by a signal: {status}");
    assert_ne!(status.code(), Some(101), "it panicked");
}

#[test]
fn a_first_start_in_a_folder_with_other_files_warns_and_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let photo = folder.path().join("photo.jpg");
    let quiet = Server::start().logged_lines();
    fs::write(&photo, "a photo").unwrap();
    let mut server = Server::start_in(folder.path(), &[]);
    // The folder is also open to others.
    assert_eq!(server.logged_lines(), quiet + 2);
    server.terminate();
    assert_eq!(fs::read_to_string(&photo).unwrap(), "a photo");
}

#[test]
fn a_full_disk_at_a_start_names_what_may_be_deleted() {
    let folder = killed();
    let data = folder.path().join("data");
    with_condemned_store(&data);
    fs::create_dir(data.join("store.broken-7")).unwrap();
    let refused = refused_start(&data, "recover::build=return(ENOSPC)");
    for part in ["free at least", "store.broken-7", "store.broken-8", "may be deleted"] {
        assert!(refused.text.contains(part), "{part}: {}", refused.text);
    }
    fs::remove_dir_all(data.join("store.broken-7")).unwrap();
    fs::remove_dir_all(data.join("store.broken-8")).unwrap();
    assert_eq!(fault(&data), None);
}

/// Sends a request on a separate connection. Returns the status, the head and the body; `None` if no server listens.
fn ask(address: &str, method: &str, path: &str) -> Option<(u16, String, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    stream.write_all(format!("{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    Some((head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_lowercase(), body.to_owned()))
}

#[test]
fn probes_are_answered_while_the_folder_is_opened() {
    let folder = killed();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let mut child = Command::new(crate::support::binary())
        .args(["serve", "--listen", &address, "--log-filter", "warn", "--data"])
        .arg(folder.path().join("data"))
        .env("BINDERY_ADMIN_TOKEN", ADMIN)
        .env("FAILPOINTS", "recover::log=sleep(2500);recover::replay=sleep(40)")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let (status, ..) = loop {
        match ask(&address, "GET", "/healthz") {
            Some(answer) => break answer,
            None => std::thread::sleep(Duration::from_millis(10)),
        }
        assert!(started.elapsed() < Duration::from_secs(2), "nobody listens");
    };
    assert_eq!(status, 200);
    // A client that sends nothing does not hold others up.
    let _idle = TcpStream::connect(&address).unwrap();
    let mut progress = Vec::new();
    loop {
        let (status, head, body) = ask(&address, "GET", "/readyz").unwrap();
        if status == 200 {
            break;
        }
        assert_eq!(status, 503, "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["errors"]["code"], "OVERLOADED");
        assert!(head.contains("retry-after: 1") && head.contains("x-request-id: "), "{head}");
        progress.push(body["progress"].as_f64().unwrap());
        assert_eq!(ask(&address, "HEAD", "/healthz").unwrap().0, 200);
        if let (503, head, body) = ask(&address, "GET", "/v2/resources/notes").unwrap() {
            assert!(head.contains("retry-after: 1"), "{head}");
            assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["errors"]["code"], "OVERLOADED");
            assert_eq!(ask(&address, "HEAD", "/readyz").unwrap().2, "");
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{progress:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(progress.is_sorted() && progress[0] == 0.0 && progress.last() > Some(&0.0), "{progress:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_server_that_rebuilt_its_index_is_ready_when_the_first_ranked_search_is_fast() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut server = Server::start_in(&data, &[]);
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    let text = |n: usize| (0..600).map(|m| format!("w{}", (n * 31 + m * 7919) % 50_000)).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = (0..4_000).map(|n| json!({ "attributes": { "text": text(n) } }).to_string()).collect();
    let types = [("content-type", "application/x-ndjson")];
    server.raw("POST", "/v2/resources/notes/import", &types, lines.join("\n").as_bytes()).expect(200);
    assert!(server.terminate().success());
    fs::remove_dir_all(data.join("index")).unwrap();
    server.restart();
    let search = |q: &str| {
        let started = Instant::now();
        let total =
            server.get(&format!("/v2/resources/notes?q={q}&fields=id")).expect(200).json()["meta"]["total"].take();
        (total, started.elapsed())
    };
    let (found, first) = search("w31");
    assert!(found.as_u64().unwrap() > 0);
    let (_, second) = search("w62");
    assert!(first < 4 * second + Duration::from_millis(150), "first {first:?}, second {second:?}");
}
