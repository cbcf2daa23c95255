//! Places of files (`API.md` 4.14, 4.27.7): a check of the folder, backups, and moving to a bucket.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::files::SWEEPS;
use super::{Web, definition, fetch, png, text, upload};
use crate::support::{Server, binary, run, succeed};

/// Makes a data folder with one file. Returns the bytes that are served, and the address.
fn prepare(folder: &Path) -> (Vec<u8>, String) {
    let mut server = Server::start_in(folder, &[]);
    server.post("/v2/blueprints", &definition()).expect(201);
    let resource = upload(&server, "a.png", &png(30, 20));
    let url = text(&resource, "url").to_owned();
    let bytes = fetch(&server, &url).expect(200).bytes;
    server.terminate();
    (bytes, url)
}

fn only_file(folder: &Path) -> PathBuf {
    let folders = std::fs::read_dir(folder.join("media")).unwrap().map(|entry| entry.unwrap().path());
    folders.flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())).next().unwrap()
}

#[test]
fn a_check_of_the_folder_finds_missing_and_damaged_files() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    let (bytes, _) = prepare(&folder);
    let data = folder.to_str().unwrap();
    assert!(succeed(&["verify", "--data", data]).contains("no problems found"));
    let file = only_file(&folder);
    let spare = file.with_file_name(blake3::hash(b"x").to_hex().to_string());
    let spare =
        folder.join("media").join(&spare.file_name().unwrap().to_str().unwrap()[..2]).join(spare.file_name().unwrap());
    std::fs::create_dir_all(spare.parent().unwrap()).unwrap();
    std::fs::write(&spare, b"x").unwrap();
    assert!(succeed(&["verify", "--data", data]).contains("1 file of media that nothing names"));
    let mut damaged = bytes.clone();
    damaged[40] ^= 1;
    std::fs::write(&file, damaged).unwrap();
    let (code, found) = run(&["verify", "--data", data]);
    assert!(code == Some(1) && found.contains("of media is damaged"), "{found}");
    std::fs::remove_file(&file).unwrap();
    let (code, found) = run(&["verify", "--data", data]);
    assert!(code == Some(1) && found.contains("of media is missing"), "{found}");
}

#[test]
fn a_backup_has_the_files_in_a_part_of_their_own() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name).to_str().unwrap().to_owned();
    let (bytes, url) = prepare(&temp.path().join("data"));
    succeed(&["backup", &path("off"), "--data", &path("data")]);
    let server = Server::start_in(&temp.path().join("data"), &[]);
    succeed(&["backup", &path("on"), "--url", server.address(), "--token", server.secret()]);
    succeed(&["backup", &path("small"), "--without-media", "--url", server.address(), "--token", server.secret()]);
    drop(server);
    assert!(!Path::new(&path("small.media")).exists());
    // An empty part is the answer of a server whose files are in a bucket.
    for (folder, part) in [("without", None), ("empty", Some(""))] {
        part.into_iter().for_each(|part| std::fs::write(path("small.media"), part).unwrap());
        let said = succeed(&["restore", &path("small"), "--data", &path(folder)]);
        assert!(said.contains("1 file of media not restored") && said.contains("small.media"), "{said}");
    }
    for name in ["off", "on"] {
        let restored = path(&format!("restored-{name}"));
        assert!(succeed(&["restore", &path(name), "--data", &restored]).contains("1 file of media"));
        let server = Server::start_in(Path::new(&restored), &[]);
        assert!(fetch(&server, &url).expect(200).bytes == bytes, "{name}");
    }
    let part = std::fs::read(path("on.media")).unwrap();
    for (name, part) in
        [("cut", &part[..part.len() - 20]), ("changed", &[&part[..60], &[part[60] ^ 1], &part[61..]].concat())]
    {
        std::fs::copy(path("on"), path(name)).unwrap();
        std::fs::write(path(&format!("{name}.media")), part).unwrap();
        let (code, found) = run(&["restore", &path(name), "--data", &path("nowhere")]);
        assert!(code == Some(1) && !Path::new(&path("nowhere")).exists(), "{name}: {found}");
    }
}

#[test]
fn a_backup_has_the_files_that_lost_their_names_before_they_were_sent() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name).to_str().unwrap().to_owned();
    let server = Server::start_failing(&temp.path().join("data"), &[], SWEEPS);
    server.post("/v2/blueprints", &definition()).expect(201);
    let uploaded = [30, 31].map(|width| upload(&server, "a.png", &png(width, 20)));
    let [deleted, replaced] = uploaded.each_ref().map(|resource| resource["id"].as_str().unwrap());
    let token = format!("Bearer {}", server.secret());
    let headers = [("authorization", token.as_str())];
    let get = |path: &str| super::request(&server, "GET", path, &headers).expect(200).bytes;
    std::fs::write(path("all"), get("/v2/backup")).unwrap();
    server.delete(&format!("/v2/resources/media/{deleted}")).expect(204);
    let bytes = png(32, 20);
    let content = format!("/v2/media/media/{replaced}/content");
    super::send_form(&server, "PUT", &content, &[("file", Some("b.png"), &bytes)]).expect(200);
    // A sweep would have removed both files by then.
    std::thread::sleep(std::time::Duration::from_millis(600));
    std::fs::write(path("all.media"), get("/v2/backup/media")).unwrap();
    drop(server);
    assert!(succeed(&["restore", &path("all"), "--data", &path("new")]).contains("3 files of media"));
    assert!(succeed(&["verify", "--data", &path("new")]).contains("no problems found"));
    let server = Server::start_in(&temp.path().join("new"), &[]);
    uploaded.iter().for_each(|resource| drop(fetch(&server, text(resource, "url")).expect(200)));
}

#[test]
fn an_interrupted_backup_leaves_both_parts_of_the_one_before() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name).to_str().unwrap().to_owned();
    prepare(&temp.path().join("data"));
    let (all, data) = (path("all"), path("data"));
    let backup = ["backup", all.as_str(), "--data", data.as_str()];
    succeed(&backup);
    let before = std::fs::read(path("all")).unwrap();
    let mut server = Server::start_in(&temp.path().join("data"), &[]);
    upload(&server, "b.png", &png(31, 20));
    server.terminate();
    // The files cannot be written.
    std::fs::create_dir(path("all.media.unfinished")).unwrap();
    assert_eq!(run(&backup).0, Some(1));
    assert!(std::fs::read(path("all")).unwrap() == before);
    std::fs::remove_dir(path("all.media.unfinished")).unwrap();
    assert!(succeed(&backup).contains("all.media holds 2 files"));
    // A volume that is not mounted.
    std::fs::rename(path("data/media"), path("away")).unwrap();
    assert_eq!(run(&backup).0, Some(1));
    assert!(Path::new(&path("all.media")).exists());
    std::fs::rename(path("away"), path("data/media")).unwrap();
    succeed(&[&backup[..], &["--without-media"]].concat());
    assert!(!Path::new(&path("all.media")).exists());
}

#[test]
fn a_salvage_takes_the_files_over_and_counts_those_that_are_missing() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name).to_str().unwrap().to_owned();
    let (bytes, url) = prepare(&temp.path().join("data"));
    let said = succeed(&["salvage", "--data", &path("data"), "--to", &path("new")]);
    assert!(said.contains("the files of media were taken over") && said.contains("nothing is lost"), "{said}");
    assert!(succeed(&["verify", "--data", &path("new")]).contains("no problems found"));
    let mut server = Server::start_in(&temp.path().join("new"), &[]);
    assert!(fetch(&server, &url).expect(200).bytes == bytes);
    server.terminate();
    std::fs::remove_file(only_file(&temp.path().join("data"))).unwrap();
    assert!(only_file(&temp.path().join("new")).is_file());
    let (code, said) = run(&["salvage", "--data", &path("data"), "--to", &path("newer")]);
    assert!(code == Some(2) && said.contains("lost: 1 of the 1 files of media"), "{code:?}: {said}");
}

#[test]
fn files_do_not_move_while_a_server_uses_them() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    prepare(&folder);
    let server = Server::start_in(&folder, &[]);
    let bucket = format!("file://{}", temp.path().join("bucket").display());
    let (code, said) = run(&["media", "move", "--to", &bucket, "--data", folder.to_str().unwrap()]);
    assert!(code == Some(1) && said.contains("in use"), "{code:?}: {said}");
    drop(server);
}

#[test]
fn files_move_to_a_bucket_and_back() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    let data = folder.to_str().unwrap();
    let (bytes, url) = prepare(&folder);
    let bucket = format!("file://{}", temp.path().join("bucket").display());
    succeed(&["media", "move", "--to", &bucket, "--data", data]);
    assert!(succeed(&["media", "move", "--to", &bucket, "--data", data]).contains("0 files copied"));
    std::fs::remove_dir_all(folder.join("media")).unwrap();
    let mut server = Server::start_in(&folder, &["--media-store", &bucket]);
    assert!(fetch(&server, &url).expect(200).bytes == bytes);
    let part = super::request(&server, "GET", &url, &[("range", "bytes=1-3")]).expect(206);
    assert!(part.bytes == bytes[1..4]);
    assert!(fetch(&server, &format!("{url}&w=160&format=webp")).expect(200).bytes.starts_with(b"RIFF"));
    let other = upload(&server, "b.png", &png(31, 20));
    fetch(&server, text(&other, "url")).expect(200);
    assert!(!folder.join("media").exists());
    server.terminate();
}

#[track_caller]
fn wait_until(holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_restored_copy_removes_no_files_from_the_bucket_of_its_original_until_it_owns_it() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name).to_str().unwrap().to_owned();
    let bucket = format!("file://{}", path("bucket"));
    let store = ["--media-store", &*bucket];
    let mut original = Server::start_in(&temp.path().join("data"), &store);
    original.post("/v2/blueprints", &definition()).expect(201);
    let older = upload(&original, "a.png", &png(30, 20));
    wait_until(|| temp.path().join("bucket/owner").exists());
    succeed(&["backup", &path("all"), "--url", original.address(), "--token", original.secret()]);
    let newer = upload(&original, "b.png", &png(31, 20));
    let mut restore = Command::new(binary());
    restore.args(["restore", &path("all"), "--data", &path("copy")]).env("BINDERY_MEDIA_STORE", &bucket);
    let said = restore.output().unwrap();
    assert!(said.status.success() && !String::from_utf8_lossy(&said.stdout).contains("not restored"), "{said:?}");
    let mut copy = Server::start_failing(&temp.path().join("copy"), &store, SWEEPS);
    // The copy would have removed the file by then.
    std::thread::sleep(Duration::from_millis(600));
    fetch(&original, text(&newer, "url")).expect(200);
    fetch(&copy, text(&older, "url")).expect(200);
    original.terminate();
    copy.terminate();

    let mut own = Command::new(binary());
    own.args(["media", "own", "--data", &path("copy")]).env("BINDERY_MEDIA_STORE", &bucket);
    assert!(own.output().unwrap().status.success());
    let copy = Server::start_failing(&temp.path().join("copy"), &store, SWEEPS);
    let hash = text(&newer, "hash");
    let file = temp.path().join("bucket").join(&hash[..2]).join(hash);
    wait_until(|| !file.exists());
    fetch(&copy, text(&older, "url")).expect(200);
}

#[test]
fn servers_of_a_cluster_share_a_bucket() {
    let temp = tempfile::tempdir().unwrap();
    let address = |name: &str| format!("file://{}", temp.path().join(name).display());
    let (log, bucket) = (address("log"), address("bucket"));
    let (one, two) = (temp.path().join("one"), temp.path().join("two"));
    succeed(&["cluster", "create", "--data", one.to_str().unwrap(), "--log", &log]);
    let mut server = Server::start_in(&one, &["--log", &log]);
    server.post("/v2/blueprints", &definition()).expect(201);
    let bytes = png(30, 20);
    let refused = super::send_form(&server, "POST", "/v2/media/media", &[("file", Some("a.png"), &bytes)]);
    assert_eq!(refused.outcome(), "409 CONFLICT");
    assert!(refused.message().contains("media_store"), "{}", refused.message());
    server.terminate();

    let server = Server::start_in(&one, &["--log", &log, "--media-store", &bucket]);
    let other = Server::start_in(&two, &["--log", &log, "--media-store", &bucket]);
    let resource = upload(&server, "a.png", &bytes);
    let after = [("bindery-after", server.get("/v2/status").expect(200).header("bindery-number").unwrap().to_owned())];
    let headers: Vec<(&str, &str)> = after.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let served = super::request(&other, "GET", text(&resource, "url"), &headers).expect(200);
    assert_eq!(blake3::hash(&served.bytes).to_hex().as_str(), text(&resource, "hash"));
    let elsewhere = upload(&other, "b.png", &png(31, 20));
    super::request(&other, "GET", text(&elsewhere, "url"), &[]).expect(200);
}

/// It answers without a write, which would find out.
#[test]
fn a_server_does_not_answer_with_a_file_that_another_one_has_just_deleted() {
    let temp = tempfile::tempdir().unwrap();
    let address = |name: &str| format!("file://{}", temp.path().join(name).display());
    let (log, bucket) = (address("log"), address("bucket"));
    let (one, two) = (temp.path().join("one"), temp.path().join("two"));
    succeed(&["cluster", "create", "--data", one.to_str().unwrap(), "--log", &log]);
    let arguments: [&str; 5] = ["--log", &log, "--media-store", &bucket, "--webhook-private-addresses"];
    let [server, other] = [&one, &two].map(|folder| Server::start_in(folder, &arguments));
    server.post("/v2/blueprints", &definition()).expect(201);
    let keyed = json!({ "url": format!("{}/c.png", Web::start(png(20, 10)).address), "key": "c" });
    let created = server.post("/v2/media/media/fetch", &keyed).expect(201).data();
    let path = format!("/v2/resources/media/{}", created["id"].as_str().unwrap());
    other.raw("GET", &path, &[("bindery-after", "latest")], b"").expect(200);
    server.delete(&path).expect(204);
    let again = other.post("/v2/media/media/fetch", &keyed).expect(201).data();
    assert_ne!(again["id"], created["id"]);
}
