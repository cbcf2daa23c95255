//! Entity tags of resources and lists (`API.md` 4.2, 4.3, 4.4).

use serde_json::json;

use super::notes;
use crate::support::{ADMIN, Faults, Server};

#[test]
fn rule_2_2_entity_tags_and_if_match() {
    let server = Server::start();
    let ids = notes(&server, 2);
    let path = format!("/v2/resources/notes/{}", ids[0]);
    let reply = server.get(&path).expect(200);
    let tag = reply.header("etag").unwrap().to_owned();
    assert_eq!(reply.header("vary").map(str::to_lowercase).as_deref(), Some("authorization"));
    let weak = format!("W/{tag}");
    let (two, spaced) = (format!("\"x\", {tag}"), format!(" {tag} "));
    let bare = tag.trim_matches('"').to_owned();
    let mut faults = Faults::default();
    for (sent, status) in [
        (tag.as_str(), 304),
        (weak.as_str(), 304),
        (two.as_str(), 304),
        ("*", 304),
        (spaced.as_str(), 304),
        ("\"x\"", 200),
        (bare.as_str(), 200),
        ("", 200),
    ] {
        let reply = server.raw("GET", &path, &[("if-none-match", sent)], b"");
        faults.same(sent, reply.status, status);
        faults.same(sent, reply.header("etag"), Some(tag.as_str()));
        faults.same(sent, reply.text.is_empty(), status == 304);
    }
    let json_type = ("content-type", "application/json");
    for (sent, status) in [
        (tag.as_str(), 200),
        ("*", 200),
        (two.as_str(), 200),
        (weak.as_str(), 412),
        ("\"x\"", 412),
        (bare.as_str(), 412),
        ("x", 412),
    ] {
        for method in ["PATCH", "PUT"] {
            let body = server.get(&path).data().to_string();
            let reply = server.raw(method, &path, &[("if-match", sent), json_type], body.as_bytes());
            faults.same(&format!("{method} {sent}"), reply.status, status);
        }
    }
    // A write moves the tag; the old one is refused for every kind of write.
    let changed = server.patch(&path, &json!({ "attributes": { "count": 7 } })).expect(200);
    let new = changed.header("etag").unwrap().to_owned();
    faults.check(new != tag, || "a change keeps the tag".to_owned());
    for (method, body) in [("PATCH", "{\"attributes\":{\"count\":8}}"), ("PUT", "{\"attributes\":{}}"), ("DELETE", "")]
    {
        let headers = if body.is_empty() {
            vec![("if-match", tag.as_str())]
        } else {
            vec![("if-match", tag.as_str()), json_type]
        };
        faults.same(
            method,
            server.raw(method, &path, &headers, body.as_bytes()).outcome(),
            "412 PRECONDITION_FAILED".to_owned(),
        );
    }
    faults.same("the old tag", server.raw("GET", &path, &[("if-none-match", &tag)], b"").status, 200);
    faults.same("the new tag", server.raw("GET", &path, &[("if-none-match", &new)], b"").status, 304);
    // The tag stands for the blueprint's version too.
    let mut blueprint = server.get("/v2/blueprints/notes").data();
    blueprint["fields"].as_array_mut().unwrap().push(json!({ "name": "More", "slug": "more", "type": "text" }));
    server.put("/v2/blueprints/notes", &blueprint).expect(200);
    let after = server.raw("GET", &path, &[("if-none-match", &new)], b"");
    faults.same("after the blueprint's change", after.status, 200);
    faults.same("before the blueprint's change", server.raw("DELETE", &path, &[("if-match", &new)], b"").status, 412);
    let newest = after.header("etag").unwrap().to_owned();
    faults.same("delete", server.raw("DELETE", &path, &[("if-match", &newest)], b"").status, 204);
    faults.none();
}

#[test]
fn rule_2_2_list_tags_change_with_what_could_change_the_answer() {
    let server = Server::start();
    let ids = notes(&server, 2);
    server.blueprint("others", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let view = server.token(&["view"]);
    let path = "/v2/resources/notes?filter[count][gte]=0";
    let tag = |token: &str| server.as_token(token).get(path).expect(200).header("etag").unwrap().to_owned();
    let mut last = tag(ADMIN);
    assert_eq!(tag(ADMIN), last);
    assert_ne!(tag(&view), last, "another sight");
    let unchanged = server.raw("GET", path, &[("if-none-match", &last)], b"").expect(304);
    assert_eq!((unchanged.text.as_str(), unchanged.header("etag")), ("", Some(last.as_str())));
    assert!(unchanged.header("vary").is_some());
    let one = format!("/v2/resources/notes/{}", ids[0]);
    let steps: [(&str, &dyn Fn()); 5] = [
        ("create", &|| drop(server.create("notes", json!({ "count": 3 })))),
        ("change", &|| drop(server.patch(&one, &json!({ "attributes": { "count": 5 } })).expect(200))),
        ("unpublish", &|| drop(server.patch(&one, &json!({ "published_at": null })).expect(200))),
        ("delete", &|| drop(server.delete(&one).expect(204))),
        ("blueprint", &|| {
            let mut blueprint = server.get("/v2/blueprints/notes").data();
            blueprint["fields"].as_array_mut().unwrap().pop();
            server.put("/v2/blueprints/notes", &blueprint).expect(200);
        }),
    ];
    for (name, step) in steps {
        step();
        let now = tag(ADMIN);
        assert_ne!(now, last, "{name}");
        server.raw("GET", path, &[("if-none-match", &last)], b"").expect(200);
        last = now;
    }
    // A wrong parameter is never answered with 304.
    server.raw("GET", "/v2/resources/notes?page=0", &[("if-none-match", &last)], b"").expect(422);
}
