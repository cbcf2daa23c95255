//! `explain=true`: the steps of a search (`API.md` 4.18).

use serde_json::{Value, json};

use crate::support::{Reply, Server};

fn with_notes() -> Server {
    let server = Server::start();
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    let about = json!({ "name": "About", "slug": "about", "type": "reference", "settings": { "blueprint": "topics" } });
    server.blueprint("topics", json!([field("name", "text")]));
    server.blueprint("notes", json!([field("title", "text"), field("price", "number"), about]));
    let topic = server.create("topics", json!({ "name": "binding" }));
    let resources: Vec<Value> = (0..100)
        .map(|n| json!({ "attributes": { "title": format!("note {n}"), "price": n, "about": topic } }))
        .collect();
    // There are so many resources that a condition is not tested on each of them.
    (0..21).for_each(|_| drop(server.post("/v2/resources/notes/bulk", &json!({ "resources": resources })).expect(201)));
    server
}

fn steps(reply: &Reply) -> Vec<Value> {
    reply.json()["meta"]["explain"].as_array().unwrap_or_else(|| panic!("{}", reply.text)).clone()
}

/// Returns the first step of this kind.
fn step<'a>(steps: &'a [Value], name: &str) -> &'a Value {
    steps.iter().find(|step| step["step"] == name).unwrap_or_else(|| panic!("no step {name}: {steps:?}"))
}

#[test]
fn an_explained_list_says_what_was_searched_where() {
    let server = with_notes();
    let path = "/v2/resources/notes?filter[title][contains]=note+1&filter[price][lt]=50&sort=-price&per_page=3";
    let plain = server.get(path).expect(200);
    let explained = server.get(&format!("{path}&explain=true")).expect(200);
    assert_eq!(explained.json()["data"], plain.json()["data"]);
    assert_eq!(explained.json()["meta"]["total"], plain.json()["meta"]["total"]);
    let found = steps(&explained);
    assert_eq!((&step(&found, "order")["count"], &step(&found, "documents")["count"]), (&json!(231), &json!(3)));
    assert!(found.iter().any(|step| step["what"] == "price" || step["what"] == "title"), "{found:?}");
    for from in ["index", "cache", "cache"] {
        let found = steps(&server.get("/v2/resources/notes?filter[title]=note+7&explain=1").expect(200));
        let filter = step(&found, "filter");
        assert_eq!((&filter["what"], &filter["compares"]), (&json!("title"), &json!("value")));
        assert_eq!((&filter["from"], &filter["count"]), (&json!(from), &json!(21)));
        assert_eq!(step(&found, "documents")["count"], 21);
        assert_eq!(found[0]["step"], "queue");
        assert!(found.iter().all(|step| step["ms"].is_number() && step["blueprint"] == "notes"), "{found:?}");
    }
}

#[test]
fn relations_words_facets_and_cursors_are_explained() {
    let server = with_notes();
    let path =
        "/v2/resources/notes?filter[about.name]=binding&q=note&facets=price&stats=price&expand=about&explain=true";
    let found = steps(&server.get(path).expect(200));
    assert!(found.iter().any(|step| step["blueprint"] == "topics" && step["count"] == 1), "{found:?}");
    assert!(found.iter().any(|step| step["what"] == "about" && step["compares"] == "ids"), "{found:?}");
    for (name, what, count) in [("facet", "price", 100), ("stats", "price", 2_100), ("expand", "expand", 1)] {
        let step = step(&found, name);
        assert_eq!((&step["what"], &step["count"]), (&json!(what), &json!(count)));
    }
    assert!(found.iter().any(|step| step["what"] == "q" && step["count"] == 2_100), "{found:?}");
    assert_eq!(step(&found, "order")["from"], "relevance");
    let first = server.get("/v2/resources/notes?cursor=&sort=price&explain=true").expect(200);
    let next = first.json()["links"]["next"].as_str().unwrap().replace(server.address(), "");
    assert_eq!(step(&steps(&server.get(&next).expect(200)), "order")["what"], "cursor");
    let id = server.ids("notes?per_page=1")[0].clone();
    let beside = server.get(&format!("/v2/resources/notes/{id}/neighbors?explain=true")).expect(200);
    assert_eq!(step(&steps(&beside), "documents")["count"], 1);
    let everywhere = steps(&server.get("/v2/search?search=n&explain=true").expect(200));
    let of = |slug: &str| everywhere.iter().any(|step| step["blueprint"] == slug && step["step"] == "documents");
    assert!(of("notes") && of("topics"), "{everywhere:?}");
    let exported = server.get("/v2/resources/notes/export?filter[price]=7&explain=true").expect(200);
    assert_eq!(step(&steps(&exported), "filter")["count"], 21);
}

#[test]
fn an_explanation_needs_manage_and_is_not_kept() {
    let server = with_notes();
    let view = server.token(&["view", "preview"]);
    for path in
        ["/v2/resources/notes", "/v2/resources/notes/export", "/v2/search?search=n", "/v2/resources/notes?page=0"]
    {
        let asked = format!("{path}{}explain=true", if path.contains('?') { '&' } else { '?' });
        assert_eq!(server.as_token(&view).get(&asked).outcome(), "403 FORBIDDEN", "{path}");
        assert_eq!(server.get(&asked.replace("true", "maybe")).outcome(), "422 INVALID_PARAMETER", "{path}");
    }
    for format in ["ndjson", "csv"] {
        let path = format!("/v2/resources/notes/export?format={format}&explain=true");
        assert_eq!(server.get(&path).outcome(), "422 INVALID_PARAMETER");
    }
    let path = "/v2/resources/notes?filter[price]=3&explain=true";
    for _ in 0..2 {
        let reply = server.get(path).expect(200);
        assert_eq!((reply.header("etag"), reply.header("cache-control")), (None, Some("no-store")));
        let timing = reply.header("server-timing").unwrap();
        let names: Vec<&str> =
            timing.split(", ").filter_map(|part| part.split_once(";dur=")).map(|(name, _)| name).collect();
        assert_eq!(names, ["queue", "search", "documents", "encode"], "{timing}");
    }
    server.raw("GET", path, &[("if-none-match", "*")], b"").expect(200);
    let plain = server.get("/v2/resources/notes?filter[price]=3&explain=false").expect(200);
    assert!(plain.header("server-timing").is_none() && plain.json()["meta"].get("explain").is_none());
    server.get("/v2/resources/notes?explain=true&strict=true").expect(200);
}
