//! Lines that relate to each other: what stands in the end is whole, whatever fails and in whatever order they come.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{NOTES, answers, notes};
use crate::oracle::random::Random;
use crate::support::{Faults, Server};

/// An import in one transaction under a key, or a streamed one.
fn run(server: &Server, key: Option<&str>, lines: &[Value]) -> Vec<Value> {
    let body: Vec<String> = lines.iter().map(Value::to_string).collect();
    let mut headers = vec![("content-type", "application/x-ndjson")];
    headers.extend(key.map(|key| ("idempotency-key", key)));
    answers(&server.raw("POST", NOTES, &headers, body.join("\n").as_bytes()).expect(200))
}

/// A line of that key: with a unique value, and relations by key.
fn line(key: &str, unique: Option<&str>, targets: &[&str]) -> Value {
    let (parent, related) = targets.split_first().map_or((None, targets), |(parent, rest)| (Some(*parent), rest));
    json!({ "key": key, "attributes": { "t": key, "u": unique, "parent": parent, "related": related } })
}

/// The keys of the lines that passed, with the faults of the others.
fn told(lines: &[Value], answers: &[Value]) -> Vec<String> {
    let tell = |(line, answer): (&Value, &Value)| {
        let fields = answer["errors"]["fields"].as_object();
        let fields: Vec<&str> = fields.into_iter().flatten().map(|(slug, _)| slug.as_str()).collect();
        let key = line["key"].as_str().unwrap_or("-");
        if fields.is_empty() { key.to_owned() } else { format!("{key}: {}", fields.join(" ")) }
    };
    lines.iter().zip(answers).map(tell).collect()
}

/// Every relation that is stored goes to a resource that is there.
fn assert_whole(server: &Server, faults: &mut Faults, what: &str) {
    let export = server.get("/v2/resources/notes/export?format=ndjson").expect(200).text;
    let stored: Vec<Value> = export.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&Value> = stored.iter().map(|resource| &resource["id"]).collect();
    for resource in &stored {
        let attributes = &resource["attributes"];
        let related = attributes["related"].as_array().into_iter().flatten();
        for target in related.chain(Some(&attributes["parent"]).filter(|parent| !parent.is_null())) {
            faults.check(ids.contains(&target), || format!("{what}: {resource} relates to nothing"));
        }
    }
}

#[test]
fn rule_6_a_relation_to_a_line_that_failed_is_a_fault_itself() {
    let cases: Vec<(&str, Vec<Value>, &[&str])> = vec![
        (
            "a unique clash",
            vec![
                line("o", Some("x"), &[]),
                line("a", None, &["b"]),
                line("b", Some("x"), &["a"]),
                line("c", None, &["a"]),
            ],
            &["o", "a: parent", "b: u", "c: parent"],
        ),
        (
            "a missing target",
            vec![
                line("a", None, &["b"]),
                line("b", None, &["c", "nowhere"]),
                line("c", None, &["d"]),
                line("d", None, &[]),
            ],
            &["a: parent", "b: related", "c", "d"],
        ),
        (
            "the end of a circle",
            vec![line("a", None, &["b"]), line("b", None, &["c"]), line("c", None, &["a", "nowhere"])],
            &["a: parent", "b: parent", "c: related"],
        ),
        (
            "two circles of which one is broken",
            vec![
                line("a", None, &["b"]),
                line("b", None, &["a"]),
                line("c", None, &["d", "a"]),
                line("d", None, &["c", "nowhere"]),
            ],
            &["a", "b", "c: parent", "d: related"],
        ),
        (
            "what a line that failed would have taken is free",
            vec![
                line("a", Some("x"), &["z"]),
                line("b", Some("x"), &["self", "b"]),
                line("z", None, &["nowhere"]),
                line("self", None, &["self", "b"]),
            ],
            &["a: u", "b", "z: parent", "self"],
        ),
        (
            "a line in the way of one that it relates to",
            vec![line("a", Some("x"), &["b"]), line("b", Some("x"), &[])],
            &["a: u", "b"],
        ),
        (
            "another line brings the same key",
            vec![line("a", None, &["b"]), line("b", None, &["nowhere"]), line("b", None, &["a"])],
            &["a", "b: parent", "b"],
        ),
        (
            "another line brings the same key under an id",
            vec![
                line("a", None, &["b"]),
                line("b", None, &["nowhere"]),
                json!({ "key": "b", "id": "0192b3c4-0000-7000-8000-000000000077", "attributes": { "parent": "a" } }),
            ],
            &["a", "b: parent", "b"],
        ),
        (
            "a relation to an id",
            vec![
                line("a", None, &["0192b3c4-0000-7000-8000-000000000078"]),
                json!({ "key": "i", "id": "0192b3c4-0000-7000-8000-000000000078", "attributes": { "parent": "a", "u": "x" } }),
                line("o", Some("x"), &["o"]),
            ],
            &["a", "i", "o: u"],
        ),
    ];
    let mut faults = Faults::default();
    for (what, lines, expected) in cases {
        for key in [None, Some("once")] {
            let server = Server::start();
            notes(&server);
            let what = format!("{what}, {key:?}");
            let answers = run(&server, key, &lines);
            faults.same(&what, told(&lines, &answers), expected.iter().map(|text| (*text).to_owned()).collect());
            assert_whole(&server, &mut faults, &what);
            let passed = answers.iter().filter_map(|answer| answer["id"].as_str());
            let passed: std::collections::BTreeSet<&str> = passed.collect();
            faults.same(&what, server.ids("notes").len(), passed.len());
            // What is corrected goes in on the next run.
            let again = run(&server, key.map(|_| "again"), &[line("nowhere", None, &[])]);
            faults.check(again[0]["op"] == "created", || format!("{what}: {again:?}"));
            let again = run(&server, key.map(|_| "third"), &lines);
            faults.check(
                again.iter().all(|answer| answer["errors"]["fields"]["parent"].is_null() || what.contains("clash")),
                || format!("{what}: {again:?}"),
            );
            assert_whole(&server, &mut faults, &what);
        }
    }
    faults.none();
}

#[test]
fn rule_6_random_lines_leave_a_whole_that_another_run_does_not_change() {
    let mut faults = Faults::default();
    for once in [false, true] {
        let server = Server::start();
        notes(&server);
        server.create("notes", json!({ "t": "first", "u": "taken" }));
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let key = |n: usize| format!("{seed}-{n}");
            let lines: Vec<Value> = (0..3 + random.below(8))
                .map(|n| {
                    let unique = match random.below(6) {
                        0 => Some("taken".to_owned()),
                        1 | 2 => Some(format!("{seed}-{}", random.below(3))),
                        _ => None,
                    };
                    let count = random.below(3);
                    // The last two keys of ten are brought by few, the eleventh by none.
                    let targets: Vec<String> =
                        (0..count).map(|_| key(random.below(if seed % 2 == 0 { 8 } else { 11 }))).collect();
                    let mut names: Vec<&str> = targets.iter().map(String::as_str).collect();
                    names.dedup();
                    line(&key(if random.chance(90) { n } else { 0 }), unique.as_deref(), &names)
                })
                .collect();
            let name = |part: &str| once.then(|| format!("{seed}-{part}"));
            let what = format!("seed {seed}, once {once}");
            let answers = run(&server, name("a").as_deref(), &lines);
            assert_whole(&server, &mut faults, &what);
            let ids: Vec<&str> = answers.iter().filter_map(|answer| answer["id"].as_str()).collect();
            for id in &ids {
                faults.check(server.get(&format!("/v2/resources/notes/{id}")).status == 200, || {
                    format!("{what}: no {id}")
                });
            }
            // No two lines of one key, so that the second run finds what the first one left.
            let mut keys: Vec<&Value> = lines.iter().map(|line| &line["key"]).collect();
            keys.sort_by_key(|key| key.to_string());
            keys.dedup();
            if keys.len() == lines.len() {
                let again = run(&server, name("b").as_deref(), &lines);
                let passed = |answers: &[Value]| answers.iter().map(|answer| answer["id"].clone()).collect::<Vec<_>>();
                faults.same(&what, passed(&again), passed(&answers));
            }
        }
    }
    faults.none();
}

#[test]
fn rule_6_long_chains_in_the_worst_order_are_fast() {
    const LINES: usize = 5000;
    let key = |n: usize| format!("k{n}");
    let chain = |last: &str| -> Vec<Value> {
        let target = |n: usize| if n + 1 == LINES { last.to_owned() } else { key(n + 1) };
        (0..LINES).map(|n| line(&key(n), None, &[&target(n)])).collect()
    };
    // Each page names the next and the one before: no line can go in before the others.
    let doubly = |last: &str| -> Vec<Value> {
        let before = |n: usize| if n == 0 { key(0) } else { key(n - 1) };
        let next = |n: usize| if n + 1 == LINES { last.to_owned() } else { key(n + 1) };
        (0..LINES).map(|n| line(&key(n), None, &[&before(n), &next(n)])).collect()
    };
    let own = key(LINES - 1);
    let cases = [
        ("a chain", chain(&own), LINES),
        ("a circle", chain(&key(0)), LINES),
        ("a chain to nowhere", chain("nowhere"), 0),
        ("a double chain", doubly(&key(0)), LINES),
        ("a double chain to nowhere", doubly("nowhere"), 0),
    ];
    let mut faults = Faults::default();
    for (what, lines, expected) in cases {
        for once in [None, Some("once")] {
            let server = Server::start();
            notes(&server);
            let started = Instant::now();
            let answers = run(&server, once, &lines);
            let took = started.elapsed();
            eprintln!("{what}, {once:?}: {took:?}");
            faults.check(took < Duration::from_secs(10), || format!("{what}, {once:?}: {took:?}"));
            let done = answers.iter().filter(|answer| answer["op"] == "created").count();
            faults.same(what, done, expected);
            faults.same(what, server.ids("notes?per_page=100").len(), expected.min(100));
        }
    }
    faults.none();
}
