//! Compares every error message that a client can get with a snapshot. Read the snapshot as a user would.

mod long;
mod sessions;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{ADMIN, Reply, Server};

/// The record of requests and their errors, as text.
struct Transcript {
    text: String,
    /// Ids that differ from run to run, and the names that replace them.
    names: Vec<(String, &'static str)>,
}

impl Transcript {
    fn section(&mut self, title: &str) {
        write!(self.text, "\n## {title}\n").unwrap();
    }

    fn record(&mut self, request: &str, reply: &Reply) {
        assert!(reply.status >= 400, "{request}: {}", reply.text);
        let body = reply.json();
        let mut entry = format!("\n{request}\n  {} {}: {}\n", reply.status, reply.code(), reply.message());
        for (field, errors) in body["errors"]["fields"].as_object().into_iter().flatten() {
            for error in errors.as_array().unwrap() {
                writeln!(entry, "    {field}: {}", error.as_str().unwrap()).unwrap();
            }
        }
        for (value, name) in &self.names {
            entry = entry.replace(value, name);
        }
        self.text.push_str(&entry);
    }

    fn ask(&mut self, server: &Server, token: &str, method: &str, path: &str, body: Option<Value>) {
        let reply = server.as_token(token).send(method, path, body.as_ref());
        let shown: String = body.map(|body| format!(" {body}")).unwrap_or_default().chars().take(200).collect();
        self.record(&format!("{method} {path}{shown}"), &reply);
    }

    /// Sends a body byte for byte.
    fn send(&mut self, server: &Server, request: &str, headers: &[(&str, &str)], body: &[u8]) {
        let reply = server.raw("POST", "/v2/resources/notes", headers, body);
        self.record(&format!("POST /v2/resources/notes {request}"), &reply);
    }
}

fn world() -> Server {
    let server = Server::start_with(&["--max-body-bytes", "20000"]);
    let types = [
        "text",
        "rich-text",
        "html-page",
        "slug",
        "email",
        "link",
        "image",
        "boolean",
        "color",
        "number",
        "date",
        "datetime",
        "address",
    ];
    let mut fields: Vec<Value> = types.iter().map(|kind| json!({ "name": kind, "slug": kind, "type": kind })).collect();
    let with = |slug: &str, kind: &str, settings: Value| json!({ "name": slug, "slug": slug, "type": kind, "settings": settings });
    fields.extend([
        with("enum", "enum", json!({ "values": ["red", "green"] })),
        with("free", "enum", json!({})),
        with("multi", "multi-enum", json!({ "values": ["red", "green"] })),
        with("money", "money", json!({ "currencies": ["EUR", "USD"] })),
        with("duration", "duration", json!({ "min": 1, "max": 5 })),
        with("reference", "reference", json!({ "blueprint": "notes" })),
        with("references", "references", json!({ "blueprint": "notes" })),
        with("user", "user", json!({ "role": "editor" })),
    ]);
    fields.push(json!({ "name": "Must", "slug": "must", "type": "text", "required": true }));
    fields.push(json!({ "name": "Once", "slug": "once", "type": "text", "unique": true }));
    let variants = json!([{ "name": "English", "slug": "en", "default": true }, { "name": "Deutsch", "slug": "de" }]);
    server
        .post("/v2/blueprints", &json!({ "name": "Notes", "slug": "notes", "fields": fields, "variants": variants }))
        .expect(201);
    server.blueprint("empty", json!([]));
    let singular = json!({ "name": "Settings", "slug": "settings", "kind": "singular_resource", "fields": [] });
    server.post("/v2/blueprints", &singular).expect(201);
    server
}

#[test]
fn error_messages_match_the_snapshot() {
    let server = world();
    let note = server.create("notes", json!({ "must": "x", "once": "taken" }));
    let setting = server.ids("settings").remove(0);
    server.member("ada", None);
    let view = server.token(&["view"]);
    let update = server.token(&["update"]);
    let missing = "0192b3c4-0000-7000-8000-000000000000";
    let mut transcript =
        Transcript { text: String::new(), names: vec![(note.clone(), "NOTE"), (setting.clone(), "SETTING")] };
    let one = format!("/v2/resources/notes/{note}");

    sessions::record(&mut transcript, &server);
    transcript.section("Requests");
    transcript.ask(&server, ADMIN, "GET", "/v2/nowhere", None);
    transcript.ask(&server, ADMIN, "DELETE", "/v2/resources/notes", None);
    transcript.ask(&server, "", "GET", "/v2/resources/notes", None);
    transcript.ask(&server, "unknown", "GET", "/v2/resources/notes", None);
    transcript.ask(&server, "bnd_damaged", "GET", "/v2/resources/notes", None);
    transcript.ask(&server, &view, "GET", "/v2/tokens", None);
    transcript.ask(&server, &update, "GET", "/v2/blueprints", None);
    transcript.ask(&server, ADMIN, "GET", "/v2/resources/nothing", None);
    transcript.ask(&server, ADMIN, "GET", &format!("/v2/resources/notes/{missing}"), None);
    transcript.ask(&server, ADMIN, "GET", "/v2/resources/notes/%ff", None);
    transcript.ask(&server, ADMIN, "GET", "/v2/members/99", None);
    transcript.ask(&server, ADMIN, "DELETE", "/v2/tokens/x", None);

    transcript.section("Parameters");
    for query in [
        "page=0",
        "per_page=101",
        "page=1&page=2",
        "search=%ff",
        "variant=fr",
        "fallback=fr",
        "fields=",
        "fields=nothing",
        "exclude=attributes.nothing",
        "sort=",
        "sort=nothing",
        "filter=x",
        "filter%5Btext=x",
        "filter%5Bnothing%5D=x",
        "filter%5Btext%5D%5Blike%5D=x",
        "filter%5Bcreated_at%5D%5Bcontains%5D=x",
        "filter%5Bcreated_at%5D=x",
        "filter%5Bpublished%5D%5Bgt%5D=1",
        "filter%5Bid%5D%5Bgt%5D=1",
        "filter%5Btext%5D%5Bnull%5D=maybe",
        "filter%5Bnumber%5D%5Bbetween%5D=1",
        "filter%5Btext%5D%5Bhas%5D=x",
        "filter%5Bdatetime%5D=x",
        "filter%5Bmoney.cents%5D=1",
        "facets=",
        "facets=enmu",
        "facets=rich-text",
        "facets=enum:0",
        "facets=enum:month",
        "facets=date",
        "facets=date:week",
        "facets=enum,enum",
        "facets=enum,enum:1,enum:2,enum:3,enum:4,enum:5,enum:6,enum:7,enum:8,enum:9,enum:10",
        "facet_mode=all",
        "stats=nmuber",
        "stats=text",
        "cursor=x",
        "cursor=&page=1",
        "expand=",
        "expand=referenec",
        "expand=text",
        "expand=reference.nothing",
        "expand=reference.reference.reference",
        "expand=reference&fields%5Bnotes%5D=nothing",
        "strict=1&facet_mode=disjunctive",
        "strict=1&fields%5Bnotes%5D=id",
    ] {
        transcript.ask(&server, ADMIN, "GET", &format!("/v2/resources/notes?{query}"), None);
    }
    let too_deep = format!("filter{}[text]=x", "[$not]".repeat(5));
    for query in [
        "filter[txet]=x",
        "filter[text][contain]=x",
        "filter[text.x]=x",
        "filter[$or][text]=x",
        "filter[$or][100][text]=x",
        "filter[$not][0][text]=x",
        "filter[$not]=x",
        "filter[$nor][0][text]=x",
        &too_deep,
        "filter[$or][0][number][between]=1",
        "filter[reference.txet]=x",
        "filter[refrence.text]=x",
        "filter[reference.text][like]=x",
        "filter[reference.reference.reference.text]=x",
        "filter[reference][$some][reference][$some][reference][$some][text]=x",
        "filter[text][$some][text]=x",
        "filter[reference][$same][text]=x",
        "filter[reference][dangling]=maybe",
        "sort=txet",
        "fallback=en&fallback_mode=some",
        "strict=maybe",
        "strict=true&pgae=2",
        "strict=true&limit=2",
        "strict=true&search=",
        "strict=true&filter[published]=maybe",
        "strict=true&fallback_mode=all",
    ] {
        let query = query.replace('[', "%5B").replace(']', "%5D");
        transcript.ask(&server, ADMIN, "GET", &format!("/v2/resources/notes?{query}"), None);
    }
    transcript.ask(&server, ADMIN, "GET", "/v2/resources/empty?strict=true&variant=de", None);
    transcript.ask(&server, ADMIN, "GET", "/v2/resources/empty?strict=true&search=x", None);
    transcript.ask(&server, ADMIN, "GET", "/v2/members?strict=true&role=editor", None);
    transcript.ask(&server, ADMIN, "GET", "/v2/resources/notes/export?format=xml", None);
    transcript.ask(&server, ADMIN, "GET", "/v2/resources/notes/export?format=csv&all_variants=true", None);
    transcript.ask(&server, ADMIN, "DELETE", "/v2/blueprints/empty?force=maybe", None);

    transcript.section("Bodies");
    let json_type = [("content-type", "application/json")];
    transcript.send(&server, "no type", &[], b"{}");
    transcript.send(&server, "text/plain", &[("content-type", "text/plain")], b"{}");
    transcript.send(&server, "too large", &json_type, &[b' '; 20_001]);
    for body in [
        "",
        "{",
        "{\"a\":1,\n \"a\":2}",
        "{} x",
        "\u{feff}{}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":1e999}",
        "{'a':1}",
        "{\"a\":01}",
        "{\"a\":\"\u{1}\"}",
        "nul",
        "[1,]",
    ] {
        transcript.send(&server, &format!("`{}`", body.escape_debug()), &json_type, body.as_bytes());
    }
    transcript.send(&server, "`{\"a\":\"\\xff\"}`", &json_type, b"{\"a\":\"\xff\"}");
    transcript.send(&server, "65 levels", &json_type, "[".repeat(65).as_bytes());
    transcript.ask(&server, ADMIN, "POST", "/v2/resources/notes", Some(json!([])));
    transcript.ask(&server, ADMIN, "POST", "/v2/resources/notes", Some(json!({})));
    transcript.ask(&server, ADMIN, "POST", "/v2/resources/notes", Some(json!({ "attributes": [] })));
    transcript.ask(
        &server,
        ADMIN,
        "POST",
        "/v2/resources/notes",
        Some(json!({ "attributes": { "must": "x" }, "title": 1 })),
    );
    transcript.ask(&server, ADMIN, "PATCH", &one, Some(json!({ "published_at": "soon" })));
    transcript.ask(&server, ADMIN, "PATCH", &one, Some(json!({ "attributes": { "nothing": 1 } })));
    transcript.ask(&server, ADMIN, "PATCH", &one, Some(json!({ "attributes": { "must": "", "text": 1 } })));

    transcript.section("Values");
    for (field, values) in values(missing) {
        for value in values {
            transcript.ask(&server, ADMIN, "PATCH", &one, Some(json!({ "attributes": { field: value } })));
        }
    }
    let second = json!({ "attributes": { "must": "x", "once": "taken" } });
    transcript.ask(&server, ADMIN, "POST", "/v2/resources/notes", Some(second));

    transcript.section("States");
    transcript.ask(&server, &update, "PATCH", &one, Some(json!({ "published_at": null })));
    transcript.ask(&server, &update, "PUT", &one, Some(json!({ "attributes": { "must": "x" }, "published_at": null })));
    transcript.ask(&server, ADMIN, "POST", "/v2/resources/settings", Some(json!({ "attributes": {} })));
    transcript.ask(&server, ADMIN, "DELETE", &format!("/v2/resources/settings/{setting}"), None);
    let stale = server.raw("DELETE", &one, &[("if-match", "\"0-0\"")], b"");
    transcript.record(&format!("DELETE {one} with If-Match"), &stale);

    transcript.section("Blueprints, tokens and members");
    for body in blueprints() {
        transcript.ask(&server, ADMIN, "POST", "/v2/blueprints", Some(body));
    }
    transcript.ask(
        &server,
        ADMIN,
        "PUT",
        "/v2/blueprints/empty",
        Some(json!({ "name": "E", "slug": "other", "fields": [] })),
    );
    transcript.ask(
        &server,
        ADMIN,
        "PUT",
        "/v2/blueprints/empty",
        Some(json!({ "name": "E", "kind": "singular_resource", "fields": [] })),
    );
    let narrow = json!({ "name": "Notes", "fields": [{ "name": "Must", "slug": "must", "type": "number" }] });
    transcript.ask(&server, ADMIN, "PUT", "/v2/blueprints/notes", Some(narrow));
    transcript.ask(&server, ADMIN, "DELETE", "/v2/blueprints/notes", None);
    server.blueprint("links", json!([{ "name": "To", "type": "reference", "settings": { "blueprint": "empty" } }]));
    transcript.ask(&server, ADMIN, "DELETE", "/v2/blueprints/empty", None);
    let limited = json!({ "name": "limited", "abilities": ["view"], "blueprints": ["links"] });
    let limited = server.post("/v2/tokens", &limited).expect(201).data()["secret"].as_str().unwrap().to_owned();
    transcript.ask(&server, &limited, "GET", "/v2/resources/links?filter%5Bto.name%5D=x", None);
    for body in [
        json!({ "name": "", "abilities": ["look"], "blueprints": "all", "expires_at": "soon", "x": 1 }),
        json!({ "name": "x", "abilities": [] }),
        json!({ "name": "x", "abilities": ["manage"], "blueprints": ["notes"] }),
        json!({ "name": "x", "abilities": ["view"], "blueprints": ["nothing"] }),
    ] {
        transcript.ask(&server, ADMIN, "POST", "/v2/tokens", Some(body));
    }
    transcript.ask(
        &server,
        ADMIN,
        "POST",
        "/v2/members",
        Some(json!({ "name": 1, "email": "x", "role": "two words" })),
    );
    transcript.ask(&server, ADMIN, "POST", "/v2/members", Some(json!({ "name": "Ada", "email": "ada@example.org" })));

    transcript.section("Lines of an import");
    for line in [
        "{\"key\":\"\",\"id\":\"x\",\"created_at\":\"x\",\"attributes\":{},\"x\":1}",
        "{\"attributes\":{},\"variants\":{}}",
        "{\"variants\":[]}",
        "{\"variants\":{\"fr\":{},\"de\":1}}",
        "{\"attributes\":{\"reference\":\"no such key\"}}",
    ] {
        let reply = server.raw(
            "POST",
            "/v2/resources/notes/import",
            &[("content-type", "application/x-ndjson")],
            line.as_bytes(),
        );
        let answer = Reply { status: 422, ..reply };
        transcript.record(line, &answer);
    }
    compare_with_snapshot(&transcript.text);
}

/// Compares the messages with the snapshot. `BINDERY_KEEP_MESSAGES=1` writes a new snapshot instead.
fn compare_with_snapshot(actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/messages.txt");
    if std::env::var_os("BINDERY_KEEP_MESSAGES").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap();
    let (expected, actual): (Vec<&str>, Vec<&str>) = (expected.split("\n\n").collect(), actual.split("\n\n").collect());
    let changed: Vec<&str> = actual.iter().filter(|entry| !expected.contains(*entry)).copied().collect();
    let gone: Vec<&str> = expected.iter().filter(|entry| !actual.contains(*entry)).copied().collect();
    let how = "read the new messages, then run with BINDERY_KEEP_MESSAGES=1 to update the snapshot";
    assert!(
        changed.is_empty() && gone.is_empty(),
        "new messages:\n{}\n\nmissing messages:\n{}\n\n{how}",
        changed.join("\n"),
        gone.join("\n")
    );
}

/// Values that their fields reject.
fn values(missing: &str) -> Vec<(&'static str, Vec<Value>)> {
    vec![
        ("text", vec![json!(1)]),
        ("rich-text", vec![json!([]), json!("<b>".repeat(600))]),
        (
            "html-page",
            vec![json!(1), json!({ "html": 1, "css": null, "blocks": [1], "js": "" }), json!({ "blocks": 1 })],
        ),
        ("slug", vec![json!(""), json!("two words"), json!(5)]),
        ("email", vec![json!("x"), json!("x".repeat(255))]),
        ("link", vec![json!("x"), json!("a b"), json!("javascript:x")]),
        ("image", vec![json!("mailto:a@b.c")]),
        ("boolean", vec![json!("yes")]),
        ("color", vec![json!("red")]),
        ("number", vec![json!("1"), json!(1e17)]),
        ("date", vec![json!("2026-02-30")]),
        ("datetime", vec![json!("2026-02-30T00:00:00Z")]),
        ("address", vec![json!("x"), json!({ "city": 1, "town": "x" })]),
        ("enum", vec![json!("blue"), json!(1)]),
        ("free", vec![json!("")]),
        ("multi", vec![json!("red"), json!(["red", "red", "blue", 1])]),
        ("money", vec![json!(1), json!({ "amount": "x", "cents": 1 }), json!({ "amount": 1, "currency": "XXX" })]),
        ("duration", vec![json!(0), json!("x")]),
        ("reference", vec![json!("x"), json!(missing)]),
        ("references", vec![json!("x"), json!([missing, "x", missing]), json!([missing])]),
        ("user", vec![json!("ada"), json!(1), json!(99)]),
    ]
}

fn blueprints() -> Vec<Value> {
    let field = |field: Value| json!({ "name": "X", "fields": [field] });
    let settings = |kind: &str, settings: Value| field(json!({ "name": "F", "type": kind, "settings": settings }));
    vec![
        json!([]),
        json!({}),
        json!({ "name": "", "slug": "No Slug", "kind": "x", "icon": 1, "record_title": "x", "seo": { "title": "x" }, "fields": [], "y": 1 }),
        json!({ "name": "日本", "fields": [] }),
        json!({ "name": "Notes", "fields": [] }),
        json!({ "name": "x".repeat(1001), "fields": {} }),
        json!({ "name": "X", "fields": [1, {}, { "name": "日本", "type": "x", "description": 1, "required": 1, "y": 1 }] }),
        json!({ "name": "X", "fields": [{ "name": "A", "type": "text" }, { "name": "A", "type": "text" }] }),
        field(json!({ "name": "Id", "type": "text" })),
        field(json!({ "name": "B", "type": "boolean", "unique": true })),
        json!({ "name": "X", "fields": [], "variants": [{ "slug": "1" }, { "slug": "a" }, { "slug": "a", "x": 1 }] }),
        settings("text", json!({ "max": 1 })),
        settings("enum", json!({ "values": [], "max": 1 })),
        settings("enum", json!({ "values": ["a", "a", ""] })),
        settings("multi-enum", json!({ "values": 1 })),
        settings("money", json!({ "currencies": ["XXX"], "default_currency": "EUR" })),
        settings("duration", json!({ "unit": "weeks", "min": 2, "max": 1 })),
        settings("reference", json!({})),
        settings("reference", json!({ "blueprint": "nothing" })),
        settings("references", json!({ "blueprint": "No" })),
        settings("user", json!({ "role": 1 })),
    ]
}
