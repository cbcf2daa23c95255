//! Exports: their formats, their round trip through an import, and the entity tags of lists and gets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bindery_content::{Content, ContentOptions};
use serde_json::{Value, json};

use crate::support::{ADMIN, Server};

const NDJSON: [(&str, &str); 1] = [("content-type", "application/x-ndjson")];

fn import(server: &Server, blueprint: &str, body: &str) -> Vec<Value> {
    let path = format!("/v2/resources/{blueprint}/import");
    let reply = server.raw("POST", &path, &NDJSON, body.as_bytes()).expect(200);
    reply.lines()
}

fn articles(server: &Server) {
    server.blueprint("authors", json!([{ "name": "Name", "slug": "name", "type": "text" }]));
    let body = json!({
        "name": "articles", "slug": "articles",
        "fields": [
            { "name": "Title", "slug": "title", "type": "text", "required": true },
            { "name": "Body", "slug": "body", "type": "rich-text" },
            { "name": "Price", "slug": "price", "type": "money" },
            { "name": "Tags", "slug": "tags", "type": "multi-enum", "settings": { "values": null } },
            { "name": "Rate", "slug": "rate", "type": "number" },
            { "name": "Author", "slug": "author", "type": "reference", "settings": { "blueprint": "authors" } },
            { "name": "Page", "slug": "page", "type": "html-page" },
        ],
        "variants": [
            { "name": "English", "slug": "en", "default": true }, { "name": "Deutsch", "slug": "de", "default": false },
            { "name": "中文", "slug": "zh-CN", "default": false },
        ],
    });
    server.post("/v2/blueprints", &body).expect(201);
}

#[test]
fn a_csv_for_spreadsheets_holds_no_formula_and_all_numbers() {
    let server = Server::start();
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    server.blueprint("things", json!([field("t", "text"), field("n", "number"), field("p", "money")]));
    let texts = ["=1+1", "+49 170 1", "-cmd", "@SUM(A1)", "\t=1", "\r=1", "-12,50", "-5.00 EUR", "a=1", "=-5"];
    for text in texts {
        let attributes = json!({ "t": text, "n": -0.5, "p": { "amount": -1, "currency": "EUR" } });
        server.post("/v2/resources/things", &json!({ "attributes": attributes })).expect(201);
    }
    let path = "/v2/resources/things/export?format=csv&fields=attributes.t,attributes.n&sort=created_at,id";
    let cells = |path: &str| {
        let text = server.get(path).expect(200).text;
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<Vec<String>> =
            reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
        assert!(rows.iter().all(|row| row[1] == "-0.5"), "{text}");
        let mut cells: Vec<String> = rows.into_iter().map(|row| row[0].clone()).collect();
        cells.sort();
        cells
    };
    let sorted = |texts: &[&str]| {
        let mut texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        texts.sort();
        texts
    };
    assert_eq!(cells(path), sorted(&texts));
    let safe = ["'=1+1", "'+49 170 1", "'-cmd", "'@SUM(A1)", "'\t=1", "'\r=1", "-12,50", "-5.00 EUR", "a=1", "'=-5"];
    assert_eq!(cells(&format!("{path}&spreadsheet=true")), sorted(&safe));
}

#[test]
fn an_export_imports_unchanged_into_an_empty_server() {
    let source = Server::start();
    articles(&source);
    let author = source.create("authors", json!({ "name": "Ada" }));
    for n in 0..600 {
        let body = json!({
            "attributes": {
                "title": format!("Straße {n}, \"x\"\n"), "body": format!("<p>a <b>{n}</b> &amp; b</p>"),
                "price": { "amount": n as f64 / 8.0, "currency": "EUR" }, "tags": ["a,b", format!("{n}")], "rate": 1e-7,
                "author": author, "page": { "html": "<p>x</p>", "blocks": [{ "n": n }] },
            },
            "published_at": if n % 3 == 0 { Value::Null } else { json!("2026-01-01T00:00:00.5Z") },
        });
        let variant = ["en", "de", "zh-CN"][n % 3];
        let id = source.post(&format!("/v2/resources/articles?variant={variant}"), &body).expect(201).data();
        if n % 5 == 0 {
            let path = format!("/v2/resources/articles/{}?variant=de", id["id"].as_str().unwrap());
            source.patch(&path, &json!({ "attributes": { "title": "später", "rate": null } })).expect(200);
        }
    }
    let keyed = json!({ "key": "k/1", "created_at": "2001-02-03T04:05:06.789Z", "updated_at": "2002-01-01", "variants": { "de": { "title": "x" } } });
    let minimal = json!({ "key": "k/2", "published_at": "9999-12-31" });
    assert!(import(&source, "articles", &format!("{keyed}\n{minimal}\n")).iter().all(|line| line["op"] == "created"));

    let path = |blueprint: &str| format!("/v2/resources/{blueprint}/export?format=ndjson&all_variants=true&sort=id");
    let target = Server::start();
    articles(&target);
    for blueprint in ["authors", "articles"] {
        let exported = source.get(&path(blueprint)).expect(200).text;
        for run in ["created", "updated"] {
            let answers = import(&target, blueprint, &exported);
            assert_eq!(answers.len(), exported.lines().count());
            for answer in &answers {
                assert_eq!(answer["op"], run, "{answer}");
            }
            let again = target.get(&path(blueprint)).expect(200).text;
            for (line, (before, after)) in exported.lines().zip(again.lines()).enumerate() {
                assert_eq!(before, after, "{blueprint}, line {line}, after it was {run}");
            }
            assert_eq!(exported.len(), again.len());
        }
    }
    let body =
        import(&target, "articles", &format!("{}\n", json!({ "key": "k/1", "attributes": { "title": "by key" } })));
    assert_eq!(body[0]["op"], "updated", "the key is known: {body:?}");
}

/// `API.md` 4.11.5: that resource has another id on each server.
#[test]
fn relations_to_the_resource_of_a_singular_blueprint_import_into_another_server() {
    let define = |server: &Server| {
        let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind, "settings": { "blueprint": "site" } });
        let fields = json!([field("itself", "reference")]);
        let site = json!({ "name": "Site", "slug": "site", "kind": "singular_resource", "fields": fields });
        server.post("/v2/blueprints", &site).expect(201);
        server.blueprint("pages", json!([field("one", "reference"), field("many", "references")]));
        server.ids("site").remove(0)
    };
    let mut source = Server::start();
    let mut id = define(&source);
    source.patch(&format!("/v2/resources/site/{id}"), &json!({ "attributes": { "itself": id } })).expect(200);
    source.create("pages", json!({ "one": id, "many": [id] }));
    // The second export is that of a server whose resources were imported.
    for _ in 0..2 {
        let target = Server::start();
        let own = define(&target);
        assert_ne!(own, id);
        for blueprint in ["pages", "site"] {
            let path = format!("/v2/resources/{blueprint}/export?format=ndjson&all_variants=true");
            let answers = import(&target, blueprint, &source.get(&path).expect(200).text);
            assert!(answers.len() == 1 && answers[0]["errors"].is_null(), "{blueprint}: {answers:?}");
        }
        assert_eq!(target.find("pages")[0]["attributes"], json!({ "one": own, "many": [own] }));
        assert_eq!(target.find("site")[0]["attributes"]["itself"], own);
        let wrong = import(&target, "pages", &json!({ "attributes": { "one": "no such key" } }).to_string());
        assert_eq!(wrong[0]["errors"]["code"], "VALIDATION_FAILED", "{wrong:?}");
        (source, id) = (target, own);
    }
}

#[test]
fn an_export_of_all_variants_has_no_values_of_a_fallback() {
    let server = Server::start();
    let body = json!({ "name": "Notes", "slug": "notes",
        "variants": [{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }],
        "fields": [{ "name": "t", "slug": "t", "type": "text" }, { "name": "n", "slug": "n", "type": "text" }] });
    server.post("/v2/blueprints", &body).expect(201);
    let id = server.create("notes", json!({ "t": "one", "n": "note" }));
    let german = format!("/v2/resources/notes/{id}?variant=de");
    server.patch(&german, &json!({ "attributes": { "t": "eins" } })).expect(200);
    let expected = json!({ "en": { "t": "one", "n": "note" }, "de": { "t": "eins", "n": null } });
    // With `fallback_mode`, the fallback still decides what is found.
    for query in ["", "&fallback=en", "&variant=de&fallback=en&fallback_mode=all&filter[n]=note"] {
        let path = format!("/v2/resources/notes/export?format=ndjson&all_variants=true{query}");
        let lines = server.get(&path).expect(200).lines();
        assert_eq!(lines.len(), 1, "{query}");
        assert_eq!(lines[0]["variants"], expected, "{query}");
    }
}

/// `API.md` 1.6: the key is ignored, so a write neither needs nor changes it.
#[test]
fn a_resource_of_an_export_can_be_sent_back_with_its_key() {
    let server = Server::start();
    server.blueprint("things", json!([{ "name": "T", "slug": "t", "type": "text" }]));
    let titled = |title: &str| format!("{}\n", json!({ "key": "k", "attributes": { "t": title } }));
    let id = import(&server, "things", &titled("one"))[0]["id"].take();
    let path = format!("/v2/resources/things/{}", id.as_str().unwrap());
    let exported = || server.get("/v2/resources/things/export?all_variants=true&sort=id").expect(200).data();
    let mut object = exported()[0].take();
    assert_eq!((&object["id"], &object["key"]), (&id, &json!("k")));
    object["attributes"]["t"] = json!("two");
    for key in ["k", "another"] {
        object["key"] = json!(key);
        for (method, path) in [("PUT", path.as_str()), ("PATCH", path.as_str()), ("POST", "/v2/resources/things")] {
            let status = if method == "POST" { 201 } else { 200 };
            assert_eq!(server.send(method, path, Some(&object)).expect(status).data()["attributes"]["t"], "two");
        }
    }
    let stored = exported();
    let keys: Vec<&Value> = stored.as_array().unwrap().iter().map(|resource| &resource["key"]).collect();
    assert_eq!(keys, [&json!("k"), &Value::Null, &Value::Null]);
    assert_eq!(import(&server, "things", &titled("three"))[0]["id"], id, "the key stays that of the resource");
}

#[test]
fn an_export_has_the_requested_format() {
    let server = Server::start();
    server.blueprint(
        "things",
        json!([
            { "name": "t", "slug": "t", "type": "text" }, { "name": "n", "slug": "n", "type": "number" },
            { "name": "a", "slug": "a", "type": "multi-enum", "settings": { "values": null } }
        ]),
    );
    let first =
        server.create("things", json!({ "t": "a \"quoted\", text\r\nof two lines", "n": 0.000001, "a": ["x", "y"] }));
    let second = server.create("things", json!({ "t": "", "n": null, "a": [] }));
    let export = |query: &str, accept: &str| {
        let path = format!("/v2/resources/things/export?sort=id&{query}");
        server.raw("GET", &path, &[("accept", accept)], b"")
    };
    let table = [
        ("fields=id", "", "application/json", format!("{{\"data\":[{{\"id\":\"{first}\"}},{{\"id\":\"{second}\"}}]}}")),
        (
            "fields=id&format=json",
            "text/csv",
            "application/json",
            format!("{{\"data\":[{{\"id\":\"{first}\"}},{{\"id\":\"{second}\"}}]}}"),
        ),
        (
            "fields=id&format=ndjson",
            "",
            "application/x-ndjson",
            format!("{{\"id\":\"{first}\"}}\n{{\"id\":\"{second}\"}}\n"),
        ),
        (
            "fields=id",
            "application/x-ndjson",
            "application/x-ndjson",
            format!("{{\"id\":\"{first}\"}}\n{{\"id\":\"{second}\"}}\n"),
        ),
        (
            "fields=id&filter[n][null]=1",
            "text/csv;q=0.5, application/xml",
            "text/csv; charset=utf-8",
            format!("id\r\n{second}\r\n"),
        ),
        ("filter[n]=2", "", "application/json", "{\"data\":[]}".to_owned()),
        ("filter[n]=2&format=ndjson", "", "application/x-ndjson", String::new()),
        (
            "filter[n]=2&format=csv",
            "",
            "text/csv; charset=utf-8",
            "id,type,published_at,created_at,updated_at,t,n,a\r\n".to_owned(),
        ),
        (
            "format=csv&exclude=created_at,updated_at,relationships",
            "",
            "text/csv; charset=utf-8",
            format!(
                "id,type,published_at,t,n,a\r\n\
                 {first},resource,2026-01-01T00:00:00.000+00:00,\"a \"\"quoted\"\", text\r\nof two lines\",0.000001,\"[\"\"x\"\",\"\"y\"\"]\"\r\n\
                 {second},resource,2026-01-01T00:00:00.000+00:00,,,[]\r\n"
            ),
        ),
        (
            "format=csv&fields=attributes.n,id&exclude=type&filter[id]=x",
            "",
            "text/csv; charset=utf-8",
            "id,n\r\n".to_owned(),
        ),
        (
            "page=0&per_page=x&fields=id&filter[n][null]=0",
            "",
            "application/json",
            format!("{{\"data\":[{{\"id\":\"{first}\"}}]}}"),
        ),
    ];
    for (query, accept, media_type, text) in table {
        let reply = export(query, accept).expect(200);
        assert_eq!(reply.header("content-type"), Some(media_type), "{query}");
        assert_eq!(reply.text, text, "{query}");
        assert_eq!(reply.header("vary"), Some("Authorization, Accept"), "{query}");
    }
    for (query, code) in [
        ("format=xml", "INVALID_PARAMETER"),
        ("format=csv&all_variants=true", "INVALID_PARAMETER"),
        ("format=csv&fields=relationships", "INVALID_PARAMETER"),
        ("format=csv&fields=id,attributes.n&exclude=id,attributes.n", "INVALID_PARAMETER"),
        ("format=json&spreadsheet=true", "INVALID_PARAMETER"),
        ("format=csv&spreadsheet=yes", "INVALID_PARAMETER"),
        ("sort=id", "INVALID_PARAMETER"),
        ("variant=x&filter[t][null]=x", "INVALID_FILTER"),
        ("filter[x]=1", "INVALID_FILTER"),
        ("fields=", "INVALID_PARAMETER"),
    ] {
        assert_eq!(export(query, "").expect(422).code(), code, "{query}");
    }
}

#[test]
fn an_export_is_a_snapshot_and_other_clients_may_disconnect() {
    let server = Server::start();
    server.blueprint(
        "things",
        json!([{ "name": "t", "slug": "t", "type": "text" }, { "name": "n", "slug": "n", "type": "number" }]),
    );
    let text = "x".repeat(20_000);
    let lines: String = (0..1_500)
        .map(|n| format!("{}\n", json!({ "key": format!("{n}"), "attributes": { "t": text, "n": 1 } })))
        .collect();
    let created = import(&server, "things", &lines);
    let begin = || {
        let mut stream = TcpStream::connect(server.address().trim_start_matches("http://")).unwrap();
        let request = format!(
            "GET /v2/resources/things/export?format=ndjson&sort=id HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ADMIN}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.contains("200"), "{line}");
        reader
    };
    // 30 MB do not fit into the socket buffers, so most of the export is read after the changes below.
    let mut reader = begin();
    drop(begin());
    for (n, line) in created.iter().enumerate().step_by(3) {
        let path = format!("/v2/resources/things/{}", line["id"].as_str().unwrap());
        match n % 2 {
            0 => server.patch(&path, &json!({ "attributes": { "n": 2 } })).expect(200),
            _ => server.delete(&path).expect(204),
        };
    }
    server.create("things", json!({ "t": "late", "n": 3 }));
    let mut answer = String::new();
    reader.read_to_string(&mut answer).unwrap();
    assert_eq!(answer.matches("\"n\":1}").count(), 1_500, "the state when the export began");
    assert_eq!(answer.matches("\"n\":2}").count() + answer.matches("\"n\":3}").count(), 0);
    let now = server.get("/v2/resources/things/export?format=ndjson").expect(200).text;
    assert_eq!(now.matches("\"n\":2}").count(), 250);
    assert_eq!(now.lines().count(), 1_500 - 250 + 1);
}

#[test]
fn entity_tags_of_lists_and_gets_change_with_the_answer() {
    let server = Server::start();
    let blueprint = server.blueprint("things", json!([{ "name": "t", "slug": "t", "type": "text" }]));
    server.blueprint("others", json!([{ "name": "t", "slug": "t", "type": "text" }]));
    let id = server.create("things", json!({ "t": "a" }));
    let other = server.create("things", json!({ "t": "b" }));
    let viewer = server.token(&["view"]);
    let one = format!("/v2/resources/things/{id}");
    let ask = |token: &str, path: &str, tag: &str| {
        let reply = server.as_token(token).raw("GET", path, &[("if-none-match", tag)], b"");
        let new = reply.header("etag").unwrap().to_owned();
        // The links of a list follow the `Host`.
        let vary = if path.contains(&id) { "Authorization" } else { "Authorization, Host" };
        assert_eq!(reply.header("vary"), Some(vary));
        assert_eq!(reply.status == 304, reply.text.is_empty());
        if reply.status == 304 {
            let head = server.as_token(token).raw("HEAD", path, &[("if-none-match", tag)], b"");
            assert_eq!((head.status, head.header("content-length")), (304, None));
        }
        (reply.status, new)
    };
    let list = "/v2/resources/things";
    let (status, mut tag) = ask(ADMIN, list, "\"x\"");
    assert_eq!(status, 200);
    let mut tag_of_one = ask(ADMIN, &one, "\"x\"").1;
    assert_eq!(ask(ADMIN, list, &tag).0, 304);
    assert_eq!(
        ask(ADMIN, list, &format!("\"y\", W/{tag}")).0,
        304,
        "tags are compared weakly, and any of a list may match"
    );
    assert_eq!(ask(ADMIN, list, "*").0, 304);
    assert_eq!(ask(&viewer, list, &tag).0, 200, "the tag depends on whether the token can see drafts");
    server.create("others", json!({ "t": "elsewhere" }));
    assert_eq!(ask(ADMIN, list, &tag).0, 304, "writes to another blueprint do not change the tag");
    assert_eq!(
        server.raw("GET", "/v2/resources/things?filter[x]=1", &[("if-none-match", &tag)], b"").status,
        422,
        "an invalid query never gets a 304"
    );

    let body = |text: &str| json!({ "attributes": { "t": text } });
    let blueprints = "/v2/blueprints/things";
    let mut wider = blueprint.clone();
    wider["fields"].as_array_mut().unwrap().push(json!({ "name": "u", "slug": "u", "type": "text" }));
    // Each step: the request, whether it changes the tag of the list, and whether it changes the tag of the first
    // resource.
    let steps: [(&str, String, Value, bool, bool); 6] = [
        ("PATCH", one.clone(), body("a"), false, false),
        ("PATCH", one.clone(), body("c"), true, true),
        ("PATCH", format!("/v2/resources/things/{other}"), body("d"), true, false),
        ("POST", list.to_owned(), body("draft"), true, false),
        ("DELETE", format!("/v2/resources/things/{other}"), Value::Null, true, false),
        ("PUT", blueprints.to_owned(), wider, true, true),
    ];
    for (method, path, body, list_changes, one_changes) in steps {
        let reply = server.send(method, &path, (!body.is_null()).then_some(&body));
        assert!(reply.status < 300, "{}", reply.text);
        for (path, tag, changes) in [(list, &mut tag, list_changes), (one.as_str(), &mut tag_of_one, one_changes)] {
            let (status, new) = ask(ADMIN, path, tag);
            assert_eq!((status, new != *tag), if changes { (200, true) } else { (304, false) }, "{method} then {path}");
            *tag = new;
        }
    }
}

#[test]
fn the_tag_of_a_list_changes_at_midnight() {
    const MIDNIGHT: i64 = 20_000 * 86_400_000;
    let folder = tempfile::tempdir().unwrap();
    let options = ContentOptions {
        folder: folder.path().to_owned(),
        admin_token: Some(ADMIN.to_owned()),
        video_hosts: Vec::new(),
        public_url: None,
        store_cache_bytes: 1 << 20,
        index: bindery_index::Options::default(),
        query_timeout: Duration::from_secs(10),
        write_timeout: std::time::Duration::from_secs(30),
        changes_kept: 1_000,
        max_answer_bytes: usize::MAX,
        cluster: None,
    };
    let content = Content::open(&options).unwrap();
    let access = content.authenticate(Some(ADMIN)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let blueprint = json!({ "name": "t", "slug": "things", "fields": [{ "name": "t", "slug": "t", "type": "text" }] });
    runtime.block_on(content.create_blueprint(&access, blueprint.to_string().as_bytes(), None)).unwrap();
    // The resource is published in the first millisecond of that day.
    let body = json!({ "attributes": {}, "published_at": "2024-10-04T00:00:00Z" }).to_string();
    let writing = content.write(&access, bindery_model::ability::Ability::Create, "things", "").unwrap();
    runtime.block_on(writing.create(body.as_bytes(), None)).unwrap();
    let at = |now: i64| {
        let view = content.view_at(&access, "things", now).unwrap();
        let list = view.list("filter[published]=true").unwrap();
        (view.list_version(&[], false), list.total)
    };
    let (before, after) = (at(MIDNIGHT - 1), at(MIDNIGHT));
    assert_eq!((before.1, after.1), (0, 1), "`filter[published]` includes today's resources from midnight on");
    assert_ne!(before.0, after.0, "so an answer that is kept from the day before is no longer valid");
    assert_eq!(at(MIDNIGHT - 86_400_000).0, before.0);
    assert_eq!(at(MIDNIGHT + 86_399_999), after);
    content.close();
}
