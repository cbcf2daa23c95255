//! Resources that an answer includes beside those that relate to them (`API.md` 4.2.9). The oracle checks that they are
//! the right ones.

use serde_json::{Value, json};

use crate::sessions::{PASSWORD, accept, cookie_of, invite};
use crate::support::{Failures, Reply, Server};

const LIST: &str = "/v2/resources/articles";

fn world() -> Server {
    let server = Server::start();
    let text = |slug: &str| json!({ "name": slug, "slug": slug, "type": "text" });
    let relation = |slug: &str, kind: &str, to: &str| json!({ "name": slug, "slug": slug, "type": kind, "settings": { "blueprint": to } });
    server.blueprint("people", json!([text("name")]));
    server.blueprint("issues", json!([text("title"), relation("editor", "reference", "people")]));
    let fields = [
        text("title"),
        relation("author", "reference", "people"),
        relation("issue", "reference", "issues"),
        relation("readers", "references", "people"),
    ];
    server.blueprint("articles", json!(fields));
    server
}

/// Returns the names and titles of the included resources, in order.
fn included(reply: &Reply) -> String {
    let body = reply.json();
    let shown = body["included"].as_array().unwrap_or_else(|| panic!("{}", reply.text)).iter().map(|item| {
        let attributes = &item["attributes"];
        attributes["name"].as_str().or(attributes["title"].as_str()).unwrap_or("?").to_owned()
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn related_resources_are_included_once_in_the_order_of_their_mention() {
    let server = world();
    let person = |name: &str| server.create("people", json!({ "name": name }));
    let (ada, bob, eve) = (person("ada"), person("bob"), person("eve"));
    let issue = server.create("issues", json!({ "title": "first", "editor": eve }));
    let one = server.create("articles", json!({ "title": "1", "author": ada, "issue": issue, "readers": [bob, ada] }));
    server.create("articles", json!({ "title": "2", "author": bob, "issue": issue }));
    server.create("articles", json!({ "title": "3" }));
    let mut failures = Failures::default();
    for (query, expected) in [
        ("expand=author", "ada bob"),
        ("expand=issue", "first"),
        ("expand=issue.editor", "first eve"),
        ("expand=readers,author", "bob ada"),
        ("expand=author,readers,issue.editor", "ada bob first eve"),
        ("expand=author&sort=-title", "bob ada"),
        ("expand=author&filter[title]=3", ""),
        ("expand=author&fields=id", "ada bob"),
        ("expand=issue.editor&fields[people]=attributes.name&fields[issues]=attributes.title", "first eve"),
        ("expand=author&cursor=&per_page=1", "ada"),
    ] {
        let sort = if query.contains("sort=") { "" } else { "&sort=title" };
        failures.check_eq(
            query,
            included(&server.get(&format!("{LIST}?{query}{sort}")).expect(200)),
            expected.to_owned(),
        );
        if !query.contains("cursor") {
            let export = server.get(&format!("{LIST}/export?{query}{sort}")).expect(200);
            failures.check_eq(&format!("export {query}"), included(&export), expected.to_owned());
        }
    }
    let single =
        server.get(&format!("{LIST}/{one}?expand=author,issue.editor&fields=id&fields[people]=id")).expect(200).json();
    failures.check_eq("one", single["data"].clone(), json!({ "id": one }));
    failures.check_eq("included", single["included"][0].clone(), json!({ "id": ada }));
    failures.check_eq("included", single["included"][2].clone(), json!({ "id": eve }));
    failures.check_eq(
        "whole",
        single["included"][1]["relationships"]["blueprint"]["data"]["id"].clone(),
        json!("issues"),
    );
    failures.check_eq("without", server.find(&format!("articles/{one}")).get("included").is_none(), true);
    failures.assert_none();
}

#[test]
fn a_signed_in_member_gets_what_is_included_as_a_token_does() {
    let server = world();
    let ada = server.create("people", json!({ "name": "ada" }));
    let issue = server.create("issues", json!({ "title": "first", "editor": ada }));
    let one = server.create("articles", json!({ "title": "1", "issue": issue }));
    let secret = invite(&server, server.member("eve", Some("viewer")));
    let cookie = cookie_of(&accept(&server, &json!({ "token": secret, "password": PASSWORD })).expect(200));
    let read = |path: &str| server.as_token("").raw("GET", path, &[("cookie", &cookie)], b"").expect(200);
    for path in [format!("{LIST}/{one}?expand=issue.editor"), format!("{LIST}?expand=issue.editor")] {
        assert_eq!(included(&read(&path)), "first ada", "{path}");
    }
    assert!(read(&format!("{LIST}/{one}")).json().get("included").is_none());
}

#[test]
fn what_cannot_be_expanded_is_refused() {
    let server = world();
    let id = server.create("articles", json!({ "title": "1" }));
    let limited = json!({ "name": "limited", "abilities": ["view"], "blueprints": ["articles"] });
    let limited = server.post("/v2/tokens", &limited).expect(201).data()["secret"].as_str().unwrap().to_owned();
    for path in [LIST.to_owned(), format!("{LIST}/{id}"), format!("{LIST}/export")] {
        for (query, meant) in [
            ("expand=", "empty entry"),
            ("expand=author,", "empty entry"),
            ("expand=autor", "did you mean `author`?"),
            ("expand=title", "is no relation"),
            ("expand=issue.title", "is no relation"),
            ("expand=issue.editer", "did you mean `editor`?"),
            ("expand=issue.editor.x", "at most 2"),
            ("expand=author,author,author,author,author,author,author,author,author,author,author", "at most 10"),
            ("expand=author&fields[people]=attributes.nothing", "does not exist"),
            ("expand=author&fields[people]=id&fields[people]=id", "more than once"),
            ("strict=1&expand=author&fields[issues]=id", "no effect"),
            ("strict=1&fields[people]=id", "no effect"),
            ("strict=1&expnad=author", "did you mean `expand`?"),
        ] {
            let reply = server.get(&format!("{path}?{query}"));
            assert_eq!(reply.outcome(), "422 INVALID_PARAMETER", "{path}?{query}");
            assert!(reply.message().contains(meant), "{query}: {}", reply.message());
        }
        // A blueprint that the token does not see gets the same error, whatever follows in the path.
        let refused = |query: &str| {
            let reply = server.as_token(&limited).get(&format!("{path}?expand={query}"));
            assert_eq!(reply.outcome(), "422 INVALID_PARAMETER", "{query}");
            reply.message().replace(query, "…")
        };
        assert_eq!(refused("issue.editor"), refused("issue.nothing"));
        assert_eq!(refused("issue"), refused("author"));
    }
}

#[test]
fn at_most_a_thousand_resources_are_included() {
    let server = world();
    let lines = |count: usize| {
        (0..count)
            .map(|n| {
                format!(
                    "{}\n",
                    json!({ "key": n.to_string(), "published_at": "2026-01-01", "attributes": { "name": "x" } })
                )
            })
            .collect::<String>()
    };
    let headers = [("content-type", "application/x-ndjson")];
    let reply = server.raw("POST", "/v2/resources/people/import", &headers, lines(1_001).as_bytes()).expect(200);
    let people: Vec<String> = reply.lines().iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect();
    let one = server.create("articles", json!({ "readers": people[..1_000] }));
    assert_eq!(included(&server.get(&format!("{LIST}/{one}?expand=readers")).expect(200)).split(' ').count(), 1_000);
    server.create("articles", json!({ "readers": people[1_000..] }));
    for path in [LIST.to_owned(), format!("{LIST}/export")] {
        let reply = server.get(&format!("{path}?expand=readers"));
        assert_eq!(reply.outcome(), "422 INVALID_PARAMETER");
        assert!(reply.message().contains("more than 1000"), "{}", reply.message());
    }
}

#[test]
fn the_entity_tag_changes_with_what_is_included() {
    let server = world();
    let ada = server.create("people", json!({ "name": "ada" }));
    let one = server.create("articles", json!({ "author": ada }));
    let view = server.token(&["view"]);
    let reader = server.as_token(&view);
    let paths = [format!("{LIST}?expand=author"), format!("{LIST}/{one}?expand=author")];
    let plain = format!("{LIST}/{one}");
    let tag = |path: &str| reader.get(path).expect(200).header("etag").unwrap().to_owned();
    let name = |path: &str| reader.get(path).expect(200).json()["included"][0]["attributes"]["name"].clone();
    for path in &paths {
        let (before, own) = (tag(path), tag(&plain));
        assert_eq!(name(path), json!("ada"));
        assert_eq!(reader.raw("GET", path, &[("if-none-match", &before)], b"").status, 304);
        server.patch(&format!("/v2/resources/people/{ada}"), &json!({ "attributes": { "name": "Ada" } })).expect(200);
        assert_eq!((name(path), tag(&plain)), (json!("Ada"), own));
        assert_ne!(tag(path), before);
        assert_eq!(reader.raw("GET", path, &[("if-none-match", &before)], b"").status, 200);
        // A change of a draft that the reader does not see changes no tag.
        let before = tag(path);
        server.post("/v2/resources/people", &json!({ "attributes": { "name": "draft" } })).expect(201);
        assert_eq!(tag(path), before);
        server.patch(&format!("/v2/resources/people/{ada}"), &json!({ "published_at": null })).expect(200);
        assert_eq!(reader.get(path).expect(200).json()["included"], json!([]));
        server
            .patch(
                &format!("/v2/resources/people/{ada}"),
                &json!({ "published_at": "2026-01-01", "attributes": { "name": "ada" } }),
            )
            .expect(200);
    }
}

#[test]
fn a_fallback_fills_what_is_included() {
    let server = Server::start();
    let fields = json!([{ "name": "name", "slug": "name", "type": "text" }, { "name": "friend", "slug": "friend", "type": "reference", "settings": { "blueprint": "people" } }]);
    let variants = json!([{ "name": "en", "slug": "en", "default": true }, { "name": "de", "slug": "de" }]);
    server
        .post("/v2/blueprints", &json!({ "name": "People", "slug": "people", "fields": fields, "variants": variants }))
        .expect(201);
    let ada = server.create("people", json!({ "name": "ada" }));
    let bob = server.create("people", json!({ "name": "bob", "friend": ada }));
    let names = |query: &str| {
        let body = server.get(&format!("/v2/resources/people/{bob}?expand=friend&{query}")).expect(200).json();
        body["included"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["attributes"]["name"].clone())
            .collect::<Vec<Value>>()
    };
    assert_eq!(names(""), [json!("ada")]);
    assert_eq!(names("variant=de"), [] as [Value; 0]);
    assert_eq!(names("variant=de&fallback=en"), [json!("ada")]);
    server
        .patch(&format!("/v2/resources/people/{bob}?variant=de"), &json!({ "attributes": { "friend": ada } }))
        .expect(200);
    assert_eq!(names("variant=de"), [Value::Null]);
}
