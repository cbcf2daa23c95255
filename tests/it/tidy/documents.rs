//! Checks of the documents: links lead somewhere, citations of `API.md` exist, and lists agree with the code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use bindery_query::{OPERATORS, Operand, Operator};
use bindery_sanitize::allowed;
use clap::CommandFactory as _;

use super::{all_sources, none, read, root};

/// The file name with which code and documents cite the API.
const API: &str = "API.md";
/// The document that lists the settings.
const CONFIGURATION: &str = "docs/configuration.md";

#[test]
fn links_in_documents_resolve() {
    let mut errors = Vec::new();
    for (path, text) in all() {
        let file = root().join(&path);
        let folder = file.parent().unwrap_or(Path::new("."));
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (name, anchor) = target.split_once('#').unwrap_or((target, ""));
            let linked = if name.is_empty() { file.clone() } else { folder.join(name) };
            let is_known = |text: String| headings(&text).any(|heading| anchor_of(heading) == anchor);
            if !linked.exists() {
                errors.push(format!("{path}: `{target}` does not exist"));
            } else if !anchor.is_empty() && !fs::read_to_string(&linked).is_ok_and(is_known) {
                errors.push(format!("{path}: `{target}` names no heading"));
            }
        }
    }
    none(&errors);
}

#[test]
fn files_that_documents_name_exist() {
    let sources = all_sources();
    // Documents leave out `src` and, where the text around says it, the folder.
    let exists = |name: &str| {
        let is_source = sources.iter().any(|(path, _)| path == name || path.ends_with(&format!("/{name}")));
        is_source
            || name.starts_with("foo/")
            || ["", "src", "dashboard"].iter().any(|folder| root().join(folder).join(name).exists())
    };
    let mut errors = Vec::new();
    for (path, text) in all() {
        for name in text.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs") || name.ends_with(".svelte"))
        {
            if !name.contains([' ', '*']) && !exists(name) {
                errors.push(format!("{path}: the file `{name}` does not exist"));
            }
        }
    }
    none(&errors);
}

#[test]
fn the_guide_and_the_help_name_the_same_defaults() {
    let guide = read(CONFIGURATION);
    let help = read("src/config/settings.rs");
    let mut errors = Vec::new();
    let mut compared = 0;
    for line in help.lines().filter(|line| line.trim_start().starts_with("///")) {
        let part = |from: &str| Some(line.split_once(from)?.1.split_once(']')?.0);
        let (Some(default), Some(variable)) = (part("[default: "), part("[env: ")) else { continue };
        let row = guide.lines().find(|row| row.starts_with('|') && row.contains(&format!("`{variable}`")));
        let documented = row.and_then(|row| row.split('|').nth(4)).unwrap_or_default().replace('`', "");
        if documented.trim() != default {
            errors.push(format!("{variable}: `{default}` in the help, `{}` in {CONFIGURATION}", documented.trim()));
        }
        compared += 1;
    }
    assert!(compared > 10, "{compared}");
    none(&errors);
}

#[test]
fn dashboard_and_alerts_use_metrics_that_exist() {
    let api = read(API);
    let dashboard = read("deploy/grafana.json") + &read("deploy/alerts.yml");
    let is_part = |char: char| char.is_ascii_lowercase() || char == '_';
    let names: BTreeSet<&str> =
        dashboard.split(|char: char| !is_part(char)).filter(|name| name.starts_with("bindery_")).collect();
    assert!(names.len() > 10, "{names:?}");
    let unknown =
        names.iter().map(|name| name.trim_end_matches("_bucket")).filter(|name| !api.contains(&format!("`{name}`")));
    let unknown: Vec<String> = unknown.map(|name| format!("{API} has no metric {name}")).collect();
    none(&unknown);
}

#[test]
fn the_alert_about_snapshots_leaves_out_those_that_each_index_keeps() {
    let source = read("index/src/search/kept_page.rs");
    let earlier: usize = between(&source, "const RECENT_VERSIONS: usize = ", ";").parse().unwrap();
    let rule = format!("bindery_index_snapshots - {} * bindery_blueprints > 50", earlier + 1);
    assert!(read("deploy/alerts.yml").contains(&rule), "{rule}");
}

#[test]
fn the_unit_of_systemd_reads_the_file_of_settings_that_it_names() {
    let unit = read("deploy/bindery.service");
    let setting = |name: &str| unit.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
    let comments: Vec<&str> = unit.lines().filter(|line| line.starts_with('#')).collect();
    let file = comments.join(" ").split([' ', ',']).find(|word| word.ends_with(".toml")).unwrap_or_default().to_owned();
    // Without `--config`, the file is searched for in the folder in which the server runs.
    assert!(!setting("ExecStart=").contains("--config"));
    assert_eq!(file, format!("{}/bindery.toml", setting("WorkingDirectory=")));
    // All folders that it uses are named there, so no path depends on that folder.
    assert!(setting("ExecStart=").contains("--data /"));
}

#[test]
fn the_unit_of_systemd_lets_threads_lower_their_priority() {
    let mut sources = all_sources().into_iter().filter(|(path, _)| !path.starts_with("tests/"));
    assert!(sources.any(|(_, text)| text.contains("setpriority_process(")), "no thread does that");
    let unit = read("deploy/bindery.service");
    let mut filters = unit.lines().filter_map(|line| line.strip_prefix("SystemCallFilter="));
    // `@resources` has this call. A later line overrides an earlier one.
    assert_eq!(filters.next_back(), Some("setpriority"));
    assert!(filters.any(|calls| calls.starts_with('~') && calls.contains("@resources")));
    assert!(unit.lines().any(|line| line == "SystemCallErrorNumber=EPERM"), "other calls kill the server");
}

#[test]
fn every_cited_section_exists_in_the_api() {
    let numbers = api_numbers();
    assert!(numbers.len() > 60, "too few numbers in {API}: {numbers:?}");
    let mut cited = 0;
    let mut errors = Vec::new();
    for (path, text) in all_sources().into_iter().chain(all()) {
        // The examples in this file are not citations.
        if path == "tests/it/tidy/documents.rs" {
            continue;
        }
        for (line, text) in text.lines().enumerate() {
            for number in citations(text) {
                cited += 1;
                if !numbers.contains(&number) {
                    errors.push(format!("{path}:{}: {API} has no section {number}", line + 1));
                }
            }
        }
    }
    none(&errors);
    assert!(cited > 20, "too few citations: {cited}");
}

#[test]
fn all_forms_of_citations_are_recognized() {
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
fn the_api_lists_what_sanitizing_keeps() {
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
    let errors = read("src/model/error.rs");
    let rows = errors.lines().filter_map(|line| line.trim().strip_prefix("Code::")?.split('"').nth(1));
    let rows: Vec<&str> = rows.collect();
    assert!(rows.len() > 15, "too few error codes in the source: {rows:?}");
    let router = read("src/http/lib.rs");
    let routes: Vec<&str> =
        router.split('"').filter(|text| text.starts_with("/v2/") || text.starts_with("/healthz")).collect();
    assert!(routes.len() > 10, "too few routes in the source: {routes:?}");
    let missing_codes = rows.iter().filter(|code| !api.contains(&format!("| `{code}` |")));
    let missing_routes = routes.iter().filter(|route| !api.contains(**route));
    none(&missing_codes.chain(missing_routes).collect::<Vec<_>>());
}

#[test]
fn the_api_says_what_every_operator_is_given() {
    let api = read(API);
    let table = between(&api, "| Operator | Given | Matches if |", "- **4.6.1**");
    let mut documented = BTreeSet::new();
    for row in table.lines().filter(|row| row.starts_with("| `")) {
        let mut cells = row.trim_matches('|').split('|');
        let (names, given) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        documented.extend(quoted(names).into_iter().map(|name| (name, given.trim().to_owned())));
    }
    let given = |operator: &Operator| match operator.operand {
        Operand::Value => "a value",
        Operand::Text => "a text",
        Operand::List => "a list",
        Operand::Pair => "a pair",
        Operand::Boolean => "a boolean",
    };
    let known = OPERATORS.iter();
    let known = known.flat_map(|operator| operator.names().map(|name| (name.to_owned(), given(operator).to_owned())));
    assert_eq!(documented, known.collect());
}

#[test]
fn the_guide_lists_every_setting() {
    let guide = read(CONFIGURATION);
    let cli = bindery_config::Cli::command();
    let serve = cli.find_subcommand("serve").expect("the command `serve` exists");
    let flags: Vec<&str> = serve.get_arguments().filter_map(|flag| flag.get_long()).collect();
    assert!(flags.len() > 5, "too few flags: {flags:?}");
    let missing = flags.into_iter().filter(|flag| {
        let variable = format!("`BINDERY_{}`", flag.replace('-', "_").to_uppercase());
        let row = guide.lines().find(|line| line.starts_with(&format!("| `--{flag}")));
        row.is_none_or(|row| !row.contains(&variable))
    });
    none(&missing.collect::<Vec<_>>());
}

/// Returns the documents: paths relative to the root, and texts.
pub(super) fn all() -> Vec<(String, String)> {
    let mut paths = vec!["src/demo/README.md".to_owned()];
    for folder in ["", "docs/", "deploy/"] {
        let files = fs::read_dir(root().join(folder)).into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        paths.extend(names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}{name}")));
    }
    paths.into_iter().map(|path| (path.clone(), read(&path))).collect()
}

/// Returns the headings of a document.
fn headings(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim())
}

/// Returns the anchor of a heading: its letters, digits and hyphens, in lower case, with a hyphen for each space.
fn anchor_of(heading: &str) -> String {
    let kept = heading.chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
    kept.map(|char| if char == ' ' { '-' } else { char }).collect::<String>().to_lowercase()
}

/// Returns the numbers of `API.md`: those of headings, and those in bold at the beginning of a paragraph or item.
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

/// Returns the numbers that follow each mention of `API.md`.
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

/// Splits a number such as `4.6.4` from the beginning of a text.
fn take_number(text: &str) -> Option<(String, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let number = text[..end].trim_end_matches('.');
    (!number.is_empty()).then(|| (number.to_owned(), &text[number.len()..]))
}

/// Returns the texts in backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("`{from}` is missing"));
    rest.split_once(to).map_or(rest, |(inside, _)| inside)
}
