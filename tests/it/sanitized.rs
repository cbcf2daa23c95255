//! The report of what sanitizing removed (`API.md` 4.4.8).

use serde_json::json;

use crate::support::Server;

fn notes(server: &Server) {
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    server.blueprint("notes", json!([field("title", "text"), field("body", "rich-text"), field("page", "html-page")]));
}

const HOSTILE: &str = "<p onclick=\"x()\">a</p><iframe src=\"//x\" class=y></iframe><iframe></iframe><b>kept</b>";

#[test]
fn answers_to_writes_say_what_was_removed() {
    let server = Server::start();
    notes(&server);
    let removed = json!({ "body": { "removed": { "@onclick": 1, "iframe": 2 } } });
    let body = json!({ "attributes": { "title": "<script>stays</script>", "body": HOSTILE } });
    let created = server.post("/v2/resources/notes", &body).expect(201).json();
    assert_eq!(created["meta"], json!({ "sanitized": removed }));
    assert_eq!(created["data"]["attributes"]["body"], "<p>a</p><b>kept</b>");
    let path = format!("/v2/resources/notes/{}", created["data"]["id"].as_str().unwrap());
    for method in ["PATCH", "PUT"] {
        let updated = server.send(method, &path, Some(&body)).expect(200).json();
        assert_eq!(updated["meta"], json!({ "sanitized": removed }), "{method}");
    }
    // The report has nothing about values that were sent earlier.
    let other = server.patch(&path, &json!({ "attributes": { "title": "x" } })).expect(200).json();
    assert_eq!(other.get("meta"), None);
    assert_eq!(server.get(&path).expect(200).json().get("meta"), None);
    // Changes that remove nothing are not reported.
    let completed = json!({ "attributes": { "body": "<p>a & b<p><a href=/x rel=noopener>c" } });
    assert_eq!(server.patch(&path, &completed).expect(200).json().get("meta"), None);
    let page = json!({ "html": "<main style=x><form>t</form></main>", "css": "@import 'x'; p { color: red }" });
    let page = server.patch(&path, &json!({ "attributes": { "page": page } })).expect(200).json();
    assert_eq!(page["meta"]["sanitized"], json!({ "page": { "removed": { "@style": 1, "css": 1, "form": 1 } } }));
}

#[test]
fn in_bulk_it_is_said_by_index_and_only_of_what_was_written() {
    let server = Server::start();
    notes(&server);
    let item = |body: &str| json!({ "attributes": { "body": body } });
    let failing = json!({ "attributes": { "body": HOSTILE, "title": 7 } });
    let items = json!({ "resources": [item("<p>fine</p>"), item("<x-y>t</x-y>"), failing, item("<svg><path></svg>")] });
    let reply = server.post("/v2/resources/notes/bulk", &items).expect(207).json();
    let expected = json!({
        "1": { "body": { "removed": { "x-y": 1 } } },
        "3": { "body": { "removed": { "path": 1, "svg": 1 } } },
    });
    assert_eq!(reply["meta"]["sanitized"], expected);
    let fine =
        server.post("/v2/resources/notes/bulk", &json!({ "resources": [item("<p>fine</p>")] })).expect(201).json();
    assert_eq!(fine["meta"].get("sanitized"), None);
}

#[test]
fn an_import_adds_it_up_in_its_last_line() {
    let server = Server::start();
    notes(&server);
    let line = |key: u32, body: &str| json!({ "key": format!("k{key}"), "attributes": { "body": body } }).to_string();
    let lines = [line(1, "<form>a</form>"), line(2, "<p>b</p>"), line(3, "<form>c<input></form>")].join("\n");
    let ndjson = [("content-type", "application/x-ndjson")];
    let import = |headers: &[(&str, &str)]| {
        server.raw("POST", "/v2/resources/notes/import", headers, lines.as_bytes()).expect(200).lines()
    };
    let removed = json!({ "sanitized": { "body": { "removed": { "form": 2, "input": 1 } } } });
    let answers = import(&ndjson);
    assert_eq!((answers.len(), answers.last()), (4, Some(&removed)));
    let with_key = [ndjson[0], ("idempotency-key", "once")];
    for _ in 0..2 {
        assert_eq!(import(&with_key).last(), Some(&removed), "kept with the answer");
    }
    let fine = server.raw("POST", "/v2/resources/notes/import", &ndjson, line(2, "<p>b</p>").as_bytes()).expect(200);
    assert_eq!(fine.lines().len(), 1);
}

#[test]
fn very_many_names_are_counted_together() {
    let server = Server::start();
    notes(&server);
    let body: String = (0..400).map(|number| format!("<x{number}></x{number}>")).collect();
    let long = format!("<{}>", "y".repeat(200));
    let created =
        server.post("/v2/resources/notes", &json!({ "attributes": { "body": body + &long } })).expect(201).json();
    let removed = created["meta"]["sanitized"]["body"]["removed"].as_object().unwrap();
    assert_eq!((removed.len(), &removed["(other)"]), (51, &json!(351)));
}
