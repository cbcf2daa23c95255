//! `bindery config check`: the test whether a server would start.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

use crate::starts::Disk;
use crate::support::binary;

/// A case: the arguments, whether the check succeeds with them, and its output.
type Case<'a> = (&'a [&'a str], bool, &'a [&'a str]);

/// Returns whether the check succeeded, and its output.
fn check(arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(binary());
    // The variables of the tests are not settings. The check would report them.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("BINDERY_")) {
        command.env_remove(name);
    }
    let output = command.args(["config", "check"]).args(arguments).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn the_check_finds_what_would_keep_a_server_from_starting() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("file"), "").unwrap();
    let (new, deep, file, within) = (path("new"), path("a/b/c"), path("file"), path("file/data"));
    let listening = TcpListener::bind("127.0.0.1:0").unwrap();
    let in_use = listening.local_addr().unwrap().to_string();
    let cases: [Case<'_>; 11] = [
        (&["--data", &new], true, &["is valid"]),
        (&["--data", &deep], true, &["is valid"]),
        (&["--data", &file], false, &["cannot be used", "file is no folder"]),
        (&["--data", &within], false, &["cannot be used", "file is no folder"]),
        // Nobody can create a folder there, although root has all rights.
        (&["--data", "/proc/x"], false, &["the data folder /proc/x cannot be used", "cannot be created in /proc"]),
        // A server that runs with this configuration is not an error in it.
        (&["--data", &new, "--listen", &in_use], true, &["warning", &in_use, "listens already", "is valid"]),
        (&["--data", &new, "--listen", "192.0.2.1:7700"], false, &["no address of this machine", "`0.0.0.0`"]),
        (&["--data", &file, "--listen", "192.0.2.1:7700"], false, &["no address of this machine", "file is no folder"]),
        (&["--data", &new, "--analytics-country-file", &deep], false, &["the country file", "a/b/c` cannot be read"]),
        (&["--data", &new, "--analytics-country-file", &file], false, &["the country file", "file` cannot be read"]),
        (&["--data", &new, "--log", "postgres://u:p@h/d"], false, &["a password belongs into the variable PGPASSWORD"]),
    ];
    for (arguments, succeeds, parts) in cases {
        let listen: &[&str] = if arguments.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        let (succeeded, text) = check(&[listen, arguments].concat());
        assert_eq!(succeeded, succeeds, "{arguments:?}: {text}");
        parts.iter().for_each(|part| assert!(text.contains(part), "{part}: {text}"));
    }
    for (token, part) in [
        ("", "has 0 characters; it must have at least 16"),
        ("abc", "has 3 characters; it must have at least 16"),
        ("a token with spaces", "without spaces"),
    ] {
        let (succeeded, text) =
            check(&["--listen", "127.0.0.1:0", "--data", &new, &format!("--metrics-token={token}")]);
        assert!(!succeeded && text.contains(part), "{text}");
    }
    let left: Vec<_> = fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["file"], "the check leaves nothing behind");
}

#[test]
fn a_variable_that_is_not_utf_8_is_an_error_that_names_it() {
    for variable in ["BINDERY_LISTEN", "BINDERY_DATA", "BINDERY_CONFIG", "BINDERY_ADMIN_TOKEN"] {
        for command in [&["config", "check"][..], &["serve"]] {
            let invalid = OsStr::from_bytes(b"\xff");
            let output = Command::new(binary()).args(command).env(variable, invalid).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && text.contains(&format!("`{variable}` is not valid UTF-8")), "{text}");
        }
    }
}

#[test]
fn the_check_finds_a_data_folder_that_cannot_be_written() {
    let Some(disk) = Disk::in_memory("ro") else { return };
    for (data, part) in [("", "Read-only file system"), ("data", "cannot be created in")] {
        let data = disk.0.path().join(data);
        let (succeeded, text) = check(&["--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
        assert!(!succeeded && text.contains(part) && text.contains("mount its disk so that"), "{text}");
    }
}
