//! Checks the repository as a whole: comments at the top of files, leftovers, documents.

mod documents;

use std::fs;
use std::path::PathBuf;

#[test]
fn files_have_a_module_comment() {
    let mut errors = Vec::new();
    for (path, text) in all_sources() {
        // A file of unit tests needs no comment, because the file that it tests has one.
        if !text.starts_with("//!") && !path.ends_with("/tests.rs") {
            errors.push(format!("{path}: does not begin with `//!`"));
        }
        if path.ends_with("/mod.rs") {
            errors.push(format!("{path}: name it after its module, `foo.rs` instead of `foo/mod.rs`"));
        }
    }
    none(&errors);
}

#[test]
fn no_file_has_unfinished_code_or_paths_of_a_machine() {
    let unfinished = ["todo!(", "unimplemented!(", "dbg!(", "FIXME", "TODO"];
    // The folder around the repository counts as a path of this machine.
    let here = root().parent().map_or_else(String::new, |folder| format!("{}/", folder.display()));
    let machines = ["/root/", "/work/", "/Users/", "../shared", here.as_str()];
    let machines = machines.into_iter().filter(|path| path.len() > 2);
    let mut errors = Vec::new();
    for (path, text) in all_sources().into_iter().chain(documents::all()) {
        // This file lists the words.
        if path == "tests/it/tidy.rs" {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            for word in unfinished.into_iter().chain(machines.clone()).filter(|word| line.contains(word)) {
                errors.push(format!("{path}:{}: `{word}`", number + 1));
            }
        }
    }
    none(&errors);
}

/// Fails with all errors, one per line.
#[track_caller]
fn none<T: std::fmt::Display>(errors: &[T]) {
    let lines: Vec<String> = errors.iter().map(T::to_string).collect();
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the Rust files below a folder: paths relative to the root, and texts.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                found.push((name.clone(), read(&name)));
            }
        }
    }
    found.sort();
    found
}

fn all_sources() -> Vec<(String, String)> {
    ["src", "index/src", "tests", "benches"].into_iter().flat_map(sources).collect()
}
