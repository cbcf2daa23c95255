//! Lines that relate to each other: afterwards, every stored relation has its target, whichever lines fail and whatever
//! their order (`API.md` 4.11.3).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{NOTES, answers, notes};
use crate::oracle::random::Random;
use crate::support::{Failures, Server};

/// Imports lines: in one transaction if there is an idempotency key, otherwise streamed.
fn run(server: &Server, key: Option<&str>, lines: &[Value]) -> Vec<Value> {
    let body: Vec<String> = lines.iter().map(Value::to_string).collect();
    let mut headers = vec![("content-type", "application/x-ndjson")];
    headers.extend(key.map(|key| ("idempotency-key", key)));
    answers(&server.raw("POST", NOTES, &headers, body.join("\n").as_bytes()).expect(200))
}

/// Returns a line with this key, a unique value and relations by key. The first target is `parent`, the others are
/// `related`.
fn line(key: &str, unique: Option<&str>, targets: &[&str]) -> Value {
    let (parent, related) = targets.split_first().map_or((None, targets), |(parent, rest)| (Some(*parent), rest));
    json!({ "key": key, "attributes": { "t": key, "u": unique, "parent": parent, "related": related } })
}

/// Returns the key of each line, followed by the fields with errors if it failed.
fn outcomes(lines: &[Value], answers: &[Value]) -> Vec<String> {
    let describe = |(line, answer): (&Value, &Value)| {
        let fields = answer["errors"]["fields"].as_object();
        let fields: Vec<&str> = fields.into_iter().flatten().map(|(slug, _)| slug.as_str()).collect();
        let key = line["key"].as_str().unwrap_or("-");
        if fields.is_empty() { key.to_owned() } else { format!("{key}: {}", fields.join(" ")) }
    };
    lines.iter().zip(answers).map(describe).collect()
}

/// Checks that the target of every stored relation exists.
fn check_relations(server: &Server, failures: &mut Failures, case: &str) {
    let export = server.get("/v2/resources/notes/export?format=ndjson").expect(200).text;
    let stored: Vec<Value> = export.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&Value> = stored.iter().map(|resource| &resource["id"]).collect();
    for resource in &stored {
        let attributes = &resource["attributes"];
        let related = attributes["related"].as_array().into_iter().flatten();
        for target in related.chain(Some(&attributes["parent"]).filter(|parent| !parent.is_null())) {
            failures.check(ids.contains(&target), || format!("{case}: {resource} has a dangling relation"));
        }
    }
}

#[test]
fn a_relation_to_a_failed_line_is_an_error() {
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
            "the end of a cycle",
            vec![line("a", None, &["b"]), line("b", None, &["c"]), line("c", None, &["a", "nowhere"])],
            &["a: parent", "b: parent", "c: related"],
        ),
        (
            "two cycles, one of them broken",
            vec![
                line("a", None, &["b"]),
                line("b", None, &["a"]),
                line("c", None, &["d", "a"]),
                line("d", None, &["c", "nowhere"]),
            ],
            &["a", "b", "c: parent", "d: related"],
        ),
        (
            "a failed line does not claim its unique value",
            vec![
                line("a", Some("x"), &["z"]),
                line("b", Some("x"), &["self", "b"]),
                line("z", None, &["nowhere"]),
                line("self", None, &["self", "b"]),
            ],
            &["a: u", "b", "z: parent", "self"],
        ),
        (
            "a line whose unique value is claimed by its own target",
            vec![line("a", Some("x"), &["b"]), line("b", Some("x"), &[])],
            &["a: u", "b"],
        ),
        (
            "another line has the same key",
            vec![line("a", None, &["b"]), line("b", None, &["nowhere"]), line("b", None, &["a"])],
            &["a", "b: parent", "b"],
        ),
        (
            "another line has the same key and an id",
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
    let mut failures = Failures::default();
    for (case, lines, expected) in cases {
        for key in [None, Some("once")] {
            let server = Server::start();
            notes(&server);
            let case = format!("{case}, {key:?}");
            let answers = run(&server, key, &lines);
            failures.check_eq(
                &case,
                outcomes(&lines, &answers),
                expected.iter().map(|text| (*text).to_owned()).collect(),
            );
            check_relations(&server, &mut failures, &case);
            let passed = answers.iter().filter_map(|answer| answer["id"].as_str());
            let passed: std::collections::BTreeSet<&str> = passed.collect();
            failures.check_eq(&case, server.ids("notes").len(), passed.len());
            // Once the missing target is imported, the next run succeeds.
            let again = run(&server, key.map(|_| "again"), &[line("nowhere", None, &[])]);
            failures.check(again[0]["op"] == "created", || format!("{case}: {again:?}"));
            let again = run(&server, key.map(|_| "third"), &lines);
            failures.check(
                again.iter().all(|answer| answer["errors"]["fields"]["parent"].is_null() || case.contains("clash")),
                || format!("{case}: {again:?}"),
            );
            check_relations(&server, &mut failures, &case);
        }
    }
    failures.assert_none();
}

#[test]
fn random_lines_leave_no_dangling_relations_and_a_second_run_agrees() {
    let mut failures = Failures::default();
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
                    // Few imports have lines for keys 8 and 9, and none has one for key 10.
                    let targets: Vec<String> =
                        (0..count).map(|_| key(random.below(if seed % 2 == 0 { 8 } else { 11 }))).collect();
                    let mut names: Vec<&str> = targets.iter().map(String::as_str).collect();
                    names.dedup();
                    line(&key(if random.chance(90) { n } else { 0 }), unique.as_deref(), &names)
                })
                .collect();
            let name = |part: &str| once.then(|| format!("{seed}-{part}"));
            let case = format!("seed {seed}, once {once}");
            let answers = run(&server, name("a").as_deref(), &lines);
            check_relations(&server, &mut failures, &case);
            let ids: Vec<&str> = answers.iter().filter_map(|answer| answer["id"].as_str()).collect();
            for id in &ids {
                failures.check(server.get(&format!("/v2/resources/notes/{id}")).status == 200, || {
                    format!("{case}: no {id}")
                });
            }
            // Repeat the import unless two lines share a key: a second run must then pass the same lines.
            let mut keys: Vec<&Value> = lines.iter().map(|line| &line["key"]).collect();
            keys.sort_by_key(|key| key.to_string());
            keys.dedup();
            if keys.len() == lines.len() {
                let again = run(&server, name("b").as_deref(), &lines);
                let passed = |answers: &[Value]| answers.iter().map(|answer| answer["id"].clone()).collect::<Vec<_>>();
                failures.check_eq(&case, passed(&again), passed(&answers));
            }
        }
    }
    failures.assert_none();
}

#[test]
fn long_chains_in_the_worst_order_are_fast() {
    const LINES: usize = 5000;
    let key = |n: usize| format!("k{n}");
    let chain = |last: &str| -> Vec<Value> {
        let target = |n: usize| if n + 1 == LINES { last.to_owned() } else { key(n + 1) };
        (0..LINES).map(|n| line(&key(n), None, &[&target(n)])).collect()
    };
    // Each line names the next and the previous one, so none can be stored before the others.
    let linked_both_ways = |last: &str| -> Vec<Value> {
        let before = |n: usize| if n == 0 { key(0) } else { key(n - 1) };
        let next = |n: usize| if n + 1 == LINES { last.to_owned() } else { key(n + 1) };
        (0..LINES).map(|n| line(&key(n), None, &[&before(n), &next(n)])).collect()
    };
    let own = key(LINES - 1);
    let cases = [
        ("a chain", chain(&own), LINES),
        ("a cycle", chain(&key(0)), LINES),
        ("a chain to nowhere", chain("nowhere"), 0),
        ("a double chain", linked_both_ways(&key(0)), LINES),
        ("a double chain to nowhere", linked_both_ways("nowhere"), 0),
    ];
    let mut failures = Failures::default();
    for (case, lines, expected) in cases {
        for once in [None, Some("once")] {
            let server = Server::start();
            notes(&server);
            let started = Instant::now();
            let answers = run(&server, once, &lines);
            let took = started.elapsed();
            eprintln!("{case}, {once:?}: {took:?}");
            failures.check(took < Duration::from_secs(10), || format!("{case}, {once:?}: {took:?}"));
            let created = answers.iter().filter(|answer| answer["op"] == "created").count();
            failures.check_eq(case, created, expected);
            failures.check_eq(case, server.ids("notes?per_page=100").len(), expected.min(100));
        }
    }
    failures.assert_none();
}

/// Lines of which each passes only after another one: with a number of tries that grows with the square of theirs, they
/// would hold up all other writes for minutes.
#[test]
fn lines_that_need_the_unique_values_of_others_are_decided_fast() {
    const LINES: usize = 3000;
    let value = |n: usize| format!("u{n}");
    let with_value = |key: &str, n: usize| line(&format!("{key}{n}"), Some(&value(n)), &[]);
    let next_value = |n: usize| line(&format!("k{n}"), Some(&value(n + 1)), &[]);
    let before: Vec<Value> = (0..LINES).map(|n| with_value("k", n)).collect();
    // The first line fails, so the second does, too, and keeps the value that the third needs, which the fourth names.
    let target = |n: usize| {
        if n == 0 { line("a0", None, &["nowhere"]) } else { line(&format!("a{n}"), Some(&value(n - 1)), &[]) }
    };
    let giving_up = |n: usize| line(&format!("b{n}"), None, &[&format!("a{n}")]);
    let holders: Vec<Value> = (0..LINES / 3).map(|n| with_value("b", n)).collect();
    // The last line passes only once the tries have run out.
    let last = line("last", Some("last"), &[]);
    let chain = (0..LINES / 3).flat_map(|n| [target(n), giving_up(n)]).chain([last]).collect();
    let cases: [(&str, &Vec<Value>, Vec<Value>, usize); 3] = [
        ("each needs the value of the next", &before, (0..LINES).map(next_value).collect(), LINES),
        ("in mixed order", &before, (0..LINES).map(|n| next_value(n * 7 % LINES)).collect(), LINES),
        ("a chain of failures", &holders, chain, 0),
    ];
    let mut failures = Failures::default();
    for (case, before, lines, expected) in cases {
        let server = Server::start();
        notes(&server);
        run(&server, None, before);
        let started = Instant::now();
        let answers = run(&server, Some("once"), &lines);
        let took = started.elapsed();
        eprintln!("{case}: {took:?}");
        failures.check(took < Duration::from_secs(10), || format!("{case}: {took:?}"));
        failures.check_eq(case, answers.iter().filter(|answer| answer["op"] == "updated").count(), expected);
        let failed: Vec<String> =
            outcomes(&lines, &answers).into_iter().filter(|outcome| outcome.contains(": ")).collect();
        let first_failed = ["a0: parent", "b0: parent", "a1: u", "b1: parent"].map(str::to_owned);
        failures.check(failed.is_empty() || failed.starts_with(&first_failed), || format!("{case}: {failed:?}"));
        let is_moved = expected > 0;
        failures.check_eq(case, server.ids("notes?filter[u]=u0").is_empty(), is_moved);
        failures.check_eq(case, server.ids("notes?filter[u]=last").len(), usize::from(!is_moved));
        failures.check_eq(case, server.ids(&format!("notes?filter[u]=u{LINES}")).len(), usize::from(is_moved));
    }
    failures.assert_none();
}

#[test]
fn the_later_of_two_lines_about_one_resource_wins_although_they_name_it_differently() {
    let server = Server::start();
    notes(&server);
    let known = run(&server, None, &[line("kx", None, &[])]);
    let id = known[0]["id"].as_str().unwrap();
    let by_id = |title: &str, parent: &str| json!({ "id": id, "attributes": { "t": title, "parent": parent } });
    let by_key =
        |title: &str, parent: Option<&str>| json!({ "key": "kx", "attributes": { "t": title, "parent": parent } });
    for (round, [first, second]) in [
        [by_id("first", "later1"), by_key("second", None)],
        [by_key("first", Some("later2")), json!({ "id": id, "attributes": { "t": "second" } })],
    ]
    .into_iter()
    .enumerate()
    {
        // The first line waits for the third, which it relates to.
        let answers = run(&server, None, &[first, second, line(&format!("later{}", round + 1), None, &[])]);
        assert!(answers.iter().all(|answer| answer["errors"].is_null()), "{answers:?}");
        let attributes = server.find(&format!("notes/{id}"))["attributes"].take();
        assert_eq!((&attributes["t"], &attributes["parent"]), (&json!("second"), &Value::Null), "{round}");
    }
}

/// Imports lines, each `gap` lines behind the one before, and then a line with the key `later`. Checks that the
/// resource has the title `second` of the last line, and no parent.
fn check_that_the_last_line_wins(server: &Server, gap: usize, id: &str, lines: &[Value]) {
    let mut spread = Vec::new();
    let later = line("later", None, &[]);
    for (position, next) in lines.iter().chain([&later]).enumerate() {
        spread.push(next.clone());
        spread.extend((0..gap).map(|n| line(&format!("between{position}-{n}"), None, &[])));
    }
    let answers = run(server, None, &spread);
    assert!(answers.iter().all(|answer| answer["errors"].is_null()), "gap {gap}: {answers:?}");
    let attributes = server.find(&format!("notes/{id}"))["attributes"].take();
    assert_eq!((&attributes["t"], &attributes["parent"]), (&json!("second"), &Value::Null), "gap {gap}: {lines:?}");
}

#[test]
fn the_later_line_wins_although_only_the_import_connects_the_key_with_the_id() {
    let id = "0192b3c4-0000-7000-8000-000000000079";
    let both = |parent: Option<&str>| json!({ "id": id, "key": "k", "attributes": { "t": "zero", "parent": parent } });
    let by_id = |title: &str, parent: Option<&str>| json!({ "id": id, "attributes": { "t": title, "parent": parent } });
    let by_key =
        |title: &str, parent: Option<&str>| json!({ "key": "k", "attributes": { "t": title, "parent": parent } });
    // Lines that relate to `later` wait for it. The one with the key `child` waits for all lines about its parent.
    let child = line("child", None, &[id]);
    for lines in [
        vec![both(None), by_key("first", Some("later")), by_id("second", None)],
        vec![both(None), by_id("first", Some("later")), by_key("second", None)],
        vec![child.clone(), both(Some("later")), by_key("first", None), by_id("second", None)],
        vec![child, both(Some("later")), by_id("first", None), by_key("second", None)],
    ] {
        // A command has at most 128 lines.
        for gap in [0, 200] {
            let server = Server::start();
            notes(&server);
            check_that_the_last_line_wins(&server, gap, id, &lines);
        }
    }
}

#[test]
fn an_earlier_line_that_failed_is_not_written_over_a_later_one_about_the_same_resource() {
    let server = Server::start();
    notes(&server);
    run(&server, None, &[line("holder", Some("x"), &[])]);
    let titled =
        |key: &str, title: &str, unique: Value| json!({ "key": key, "attributes": { "t": title, "u": unique } });
    // The second line sets the value free that the first one needs.
    let lines =
        [titled("a", "first", json!("x")), titled("holder", "free", Value::Null), titled("a", "last", Value::Null)];
    let answers = run(&server, Some("once"), &lines);
    assert_eq!(outcomes(&lines, &answers), ["a: u", "holder", "a"]);
    let attributes = server.find(&format!("notes/{}", answers[2]["id"].as_str().unwrap()))["attributes"].take();
    assert_eq!((&attributes["t"], &attributes["u"]), (&json!("last"), &Value::Null));
}
