//! Bulk create, update, delete, publish and unpublish (`API.md` 4.5).

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Reply, Server};

const MISSING: &str = "01936b9e-0000-7000-8000-000000000000";

fn notes() -> Server {
    let server = Server::start();
    add_notes(&server);
    server
}

fn add_notes(server: &Server) {
    server.blueprint(
        "notes",
        json!([
            { "name": "Title", "slug": "title", "type": "text", "required": true },
            { "name": "Code", "slug": "code", "type": "text", "unique": true },
            { "name": "Count", "slug": "count", "type": "number" },
        ]),
    );
}

fn path(rest: &str) -> String {
    format!("/v2/resources/notes/{rest}")
}

/// Creates one note for each title in one request and returns their ids.
fn create(server: &Server, titles: &[&str]) -> Vec<String> {
    let resources: Vec<Value> = titles.iter().map(|title| json!({ "attributes": { "title": title } })).collect();
    let reply = server.post(&path("bulk"), &json!({ "resources": resources })).expect(201);
    ids(&reply.data()["created"])
}

fn ids(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

fn total(server: &Server) -> Value {
    server.get("/v2/resources/notes").expect(200).json()["meta"]["total"].take()
}

/// Returns the index and the error code of each failed item.
fn failures(reply: &Reply) -> Vec<(u64, String)> {
    let failed = reply.data()["failed"].take();
    let one = |entry: &Value| {
        assert!(entry["errors"]["message"].is_string(), "{entry}");
        (entry["index"].as_u64().unwrap(), entry["errors"]["code"].as_str().unwrap().to_owned())
    };
    failed.as_array().unwrap().iter().map(one).collect()
}

fn succeeded(reply: &Reply, name: &str) -> Vec<u64> {
    let body = reply.json();
    let list = body["data"][name].as_array().unwrap_or_else(|| panic!("no {name}: {body}"));
    assert_eq!(body["meta"][name], list.len());
    assert_eq!(body["meta"]["failed"], body["data"]["failed"].as_array().unwrap().len());
    list.iter().map(|entry| entry["index"].as_u64().unwrap()).collect()
}

#[test]
fn all_items_are_created_in_order_and_answered_with_201() {
    let server = notes();
    let reply = server
        .post(
            &path("bulk"),
            &json!({ "resources": [
                { "attributes": { "title": "a", "count": 1 } },
                { "attributes": { "title": "b" }, "published_at": "2026-02-03T00:00:00Z" },
                { "attributes": { "title": "c" }, "published_at": null, "id": "ignored", "type": "resource" },
            ] }),
        )
        .expect(201);
    let body = reply.json();
    let created = ids(&body["data"]["created"]);
    assert_eq!(
        body,
        json!({
            "data": { "created": [
                { "id": created[0], "index": 0 }, { "id": created[1], "index": 1 }, { "id": created[2], "index": 2 },
            ], "failed": [] },
            "meta": { "total": 3, "created": 3, "failed": 0 },
        })
    );
    assert_eq!(server.ids("notes?sort=id"), created, "ids ascend in the order of the request");
    let dates: Vec<Value> = created.iter().map(|id| server.get(&path(id)).data()["published_at"].take()).collect();
    assert_eq!(dates, [Value::Null, json!("2026-02-03T00:00:00.000+00:00"), Value::Null]);
}

#[test]
fn failed_items_leave_no_trace_and_the_others_are_applied() {
    let server = notes();
    let reply = server
        .post(
            &path("bulk"),
            &json!({ "resources": [
                { "attributes": { "title": "a", "code": "x" } },
                { "attributes": { "code": "y" } },
                { "attributes": { "title": "c", "code": "x" } },
                { "attributes": { "title": "d", "count": "many", "unknown": 1 } },
                { "title": "e" },
                7,
                null,
                { "attributes": [] },
                { "attributes": { "title": "i", "code": "y" } },
                { "attributes": { "title": "j" }, "published_at": "soon" },
            ] }),
        )
        .expect(207);
    assert_eq!(succeeded(&reply, "created"), [0, 8]);
    let failed = failures(&reply);
    assert_eq!(failed.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 9]);
    assert!(failed.iter().all(|(_, code)| code == "VALIDATION_FAILED"), "{failed:?}");
    let data = reply.data();
    assert!(data["failed"][1]["errors"]["fields"]["code"][0].as_str().unwrap().contains("unique"));
    let fields = data["failed"][2]["errors"]["fields"].as_object().unwrap();
    assert_eq!(fields.keys().collect::<Vec<_>>(), ["count", "unknown"]);
    assert_eq!(total(&server), 2);
}

#[test]
fn if_every_item_fails_the_status_is_207_and_nothing_changes() {
    let server = notes();
    let before = server.get("/v2/resources/notes").header("etag").unwrap().to_owned();
    let reply = server.post(&path("bulk"), &json!({ "resources": [{ "attributes": {} }, {}] })).expect(207);
    assert_eq!(succeeded(&reply, "created"), [0u64; 0]);
    assert_eq!(reply.json()["meta"], json!({ "total": 2, "created": 0, "failed": 2 }));
    assert_eq!(server.get("/v2/resources/notes").header("etag").unwrap(), before);
}

#[test]
fn requests_of_the_wrong_shape_or_size_apply_nothing() {
    let server = notes();
    let id = create(&server, &["a"]).remove(0);
    let many: Vec<Value> = (0..101).map(|n| json!({ "attributes": { "title": format!("{n}") } })).collect();
    let cases = [
        ("POST", "bulk", json!({ "resources": [] }), "BULK_LIMIT_EXCEEDED"),
        ("POST", "bulk", json!({ "resources": many }), "BULK_LIMIT_EXCEEDED"),
        ("PATCH", "bulk", json!({ "updates": [] }), "BULK_LIMIT_EXCEEDED"),
        ("DELETE", "bulk", json!({ "ids": vec![id.clone(); 101] }), "BULK_LIMIT_EXCEEDED"),
        ("POST", "bulk-publish", json!({ "ids": [] }), "BULK_LIMIT_EXCEEDED"),
        ("POST", "bulk-unpublish", json!({ "ids": [] }), "BULK_LIMIT_EXCEEDED"),
        ("POST", "bulk", json!({}), "VALIDATION_FAILED"),
        ("POST", "bulk", json!([]), "VALIDATION_FAILED"),
        ("POST", "bulk", json!(null), "VALIDATION_FAILED"),
        ("POST", "bulk", json!({ "resources": {} }), "VALIDATION_FAILED"),
        ("POST", "bulk", json!({ "resources": [{}], "more": 1 }), "VALIDATION_FAILED"),
        ("PATCH", "bulk", json!({ "resources": [] }), "VALIDATION_FAILED"),
        ("PATCH", "bulk", json!({ "updates": "x" }), "VALIDATION_FAILED"),
        ("DELETE", "bulk", json!({ "ids": id }), "VALIDATION_FAILED"),
        ("POST", "bulk-publish", json!({ "ids": [id], "published_at": null }), "VALIDATION_FAILED"),
        ("POST", "bulk-publish", json!({ "ids": [id], "published_at": "soon" }), "VALIDATION_FAILED"),
        ("POST", "bulk-publish", json!({ "ids": [id], "published_at": 7 }), "VALIDATION_FAILED"),
        ("POST", "bulk-unpublish", json!({ "ids": [id], "published_at": "2026-01-01" }), "VALIDATION_FAILED"),
    ];
    for (method, rest, body, code) in cases {
        let reply = server.send(method, &path(rest), Some(&body)).expect(422);
        assert_eq!(reply.code(), code, "{method} {rest} {body}");
    }
    let json = [("content-type", "application/json")];
    for method in ["POST", "PATCH", "DELETE"] {
        assert_eq!(server.raw(method, &path("bulk"), &json, b"{").expect(400).code(), "MALFORMED_JSON");
        assert_eq!(server.raw(method, &path("bulk"), &[("content-type", "text/plain")], b"{}").status, 415);
    }
    assert_eq!(total(&server), 1);
    assert_eq!(server.get(&path(&id)).data()["published_at"], Value::Null);
}

#[test]
fn one_request_may_have_a_hundred_large_items() {
    let server = Server::start();
    server.blueprint("pages", json!([{ "name": "Body", "slug": "body", "type": "rich-text" }]));
    let body = "<p>Large <b>text</b> with <script>evil()</script> in it.</p>".repeat(1000);
    let resources: Vec<Value> = (0..100).map(|_| json!({ "attributes": { "body": body } })).collect();
    let reply = server.post("/v2/resources/pages/bulk", &json!({ "resources": resources })).expect(201);
    assert_eq!(reply.json()["meta"]["created"], 100);
    let found =
        server.get("/v2/resources/pages?search=large+text&filter[body][not_contains]=evil&fields=id").expect(200);
    assert_eq!(found.json()["meta"]["total"], 100);
}

#[test]
fn updates_change_only_the_given_fields_and_see_earlier_updates() {
    let server = notes();
    let ids = create(&server, &["a", "b", "c"]);
    let reply = server
        .patch(
            &path("bulk"),
            &json!({ "updates": [
                { "id": ids[0], "attributes": { "code": "x" } },
                { "id": ids[1], "attributes": { "code": "x" } },
                { "id": ids[0], "attributes": { "code": "y", "count": 1 } },
                { "id": ids[1], "attributes": { "code": "x" }, "published_at": "2026-05-05T00:00:00Z" },
                { "id": MISSING, "attributes": { "title": "z" } },
                { "id": "nonsense", "attributes": {} },
                { "attributes": { "title": "z" } },
                { "id": 7 },
                { "id": ids[2], "attributes": { "title": null } },
                { "id": ids[2] },
                "x",
            ] }),
        )
        .expect(207);
    assert_eq!(succeeded(&reply, "updated"), [0, 2, 3, 9]);
    let expected = [
        (1, "VALIDATION_FAILED"),
        (4, "NOT_FOUND"),
        (5, "NOT_FOUND"),
        (6, "VALIDATION_FAILED"),
        (7, "VALIDATION_FAILED"),
        (8, "VALIDATION_FAILED"),
        (10, "VALIDATION_FAILED"),
    ];
    assert_eq!(failures(&reply), expected.map(|(index, code)| (index, code.to_owned())));
    let first = server.get(&path(&ids[0])).data()["attributes"].take();
    assert_eq!(first, json!({ "title": "a", "code": "y", "count": 1 }));
    let second = server.get(&path(&ids[1])).data();
    assert_eq!((&second["attributes"]["code"], second["published_at"].is_null()), (&json!("x"), false));
    // The failed update and the empty update of the third note changed nothing, not even the date.
    let third = server.get(&path(&ids[2])).data();
    assert_eq!(third["updated_at"], third["created_at"]);
    assert_eq!(server.patch(&path("bulk"), &json!({ "updates": [{ "id": ids[0], "attributes": {} }] })).status, 200);
}

/// Starts a server whose requests may write 50,000 bytes of stored attributes again.
fn small_rewrites(folder: &Path) -> Server {
    Server::start_failing(folder, &[], "decide::rewritten=return(50000)")
}

#[test]
fn small_updates_of_large_resources_are_limited_by_what_they_write_again() {
    let temp = tempfile::tempdir().unwrap();
    let server = small_rewrites(&temp.path().join("data"));
    add_notes(&server);
    let (long, short) = ("é".repeat(30_000), "x".repeat(20_000));
    let ids = create(&server, &[&long, &short, "small"]);
    let update = |id: &str| json!({ "id": id, "attributes": { "count": 1 } });
    let request = |updates: Vec<Value>| server.patch(&path("bulk"), &json!({ "updates": updates }));
    let publish = json!({ "id": ids[2], "published_at": "2026-01-01" });
    // The first item alone exceeds the limit. An item that writes no attributes is not affected.
    let reply = request(vec![update(&ids[0]), update(&ids[1]), publish, update(&ids[2])]).expect(207);
    assert_eq!(succeeded(&reply, "updated"), [0, 2]);
    assert_eq!(failures(&reply), [1, 3].map(|index| (index, "PAYLOAD_TOO_LARGE".to_owned())));
    let count = |id: &String| server.get(&path(id)).data()["attributes"]["count"].take();
    assert_eq!(ids.iter().map(count).collect::<Vec<_>>(), [json!(1), Value::Null, Value::Null]);
    // In another request they pass, and so do large values that are sent.
    request(vec![update(&ids[1]), update(&ids[2])]).expect(200);
    assert_eq!(ids.iter().map(count).collect::<Vec<_>>(), [json!(1), json!(1), json!(1)]);
    create(&server, &[&long, &long]);
}

#[test]
fn publications_of_large_working_copies_are_limited_by_what_they_write_again() {
    let temp = tempfile::tempdir().unwrap();
    let server = small_rewrites(&temp.path().join("data"));
    let field = |slug: &str| json!({ "name": slug, "slug": slug, "type": "text" });
    let fields = [field("title"), field("code")];
    let body = json!({ "name": "n", "slug": "notes", "working_copy": true, "fields": fields });
    server.post("/v2/blueprints", &body).expect(201);
    let ids = create(&server, &[&"x".repeat(40_000), &"y".repeat(40_000)]);
    server.post(&path("bulk-publish"), &json!({ "ids": ids })).expect(200);
    for id in &ids {
        let edit = json!({ "attributes": { "code": "edited" } });
        server.patch(&format!("{}?copy=working", path(id)), &edit).expect(200);
    }
    let publish = |ids: &[String]| server.post(&path("bulk-publish?copy=working"), &json!({ "ids": ids }));
    let reply = publish(&ids).expect(207);
    assert_eq!(succeeded(&reply, "published"), [0]);
    assert_eq!(failures(&reply), [(1, "PAYLOAD_TOO_LARGE".to_owned())]);
    publish(&ids[1..]).expect(200);
    assert!(ids.iter().all(|id| server.get(&path(id)).data()["attributes"]["code"] == "edited"));
}

#[test]
fn deleting_an_id_twice_fails_the_second_time() {
    let server = notes();
    let ids = create(&server, &["a", "b", "c"]);
    let body = json!({ "ids": [ids[0], ids[1], ids[0], MISSING, 3] });
    let reply = server.send("DELETE", &path("bulk"), Some(&body)).expect(207);
    assert_eq!(succeeded(&reply, "deleted"), [0, 1]);
    let expected = [(2, "NOT_FOUND"), (3, "NOT_FOUND"), (4, "VALIDATION_FAILED")];
    assert_eq!(failures(&reply), expected.map(|(index, code)| (index, code.to_owned())));
    assert_eq!(server.ids("notes"), [ids[2].as_str()]);
    let reply = server.send("DELETE", &path("bulk"), Some(&json!({ "ids": [ids[2]] }))).expect(200);
    assert_eq!(reply.json()["meta"], json!({ "total": 1, "deleted": 1, "failed": 0 }));
}

#[test]
fn publishing_without_a_date_changes_only_drafts() {
    let server = notes();
    let ids = create(&server, &["a", "b"]);
    let date = |id: &str| server.get(&path(id)).data()["published_at"].take();
    let reply = server.post(&path("bulk-publish"), &json!({ "ids": [ids[0], ids[0]] })).expect(200);
    assert_eq!(succeeded(&reply, "published"), [0, 1]);
    let first = date(&ids[0]);
    assert!(first.is_string() && date(&ids[1]).is_null());
    // Without a date, a published resource is unchanged and counts as a success.
    let reply = server.post(&path("bulk-publish"), &json!({ "ids": [ids[0], ids[1], MISSING] })).expect(207);
    assert_eq!(succeeded(&reply, "published"), [0, 1]);
    assert_eq!(failures(&reply), [(2, "NOT_FOUND".to_owned())]);
    assert_eq!(date(&ids[0]), first);
    server.post(&path("bulk-publish"), &json!({ "ids": ids, "published_at": "2030-01-01T02:00:00+02:00" })).expect(200);
    assert_eq!([date(&ids[0]), date(&ids[1])], ["2030-01-01T00:00:00.000+00:00"; 2].map(Value::from));
    let reply = server.post(&path("bulk-unpublish"), &json!({ "ids": [ids[0], ids[0]] })).expect(200);
    assert_eq!(succeeded(&reply, "unpublished"), [0, 1]);
    assert!(date(&ids[0]).is_null() && date(&ids[1]).is_string());
}

#[test]
fn each_operation_requires_its_ability_and_a_date_in_an_update_requires_publish() {
    let server = notes();
    let ids = create(&server, &["a", "b"]);
    let item = json!({ "resources": [{ "attributes": { "title": "n" }, "published_at": "2026-01-01" }] });
    let update = json!({ "updates": [{ "id": ids[0], "attributes": { "count": 1 } }] });
    let list = json!({ "ids": [ids[1]] });
    let calls = [
        ("POST", "bulk", &item, "create", 201),
        ("PATCH", "bulk", &update, "update", 200),
        ("POST", "bulk-publish", &list, "publish", 200),
        ("POST", "bulk-unpublish", &list, "publish", 200),
        ("DELETE", "bulk", &list, "delete", 200),
    ];
    let all = ["view", "preview", "create", "update", "delete", "publish"];
    for (method, rest, body, ability, status) in calls {
        let others: Vec<&str> = all.into_iter().filter(|other| *other != ability).collect();
        let forbidden = server.as_token(&server.token(&others)).send(method, &path(rest), Some(body)).expect(403);
        assert!(forbidden.message().contains(ability), "{}", forbidden.text);
        server.as_token(&server.token(&[ability])).send(method, &path(rest), Some(body)).expect(status);
    }
    let client = server.token(&["update"]);
    let body = json!({ "updates": [
        { "id": ids[0], "attributes": { "count": 2 }, "published_at": null },
        { "id": ids[0], "attributes": { "count": "x" }, "published_at": "2026-01-01" },
        { "id": MISSING, "published_at": "2026-01-01" },
        { "id": ids[0], "attributes": { "count": 3 } },
    ] });
    let reply = server.as_token(&client).send("PATCH", &path("bulk"), Some(&body)).expect(207);
    let expected = [(0, "FORBIDDEN"), (1, "FORBIDDEN"), (2, "NOT_FOUND")];
    assert_eq!(failures(&reply), expected.map(|(index, code)| (index, code.to_owned())));
    assert_eq!(server.get(&path(&ids[0])).data()["attributes"]["count"], 3);
}

#[test]
fn a_singular_resource_can_be_updated_but_not_created_or_deleted() {
    let server = Server::start();
    let fields = json!([{ "name": "Title", "slug": "title", "type": "text" }]);
    let body = json!({ "name": "Start", "slug": "start", "kind": "singular_resource", "fields": fields });
    server.post("/v2/blueprints", &body).expect(201);
    let id = server.ids("start").remove(0);
    let reply = server
        .send("POST", "/v2/resources/start/bulk", Some(&json!({ "resources": [{ "attributes": {} }, {}, 7] })))
        .expect(207);
    assert_eq!(failures(&reply), [0, 1, 2].map(|index| (index, "SINGULAR_RESOURCE".to_owned())));
    let reply = server.send("DELETE", "/v2/resources/start/bulk", Some(&json!({ "ids": [id, MISSING] }))).expect(207);
    assert_eq!(failures(&reply), [(0, "SINGULAR_RESOURCE".to_owned()), (1, "NOT_FOUND".to_owned())]);
    let body = json!({ "updates": [{ "id": id, "attributes": { "title": "t" } }] });
    server.send("PATCH", "/v2/resources/start/bulk", Some(&body)).expect(200);
    server.send("POST", "/v2/resources/start/bulk-unpublish", Some(&json!({ "ids": [id] }))).expect(200);
    let home = server.get(&format!("/v2/resources/start/{id}")).data();
    assert_eq!((&home["attributes"]["title"], home["published_at"].is_null()), (&json!("t"), true));
    for body in [json!({ "attributes": {} }), json!([])] {
        assert_eq!(server.post("/v2/resources/start", &body).expect(409).code(), "SINGULAR_RESOURCE");
    }
    assert_eq!(server.delete(&format!("/v2/resources/start/{id}")).expect(409).code(), "SINGULAR_RESOURCE");
}

#[test]
fn a_write_changes_one_variant_and_unknown_variants_are_rejected() {
    let server = Server::start();
    let body = json!({
        "name": "Posts", "slug": "posts",
        "variants": [{ "name": "English", "slug": "en", "default": true }, { "name": "German", "slug": "de" }],
        "fields": [{ "name": "Title", "slug": "title", "type": "text", "required": true, "unique": true }],
    });
    server.post("/v2/blueprints", &body).expect(201);
    let body = json!({ "resources": [{ "attributes": { "title": "a" } }, { "attributes": { "title": "b" } }] });
    let reply = server.post("/v2/resources/posts/bulk?variant=de", &body).expect(201);
    let id = reply.data()["created"][0]["id"].as_str().unwrap().to_owned();
    let title =
        |query: &str| server.get(&format!("/v2/resources/posts/{id}{query}")).data()["attributes"]["title"].take();
    assert_eq!((title(""), title("?variant=de")), (Value::Null, json!("a")));
    // Values are unique within a variant, so `b` is free in the default variant but not in `de`.
    let body = json!({ "updates": [{ "id": id, "attributes": { "title": "b" } }] });
    server.patch("/v2/resources/posts/bulk", &body).expect(200);
    server.patch("/v2/resources/posts/bulk?variant=de", &body).expect(207);
    assert_eq!((title(""), title("?variant=de")), (json!("b"), json!("a")));
    for (method, rest) in
        [("POST", "bulk"), ("PATCH", "bulk"), ("DELETE", "bulk"), ("POST", "bulk-publish"), ("POST", "bulk-unpublish")]
    {
        let address = format!("/v2/resources/posts/{rest}?variant=fr");
        let reply = server.send(method, &address, Some(&json!({ "ids": [id] }))).expect(422);
        assert_eq!(reply.code(), "INVALID_VARIANT");
        let reply = server.send(method, &format!("/v2/resources/none/{rest}"), Some(&json!({}))).expect(404);
        assert_eq!(reply.code(), "NOT_FOUND");
    }
}
