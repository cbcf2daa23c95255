//! The examples and recipes of `API.md`, run as they are printed there.
//!
//! Bash runs every fenced `sh` block with curl against a real server that holds the demonstration content. The answer
//! printed below a block is compared with the received answer. This file knows the marks of commands and answers in the
//! document, and nothing of the meaning of the requests.

mod document;
mod pictures;
mod shape;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

use super::support::{ADMIN, Server};
use document::{Example, Section};

/// The part of `API.md` that holds the recipes.
const RECIPES: &str = "10";
/// The sections on which every recipe relies: the introduction of the document, and the tokens.
const PREPARATION: [&str; 2] = ["", "10.1"];

/// The printed text of a block of commands, and the status of each of its requests.
struct Outcome {
    printed: String,
    statuses: Vec<u16>,
}

#[test]
fn the_examples_of_the_api_answer_as_documented() {
    let sections = document::sections();
    let examples: Vec<&Example> =
        sections.iter().filter(|section| !section.is_in(RECIPES)).flat_map(|section| &section.examples).collect();
    assert!(examples.len() > 15, "the examples are found: {}", examples.len());
    let server = demonstration();
    let mut failures = Vec::new();
    for (example, outcome) in examples.iter().zip(run(&server, &examples)) {
        compare(example, &outcome, &mut failures);
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn each_recipe_answers_as_documented_with_as_many_requests_as_it_says() {
    let sections = document::sections();
    let is_preparation = |section: &&Section| PREPARATION.contains(&section.number.as_str());
    let preparation: Vec<&Example> =
        sections.iter().filter(is_preparation).flat_map(|section| &section.examples).collect();
    let is_recipe = |section: &&Section| section.is_in(RECIPES) && !section.examples.is_empty();
    let recipes: Vec<&Section> = sections.iter().filter(is_recipe).filter(|section| !is_preparation(section)).collect();
    assert!(recipes.len() >= 7, "the recipes are found: {}", recipes.len());
    let server = demonstration();
    let mut failures = Vec::new();
    for recipe in recipes {
        // Each recipe has its own shell, so that none depends on another.
        let examples: Vec<&Example> = preparation.iter().copied().chain(&recipe.examples).collect();
        let outcomes = run(&server, &examples).split_off(preparation.len());
        let requests: usize = outcomes.iter().map(|outcome| outcome.statuses.len()).sum();
        if recipe.requests != Some(requests) {
            failures.push(format!("{} makes {requests} requests, documented are {:?}", recipe.number, recipe.requests));
        }
        for (example, outcome) in recipe.examples.iter().zip(&outcomes) {
            compare(example, outcome, &mut failures);
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn every_blueprint_of_the_demonstration_publishes_at_the_date() {
    let blueprints = demonstration().get("/v2/blueprints").data();
    let unscheduled: Vec<&serde_json::Value> =
        blueprints.as_array().unwrap().iter().filter(|one| one["scheduled"] != true).collect();
    assert!(unscheduled.is_empty(), "{unscheduled:?}");
}

fn demonstration() -> Server {
    Server::start_with(&["--demo"])
}

/// Compares an outcome with the documented answer.
fn compare(example: &Example, outcome: &Outcome, failures: &mut Vec<String>) {
    let line = format!("API.md:{}", example.line);
    // Commands that only define something make no request.
    if let Some(status) = outcome.statuses.last().filter(|status| **status != example.status) {
        failures.push(format!("{line}: the status is {status}, documented is {}", example.status));
    }
    if let Some(answer) = &example.answer
        && let Err(difference) = answer.compare(&outcome.printed)
    {
        failures.push(format!("{line}: {difference}\n  the answer was {}", outcome.printed.trim_end()));
    }
}

/// Runs the examples one after another in one shell, as a reader who pastes them.
fn run(server: &Server, examples: &[&Example]) -> Vec<Outcome> {
    let folder = tempfile::tempdir().unwrap();
    // This makes curl report the status of each request without a change to the documented command.
    fs::write(
        folder.path().join(".curlrc"),
        "write-out = \"%{stderr}%{http_code}\\n\"\nmax-time = 60\nnoproxy = \"*\"\n",
    )
    .unwrap();
    let mut script = String::new();
    for (index, example) in examples.iter().enumerate() {
        writeln!(script, "{{\n{}\n}} >{index}.out 2>{index}.err", example.commands).unwrap();
    }
    let ended = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .current_dir(folder.path())
        .env("CURL_HOME", folder.path())
        .env("URL", server.address())
        .env("TOKEN", ADMIN)
        .status()
        .unwrap_or_else(|error| panic!("bash and curl are needed to run the examples: {error}"));
    let outcomes: io::Result<Vec<Outcome>> =
        (0..examples.len()).map(|index| Outcome::read(folder.path(), index)).collect();
    let outcomes = outcomes.unwrap_or_default();
    assert!(ended.success() && outcomes.len() == examples.len(), "the shell failed: {}", last_errors(folder.path()));
    outcomes
}

impl Outcome {
    fn read(folder: &Path, index: usize) -> io::Result<Outcome> {
        let printed = fs::read_to_string(folder.join(format!("{index}.out")))?;
        let errors = fs::read_to_string(folder.join(format!("{index}.err")))?;
        let statuses = errors.lines().filter_map(|line| line.parse().ok()).collect();
        Ok(Outcome { printed, statuses })
    }
}

/// Returns the text on standard error of the commands, up to those that failed.
fn last_errors(folder: &Path) -> String {
    let errors = (0..).map_while(|index| fs::read_to_string(folder.join(format!("{index}.err"))).ok());
    errors.collect::<Vec<_>>().join("---\n")
}
