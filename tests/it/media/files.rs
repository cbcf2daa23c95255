//! The life of files (`API.md` 4.27.7): when they are removed, and what a kill leaves.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Part, definition, fetch, png, send_form, text, upload};
use crate::folders::{files, flip, run};
use crate::support::Server;

/// The point that makes the server sweep all the time, whatever the age of a file.
pub(crate) const SWEEPS: &str = "media::sweep=return";

/// Returns the number of stored files.
fn n_files(folder: &Path) -> usize {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries(&folder.join("media")).map(|entry| entries(&entry.path()).count()).sum()
}

#[track_caller]
pub(crate) fn wait_for_files(server: &Server, count: usize) {
    let until = Instant::now() + Duration::from_secs(30);
    while n_files(server.folder()) != count {
        assert!(Instant::now() < until, "{} files, not {count}", n_files(server.folder()));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the server has swept at least once more.
fn wait_for_a_sweep() {
    std::thread::sleep(Duration::from_millis(600));
}

fn start_in(folder: &Path, points: &str) -> Server {
    Server::start_failing(folder, &[], points)
}

#[test]
fn a_file_goes_with_the_last_resource_that_names_it() {
    let temp = tempfile::tempdir().unwrap();
    let server = start_in(&temp.path().join("data"), SWEEPS);
    server.post("/v2/blueprints", &definition()).expect(201);
    let (one, two) = (upload(&server, "a.png", &png(10, 10)), upload(&server, "b.png", &png(10, 10)));
    assert_eq!(n_files(server.folder()), 1);
    let path = |resource: &Value| format!("/v2/resources/media/{}", resource["id"].as_str().unwrap());
    server.delete(&path(&one)).expect(204);
    wait_for_a_sweep();
    fetch(&server, text(&two, "url")).expect(200);
    let bytes = png(20, 20);
    let file: Part<'_> = ("file", Some("c.png"), &bytes);
    let content = format!("/v2/media/media/{}/content", two["id"].as_str().unwrap());
    let replaced = send_form(&server, "PUT", &content, &[file]).expect(200).data();
    wait_for_files(&server, 1);
    fetch(&server, text(&replaced, "url")).expect(200);
    server.delete(&path(&two)).expect(204);
    wait_for_files(&server, 0);
    let again = upload(&server, "a.png", &png(10, 10));
    fetch(&server, text(&again, "url")).expect(200);
}

#[test]
fn the_trash_and_the_history_keep_files() {
    let temp = tempfile::tempdir().unwrap();
    let server = start_in(&temp.path().join("data"), SWEEPS);
    let mut kept = definition();
    kept["trash"] = json!({ "days": 30 });
    kept["history"] = json!({ "keep": 10, "days": 365 });
    server.post("/v2/blueprints", &kept).expect(201);
    let resource = upload(&server, "a.png", &png(10, 10));
    let id = resource["id"].as_str().unwrap();
    let path = format!("/v2/resources/media/{id}");
    let bytes = png(20, 20);
    let content = format!("/v2/media/media/{id}/content");
    send_form(&server, "PUT", &content, &[("file", Some("b.png"), &bytes)]).expect(200);
    wait_for_a_sweep();
    assert_eq!(n_files(server.folder()), 2);
    let restored = server.post(&format!("{path}/history/1/restore"), &json!({})).expect(200).data();
    assert_eq!(text(&restored, "hash"), text(&resource, "hash"));
    fetch(&server, text(&restored, "url")).expect(200);

    server.delete(&path).expect(204);
    wait_for_a_sweep();
    assert_eq!(n_files(server.folder()), 2);
    server.post(&format!("/v2/trash/{id}/restore"), &json!({})).expect(200);
    fetch(&server, text(&resource, "url")).expect(200);
    server.delete(&path).expect(204);
    server.delete(&format!("/v2/trash/{id}")).expect(204);
    wait_for_files(&server, 0);
}

#[test]
fn a_kill_at_any_point_of_an_upload_leaves_a_whole_resource_or_none() {
    for (point, is_there) in [
        ("media::stored", Some(false)),
        ("committer::decided", Some(false)),
        ("log::sync", None),
        ("committer::committed", Some(true)),
        ("apply::stored", Some(true)),
    ] {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("data");
        let mut server = start_in(&folder, "");
        server.post("/v2/blueprints", &definition()).expect(201);
        let kept = upload(&server, "kept.png", &png(9, 9));
        server.terminate();
        let failing = start_in(&folder, &format!("{point}=return(kill)"));
        let bytes = png(10, 10);
        let parts: [Part<'_>; 1] = [("file", Some("a.png"), &bytes)];
        let sent = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            send_form(&failing, "POST", "/v2/media/media", &parts)
        }));
        assert!(sent.is_err(), "{point}: the server answered");
        drop(failing);
        let server = start_in(&folder, SWEEPS);
        let found = server.ids("media");
        if let Some(is_there) = is_there {
            assert_eq!(found.len(), 1 + usize::from(is_there), "{point}");
        }
        wait_for_files(&server, found.len());
        fetch(&server, text(&kept, "url")).expect(200);
        for resource in server.get("/v2/resources/media").expect(200).data().as_array().unwrap() {
            let headers = [("authorization", &*format!("Bearer {}", server.secret()))];
            super::request(&server, "GET", text(resource, "url"), &headers).expect(200);
        }
    }
}

#[test]
fn an_upload_is_refused_if_a_sync_fails_while_it_is_received() {
    let temp = tempfile::tempdir().unwrap();
    let server = start_in(&temp.path().join("data"), "paced::sync=return(EIO)");
    server.post("/v2/blueprints", &definition()).expect(201);
    let bytes = "a line of text\n".repeat(1_000_000);
    let parts: [Part<'_>; 1] = [("file", Some("long.txt"), bytes.as_bytes())];
    send_form(&server, "POST", "/v2/media/media", &parts).expect(500);
    assert_eq!(server.ids("media"), Vec::<String>::new());
    assert_eq!(n_files(server.folder()), 0);
    upload(&server, "short.txt", &bytes.as_bytes()[..1_000]);
}

#[test]
fn a_kill_at_any_point_of_a_replacement_or_a_deletion_leaves_one_whole_file_or_none() {
    for (point, is_done) in [
        ("media::stored", Some(false)),
        ("committer::decided", Some(false)),
        ("log::sync", None),
        ("committer::committed", Some(true)),
        ("apply::stored", Some(true)),
    ] {
        for method in ["PUT", "DELETE"] {
            if (point, method) == ("media::stored", "DELETE") {
                continue;
            }
            let temp = tempfile::tempdir().unwrap();
            let folder = temp.path().join("data");
            let mut server = start_in(&folder, "");
            server.post("/v2/blueprints", &definition()).expect(201);
            let old = upload(&server, "a.png", &png(9, 9));
            server.terminate();
            let failing = start_in(&folder, &format!("{point}=return(kill)"));
            let (id, bytes) = (old["id"].as_str().unwrap(), png(10, 10));
            let sent = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match method {
                "PUT" => {
                    let file: Part<'_> = ("file", Some("a.png"), &bytes);
                    send_form(&failing, method, &format!("/v2/media/media/{id}/content"), &[file])
                }
                _ => failing.delete(&format!("/v2/resources/media/{id}")),
            }));
            assert!(sent.is_err(), "{method} {point}: the server answered");
            drop(failing);
            let server = start_in(&folder, SWEEPS);
            let found = server.get("/v2/resources/media").expect(200).data().as_array().unwrap().clone();
            let is_old = found.first().is_some_and(|resource| text(resource, "hash") == text(&old, "hash"));
            assert_eq!(found.len(), usize::from(method == "PUT" || is_old), "{method} {point}");
            if let Some(is_done) = is_done {
                assert_eq!(is_old, !is_done, "{method} {point}");
            }
            wait_for_files(&server, found.len());
            for resource in &found {
                let served = fetch(&server, text(resource, "url")).expect(200);
                assert_eq!(blake3::hash(&served.bytes).to_hex().as_str(), text(resource, "hash"), "{method} {point}");
            }
        }
    }
}

/// Kills a server at a point of the sweep that removes a file of 9 by 9 pixels. Returns the resource whose file stays.
fn kill_in_a_sweep(folder: &Path, point: &str) -> Value {
    let mut server = start_in(folder, "");
    server.post("/v2/blueprints", &definition()).expect(201);
    let (one, two) = (upload(&server, "a.png", &png(9, 9)), upload(&server, "b.png", &png(10, 10)));
    server.delete(&format!("/v2/resources/media/{}", one["id"].as_str().unwrap())).expect(204);
    server.terminate();
    let failing = start_in(folder, &format!("{SWEEPS};{point}=return(kill)"));
    let until = Instant::now() + Duration::from_secs(30);
    while std::path::Path::new(&format!("/proc/{}/exe", failing.process())).exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    two
}

#[test]
fn a_file_whose_removal_was_interrupted_can_be_uploaded_right_after_the_start() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("data");
    kill_in_a_sweep(&folder, "media::condemned");
    // This server sweeps an hour after its start.
    let server = start_in(&folder, "");
    let (bytes, until) = (png(9, 9), Instant::now() + Duration::from_secs(10));
    while send_form(&server, "POST", "/v2/media/media", &[("file", Some("a.png"), &bytes)]).status != 201 {
        assert!(Instant::now() < until, "the file is still being removed");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_kill_in_a_sweep_is_made_good_by_the_next_one() {
    for point in ["media::condemned", "media::removed"] {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("data");
        let two = kill_in_a_sweep(&folder, point);
        let server = start_in(&folder, SWEEPS);
        wait_for_files(&server, 1);
        fetch(&server, text(&two, "url")).expect(200);
        // The mark is gone, so the same file can be uploaded again.
        wait_for_a_sweep();
        let again = upload(&server, "a.png", &png(9, 9));
        fetch(&server, text(&again, "url")).expect(200);
    }
}

#[test]
fn a_salvage_keeps_the_files_of_resources_whose_upload_is_lost() {
    let temp = tempfile::tempdir().unwrap();
    let (data, new) = (temp.path().join("data"), temp.path().join("new"));
    let mut server = Server::start_in(&data, &[]);
    let mut kept = definition();
    kept["trash"] = json!({ "days": 30 });
    kept["history"] = json!({ "keep": 10, "days": 365 });
    server.post("/v2/blueprints", &kept).expect(201);
    let uploaded = [10, 11, 12].map(|width| {
        let resource = upload(&server, "a.png", &png(width, 10));
        // All copies are written again, without another file.
        for variant in ["en", "de"] {
            let path = format!("/v2/resources/media/{}?variant={variant}", resource["id"].as_str().unwrap());
            server.patch(&path, &json!({ "attributes": { "alt": "x" } })).expect(200);
        }
        resource
    });
    let [live, trashed, replaced] = &uploaded;
    server.delete(&format!("/v2/resources/media/{}", trashed["id"].as_str().unwrap())).expect(204);
    let (content, bytes) = (format!("/v2/media/media/{}/content", replaced["id"].as_str().unwrap()), png(20, 20));
    send_form(&server, "PUT", &content, &[("file", Some("b.png"), &bytes)]).expect(200);
    server.terminate();

    let log = files(&data.join("log"), ".log").remove(0);
    for resource in &uploaded {
        let (bytes, hash) = (std::fs::read(&log).unwrap(), text(resource, "hash").as_bytes());
        flip(&log, bytes.windows(hash.len()).position(|window| window == hash).unwrap());
    }
    std::fs::remove_dir_all(data.join("store")).unwrap();
    let ran = run(&["salvage", "--to", new.to_str().unwrap()], &data);
    assert_eq!(ran.code, Some(2), "{}", ran.text);
    let verified = run(&["verify"], &new);
    assert!(verified.code == Some(0) && !verified.text.contains("that nothing names"), "{}", verified.text);
    let server = start_in(&new, SWEEPS);
    wait_for_a_sweep();
    assert_eq!(n_files(server.folder()), 4);
    fetch(&server, text(live, "url")).expect(200);
}
