//! Backups, restores, verification and exports, on the command line and over HTTP.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::clients::attack::{Raw, head};
use crate::support::{ADMIN, Server, binary};

fn run(arguments: &[&str]) -> Output {
    Command::new(binary()).args(arguments).env_remove("BINDERY_URL").env_remove("BINDERY_TOKEN").output().unwrap()
}

#[track_caller]
fn succeed(arguments: &[&str]) -> String {
    let output = run(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {error}{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn fail(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success(), "{arguments:?} succeeded");
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Starts a server with resources in two variants, some of them deleted, a member and a token.
fn filled() -> Server {
    let server = Server::start();
    let body = json!({
        "name": "Posts", "slug": "posts",
        "variants": [{ "name": "English", "slug": "en", "default": true }, { "name": "German", "slug": "de" }],
        "fields": [
            { "name": "Title", "slug": "title", "type": "text", "unique": true },
            { "name": "Body", "slug": "body", "type": "rich-text" },
        ],
    });
    server.post("/v2/blueprints", &body).expect(201);
    for n in 0..60 {
        let body = format!("<p>{}</p>", "word ".repeat(n * 37 % 900));
        let id = server.create("posts", json!({ "title": format!("post {n}"), "body": body }));
        if n % 3 == 0 {
            let german = json!({ "attributes": { "title": format!("Beitrag {n}") } });
            server.patch(&format!("/v2/resources/posts/{id}?variant=de"), &german).expect(200);
        }
        if n % 7 == 0 {
            server.delete(&format!("/v2/resources/posts/{id}")).expect(204);
        }
    }
    server.post("/v2/members", &json!({ "name": "Ada", "email": "ada@example.org" })).expect(201);
    server.token(&["view"]);
    server
}

/// Returns everything that can be read over HTTP.
fn everything(server: &Server) -> Vec<Value> {
    let paths = ["/v2/blueprints", "/v2/members", "/v2/tokens", "/v2/resources/posts/export?all_variants=true&sort=id"];
    paths.map(|path| server.get(path).expect(200).json()).into()
}

#[test]
fn a_backup_of_a_running_server_restores_to_the_same_content() {
    let server = filled();
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("all.backup");
    let body = json!({ "attributes": { "title": "kept" } }).to_string();
    let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
    let kept = server.raw("POST", "/v2/resources/posts", &headers, body.as_bytes()).expect(201);
    let output = succeed(&["backup", text(&file), "--url", server.address(), "--token", ADMIN]);
    assert!(output.contains("holds all content"), "{output}");
    let before = everything(&server);
    server.create("posts", json!({ "title": "after the backup" }));
    drop(server);

    let folder = temp.path().join("restored");
    succeed(&["restore", text(&file), "--data", text(&folder)]);
    let output = fail(&["restore", text(&file), "--data", text(&folder)]);
    assert!(output.contains("not empty"), "{output}");
    succeed(&["verify", "--data", text(&folder)]);
    let restored = Server::start_in(&folder, &[]);
    assert_eq!(everything(&restored), before);
    let again = restored.raw("POST", "/v2/resources/posts", &headers, body.as_bytes());
    assert_eq!((again.status, &again.text), (kept.status, &kept.text));
    restored.create("posts", json!({ "title": "new" }));
    let duplicate = json!({ "attributes": { "title": "post 1" } });
    restored.post("/v2/resources/posts", &duplicate).expect(422);
}

#[test]
fn a_data_folder_may_be_the_root_of_a_volume() {
    let server = filled();
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("all.backup");
    succeed(&["backup", text(&file), "--url", server.address(), "--token", ADMIN]);
    let volume = temp.path().join("volume");
    std::fs::create_dir_all(volume.join("lost+found")).unwrap();
    succeed(&["restore", text(&file), "--data", text(&volume)]);
    let verified = succeed(&["verify", "--data", text(&volume)]);
    assert!(verified.contains("no problems found"), "{verified}");
    Server::start_in(&volume, &[]);
}

#[test]
fn a_backup_taken_during_writes_is_consistent() {
    let server = Server::start();
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("all.backup");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let server = &server;
            scope.spawn(move || {
                for n in 0..100 {
                    server.create("notes", json!({ "text": format!("{writer} {n} {}", "x".repeat(n * 31)) }));
                }
            });
        }
        for _ in 0..5 {
            succeed(&["backup", text(&file), "--url", server.address(), "--token", ADMIN]);
        }
    });
    let folder = temp.path().join("restored");
    succeed(&["restore", text(&file), "--data", text(&folder)]);
    let output = succeed(&["verify", "--data", text(&folder)]);
    assert!(output.contains("no problems found"), "{output}");
}

#[test]
fn a_backup_requires_the_manage_ability() {
    let server = Server::start();
    let token = server.token(&["view", "preview", "create", "update", "delete", "publish"]);
    server.as_token(&token).get("/v2/backup").expect(403);
    server.as_token("").get("/v2/backup").expect(401);
}

/// Waits until the server has this many copies for backups on disk.
#[track_caller]
fn wait_for_copies(data: &Path, count: usize) {
    let copies = || std::fs::read_dir(data.join("backups")).map_or(0, Iterator::count);
    let until = Instant::now() + Duration::from_secs(5);
    while copies() != count {
        assert!(Instant::now() < until, "{} copies", copies());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn backups_are_prepared_one_at_a_time_while_their_clients_wait() {
    let temp = tempfile::tempdir().unwrap();
    // A copy takes more than ten seconds.
    let server = Server::start_failing(temp.path(), &[], "base::write=sleep(200)");
    server.blueprint("notes", json!([]));
    for _ in 0..50 {
        server.create("notes", json!({}));
    }
    let ask = || {
        let mut raw = Raw::connect(server.address());
        raw.send(format!("{}\r\n", head("GET", "/v2/backup", "")));
        raw
    };
    let asked: Vec<Raw> = (0..10).map(|_| ask()).collect();
    let (sender, answers) = channel();
    std::thread::scope(|scope| {
        for raw in &asked {
            let (mut raw, sender) = (Raw(raw.0.try_clone().unwrap()), sender.clone());
            scope.spawn(move || sender.send(raw.answer()));
        }
        for _ in 0..6 {
            let refused = answers.recv_timeout(Duration::from_secs(5)).unwrap().unwrap();
            assert_eq!((refused.status, refused.header("retry-after")), (503, Some("10")));
            assert_eq!(refused.code(), "OVERLOADED");
        }
        wait_for_copies(temp.path(), 1);
        assert!(answers.recv_timeout(Duration::from_millis(300)).is_err(), "four wait");
        wait_for_copies(temp.path(), 1);
        for raw in &asked {
            // The server has closed some of them.
            let _ = raw.0.shutdown(std::net::Shutdown::Both);
        }
    });
    wait_for_copies(temp.path(), 0);
    let _again = ask();
    wait_for_copies(temp.path(), 1);
}

#[test]
fn damaged_backups_and_missing_folders_are_rejected() {
    let mut server = filled();
    let folder = server.folder().to_owned();
    server.terminate();
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("all.backup");
    succeed(&["backup", text(&file), "--data", text(&folder)]);
    succeed(&["verify", "--data", text(&folder)]);

    let intact = std::fs::read(&file).unwrap();
    for offset in [0, 9, 40, intact.len() / 2, intact.len() - 1] {
        let mut damaged = intact.clone();
        damaged[offset] ^= 0x10;
        std::fs::write(&file, &damaged).unwrap();
        let target = temp.path().join("target");
        let refused = fail(&["restore", text(&file), "--data", text(&target)]);
        assert!(refused.contains(text(&file)) && !refused.contains("data folder"), "{refused}");
        assert!(!target.exists(), "a backup that is damaged at byte {offset} creates no folder");
    }
    for cut in [10, 40, intact.len() / 2] {
        std::fs::write(&file, &intact[..intact.len() - cut]).unwrap();
        let refused = fail(&["restore", text(&file), "--data", text(&temp.path().join("target"))]);
        assert!(refused.contains(text(&file)) && !refused.contains("fill whole buffer"), "{refused}");
    }
    std::fs::write(&file, &intact).unwrap();
    let foreign = temp.path().join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("letter.txt"), "x").unwrap();
    let refused = fail(&["restore", text(&file), "--data", text(&foreign)]);
    assert!(refused.contains("it is not empty"), "{refused}");
    assert_eq!(std::fs::read_dir(&foreign).unwrap().count(), 1, "nothing is written there");
    let none = temp.path().join("none");
    let refused = fail(&["restore", text(&none), "--data", text(&temp.path().join("target"))]);
    assert!(refused.contains("none cannot be used: No such file"), "{refused}");
    for arguments in [&["verify"][..], &["export", "posts"], &["backup", text(&file)]] {
        fail(&[arguments, &["--data", text(&none)]].concat());
        assert!(!none.exists(), "{arguments:?} creates no data folder");
    }
}

#[test]
fn the_index_is_rebuilt_from_the_store() {
    let mut server = filled();
    let before = everything(&server);
    let found = server.ids("posts?search=word&sort=title");
    let folder = server.folder().to_owned();
    let busy = fail(&["reindex", "--data", text(&folder)]);
    assert!(busy.contains("in use"), "{busy}");
    server.terminate();
    succeed(&["reindex", "--data", text(&folder)]);
    succeed(&["verify", "--data", text(&folder)]);
    server.restart();
    assert_eq!(everything(&server), before);
    assert_eq!(server.ids("posts?search=word&sort=title"), found);
}

#[test]
fn an_export_can_be_imported_unchanged() {
    let mut server = filled();
    let temp = tempfile::tempdir().unwrap();
    let (online, offline) = (temp.path().join("online.ndjson"), temp.path().join("offline.ndjson"));
    succeed(&["export", "posts", text(&online), "--url", server.address(), "--token", ADMIN]);
    let csv = succeed(&["export", "posts", "--format", "csv", "--url", server.address(), "--token", ADMIN]);
    assert!(csv.starts_with("id,type,published_at,created_at,updated_at,title,body\r\n"), "{csv}");
    let blueprint = server.get("/v2/blueprints/posts").data();
    let before = server.get("/v2/resources/posts/export?all_variants=true&sort=id").expect(200).json();
    let folder = server.folder().to_owned();
    server.terminate();
    succeed(&["export", "posts", text(&offline), "--data", text(&folder)]);
    let lines = std::fs::read_to_string(&online).unwrap();
    assert_eq!(lines, std::fs::read_to_string(&offline).unwrap());
    assert_eq!(lines.lines().count(), before["data"].as_array().unwrap().len());
    let one = succeed(&["export", "posts", "--query", "filter[title]=post+1", "--data", text(&folder)]);
    assert_eq!(one.lines().count(), 1);

    let other = Server::start();
    other.post("/v2/blueprints", &blueprint).expect(201);
    succeed(&["import", "posts", text(&online), "--url", other.address(), "--token", ADMIN]);
    assert_eq!(other.get("/v2/resources/posts/export?all_variants=true&sort=id").expect(200).json(), before);
}
