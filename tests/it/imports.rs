//! Imports over HTTP (`API.md` 4.11).

mod relations;

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use serde_json::{Value, json};

use crate::clients::attack::{Raw, head};
use crate::support::{ADMIN, Failures, LateClock, Reply, Server};

fn import(server: &Server, path: &str, lines: &[Value]) -> Vec<Value> {
    let body: Vec<String> = lines.iter().map(Value::to_string).collect();
    answers(&send(server, path, body.join("\n").as_bytes()))
}

fn send(server: &Server, path: &str, body: &[u8]) -> Reply {
    server.raw("POST", path, &[("content-type", "application/x-ndjson")], body).expect(200)
}

/// Returns the answers to lines, in the order of their index. Leaves out the last line, which lists what sanitizing
/// removed.
fn answers(reply: &Reply) -> Vec<Value> {
    let mut lines = reply.lines();
    lines.retain(|line| line.get("sanitized").is_none());
    lines.sort_by_key(|line| line["index"].as_u64());
    lines
}

fn notes(server: &Server) {
    server.blueprint(
        "notes",
        json!([
            { "name": "T", "slug": "t", "type": "text", "required": true },
            { "name": "U", "slug": "u", "type": "slug", "unique": true },
            { "name": "P", "slug": "parent", "type": "reference", "settings": { "blueprint": "notes" } },
            { "name": "R", "slug": "related", "type": "references", "settings": { "blueprint": "notes" } },
        ]),
    );
}

const NOTES: &str = "/v2/resources/notes/import";

#[test]
fn importing_the_same_lines_again_updates() {
    let server = Server::start();
    notes(&server);
    let id = "0192b3c4-0000-7000-8000-000000000001";
    let lines = [
        json!({ "key": "a", "attributes": { "t": "one", "u": "x" }, "published_at": "2026-01-01" }),
        json!({ "id": id, "attributes": { "t": "two" }, "created_at": "2020-01-01", "updated_at": "2021-01-01T00:00:00.5Z" }),
        json!({ "attributes": { "t": "three" } }),
        json!({ "key": "both", "id": "0192b3c4-0000-7000-8000-000000000002", "attributes": {} }),
    ];
    let first = import(&server, NOTES, &lines);
    let ops: Vec<&str> = first.iter().map(|line| line["op"].as_str().unwrap_or("error")).collect();
    assert_eq!(ops, ["created"; 4], "{first:?}");
    assert_eq!(first[1]["id"], id);
    let two = server.find(&format!("notes/{id}"));
    assert_eq!(two["created_at"], "2020-01-01T00:00:00.000+00:00");
    assert_eq!(two["updated_at"], "2021-01-01T00:00:00.500+00:00");
    assert_eq!(two["published_at"], Value::Null);
    let one = server.find(&format!("notes/{}", first[0]["id"].as_str().unwrap()));
    assert_eq!(one["published_at"], "2026-01-01T00:00:00.000+00:00");

    let second = import(&server, NOTES, &lines);
    let ops: Vec<&str> = second.iter().map(|line| line["op"].as_str().unwrap_or("error")).collect();
    assert_eq!(ops, ["updated", "updated", "created", "updated"], "an item without key or id is created each time");
    assert_eq!((&second[0]["id"], &second[3]["id"]), (&first[0]["id"], &first[3]["id"]));
    assert_eq!(server.find(&format!("notes/{}", first[0]["id"].as_str().unwrap())), one, "nothing changed");
    assert_eq!(server.find(&format!("notes/{id}")), two);

    // A copy in the line replaces the stored one as a whole. Whatever the line leaves out stays.
    let third = import(&server, NOTES, &[json!({ "key": "a", "attributes": { "t": "new" } })]);
    assert_eq!((&third[0]["id"], &third[0]["op"]), (&first[0]["id"], &json!("updated")));
    let one = server.find(&format!("notes/{}", first[0]["id"].as_str().unwrap()));
    assert_eq!((&one["attributes"]["t"], &one["attributes"]["u"]), (&json!("new"), &Value::Null));
    assert_eq!(one["published_at"], "2026-01-01T00:00:00.000+00:00");
    let dates = import(&server, NOTES, &[json!({ "key": "a", "published_at": null })]);
    assert_eq!(dates[0]["op"], "updated", "{dates:?}");
    let one = server.find(&format!("notes/{}", first[0]["id"].as_str().unwrap()));
    assert_eq!((&one["attributes"]["t"], &one["published_at"]), (&json!("new"), &Value::Null));
    // A later line with the same key wins.
    let twice = [json!({ "key": "n", "attributes": { "t": "1" } }), json!({ "key": "n", "attributes": { "t": "2" } })];
    let twice = import(&server, NOTES, &twice);
    assert_eq!((&twice[0]["op"], &twice[1]["op"]), (&json!("created"), &json!("updated")));
    assert_eq!(server.ids("notes?filter[t]=2").len(), 1);
}

#[test]
fn the_last_date_stays_the_last_one_when_something_changes() {
    let server = Server::start();
    notes(&server);
    let line = json!({ "key": "a", "attributes": { "t": "one" }, "updated_at": "9999-12-31T23:59:59.999Z" });
    let id = import(&server, NOTES, &[line])[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v2/resources/notes/{id}");
    let changed = server.patch(&path, &json!({ "attributes": { "t": "two" } })).expect(200).data();
    assert_eq!(changed["updated_at"], "9999-12-31T23:59:59.999+00:00");
    let exported: Value =
        serde_json::from_str(&server.get("/v2/resources/notes/export?format=ndjson").expect(200).text).unwrap();
    assert_eq!(import(&server, NOTES, &[exported])[0]["op"], "updated");
}

#[test]
fn invalid_lines_do_not_stop_an_import() {
    let server = Server::start();
    notes(&server);
    let lines: Vec<(&str, &str)> = vec![
        (r#"{"key":"ok","attributes":{"t":"a","u":"taken"}}"#, ""),
        (r#"{"key":"broken","attributes":{"#, "MALFORMED_JSON"),
        ("[]", "VALIDATION_FAILED"),
        (r#"{"key":"","attributes":{}}"#, "VALIDATION_FAILED key"),
        (r#"{"key":5,"attributes":{}}"#, "VALIDATION_FAILED key"),
        (r#"{"id":"x","attributes":{}}"#, "VALIDATION_FAILED id"),
        (
            r#"{"key":"k1","attributes":{"t":1,"nothing":2},"published_at":"x","more":1}"#,
            "VALIDATION_FAILED more nothing published_at t",
        ),
        (r#"{"key":"k2","attributes":[]}"#, "VALIDATION_FAILED attributes"),
        (r#"{"key":"k3","attributes":{},"variants":{}}"#, "VALIDATION_FAILED variants"),
        (r#"{"key":"k4","variants":{"de":{}}}"#, "VALIDATION_FAILED variants"),
        (r#"{"key":"k5","attributes":{"u":"taken"}}"#, "VALIDATION_FAILED u"),
        (r#"{"key":"k6","attributes":{"parent":"no such key"}}"#, "VALIDATION_FAILED parent"),
        (r#"{"key":"k7","attributes":{"related":["ok","missing"]}}"#, "VALIDATION_FAILED related"),
        (r#"{"key":"k8","created_at":"x","attributes":{}}"#, "VALIDATION_FAILED created_at"),
        (r#"{"key":"last","attributes":{"t":"required is not asked for","t":"x"}}"#, "MALFORMED_JSON"),
        (r#"{"key":"last","attributes":{}}"#, ""),
    ];
    // Empty lines are ignored, lines may end with CRLF, and the last line needs no line break.
    let text: Vec<&str> = lines.iter().map(|(line, _)| *line).collect();
    let reply = send(&server, NOTES, format!("\n\r\n{}", text.join("\r\n \n")).as_bytes());
    assert_eq!(reply.header("content-type"), Some("application/x-ndjson"));
    let answers = answers(&reply);
    assert_eq!(answers.len(), lines.len(), "one answer line per item");
    let mut failures = Failures::default();
    for (index, ((line, expected), answer)) in lines.iter().zip(&answers).enumerate() {
        let mut codes = vec![answer["errors"]["code"].as_str().unwrap_or_default().to_owned()];
        let fields = answer["errors"]["fields"].as_object();
        let mut keys: Vec<String> = fields.map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
        keys.sort();
        codes.extend(keys);
        failures.check_eq(line, codes.join(" "), (*expected).to_owned());
        failures.check_eq(line, answer["index"].as_u64(), Some(index as u64));
        failures.check(answer["id"].is_string() == expected.is_empty(), || answer.to_string());
    }
    failures.check_eq("stored", server.ids("notes").len(), 2);
    failures.assert_none();
}

#[test]
fn a_later_line_wins_even_if_the_earlier_one_had_to_wait() {
    let first = json!({ "key": "a", "published_at": null, "attributes": { "t": "first", "parent": "z" } });
    let second = json!({ "key": "a", "published_at": "2024-01-01", "attributes": { "t": "second" } });
    let last = json!({ "key": "z", "attributes": {} });
    let mut far: Vec<Value> = (0..600).map(|n| json!({ "key": format!("k{n}"), "attributes": {} })).collect();
    far.insert(0, first.clone());
    far.push(second.clone());
    far.push(last.clone());
    for lines in [vec![first, second, last], far] {
        let server = Server::start();
        notes(&server);
        for _ in 0..2 {
            let answers = import(&server, NOTES, &lines);
            assert!(answers.iter().all(|answer| answer["id"].is_string()), "{answers:?}");
            let read = server.find(&format!("notes/{}", answers[0]["id"].as_str().unwrap()));
            assert_eq!((&read["attributes"]["t"], &read["attributes"]["parent"]), (&json!("second"), &Value::Null));
            assert!(read["published_at"].is_string());
        }
    }
}

#[test]
fn a_relation_by_key_and_by_id_to_one_resource_is_a_duplicate() {
    let server = Server::start();
    notes(&server);
    let id = import(&server, NOTES, &[json!({ "key": "k", "attributes": {} })])[0]["id"].clone();
    let lines = [
        json!({ "key": "m", "attributes": { "related": ["k", id] } }),
        json!({ "key": "n", "attributes": { "related": ["new", "k"] } }),
        json!({ "key": "new", "attributes": {} }),
    ];
    let answers = import(&server, NOTES, &lines);
    assert_eq!(
        answers[0]["errors"]["fields"]["related"][0].as_str().unwrap().split(':').next(),
        Some("element 1 must not repeat element 0")
    );
    assert!(answers[1]["id"].is_string() && answers[2]["id"].is_string(), "{answers:?}");
}

#[test]
fn lines_may_relate_to_later_lines() {
    let server = Server::start();
    notes(&server);
    let id = "0192b3c4-0000-7000-8000-00000000000a";
    // A forward chain by key and by id, a cycle, a relation to itself, and relations to lines that fail.
    let lines = [
        json!({ "key": "a", "attributes": { "parent": "b", "related": ["c", id] } }),
        json!({ "key": "b", "attributes": { "parent": "c" } }),
        json!({ "key": "c", "attributes": {} }),
        json!({ "id": id, "attributes": { "parent": "a" } }),
        json!({ "key": "x", "attributes": { "parent": "y" } }),
        json!({ "key": "y", "attributes": { "parent": "x" } }),
        json!({ "key": "self", "attributes": { "parent": "self", "related": ["self", "a"] } }),
        json!({ "key": "lost", "attributes": { "parent": "nowhere" } }),
        json!({ "key": "on-lost", "attributes": { "parent": "lost" } }),
    ];
    let answers = import(&server, NOTES, &lines);
    let ids: Vec<Value> = answers.iter().map(|line| line["id"].clone()).collect();
    let attribute = |at: usize, name: &str| {
        let path = format!("notes/{}", ids[at].as_str().unwrap());
        server.find(&path)["attributes"][name].clone()
    };
    assert!(ids[..7].iter().all(Value::is_string), "{answers:?}");
    assert_eq!((attribute(0, "parent"), attribute(0, "related")), (ids[1].clone(), json!([ids[2], id])));
    assert_eq!((attribute(1, "parent"), attribute(3, "parent")), (ids[2].clone(), ids[0].clone()));
    assert_eq!((attribute(4, "parent"), attribute(5, "parent")), (ids[5].clone(), ids[4].clone()));
    assert_eq!((attribute(6, "parent"), attribute(6, "related")), (ids[6].clone(), json!([ids[6], ids[0]])));
    assert_eq!(server.ids(&format!("notes?filter[parent]={}", ids[1].as_str().unwrap())), [ids[0].as_str().unwrap()]);
    for at in [7, 8] {
        let keys: Vec<&String> = answers[at]["errors"]["fields"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["parent"], "{}", answers[at]);
    }
    assert_eq!(server.ids("notes").len(), 7);
    // A second run finds the resources by their keys.
    let again = import(&server, NOTES, &lines);
    assert_eq!(again.iter().map(|line| line["id"].clone()).collect::<Vec<_>>(), ids);
    assert!(again[..7].iter().all(|line| line["op"] == "updated"));
    assert_eq!(server.ids("notes").len(), 7);
}

#[test]
fn a_relation_may_name_a_key_that_looks_like_an_id() {
    let server = Server::start();
    notes(&server);
    let [first, second] = ["7487f04f-8fae-486d-a506-564a075a1ef1", "0192b3c4-0000-7000-8000-00000000000b"];
    let lines = [
        json!({ "key": "a", "attributes": { "parent": first, "related": [second] } }),
        json!({ "key": first, "attributes": {} }),
        json!({ "key": second, "attributes": { "parent": first } }),
    ];
    let answers = import(&server, NOTES, &lines);
    let again = import(&server, NOTES, &[json!({ "key": "later", "attributes": { "parent": second } })]);
    let ids: Vec<&str> = answers.iter().chain(&again).map(|line| line["id"].as_str().expect("imported")).collect();
    let attributes = |at: usize| server.find(&format!("notes/{}", ids[at]))["attributes"].clone();
    assert_eq!((&attributes(0)["parent"], &attributes(0)["related"]), (&json!(ids[1]), &json!([ids[2]])));
    assert_eq!((&attributes(2)["parent"], &attributes(3)["parent"]), (&json!(ids[1]), &json!(ids[2])));
    // An id that exists is that resource, also where another resource has it as its key.
    let answers = import(
        &server,
        NOTES,
        &[json!({ "key": ids[1], "attributes": {} }), json!({ "key": "both", "attributes": { "parent": ids[1] } })],
    );
    let both = server.find(&format!("notes/{}", answers[1]["id"].as_str().unwrap()));
    assert_ne!(answers[0]["id"], json!(ids[1]));
    assert_eq!(both["attributes"]["parent"], json!(ids[1]));
}

#[test]
fn variants_survive_an_export_and_an_import() {
    let server = Server::start();
    let blueprint = json!({
        "name": "Pages", "slug": "pages",
        "variants": [{ "name": "English", "slug": "en", "default": true }, { "name": "Deutsch", "slug": "de" }],
        "fields": [{ "name": "T", "slug": "t", "type": "text", "required": true }, { "name": "B", "slug": "b", "type": "rich-text" },
            { "name": "R", "slug": "r", "type": "references", "settings": { "blueprint": "pages" } }],
    });
    server.post("/v2/blueprints", &blueprint).expect(201);
    let path = "/v2/resources/pages/import";
    let created = import(
        &server,
        path,
        &[
            json!({ "key": "a", "variants": { "en": { "t": "one", "r": ["b"] }, "de": { "t": "eins" } }, "published_at": "2026-01-01" }),
            json!({ "key": "b", "attributes": { "t": "two", "b": "<p onclick=1>x</p>" } }),
            json!({ "key": "c", "variants": { "de": { "t": "drei" } } }),
            json!({ "key": "d", "variants": {} }),
        ],
    );
    assert!(created.iter().all(|line| line["op"] == "created"), "{created:?}");
    let a = created[0]["id"].as_str().unwrap();
    assert_eq!(server.find(&format!("pages/{a}?variant=de"))["attributes"]["t"], "eins");
    assert_eq!(server.find(&format!("pages/{a}"))["attributes"]["r"], json!([created[1]["id"]]));
    // A copy in the line replaces the stored one as a whole. Other copies stay.
    import(&server, path, &[json!({ "key": "a", "variants": { "de": { "b": "neu" } } })]);
    assert_eq!(
        server.find(&format!("pages/{a}?variant=de"))["attributes"],
        json!({ "t": null, "b": "neu", "r": null })
    );
    assert_eq!(server.find(&format!("pages/{a}"))["attributes"]["t"], "one");
    // `attributes` are those of the requested variant.
    import(&server, &format!("{path}?variant=de"), &[json!({ "key": "b", "attributes": { "t": "zwei" } })]);
    let b = created[1]["id"].as_str().unwrap();
    assert_eq!(server.find(&format!("pages/{b}?variant=de"))["attributes"]["t"], "zwei");
    assert_eq!(server.find(&format!("pages/{b}"))["attributes"]["b"], "<p>x</p>");
    let unknown = server.raw("POST", &format!("{path}?variant=fr"), &[("content-type", "application/x-ndjson")], b"{}");
    assert_eq!(unknown.outcome(), "422 INVALID_VARIANT");

    // An export can be imported unchanged: into the same server, where it changes nothing, and into an empty server.
    let export = "/v2/resources/pages/export?all_variants=true&format=ndjson&sort=id";
    let exported = server.get(export).expect(200).text;
    let lines = answers(&send(&server, path, exported.as_bytes()));
    assert!(lines.iter().all(|line| line["op"] == "updated"), "{lines:?}");
    assert_eq!(server.get(export).text, exported);
    let other = Server::start();
    other.post("/v2/blueprints", &blueprint).expect(201);
    let lines = answers(&send(&other, path, exported.as_bytes()));
    assert!(lines.iter().all(|line| line["op"] == "created"), "{lines:?}");
    assert_eq!(other.get(export).text, exported);
    // An export without `all_variants`, which has only the copy of the default variant, can be imported as well.
    let plain = server.get("/v2/resources/pages/export?format=ndjson&sort=id").expect(200).text;
    send(&other, path, plain.as_bytes());
    assert_eq!(other.get("/v2/resources/pages/export?format=ndjson&sort=id").text, plain);
}

#[test]
fn the_deepest_resource_that_can_be_created_is_imported_as_it_was_exported() {
    let page = json!({ "name": "Page", "slug": "page", "type": "html-page" });
    let variants = json!([{ "name": "English", "slug": "en", "default": true }]);
    let body = json!({ "name": "pages", "slug": "pages", "fields": [page], "variants": variants });
    let (source, target) = (Server::start(), Server::start());
    for server in [&source, &target] {
        server.post("/v2/blueprints", &body).expect(201);
    }
    // The page and `blocks` are within the body and its `attributes`, which are two of the 64 levels.
    let nested =
        |levels: usize| format!("{{\"blocks\":[{}1{}]}}", "{\"a\":".repeat(levels - 4), "}".repeat(levels - 4));
    let sent = format!("{{\"attributes\":{{\"page\":{}}}}}", nested(64));
    let headers = [("content-type", "application/json")];
    source.raw("POST", "/v2/resources/pages", &headers, sent.as_bytes()).expect(201);
    let path = "/v2/resources/pages/import";
    for query in ["format=ndjson&all_variants=true", "format=ndjson"] {
        let export = format!("/v2/resources/pages/export?{query}");
        let exported = source.get(&export).expect(200).text;
        let lines = answers(&send(&target, path, exported.as_bytes()));
        assert!(lines.len() == 1 && lines[0]["id"].is_string(), "{query}: {lines:?}");
        assert_eq!(target.get(&export).text, exported, "{query}");
    }
    // A line cannot bring what a create cannot, in either form.
    for deeper in [
        format!("{{\"attributes\":{{\"page\":{}}}}}", nested(65)),
        format!("{{\"variants\":{{\"en\":{{\"page\":{}}}}}}}", nested(65)),
    ] {
        let lines = answers(&send(&target, path, deeper.as_bytes()));
        assert_eq!(lines[0]["errors"]["code"], "MALFORMED_JSON", "{lines:?}");
    }
}

#[test]
fn an_item_of_a_singular_blueprint_updates_its_one_resource() {
    let server = Server::start();
    let body = json!({ "name": "S", "slug": "s", "kind": "singular_resource", "fields": [{ "name": "T", "slug": "t", "type": "text" }] });
    server.post("/v2/blueprints", &body).expect(201);
    let id = server.ids("s").remove(0);
    let lines = [
        json!({ "attributes": { "t": "a" } }),
        json!({ "key": "k", "attributes": { "t": "b" } }),
        json!({ "id": "0192b3c4-0000-7000-8000-000000000001", "attributes": { "t": "c" } }),
    ];
    for answer in import(&server, "/v2/resources/s/import", &lines) {
        assert_eq!((&answer["id"], &answer["op"]), (&json!(id), &json!("updated")), "{answer}");
    }
    assert_eq!(server.find(&format!("s/{id}"))["attributes"]["t"], "c");
    assert_eq!(server.get("/v2/resources/s").json()["meta"]["total"], 1);
}

/// Returns the id that follows an id.
fn following(id: &str) -> String {
    let number = u128::from_str_radix(&id.replace('-', ""), 16).unwrap() + 1;
    let digits = format!("{number:032x}");
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}

/// Under a clock that stands, ids follow each other. Another server, such as one with a copy of the data, may have
/// given the next ones.
#[test]
fn a_new_resource_does_not_get_the_id_of_an_imported_one() {
    let Some(clock) = LateClock::compile(100) else { return };
    let server = clock.start_server();
    let parent = json!({ "name": "P", "slug": "parent", "type": "reference", "settings": { "blueprint": "things" } });
    let fields = json!([{ "name": "T", "slug": "t", "type": "text" }, parent]);
    let body = json!({ "name": "Things", "slug": "things", "fields": fields, "trash": { "days": 30 } });
    server.post("/v2/blueprints", &body).expect(201);
    clock.set_late(true);
    let resources = vec![json!({ "attributes": { "t": "x" } }); 100];
    server.post("/v2/resources/things/bulk", &json!({ "resources": resources })).expect(201);
    let last = server.ids("things?per_page=100").into_iter().max().unwrap();
    let path = "/v2/resources/things/import";

    let [live, trashed] = [following(&last), following(&following(&last))];
    let lines = [&live, &trashed].map(|id| json!({ "id": id, "attributes": { "t": "imported" } }));
    assert!(import(&server, path, &lines).iter().all(|answer| answer["op"] == "created"));
    server.delete(&format!("/v2/resources/things/{trashed}")).expect(204);
    let created = server.create("things", json!({ "t": "created" }));
    assert!(created != live && created != trashed, "{created} was imported");
    assert_eq!(server.find(&format!("things/{live}"))["attributes"]["t"], "imported");
    server.post(&format!("/v2/trash/{trashed}/restore"), &json!({})).expect(200);

    // A line with an id, before lines that get new ones.
    let lines = [
        json!({ "id": following(&created), "attributes": { "t": "imported" } }),
        json!({ "key": "k", "attributes": { "t": "parent" } }),
        json!({ "attributes": { "t": "child", "parent": "k" } }),
    ];
    let body: Vec<String> = lines.iter().map(Value::to_string).collect();
    let once = [("content-type", "application/x-ndjson"), ("idempotency-key", "once")];
    let found = answers(&server.raw("POST", path, &once, body.join("\n").as_bytes()).expect(200));
    assert!(found.iter().all(|answer| answer["op"] == "created"), "{found:?}");
    let child = server.find(&format!("things/{}", found[2]["id"].as_str().unwrap()));
    assert_eq!(child["attributes"]["parent"], found[1]["id"]);
    assert_eq!(server.get("/v2/resources/things").expect(200).json()["meta"]["total"], 106);
}

#[test]
fn truncated_and_oversized_lines_are_rejected() {
    let server = Server::start_with(&["--max-body-bytes", "2000"]);
    notes(&server);
    let cut = send(&server, NOTES, b"{\"key\":\"a\",\"attributes\":{}}\n{\"key\":\"b\",\"attri");
    let lines = answers(&cut);
    assert_eq!((&lines[0]["op"], &lines[1]["errors"]["code"]), (&json!("created"), &json!("MALFORMED_JSON")));
    // The size limit applies to each line, not to the import as a whole.
    let many: Vec<String> =
        (0..200).map(|n| format!("{{\"key\":\"k{n}\",\"attributes\":{{\"t\":\"{n}\"}}}}")).collect();
    let lines = answers(&send(&server, NOTES, many.join("\n").as_bytes()));
    assert_eq!(lines.iter().filter(|line| line["op"] == "created").count(), 200);
    let long = format!("{{\"key\":\"z\",\"attributes\":{{\"t\":\"{}\"}}}}\n", "x".repeat(3000));
    for (case, text) in [("with a line break", long.clone()), ("at the end of the body", long.trim_end().to_owned())] {
        let text = format!("{long}{{\"key\":\"y\",\"attributes\":{{}}}}\n{text}");
        let lines = answers(&send(&server, NOTES, text.as_bytes()));
        let codes: Vec<(u64, &str)> = lines
            .iter()
            .map(|line| (line["index"].as_u64().unwrap(), line["errors"]["code"].as_str().unwrap_or("")))
            .collect();
        assert_eq!(codes, [(0, "PAYLOAD_TOO_LARGE"), (1, ""), (2, "PAYLOAD_TOO_LARGE")], "{case}");
    }
    assert_eq!(send(&server, NOTES, b"").text, "");
}

/// Returns the head of an import whose lines have this many bytes together.
fn import_head(bytes: usize) -> String {
    let headers = format!("connection: close\r\ncontent-type: application/x-ndjson\r\ncontent-length: {bytes}\r\n");
    format!("{}\r\n", head("POST", NOTES, &headers))
}

#[test]
fn a_client_may_send_everything_before_it_reads() {
    let server = Server::start_with(&["--client-timeout", "2"]);
    notes(&server);
    let lines = "{\"attributes\":{\"t\":\"some text\"}}\n".repeat(12_000);
    // The body is sent once without a pause, and once with a pause that is long enough for the response to begin.
    for pause in [Duration::ZERO, Duration::from_millis(1400)] {
        let mut raw = Raw::with_small_buffer(server.address());
        assert!(raw.send(import_head(lines.len())));
        for (nth, piece) in lines.as_bytes().chunks(lines.len() / 20).enumerate() {
            assert!(raw.send(piece), "{pause:?}: the connection is open at piece {nth}");
            std::thread::sleep(if nth == 3 { pause } else { Duration::from_millis(250) });
        }
        let text = String::from_utf8(raw.rest().unwrap()).unwrap();
        assert_eq!(text.matches("\"op\":\"created\"").count(), 12_000, "{pause:?}");
    }
}

/// Reads until this many lines are answered as created.
fn read_created(reader: &mut impl BufRead, answer: &mut String, count: usize) {
    let mut found = 0;
    while found < count {
        let before = answer.len();
        assert!(reader.read_line(answer).unwrap() > 0, "{answer}");
        found += usize::from(answer[before..].contains("\"op\":\"created\""));
    }
}

#[test]
fn an_import_ends_when_its_token_is_revoked() {
    let server = Server::start();
    notes(&server);
    let token = server.post("/v2/tokens", &json!({ "name": "import", "abilities": ["manage"] })).expect(201).data();
    let line = "{\"attributes\":{\"t\":\"some text\"}}\n";
    let mut raw = Raw::connect(server.address());
    raw.send(import_head(line.len() * 2).replace(ADMIN, token["secret"].as_str().unwrap()));
    raw.send(line);
    let mut reader = BufReader::new(raw.0.try_clone().unwrap());
    let mut answer = String::new();
    read_created(&mut reader, &mut answer, 1);
    server.delete(&format!("/v2/tokens/{}", token["id"].as_str().unwrap())).expect(204);
    raw.send(line);
    reader.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("UNAUTHENTICATED"), "{answer}");
    assert_eq!(server.ids("notes").len(), 1, "{answer}");
}

#[test]
fn an_import_of_an_access_log_ends_when_its_token_is_revoked() {
    let server = Server::start();
    let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    let line = format!("192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 9 \"-\" \"{agent}\"\n");
    let begin = |secret: &str| {
        let headers = format!("content-type: text/plain\r\nexpect: 100-continue\r\ncontent-length: {}\r\n", line.len());
        let mut raw = Raw::connect(server.address());
        let head = head("POST", "/v2/analytics/import?site=a.example", &headers);
        raw.send(format!("{}\r\n", head.replace(ADMIN, secret)));
        // The body is asked for only after the token was accepted.
        assert_eq!(raw.answer().map(|answer| answer.status), Some(100));
        raw
    };
    let token = server.post("/v2/tokens", &json!({ "name": "import", "abilities": ["manage"] })).expect(201).data();
    let mut revoked = begin(token["secret"].as_str().unwrap());
    server.delete(&format!("/v2/tokens/{}", token["id"].as_str().unwrap())).expect(204);
    revoked.send(&line);
    assert_eq!(revoked.answer().map(|answer| answer.status), Some(401));
    let pageviews = || server.get("/v2/analytics/pageviews?start=2026-11-20&end=2026-11-20").expect(200).json();
    assert_eq!(pageviews(), json!({ "pageviews": 0 }));
    let mut kept = begin(ADMIN);
    kept.send(&line);
    assert_eq!(kept.answer().map(|answer| answer.status), Some(200));
    assert_eq!(pageviews(), json!({ "pageviews": 1 }));
}

#[test]
fn a_client_that_pauses_is_answered_before_the_end_of_its_body() {
    let server = Server::start();
    notes(&server);
    let line = "{\"attributes\":{\"t\":\"some text\"}}\n";
    let mut raw = Raw::connect(server.address());
    raw.send(import_head(line.len() * 2000));
    raw.send(line.repeat(1999));
    let mut reader = BufReader::new(raw.0.try_clone().unwrap());
    let mut answer = String::new();
    // The last of these lines are too few for a command.
    read_created(&mut reader, &mut answer, 1999);
    raw.send(line);
    reader.read_to_string(&mut answer).unwrap();
    assert_eq!(answer.matches("\"op\":\"created\"").count(), 2000);
}

#[test]
fn only_failures_and_a_summary_are_answered_if_asked_for() {
    let server = Server::start();
    notes(&server);
    let lines = [
        r#"{"key":"a","attributes":{"t":"a"}}"#,
        r#"{"key":"b","attributes":{"t":1}}"#,
        r#"{"key":"c","attributes":{"parent":"d"}}"#,
        r#"{"key":"d","attributes":{}}"#,
        r#"{"key":"a","attributes":{"t":"b"}}"#,
        "[]",
    ]
    .join("\n");
    let path = format!("{NOTES}?answers=failures");
    let types = ("content-type", "application/x-ndjson");
    for (headers, created, updated) in [
        (vec![types], 3, 1),
        (vec![types, ("idempotency-key", "once")], 0, 4),
        (vec![types, ("idempotency-key", "once")], 0, 4),
    ] {
        let reply = server.raw("POST", &path, &headers, lines.as_bytes()).expect(200);
        let mut answers = reply.lines();
        let last = answers.pop().unwrap();
        assert_eq!(last, json!({ "summary": { "created": created, "updated": updated, "failed": 2 } }));
        let mut failed: Vec<u64> = answers.iter().map(|line| line["index"].as_u64().unwrap()).collect();
        failed.sort_unstable();
        assert_eq!(failed, [1, 5], "{}", reply.text);
        assert!(answers.iter().all(|line| line["errors"]["code"] == "VALIDATION_FAILED"), "{}", reply.text);
    }
    let all = server.raw("POST", &format!("{NOTES}?answers=all"), &[types], lines.as_bytes()).expect(200);
    assert_eq!(all.lines().len(), 6);
    for headers in [vec![types], vec![types, ("idempotency-key", "other")]] {
        for wrong in ["errors", "", "failures&answers=all"] {
            let refused = server.raw("POST", &format!("{NOTES}?answers={wrong}"), &headers, lines.as_bytes());
            assert_eq!(refused.outcome(), "422 INVALID_PARAMETER", "{wrong}");
        }
    }
}
