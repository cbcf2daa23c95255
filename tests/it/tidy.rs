//! Checks the repository as a whole: rooms, file sizes, leftovers, documents.

mod documents;
mod imports;
mod rooms;

use std::fs;
use std::path::PathBuf;

/// Crates that only these modules may name.
const CRATES: &[(&str, &[&str])] = &[
    ("axum", &["http"]),
    ("http_body", &["http"]),
    ("hyper", &["http"]),
    ("hyper_util", &["http"]),
    ("tower_http", &["http"]),
    ("tower_service", &["http"]),
    ("socket2", &["http"]),
    ("argon2", &["access"]),
    ("rust_embed", &["dashboard"]),
    ("mimalloc", &["main"]),
    ("rlimit", &["cli"]),
    ("reqwest", &["cli", "webhooks"]),
    ("clap", &["config", "main"]),
    ("sled", &["store"]),
    ("bindery_index", &["content", "failure", "projection", "query", "sync"]),
    ("ammonia", &["sanitize"]),
    ("cssparser", &["sanitize"]),
    ("html5ever", &["sanitize"]),
    ("tantivy", &[]),
];

/// Longer files must be split. Tests may be longer because of their tables of cases.
const MAX_LINES: usize = 400;
const MAX_TEST_LINES: usize = 700;

#[test]
fn crates_are_named_only_by_the_modules_that_own_them() {
    let mut errors = Vec::new();
    for (path, text) in sources("src") {
        let top = path.trim_start_matches("src/").split(['/', '.']).next().unwrap_or_default();
        for (line, code) in code_lines(&text) {
            for (name, users) in CRATES {
                if names_crate(code, name) && !users.contains(&top) {
                    errors.push(format!("{path}:{line}: `{top}` may not name the crate `{name}`"));
                }
            }
        }
    }
    for (path, text) in sources("index/src") {
        for (line, code) in code_lines(&text) {
            if ["axum", "sled", "bindery"].iter().any(|name| names_crate(code, name)) {
                errors.push(format!("{path}:{line}: the index must not know the server"));
            }
        }
    }
    none(&errors);
}

#[test]
fn files_have_a_module_comment_and_stay_short() {
    let mut errors = Vec::new();
    for (path, text) in all_sources() {
        // A file of unit tests needs no comment: the file that it tests has one.
        if !text.starts_with("//!") && !path.ends_with("/tests.rs") {
            errors.push(format!("{path}: does not begin with `//!`"));
        }
        if path.ends_with("/mod.rs") {
            errors.push(format!("{path}: name it after its module, `foo.rs` instead of `foo/mod.rs`"));
        }
        let lines = text.lines().count();
        let is_test = path.starts_with("tests/") || path.contains("/tests");
        let most = if is_test { MAX_TEST_LINES } else { MAX_LINES };
        if lines > most {
            errors.push(format!("{path}: {lines} lines, at most {most} are allowed; split it"));
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
        // This file lists the words themselves.
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

/// The Rust files below a folder: paths relative to the root, and texts.
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

/// The lines with their numbers, without comments.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
    lines.map(|(number, line)| (number, line.split("//").next().unwrap_or_default()))
}

fn names_crate(code: &str, name: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices(&format!("{name}::")).any(|(at, _)| !code[..at].ends_with(is_word))
        || code.trim() == format!("use {name};")
}
