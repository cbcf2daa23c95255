//! Data folders of stopped servers: commands, copies, listings.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::binary;

/// The printed text of a command, and its exit code.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

/// Runs a command of the binary on a data folder.
pub(crate) fn run(arguments: &[&str], data: &Path) -> Ran {
    run_failing(arguments, data, "")
}

/// Runs a command like [`run`], with failure points.
pub(crate) fn run_failing(arguments: &[&str], data: &Path, points: &str) -> Ran {
    let Output { status, stdout, stderr } = Command::new(binary())
        .args(arguments)
        .arg("--data")
        .arg(data)
        .env_remove("BINDERY_URL")
        .env_remove("BINDERY_TOKEN")
        .env("FAILPOINTS", points)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    Ran { code: status.code(), text }
}

/// Starts a server that must end by itself before it listens.
#[track_caller]
pub(crate) fn refused_start(data: &Path, points: &str) -> Ran {
    let ran = run_failing(&["serve", "--listen", "127.0.0.1:0", "--log-filter", "warn"], data, points);
    assert_ne!(ran.code, Some(0), "{}", ran.text);
    ran
}

/// Copies a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// Returns the paths of all files and folders, with the size, the time of the last change and the hash of each.
pub(crate) fn listing(folder: &Path) -> BTreeMap<String, (u64, std::time::SystemTime, String)> {
    let mut found = BTreeMap::new();
    list_into(folder, folder, &mut found);
    found
}

fn list_into(root: &Path, folder: &Path, found: &mut BTreeMap<String, (u64, std::time::SystemTime, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::metadata(&path).unwrap();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let hash = match metadata.is_file() {
            true => blake3::hash(&fs::read(&path).unwrap()).to_hex().to_string(),
            false => String::new(),
        };
        found.insert(name, (metadata.len(), metadata.modified().unwrap(), hash));
        if metadata.is_dir() {
            list_into(root, &path, found);
        }
    }
}

/// Flips one bit of a file.
pub(crate) fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

/// Returns the files of a folder with this ending, by name.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_str().unwrap().ends_with(ending));
    files.sort();
    files
}
