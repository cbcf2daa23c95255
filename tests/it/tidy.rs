//! What holds for the code as a whole: layers, sizes, words.

mod documents;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// What each module of the server may name of the others. Whatever is not listed may be named by nobody.
const LAYERS: &[(&str, &[&str])] = &[
    ("sanitize", &[]),
    ("model", &["sanitize"]),
    ("log", &["model"]),
    ("store", &["model"]),
    ("base", &["log", "model", "store"]),
    ("projection", &["model", "sanitize"]),
    ("query", &["model", "projection"]),
    ("access", &["model"]),
    ("analytics", &["log", "model", "query"]),
    ("content", &["access", "base", "log", "model", "projection", "query", "sanitize", "store"]),
    ("config", &["analytics", "model", "sanitize"]),
    ("demo", &["access", "content", "model"]),
    ("http", &["access", "analytics", "config", "content", "model", "query"]),
    ("cli", &["access", "analytics", "config", "content", "demo", "http", "model", "query"]),
    ("lib", &[]),
    ("main", &["cli", "config"]),
];

/// Crates that a few modules alone may name.
const CRATES: &[(&str, &[&str])] = &[
    ("axum", &["http"]),
    ("tower_http", &["http"]),
    ("reqwest", &["cli"]),
    ("clap", &["config", "main"]),
    ("sled", &["store"]),
    ("bindery_index", &["content", "projection", "query"]),
    ("ammonia", &["sanitize"]),
    ("cssparser", &["sanitize"]),
    ("html5ever", &["sanitize"]),
    ("tantivy", &[]),
];

/// Beyond this a file is to be split; tables of cases may be longer.
const MAX_LINES: usize = 400;
const MAX_TEST_LINES: usize = 700;

#[test]
fn dependencies_point_one_way() {
    let mut faults = Vec::new();
    for (path, text) in sources("src") {
        let module = module_path(&path);
        let top = module[0].as_str();
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == top) else {
            faults.push(format!("{path}: the module `{top}` has no layer"));
            continue;
        };
        for (line, code) in code_lines(&text) {
            for named in modules_named(code, &module) {
                if named != top && !allowed.contains(&named.as_str()) {
                    faults.push(format!("{path}:{line}: `{top}` may not name `{named}`"));
                }
            }
            for (name, users) in CRATES {
                if names_crate(code, name) && !users.contains(&top) {
                    faults.push(format!("{path}:{line}: `{top}` may not name the crate `{name}`"));
                }
            }
        }
    }
    for (path, text) in sources("index/src") {
        for (line, code) in code_lines(&text) {
            if ["axum", "sled", "bindery"].iter().any(|name| names_crate(code, name)) {
                faults.push(format!("{path}:{line}: the index knows nothing of the server"));
            }
        }
    }
    none(&faults);
}

#[test]
fn layers_have_no_cycles() {
    let mut placed = BTreeSet::new();
    while placed.len() < LAYERS.len() {
        let ready: Vec<&str> = LAYERS
            .iter()
            .filter(|(name, below)| !placed.contains(name) && below.iter().all(|name| placed.contains(name)))
            .map(|(name, _)| *name)
            .collect();
        assert!(!ready.is_empty(), "the layers stand on each other: {placed:?} are all that can be placed");
        placed.extend(ready);
    }
}

#[test]
fn files_say_what_they_own_and_stay_short() {
    let mut faults = Vec::new();
    for (path, text) in all_sources() {
        // Unit tests belong to the file above them, which says what is tested.
        if !text.starts_with("//!") && !path.ends_with("/tests.rs") {
            faults.push(format!("{path}: opens without `//!`"));
        }
        if path.ends_with("/mod.rs") {
            faults.push(format!("{path}: a module `foo` is `foo.rs` with its parts in `foo/`"));
        }
        let lines = text.lines().count();
        let is_test = path.starts_with("tests/") || path.contains("/tests");
        let most = if is_test { MAX_TEST_LINES } else { MAX_LINES };
        if lines > most {
            faults.push(format!("{path}: {lines} lines; split it at {most}"));
        }
    }
    none(&faults);
}

#[test]
fn nothing_is_left_unfinished_or_names_a_machine() {
    let unfinished = ["todo!(", "unimplemented!(", "dbg!(", "FIXME", "TODO"];
    // Where this runs is one of the places that nothing may name.
    let here = root().parent().map_or_else(String::new, |folder| format!("{}/", folder.display()));
    let machines = ["/root/", "/work/", "/Users/", "../shared", here.as_str()];
    let machines = machines.into_iter().filter(|place| place.len() > 2);
    let mut faults = Vec::new();
    for (path, text) in all_sources().into_iter().chain(documents::all()) {
        // This file names them all.
        if path == "tests/it/tidy.rs" {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            for word in unfinished.into_iter().chain(machines.clone()).filter(|word| line.contains(word)) {
                faults.push(format!("{path}:{}: `{word}`", number + 1));
            }
        }
    }
    none(&faults);
}

/// Fails with all faults, a line each.
#[track_caller]
fn none<T: std::fmt::Display>(faults: &[T]) {
    let told: Vec<String> = faults.iter().map(T::to_string).collect();
    assert!(told.is_empty(), "\n{}", told.join("\n"));
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The Rust files below a folder, by path from the root.
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

/// `src/model/value/text.rs` is `model`, `value`, `text`.
fn module_path(path: &str) -> Vec<String> {
    let parts = path.trim_start_matches("src/").trim_end_matches(".rs").split('/');
    parts.map(str::to_owned).collect()
}

/// Lines with their numbers, less comments.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
    lines.map(|(number, line)| (number, line.split("//").next().unwrap_or_default()))
}

/// The modules of the server that a line names, by a path from `crate` or up through `super`.
fn modules_named(code: &str, module: &[String]) -> Vec<String> {
    let mut named = Vec::new();
    for rest in code.split("crate::").skip(1) {
        assert!(!rest.starts_with('{'), "one `use` a module, so that layers can be read: `{code}`");
        named.push(identifier(rest));
    }
    let mut rest = code;
    while let Some(at) = rest.find("super::") {
        rest = &rest[at..];
        let mut climbed = 0;
        while let Some(after) = rest.strip_prefix("super::") {
            (climbed, rest) = (climbed + 1, after);
        }
        if climbed == module.len() {
            named.push(identifier(rest));
        }
    }
    named.retain(|name| LAYERS.iter().any(|(layer, _)| layer == name));
    named
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect()
}

fn names_crate(code: &str, name: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices(&format!("{name}::")).any(|(at, _)| !code[..at].ends_with(is_word))
        || code.trim() == format!("use {name};")
}
