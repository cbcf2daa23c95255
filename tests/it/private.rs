//! Tests that other users of the machine cannot read the files of the binary.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::{Server, binary};

/// Returns the files and folders that other users may access in some way.
fn open_to_others(path: &Path) -> Vec<String> {
    let metadata = fs::symlink_metadata(path).unwrap();
    let mode = metadata.permissions().mode() & 0o777;
    let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
    let mut found = Vec::new();
    if mode != expected {
        found.push(format!("{} {mode:o}", path.display()));
    }
    if metadata.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| found.extend(open_to_others(&entry.unwrap().path())));
    }
    found
}

/// Runs the binary with a umask that leaves all permissions.
fn run(arguments: &[&str]) -> String {
    let script = "umask 000; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    // The variables of the tests are not settings. The check would report them.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("BINDERY_")) {
        command.env_remove(name);
    }
    let ran = command.args(["-c", script]).arg(binary()).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    assert!(ran.status.success(), "{text}");
    text
}

#[test]
fn data_backups_and_exports_belong_to_their_user_only() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name).to_str().unwrap().to_owned();
    let (data, restored) = (path("data"), path("restored"));
    let mut server = Server::start_after("umask 000", Path::new(&data), &["--demo"]);
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "rich-text" }]));
    // The value is so large that it has its own piece.
    server.create("notes", json!({ "text": "<p>much text</p>".repeat(10_000) }));
    let remote = ["--url", server.address(), "--token", server.secret()];
    run(&[&["backup", &path("remote.backup")], &remote[..]].concat());
    run(&[&["export", "notes", &path("notes.ndjson")], &remote[..]].concat());
    assert!(server.terminate().success());
    run(&["backup", &path("local.backup"), "--data", &data]);
    run(&["restore", &path("local.backup"), "--data", &restored]);
    let listed = fs::read_dir(temp.path()).unwrap();
    let open: Vec<String> = listed.flat_map(|entry| open_to_others(&entry.unwrap().path())).collect();
    assert!(open.is_empty(), "{open:#?}");
}

#[test]
fn a_data_folder_that_others_may_enter_is_reported_at_the_start_and_by_the_check() {
    let temp = tempfile::tempdir().unwrap();
    let data = temp.path().join("data");
    let check = || run(&["config", "check", "--data", data.to_str().unwrap()]);
    let mut server = Server::start_in(&data, &[]);
    let quiet = server.logged_lines();
    server.terminate();
    assert!(!check().contains("other users"));
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    server.restart();
    assert_eq!(server.logged_lines(), quiet + 1);
    let told = check();
    assert!(told.contains("open to other users of this machine (mode 0755)") && told.contains("is valid"), "{told}");
}
