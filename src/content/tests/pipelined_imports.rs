//! Imports over a log that misbehaves, while several of their commands are under way.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bindery_model::error::{Code, Error};
use serde_json::{Value, json};

use super::memory_log::{Outage, SharedRecords};
use super::two_contents::{Node, runtime};
use crate::fixture::access;
use crate::{Content, Export, ImportLine};

/// The number of lines of an import, which are more than twenty commands.
const LINES: usize = 12_000;

/// The position from which an outage begins with the first answer.
const OUTAGE_FROM: usize = 3_000;

async fn create_notes(content: &Content) {
    let related = json!({ "name": "To", "slug": "to", "type": "reference", "settings": { "blueprint": "notes" } });
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }, related]);
    let body = json!({ "name": "Notes", "slug": "notes", "fields": fields }).to_string();
    content.create_blueprint(&access(), body.as_bytes(), None).await.unwrap();
}

fn line(number: usize) -> Value {
    json!({ "key": format!("k{number}"), "attributes": { "title": format!("t{number}") } })
}

/// Imports lines. Returns the answers, and the error that ended the import. `begin` runs once [`OUTAGE_FROM`] lines
/// were sent and some are answered.
async fn import(content: &Content, lines: &[Value], begin: impl FnOnce()) -> (Vec<ImportLine>, Option<Error>) {
    let mut import = content.import(&access(), "notes", "").unwrap();
    let (mut answers, mut begin) = (Vec::new(), Some(begin));
    let mut lines = lines.iter().enumerate();
    let error = loop {
        let step = match lines.next() {
            Some((position, line)) => {
                if position >= OUTAGE_FROM
                    && !answers.is_empty()
                    && let Some(begin) = begin.take()
                {
                    begin();
                }
                import.push(line.to_string().as_bytes()).await.map(Some)
            }
            None => import.finish_next().await,
        };
        match step {
            Ok(Some(more)) => answers.extend(more),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    answers.extend(import.settle().await);
    (answers, error)
}

/// Returns the keys that are stored.
fn keys(content: &Content) -> BTreeSet<String> {
    let mut export =
        Export::begin(content.view(&access(), "notes").unwrap(), "format=ndjson&all_variants=true", None).unwrap();
    let mut text = Vec::new();
    while let Some(piece) = export.next_chunk().unwrap() {
        text.extend(piece);
    }
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()["key"].as_str().unwrap().to_owned()).collect()
}

fn first_keys(count: usize) -> BTreeSet<String> {
    (0..count).map(|number| format!("k{number}")).collect()
}

/// Returns the number of lines that were answered as written.
fn applied(answers: &[ImportLine]) -> usize {
    answers.iter().filter(|answer| answer.result.is_ok()).count()
}

/// Lets the log of an import fail, three times in each of these ways. Calls `check` with the number of lines that were
/// answered as written, the error, and the keys that are stored once the log is back.
fn fail_imports(outages: [Outage; 2], check: impl Fn(usize, &Error, &BTreeSet<String>)) {
    let lines: Vec<Value> = (0..LINES).map(line).collect();
    for (seed, outage) in (1..).zip(outages.repeat(3)) {
        let log = Arc::new(SharedRecords::default());
        let node = Node::start_with(&log, seed, &Arc::default(), Duration::from_millis(1_000));
        let content = &node.content;
        runtime().block_on(async {
            create_notes(content).await;
            let (answers, error) = import(content, &lines, || *log.outage.lock() = Some(outage)).await;
            log.end_outage();
            while content.submit(crate::command::Command::Wait).await.is_err() {}
            let stored = keys(content);
            assert!(
                stored == first_keys(stored.len()),
                "{outage:?}: others than the first {} are stored",
                stored.len()
            );
            check(applied(&answers), &error.expect("an error"), &stored);
        });
        node.end();
    }
}

#[test]
fn an_import_that_fails_with_several_commands_under_way_reports_exactly_the_lines_that_were_applied() {
    fail_imports([Outage::RefusesOne, Outage::Unreachable], |applied, error, stored| {
        // A command that waits when the log fails may be given up before the one that it refused is answered.
        assert!(matches!(error.code, Code::LogUnreachable | Code::Overloaded), "{error}");
        let count = format!("{applied} lines of the import were applied, and no other");
        assert!(applied > 0 && applied < LINES && error.message.contains(&count), "{applied}: {error}");
        assert_eq!(stored.len(), applied);
    });
}

/// The command whose outcome is not known may be stored, and those that were appended with it. None of the later ones
/// is.
#[test]
fn an_import_whose_outcome_is_not_known_applies_nothing_behind_the_group_that_was_under_way() {
    fail_imports([Outage::AnswersAreLost, Outage::RequestsAreDelayed], |applied, error, stored| {
        // If no command was under way when the log failed, it is known that none was applied.
        assert!(matches!(error.code, Code::OutcomeUnknown | Code::LogUnreachable), "{error}");
        assert!(stored.len() >= applied && stored.len() < LINES, "{applied} of {}", stored.len());
    });
}

#[test]
fn lines_of_commands_under_way_keep_their_order_and_their_relations() {
    let log = Arc::new(SharedRecords::default());
    let node = Node::start_with(&log, 5, &Arc::default(), Duration::from_secs(30));
    let content = &node.content;
    // Most lines relate to the one before. A few relate to the last line, and a later line about the same resource is
    // to win.
    let mut lines: Vec<Value> = (0..LINES).map(line).collect();
    for number in (1..LINES).filter(|number| number % 100 != 0) {
        lines[number]["attributes"]["to"] = json!(format!("k{}", number - 1));
    }
    for number in [10, 600, 3_000] {
        lines[number]["attributes"]["to"] = json!(format!("k{}", LINES - 1));
        lines[number + 300] = json!({ "key": format!("k{number}"), "attributes": { "title": "second" } });
        lines[number + 301]["attributes"]["to"] = Value::Null;
    }
    runtime().block_on(async {
        create_notes(content).await;
        let (answers, error) = import(content, &lines, || {}).await;
        assert_eq!((error, applied(&answers)), (None, LINES));
        let total = |query: &str| content.view(&access(), "notes").unwrap().list(query).unwrap().total;
        assert_eq!((total("filter[title]=second"), total("")), (3, LINES as u64 - 3));
        let n_related = lines.iter().filter(|line| line["attributes"]["to"].is_string()).count();
        assert_eq!(total("filter[to][null]=false"), n_related as u64 - 3);
    });
    node.end();
}
