//! What holds for the repository as a whole: layers, sizes, words, links, and a documentation that fits the code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use bindery::model::html::allowed;
use clap::CommandFactory as _;

/// What each module of the server may name of the others. Whatever is not listed may be named by nobody.
const LAYERS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("log", &["model"]),
    ("store", &["model"]),
    ("base", &["log", "model", "store"]),
    ("projection", &["model"]),
    ("query", &["model", "projection"]),
    ("access", &["model"]),
    ("analytics", &["access", "base", "log", "model", "query", "store"]),
    ("content", &["access", "base", "log", "model", "projection", "query", "store"]),
    ("config", &["model"]),
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
    ("ammonia", &["model"]),
    ("tantivy", &[]),
];

/// Beyond this a file is to be split. Files of more lines are listed with the reason.
const MAX_LINES: usize = 400;
const LONG_FILES: &[(&str, &str)] = &[
    ("index/src/oracle/tests.rs", "one table of random queries and what draws them"),
    ("src/content/decide.rs", "every rule that depends on the state, on the one thread that may decide it"),
];

/// The mark of a citation, in code and in documents.
const API: &str = "API.md";

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
        let is_known = LONG_FILES.iter().any(|(name, _)| *name == path);
        if lines > MAX_LINES && !is_known {
            faults.push(format!("{path}: {lines} lines; split it at {MAX_LINES}, or list it with a reason"));
        }
    }
    for (path, _) in LONG_FILES {
        if !root().join(path).exists() {
            faults.push(format!("{path}: is listed as long, but is not there"));
        }
    }
    none(&faults);
}

#[test]
fn nothing_is_left_unfinished_or_names_a_machine() {
    let unfinished = ["todo!(", "unimplemented!(", "dbg!(", "FIXME", "TODO"];
    let machines = ["/home/", "/root/", "/work/", "/Users/", "../shared"];
    let mut faults = Vec::new();
    for (path, text) in all_sources().into_iter().chain(documents()) {
        if path == "tests/it/tidy.rs" {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            for word in unfinished.iter().chain(&machines).filter(|word| line.contains(**word)) {
                faults.push(format!("{path}:{}: `{word}`", number + 1));
            }
        }
    }
    none(&faults);
}

#[test]
fn links_of_documents_resolve() {
    let mut faults = Vec::new();
    for (path, text) in documents() {
        let file = root().join(&path);
        let folder = file.parent().unwrap_or(Path::new("."));
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let is_elsewhere = target.contains("://") || target.starts_with("mailto:") || target.starts_with('#');
            let file = target.split('#').next().unwrap_or_default();
            if !is_elsewhere && !folder.join(file).exists() {
                faults.push(format!("{path}: `{target}` leads nowhere"));
            }
        }
    }
    none(&faults);
}

#[test]
fn every_number_that_is_cited_stands_in_the_api() {
    let numbers = api_numbers();
    assert!(numbers.len() > 60, "the numbers of {API} are found: {numbers:?}");
    let mut cited = 0;
    let mut faults = Vec::new();
    for (path, text) in all_sources().into_iter().chain(documents()) {
        if path == "tests/it/tidy.rs" {
            continue;
        }
        for (line, text) in text.lines().enumerate() {
            for number in citations(text) {
                cited += 1;
                if !numbers.contains(&number) {
                    faults.push(format!("{path}:{}: {API} has no {number}", line + 1));
                }
            }
        }
    }
    none(&faults);
    assert!(cited > 20, "citations are found: {cited}");
}

#[test]
fn citations_are_read_in_all_their_forms() {
    let cases: [(&str, &[&str]); 6] = [
        ("(`API.md` 4.6.4)", &["4.6.4"]),
        ("`API.md` 2.2 to 2.5 and 4.9.", &["2.2", "2.5", "4.9"]),
        ("(`API.md` 4.9, 4.10 and 5.5): bodies", &["4.9", "4.10", "5.5"]),
        ("of [API.md](API.md), part 8.", &["8"]),
        ("API.md lists the routes, 3 of them", &[]),
        ("(API.md 4.5.1–4.5.5)", &["4.5.1", "4.5.5"]),
    ];
    for (text, numbers) in cases {
        assert_eq!(citations(text), numbers, "{text}");
    }
}

#[test]
fn the_api_lists_what_sanitising_keeps() {
    let api = read(API);
    let table = between(&api, "<!-- sanitiser: begin -->", "<!-- sanitiser: end -->");
    let mut documented: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut of_pages = BTreeSet::new();
    for row in table.lines().filter(|row| row.starts_with("| ") && !row.starts_with("| Tag")) {
        let mut cells = row.trim_matches('|').split('|');
        let (tags, attributes) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        for tag in quoted(tags) {
            if tags.contains("*pages:*") {
                of_pages.insert(tag.clone());
            }
            documented.insert(tag, quoted(attributes));
        }
    }
    let kept = |profile: &allowed::Profile| -> BTreeMap<String, Vec<String>> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        profile.tags().map(|tag| (tag.name.to_owned(), owned(tag.attributes))).collect()
    };
    assert_eq!(documented, kept(&allowed::PAGE));
    documented.retain(|tag, _| !of_pages.contains(tag));
    assert_eq!(documented, kept(&allowed::RICH_TEXT));

    let prose = api.split_whitespace().collect::<Vec<_>>().join(" ");
    let listed = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    for names in [allowed::RICH_TEXT.generic_attributes, &allowed::LINK_SCHEMES, &allowed::REMOVED_WHOLE] {
        assert!(prose.contains(&listed(names)), "{}", listed(names));
    }
    assert!(prose.contains(&format!("`rel=\"{}\"`", allowed::LINK_REL)));
}

#[test]
fn the_api_lists_every_error_code_and_route() {
    let api = read(API);
    let errors = read("src/http/error.rs");
    let rows = errors.lines().filter_map(|line| line.trim().strip_prefix("Code::")?.split('"').nth(1));
    let rows: Vec<&str> = rows.collect();
    assert!(rows.len() > 15, "the table of codes is found: {rows:?}");
    let router = read("src/http.rs");
    let routes: Vec<&str> =
        router.split('"').filter(|text| text.starts_with("/v2/") || text.starts_with("/healthz")).collect();
    assert!(routes.len() > 10, "the routes are found: {routes:?}");
    let missing_codes = rows.iter().filter(|code| !api.contains(&format!("| `{code}` |")));
    let missing_routes = routes.iter().filter(|route| !api.contains(**route));
    none(&missing_codes.chain(missing_routes).collect::<Vec<_>>());
}

#[test]
fn the_readme_lists_every_setting() {
    let readme = read("README.md");
    let cli = bindery::config::Cli::command();
    let serve = cli.find_subcommand("serve").expect("there is a command `serve`");
    let flags: Vec<&str> = serve.get_arguments().filter_map(|flag| flag.get_long()).collect();
    assert!(flags.len() > 5, "the flags are found: {flags:?}");
    let missing = flags.into_iter().filter(|flag| {
        let variable = format!("`BINDERY_{}`", flag.replace('-', "_").to_uppercase());
        let row = readme.lines().find(|line| line.starts_with(&format!("| `--{flag}")));
        row.is_none_or(|row| !row.contains(&variable))
    });
    none(&missing.collect::<Vec<_>>());
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

fn documents() -> Vec<(String, String)> {
    let paths = ["README.md", API, "ARCHITECTURE.md", "CHANGELOG.md", "src/demo/README.md"];
    paths.into_iter().map(|path| (path.to_owned(), read(path))).collect()
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

/// The numbers of `API.md`: of its headings, and of the points that begin with one in bold.
fn api_numbers() -> BTreeSet<String> {
    let api = read(API);
    let heads = api.lines().filter_map(|line| {
        let bold = line.strip_prefix("- ").unwrap_or(line).strip_prefix("**");
        let head = line.strip_prefix("## ").or_else(|| line.strip_prefix("### ")).or(bold)?;
        take_number(head).map(|(number, _)| number)
    });
    let mut numbers = BTreeSet::new();
    for number in heads {
        assert!(numbers.insert(number.clone()), "{API} has {number} twice");
    }
    numbers
}

/// The numbers that follow a mention of `API.md`.
fn citations(text: &str) -> Vec<String> {
    let mut numbers = Vec::new();
    for rest in text.split(API).skip(1) {
        let mut rest = rest.strip_prefix(['`', ']']).unwrap_or(rest);
        rest = rest.strip_prefix(')').unwrap_or(rest);
        loop {
            let before = rest;
            for between in [",", " and", " to", "–", " part", " "] {
                rest = rest.strip_prefix(between).unwrap_or(rest);
            }
            match take_number(rest) {
                Some((number, after)) => {
                    numbers.push(number);
                    rest = after;
                }
                None => break,
            }
            if rest == before {
                break;
            }
        }
    }
    numbers
}

/// A number such as `4.6.4` at the beginning, and what follows it.
fn take_number(text: &str) -> Option<(String, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let number = text[..end].trim_end_matches('.');
    (!number.is_empty()).then(|| (number.to_owned(), &text[number.len()..]))
}

/// What stands in backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("`{from}` is missing"));
    rest.split_once(to).map_or(rest, |(inside, _)| inside)
}
