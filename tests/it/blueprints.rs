//! Blueprints: their bodies, and the effect of a change on stored values (`API.md` 4.9).

mod changes;
mod meanwhile;

use serde_json::{Value, json};

use crate::support::{Failures, Server};

fn text(slug: &str) -> Value {
    json!({ "name": slug, "slug": slug, "type": "text" })
}

fn typed(slug: &str, kind: &str, settings: Value) -> Value {
    json!({ "name": slug, "slug": slug, "type": kind, "settings": settings })
}

/// Replaces the fields of `notes`.
fn put(server: &Server, fields: Value, query: &str) -> crate::support::Reply {
    server.put(&format!("/v2/blueprints/notes{query}"), &json!({ "name": "notes", "fields": fields }))
}

#[test]
fn blueprints_are_created_read_and_listed() {
    let server = Server::start();
    let reply = server
        .post("/v2/blueprints", &json!({ "name": "Blog Posts", "fields": [{ "name": "Größe (cm)", "type": "text" }] }));
    let reply = reply.expect(201);
    let mut blueprint = reply.data();
    assert_eq!(reply.header("location"), Some(format!("{}/v2/blueprints/blog_posts", server.address()).as_str()));
    assert_eq!(blueprint["created_at"], blueprint["updated_at"]);
    for date in ["created_at", "updated_at"] {
        assert!(blueprint[date].as_str().unwrap().ends_with("+00:00"));
        blueprint[date] = Value::Null;
    }
    let expected = json!({
        "id": "blog_posts", "type": "blueprint", "name": "Blog Posts", "slug": "blog_posts", "kind": "resource",
        "icon": null, "record_title": null, "is_singular": false, "is_readonly": false, "variants": [], "seo": null,
        "fields": [{ "name": "Größe (cm)", "slug": "groe_cm", "type": "text", "description": null, "required": false,
            "unique": false, "settings": {} }],
        "created_at": null, "updated_at": null,
    });
    let slug = blueprint["fields"][0]["slug"].clone();
    let expected = {
        let mut expected = expected;
        expected["fields"][0]["slug"] = slug;
        expected
    };
    assert_eq!(blueprint.to_string(), expected.to_string(), "the keys are in the documented order");

    server.blueprint("zebra", json!([]));
    server.blueprint("apple", json!([]));
    let listed = server.get("/v2/blueprints").expect(200).data();
    let slugs: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["slug"].as_str().unwrap()).collect();
    assert_eq!(slugs, ["apple", "blog_posts", "zebra"]);
    assert_eq!(listed[2], server.get("/v2/blueprints/zebra").expect(200).data());
    server.get("/v2/blueprints/nothing").expect(404);

    // A blueprint with every key and setting is returned as it was sent, and can be sent back unchanged.
    let full = json!({
        "name": "Full", "slug": "full-1", "kind": "readonly_resource", "icon": "star", "record_title": "t",
        "variants": [{ "name": "English", "slug": "en", "default": true }, { "name": "Chinese", "slug": "zh-CN", "default": false }],
        "seo": { "content": "b", "focus_keyword": "t", "title": "t", "description": null, "slug": "s" },
        "fields": [
            { "name": "T", "slug": "t", "type": "text", "description": "What it is", "required": true, "unique": true, "settings": {} },
            { "name": "B", "slug": "b", "type": "rich-text", "description": null, "required": false, "unique": false, "settings": {} },
            { "name": "S", "slug": "s", "type": "slug", "description": null, "required": false, "unique": true, "settings": {} },
            { "name": "E", "slug": "e", "type": "enum", "description": null, "required": false, "unique": false, "settings": { "values": ["a", "b"] } },
            { "name": "M", "slug": "m", "type": "money", "description": null, "required": false, "unique": false, "settings": { "default_currency": "EUR", "currencies": ["EUR", "USD"] } },
            { "name": "D", "slug": "d", "type": "duration", "description": null, "required": false, "unique": false, "settings": { "unit": "days", "display": "d", "min": 0, "max": 1.5 } },
            { "name": "R", "slug": "r", "type": "references", "description": null, "required": false, "unique": false, "settings": { "blueprint": "full-1", "display": ["t"] } },
            { "name": "U", "slug": "u", "type": "user", "description": null, "required": false, "unique": false, "settings": { "role": "editor" } },
            { "name": "P", "slug": "p", "type": "html-page", "description": null, "required": false, "unique": false, "settings": { "blocks": ["hero"], "template": "x" } },
        ],
    });
    let made = server.post("/v2/blueprints", &full).expect(201).data();
    for (key, value) in full.as_object().unwrap() {
        assert_eq!(&made[key], value, "{key}");
    }
    let again = server.put("/v2/blueprints/full-1", &made).expect(200).data();
    assert_eq!(again, made, "nothing changes, not even the date");
}

#[test]
fn invalid_blueprint_bodies_report_the_invalid_keys() {
    let server = Server::start();
    server.blueprint("taken", json!([]));
    let with = |key: &str, value: Value| {
        let mut body = json!({ "name": "X", "slug": "x", "fields": [] });
        body[key] = value;
        body
    };
    let field = |key: &str, value: Value| {
        let mut field = json!({ "name": "F", "slug": "f", "type": "text" });
        field[key] = value;
        with("fields", json!([text("a"), field]))
    };
    let settings = |kind: &str, settings: Value| with("fields", json!([typed("f", kind, settings)]));
    let mut failures = Failures::default();
    for (body, keys) in [
        (json!({}), vec!["name", "fields"]),
        (json!({ "name": "X" }), vec!["fields"]),
        (json!({ "fields": [] }), vec!["name"]),
        (json!({ "name": "日本", "fields": [] }), vec!["slug"]),
        (with("name", json!("")), vec!["name"]),
        (with("name", json!(1)), vec!["name"]),
        (with("slug", json!("taken")), vec!["slug"]),
        (with("slug", json!("Upper")), vec!["slug"]),
        (with("slug", json!("1x")), vec!["slug"]),
        (with("slug", json!("x".repeat(64))), vec!["slug"]),
        (with("slug", json!("a b")), vec!["slug"]),
        (with("slug", json!("")), vec!["slug"]),
        (with("slug", json!(5)), vec!["slug"]),
        (with("kind", json!("page")), vec!["kind"]),
        (with("icon", json!(1)), vec!["icon"]),
        (with("record_title", json!("nothing")), vec!["record_title"]),
        (with("seo", json!({ "title": "nothing" })), vec!["seo.title"]),
        (with("seo", json!({ "keyword": null })), vec!["seo.keyword"]),
        (with("seo", json!("x")), vec!["seo"]),
        (with("extra", json!(1)), vec!["extra"]),
        (with("fields", json!({})), vec!["fields"]),
        (with("fields", json!(null)), vec!["fields"]),
        (with("fields", json!([1])), vec!["fields.0"]),
        (with("fields", json!([{}])), vec!["fields.0.name", "fields.0.type"]),
        (field("name", json!(null)), vec!["fields.1.name"]),
        (field("slug", json!("a")), vec!["fields.1.slug"]),
        (field("slug", json!("published_at")), vec!["fields.1.slug"]),
        (field("slug", json!("id")), vec!["fields.1.slug"]),
        (field("slug", json!("type")), vec!["fields.1.slug"]),
        (field("slug", json!("Ü")), vec!["fields.1.slug"]),
        (field("type", json!("string")), vec!["fields.1.type"]),
        (field("type", json!(1)), vec!["fields.1.type"]),
        (field("description", json!(1)), vec!["fields.1.description"]),
        (field("required", json!("yes")), vec!["fields.1.required"]),
        (field("unique", json!(1)), vec!["fields.1.unique"]),
        (field("extra", json!(1)), vec!["fields.1.extra"]),
        (field("settings", json!({ "max": 5 })), vec!["fields.1.settings"]),
        (field("settings", json!([])), vec!["fields.1.settings"]),
        (with("fields", json!([{ "name": "B", "type": "boolean", "unique": true }])), vec!["fields.0.unique"]),
        (settings("enum", json!({ "values": [] })), vec!["fields.0.settings"]),
        (settings("enum", json!({ "values": ["a", "a"] })), vec!["fields.0.settings"]),
        (settings("enum", json!({ "values": [1] })), vec!["fields.0.settings"]),
        (settings("enum", json!({ "values": ["x".repeat(256)] })), vec!["fields.0.settings"]),
        (settings("multi-enum", json!({ "values": "a" })), vec!["fields.0.settings"]),
        (settings("money", json!({ "currencies": ["XXX"] })), vec!["fields.0.settings"]),
        (settings("money", json!({ "currencies": [] })), vec!["fields.0.settings"]),
        (settings("money", json!({ "currencies": ["EUR"], "default_currency": "USD" })), vec!["fields.0.settings"]),
        (settings("duration", json!({ "unit": "weeks" })), vec!["fields.0.settings"]),
        (settings("duration", json!({ "min": 2, "max": 1 })), vec!["fields.0.settings"]),
        (settings("duration", json!({ "min": "1" })), vec!["fields.0.settings"]),
        (settings("reference", json!({})), vec!["fields.0.settings"]),
        (settings("reference", json!({ "blueprint": "nothing" })), vec!["fields.0.settings"]),
        (settings("references", json!({ "blueprint": 1 })), vec!["fields.0.settings"]),
        (settings("user", json!({ "role": 1 })), vec!["fields.0.settings"]),
        (settings("html-page", json!({ "blocks": "x" })), vec!["fields.0.settings"]),
        (
            json!({ "name": "", "kind": 1, "fields": [{ "name": "A", "type": "x" }, { "name": "", "type": "text" }] }),
            vec!["name", "kind", "fields.0.type", "fields.1.name"],
        ),
    ] {
        let reply = server.post("/v2/blueprints", &body);
        failures.check_eq(&body.to_string(), reply.outcome(), "422 VALIDATION_FAILED".to_owned());
        failures.check_eq(&body.to_string(), reply.error_keys(), keys.into_iter().map(str::to_owned).collect());
    }
    for body in [
        with("slug", json!("x".repeat(63))),
        settings("enum", json!({ "values": null })),
        settings("enum", json!({})),
        settings("reference", json!({ "blueprint": "x" })),
        settings("reference", json!({ "blueprint": "taken" })),
        with("is_singular", json!("ignored")),
        with("fields", json!([{ "name": "Ein Feld!", "type": "text" }])),
    ] {
        let reply = server.post("/v2/blueprints", &body);
        failures.check_eq(&body.to_string(), reply.outcome(), "201".to_owned());
        let slug = body["slug"].as_str().unwrap();
        server.delete(&format!("/v2/blueprints/{slug}"));
    }
    // A field may continue to refer to a blueprint that was deleted. Another field may not begin to.
    server.blueprint("goes", json!([]));
    let to = |slug: &str| typed(slug, "reference", json!({ "blueprint": "goes" }));
    server.blueprint("names", json!([to("one"), text("two")]));
    server.delete("/v2/blueprints/goes?force=true").expect(204);
    for (fields, expected) in [
        (json!([to("one"), text("two")]), "200"),
        (json!([text("two"), to("one")]), "200"),
        (json!([to("one"), to("three")]), "422 VALIDATION_FAILED"),
        (json!([to("one"), to("two")]), "422 VALIDATION_FAILED"),
        (json!([to("two")]), "422 VALIDATION_FAILED"),
    ] {
        let reply = server.put("/v2/blueprints/names?dry_run=true", &json!({ "name": "N", "fields": fields }));
        failures.check_eq(&fields.to_string(), reply.outcome(), expected.to_owned());
        failures.check(expected == "200" || reply.error_keys().iter().all(|key| key.ends_with(".settings")), || {
            reply.text.clone()
        });
    }
    // The body of a `PUT` cannot rename the blueprint.
    let rename = server.put("/v2/blueprints/taken", &with("slug", json!("other")));
    failures.check_eq("rename", rename.error_keys(), vec!["slug".to_owned()]);
    failures.check_eq(
        "kind",
        server
            .put("/v2/blueprints/taken", &json!({ "name": "T", "fields": [], "kind": "singular_resource" }))
            .outcome(),
        "409 CONFLICT".to_owned(),
    );
    // A change of the kind is reported before errors in the body (`API.md` 1.7).
    for (body, expected) in [
        (json!({ "kind": "singular_resource" }), "409 CONFLICT"),
        (json!({ "kind": "readonly_resource", "name": 1, "fields": "x", "more": 2 }), "409 CONFLICT"),
        (with("kind", json!("readonly_resource")), "409 CONFLICT"),
        (json!({ "kind": "resource", "name": 1, "fields": [] }), "422 VALIDATION_FAILED"),
        (json!({ "kind": "x", "name": "T", "fields": [] }), "422 VALIDATION_FAILED"),
        (json!([]), "422 VALIDATION_FAILED"),
    ] {
        let reply = server.put("/v2/blueprints/taken", &body);
        failures.check_eq(&body.to_string(), reply.outcome(), expected.to_owned());
    }
    failures.assert_none();
}

#[test]
fn slugs_are_derived_from_names() {
    let server = Server::start();
    let names = ["Title", "Größe in cm", "  Zwei   Worte ", "Ångström", "a-b.c", "ＡＢＣ"];
    let fields: Vec<Value> = names.iter().map(|name| json!({ "name": name, "type": "text" })).collect();
    let blueprint = server.blueprint("notes", Value::Array(fields));
    let slugs: Vec<&str> =
        blueprint["fields"].as_array().unwrap().iter().map(|field| field["slug"].as_str().unwrap()).collect();
    assert_eq!(slugs, ["title", "gro_e_in_cm", "zwei_worte", "angstrom", "a_b_c", "abc"]);
}

#[test]
fn deleting_a_blueprint_in_use_requires_force() {
    let server = Server::start();
    server.blueprint("notes", json!([text("t")]));
    server.blueprint("links", json!([typed("to", "reference", json!({ "blueprint": "notes" }))]));
    let related = server.delete("/v2/blueprints/notes").expect(409);
    assert!(related.message().contains("links"), "{}", related.text);
    let ids: Vec<String> = (0..12).map(|_| server.create("notes", json!({ "t": "x" }))).collect();
    let full = server.delete("/v2/blueprints/notes?force=false").expect(409).json();
    assert_eq!((&full["errors"]["count"], full["errors"]["ids"].as_array().unwrap().len()), (&json!(12), 10));
    let link = server.create("links", json!({ "to": ids[0] }));
    assert_eq!(server.delete("/v2/blueprints/notes?force=true").expect(204).text, "");
    for (method, path) in [
        ("GET", "/v2/blueprints/notes".to_owned()),
        ("DELETE", "/v2/blueprints/notes".to_owned()),
        ("GET", "/v2/resources/notes".to_owned()),
        ("GET", format!("/v2/resources/notes/{}", ids[0])),
    ] {
        assert_eq!(server.raw(method, &path, &[], b"").status, 404, "{method} {path}");
    }
    // Relations to its resources stay and can be sent back. The field may continue to refer to the deleted blueprint.
    let read = server.find(&format!("links/{link}"));
    assert_eq!(read["attributes"]["to"], ids[0].as_str());
    server.put(&format!("/v2/resources/links/{link}"), &read).expect(200);
    let blueprint = server.get("/v2/blueprints/links").data();
    server.put("/v2/blueprints/links", &blueprint).expect(200);
    // A new blueprint with the same slug starts empty.
    server.blueprint("notes", json!([text("t")]));
    assert_eq!(server.get("/v2/resources/notes").expect(200).json()["meta"]["total"], 0);
    assert_eq!(server.get(&format!("/v2/resources/notes/{}", ids[0])).status, 404);
    // The one resource of a singular blueprint, and relations of a blueprint to itself, do not count.
    let singular = json!({ "name": "S", "slug": "s", "kind": "singular_resource", "fields": [] });
    server.post("/v2/blueprints", &singular).expect(201);
    server.delete("/v2/blueprints/s").expect(204);
    server.blueprint("tree", json!([typed("parent", "reference", json!({ "blueprint": "tree" }))]));
    server.delete("/v2/blueprints/tree").expect(204);
}
