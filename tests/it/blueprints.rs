//! Blueprints: their bodies, and what a change of one means for what is stored (`API.md` 6.1, 6.2).

use serde_json::{Value, json};

use crate::support::{Faults, Server};

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
fn rule_6_create_read_list() {
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
    assert_eq!(blueprint.to_string(), expected.to_string(), "keys in their documented order");

    server.blueprint("zebra", json!([]));
    server.blueprint("apple", json!([]));
    let listed = server.get("/v2/blueprints").expect(200).data();
    let slugs: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["slug"].as_str().unwrap()).collect();
    assert_eq!(slugs, ["apple", "blog_posts", "zebra"]);
    assert_eq!(listed[2], server.get("/v2/blueprints/zebra").expect(200).data());
    server.get("/v2/blueprints/nothing").expect(404);

    // Everything that there is goes in, comes out, and goes in again unchanged.
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
    assert_eq!(again, made, "nothing changes, and so does not the date");
}

#[test]
fn rule_6_faults_of_bodies() {
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
    let mut faults = Faults::default();
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
        faults.same(&body.to_string(), reply.outcome(), "422 VALIDATION_FAILED".to_owned());
        faults.same(&body.to_string(), reply.fault_keys(), keys.into_iter().map(str::to_owned).collect());
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
        faults.same(&body.to_string(), reply.outcome(), "201".to_owned());
        let slug = body["slug"].as_str().unwrap();
        server.delete(&format!("/v2/blueprints/{slug}"));
    }
    // A body for a blueprint that is there cannot rename it.
    let rename = server.put("/v2/blueprints/taken", &with("slug", json!("other")));
    faults.same("rename", rename.fault_keys(), vec!["slug".to_owned()]);
    faults.same(
        "kind",
        server
            .put("/v2/blueprints/taken", &json!({ "name": "T", "fields": [], "kind": "singular_resource" }))
            .outcome(),
        "409 CONFLICT".to_owned(),
    );
    faults.none();
}

#[test]
fn rule_6_slugs_are_made_from_names() {
    let server = Server::start();
    let names = ["Title", "Größe in cm", "  Zwei   Worte ", "Ångström", "a-b.c", "ＡＢＣ"];
    let fields: Vec<Value> = names.iter().map(|name| json!({ "name": name, "type": "text" })).collect();
    let blueprint = server.blueprint("notes", Value::Array(fields));
    let slugs: Vec<&str> =
        blueprint["fields"].as_array().unwrap().iter().map(|field| field["slug"].as_str().unwrap()).collect();
    assert_eq!(slugs, ["title", "gro_e_in_cm", "zwei_worte", "angstrom", "a_b_c", "abc"]);
}

#[test]
fn rule_6_replace_adds_removes_and_reorders() {
    let server = Server::start();
    server.blueprint("notes", json!([text("a"), text("b"), typed("n", "number", json!({}))]));
    let id = server.create("notes", json!({ "a": "1", "b": "2", "n": 3 }));
    let read = || server.find(&format!("notes/{id}"))["attributes"].to_string();
    let updated = server.find(&format!("notes/{id}"))["updated_at"].clone();
    let total =
        |query: &str| server.get(&format!("/v2/resources/notes?{query}")).expect(200).json()["meta"]["total"].clone();

    let n = || typed("n", "number", json!({}));
    put(&server, json!([n(), text("a"), text("b")]), "").expect(200);
    assert_eq!(read(), r#"{"n":3,"a":"1","b":"2"}"#);
    put(&server, json!([text("c"), n(), text("a")]), "").expect(200);
    assert_eq!(read(), r#"{"c":null,"n":3,"a":"1"}"#);
    assert_eq!(server.get("/v2/resources/notes?filter[b]=2").code(), "INVALID_FILTER");
    assert_eq!(total("filter[c][null]=true"), 1);
    assert_eq!(total("filter[a]=1"), 1);
    put(&server, json!([text("b"), n(), text("a")]), "").expect(200);
    assert_eq!(read(), r#"{"b":null,"n":3,"a":"1"}"#, "a field that is removed and added again starts empty");
    assert_eq!(total("filter[b]=2"), 0);
    assert_eq!(total("search=2"), 0);
    assert_eq!(total("filter[n]=3&filter[a]=1"), 1);
    assert_eq!(server.find(&format!("notes/{id}"))["updated_at"], updated, "the resource was not written");
    let list = server.get("/v2/resources/notes").data();
    assert_eq!(list[0]["attributes"].to_string(), read());
    // A write afterwards goes on from there.
    server.patch(&format!("/v2/resources/notes/{id}"), &json!({ "attributes": { "b": "new" } })).expect(200);
    assert_eq!(read(), r#"{"b":"new","n":3,"a":"1"}"#);
    assert_eq!(total("filter[b]=new&filter[n]=3"), 1);
    // Removed and added in another type.
    put(&server, json!([n(), text("a")]), "").expect(200);
    put(&server, json!([typed("b", "number", json!({})), n(), text("a")]), "").expect(200);
    assert_eq!(read(), r#"{"b":null,"n":3,"a":"1"}"#);
    server.patch(&format!("/v2/resources/notes/{id}"), &json!({ "attributes": { "b": 5 } })).expect(200);
    assert_eq!(total("filter[b][gt]=4"), 1);
}

#[test]
fn rule_6_changes_survive_a_restart() {
    let mut server = Server::start();
    server.blueprint("notes", json!([text("a"), text("b")]));
    let id = server.create("notes", json!({ "a": "1", "b": "2" }));
    put(&server, json!([text("b")]), "").expect(200);
    put(&server, json!([text("b"), text("a")]), "").expect(200);
    server.kill_and_restart();
    assert_eq!(server.find(&format!("notes/{id}"))["attributes"].to_string(), r#"{"b":"2","a":null}"#);
    assert_eq!(server.ids("notes?filter[a][null]=true&filter[b]=2"), [id.as_str()]);
}

#[test]
fn rule_6_dry_run() {
    let server = Server::start();
    server.blueprint("notes", json!([text("a"), text("b"), typed("e", "enum", json!({ "values": ["x", "y"] }))]));
    let first = server.create("notes", json!({ "a": "1", "b": "2", "e": "x" }));
    server.create("notes", json!({ "b": "", "e": "y" }));
    let before = server.get("/v2/blueprints/notes").text;
    let fields = json!([typed("e", "enum", json!({ "values": ["y"] })), text("a"), typed("c", "number", json!({}))]);
    let body = json!({ "name": "Other", "icon": "star", "fields": fields });
    let plan = server.put("/v2/blueprints/notes?dry_run=true", &body).expect(200);
    let expected = json!({ "data": {
        "changes": [
            { "op": "remove", "field": "b" },
            { "op": "change", "field": "e" },
            { "op": "add", "field": "c" },
            { "op": "reorder", "field": "fields" },
            { "op": "set", "field": "name" },
            { "op": "set", "field": "icon" },
        ],
        "loses": { "b": 2 },
        "conflicts": { "count": 1, "ids": [first] },
    } });
    assert_eq!(plan.json(), expected);
    assert_eq!(server.get("/v2/blueprints/notes").text, before, "nothing was changed");
    let conflict = server.put("/v2/blueprints/notes?dry_run=0", &body).expect(409);
    assert_eq!(conflict.code(), "CONFLICT");
    assert_eq!((&conflict.json()["errors"]["count"], &conflict.json()["errors"]["ids"]), (&json!(1), &json!([first])));
    assert_eq!(server.get("/v2/blueprints/notes").text, before, "a refused change leaves no trace");
    let same = server.put("/v2/blueprints/notes?dry_run=1", &server.get("/v2/blueprints/notes").data()).expect(200);
    assert_eq!(same.data(), json!({ "changes": [], "loses": {}, "conflicts": { "count": 0, "ids": [] } }));
    server.put("/v2/blueprints/notes?dry_run=1", &json!({})).expect(422);
    let retype = json!({ "name": "notes", "fields": [typed("a", "number", json!({})), text("b"), typed("e", "text", json!({}))] });
    let plan = server.put("/v2/blueprints/notes?dry_run=1", &retype).expect(200).data();
    let ops = json!([{ "op": "retype", "field": "a" }, { "op": "retype", "field": "e" }]);
    assert_eq!(plan["changes"], ops);
    assert_eq!(plan["conflicts"]["count"], 1, "the text of the first is no number");
}

#[test]
fn rule_6_what_is_stored_stands_against_narrowing() {
    let server = Server::start();
    server.blueprint("others", json!([text("t")]));
    server.blueprint("more", json!([text("t")]));
    let other = server.create("others", json!({}));
    let editor = server.member("ada", Some("editor"));
    let none = json!({});
    let mut faults = Faults::default();
    // Before, a value, after, whether it stands against it.
    for (name, before, value, after, conflicts) in [
        (
            "enum values",
            ("enum", json!({ "values": ["a", "b"] })),
            json!("a"),
            ("enum", json!({ "values": ["b"] })),
            true,
        ),
        (
            "enum keeps",
            ("enum", json!({ "values": ["a", "b"] })),
            json!("a"),
            ("enum", json!({ "values": ["a"] })),
            false,
        ),
        ("enum widens", ("enum", json!({ "values": ["a"] })), json!("a"), ("enum", json!({ "values": null })), false),
        (
            "multi-enum values",
            ("multi-enum", json!({ "values": ["a", "b"] })),
            json!(["a", "b"]),
            ("multi-enum", json!({ "values": ["b"] })),
            true,
        ),
        (
            "currencies",
            ("money", none.clone()),
            json!({ "amount": 1, "currency": "USD" }),
            ("money", json!({ "currencies": ["EUR"] })),
            true,
        ),
        (
            "currencies keep",
            ("money", none.clone()),
            json!({ "amount": 1, "currency": "EUR" }),
            ("money", json!({ "currencies": ["EUR"] })),
            false,
        ),
        ("bounds", ("duration", none.clone()), json!(5), ("duration", json!({ "min": 6 })), true),
        ("bounds keep", ("duration", none.clone()), json!(5), ("duration", json!({ "min": 5, "max": 5 })), false),
        ("unit converts nothing", ("duration", none.clone()), json!(5), ("duration", json!({ "unit": "days" })), false),
        ("role", ("user", none.clone()), json!(editor), ("user", json!({ "role": "admin" })), true),
        ("role keeps", ("user", none.clone()), json!(editor), ("user", json!({ "role": "editor" })), false),
        (
            "related blueprint",
            ("reference", json!({ "blueprint": "others" })),
            json!(other),
            ("reference", json!({ "blueprint": "more" })),
            true,
        ),
        (
            "related blueprints",
            ("references", json!({ "blueprint": "others" })),
            json!([other]),
            ("references", json!({ "blueprint": "more" })),
            true,
        ),
        (
            "display",
            ("reference", json!({ "blueprint": "others" })),
            json!(other),
            ("reference", json!({ "blueprint": "others", "display": ["t"] })),
            false,
        ),
        ("text to number", ("text", none.clone()), json!("5"), ("number", none.clone()), true),
        ("text to slug", ("text", none.clone()), json!("a-slug"), ("slug", none.clone()), false),
        ("text to slug with a blank", ("text", none.clone()), json!("no slug"), ("slug", none.clone()), true),
        ("text to rich-text", ("text", none.clone()), json!("plain"), ("rich-text", none.clone()), false),
        (
            "text to rich-text that changes it",
            ("text", none.clone()),
            json!("a < b"),
            ("rich-text", none.clone()),
            true,
        ),
        ("rich-text to text", ("rich-text", none.clone()), json!("<p>x</p>"), ("text", none.clone()), false),
        ("number to duration", ("number", none.clone()), json!(7), ("duration", json!({ "max": 10 })), false),
        ("number to duration beyond", ("number", none.clone()), json!(11), ("duration", json!({ "max": 10 })), true),
        ("number to text", ("number", none.clone()), json!(7), ("text", none.clone()), true),
        ("date to datetime", ("date", none.clone()), json!("2026-01-01"), ("datetime", none.clone()), false),
        ("enum to text", ("enum", none.clone()), json!("a"), ("text", none.clone()), false),
        ("null to anything", ("text", none.clone()), Value::Null, ("number", none.clone()), false),
        ("empty text to slug", ("text", none.clone()), json!(""), ("slug", none.clone()), true),
    ] {
        let field = |(kind, settings): &(&str, Value)| json!([typed("f", kind, settings.clone()), text("g")]);
        server.blueprint("notes", field(&before));
        let id = server.create("notes", json!({ "f": value, "g": "x" }));
        let plan = put(&server, field(&after), "?dry_run=true").expect(200).data();
        faults.same(name, plan["conflicts"]["count"].as_u64(), Some(u64::from(conflicts)));
        let reply = put(&server, field(&after), "");
        faults.same(name, reply.outcome(), if conflicts { "409 CONFLICT" } else { "200" }.to_owned());
        faults.same(name, server.find(&format!("notes/{id}"))["attributes"]["f"].clone(), value.clone());
        if conflicts {
            faults.same(name, reply.json()["errors"]["ids"].clone(), json!([id]));
        } else if value.is_string() || value.is_number() {
            let value = value.to_string().trim_matches('"').replace("<", "%3C").replace(">", "%3E");
            faults.same(name, server.ids(&format!("notes?filter[f]={value}")), vec![id.clone()]);
            let read = server.find(&format!("notes/{id}"));
            faults.same(name, server.put(&format!("/v2/resources/notes/{id}"), &read).outcome(), "200".to_owned());
        }
        server.delete("/v2/blueprints/notes?force=true").expect(204);
    }
    faults.none();
}

#[test]
fn rule_6_unique_and_required_come_in() {
    let server = Server::start();
    server.blueprint("notes", json!([text("t")]));
    let ids: Vec<String> = ["a", "b", "a", "", ""].iter().map(|t| server.create("notes", json!({ "t": t }))).collect();
    let unique = json!([{ "name": "t", "slug": "t", "type": "text", "unique": true }]);
    let refused = put(&server, unique.clone(), "").expect(409);
    let named = refused.json()["errors"]["ids"].clone();
    assert!(
        named.as_array().unwrap().contains(&json!(ids[2])) || named.as_array().unwrap().contains(&json!(ids[0])),
        "{named}"
    );
    server.patch(&format!("/v2/resources/notes/{}", ids[2]), &json!({ "attributes": { "t": "c" } })).expect(200);
    put(&server, unique, "").expect(200);
    server.post("/v2/resources/notes", &json!({ "attributes": { "t": "c" } })).expect(422);
    put(&server, json!([text("t")]), "").expect(200);
    server.post("/v2/resources/notes", &json!({ "attributes": { "t": "c" } })).expect(201);

    let required = json!([text("t"), { "name": "r", "slug": "r", "type": "text", "required": true }]);
    put(&server, required, "").expect(200);
    let path = format!("/v2/resources/notes/{}", ids[0]);
    server.patch(&path, &json!({ "published_at": null })).expect(200);
    assert_eq!(server.patch(&path, &json!({ "attributes": { "t": "z" } })).expect(422).fault_keys(), ["r"]);
    server.patch(&path, &json!({ "attributes": { "t": "z", "r": "x" } })).expect(200);
}

#[test]
fn rule_6_delete() {
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
    // What related to it stays and can be sent back; the field may name the blueprint that is gone.
    let read = server.find(&format!("links/{link}"));
    assert_eq!(read["attributes"]["to"], ids[0].as_str());
    server.put(&format!("/v2/resources/links/{link}"), &read).expect(200);
    let blueprint = server.get("/v2/blueprints/links").data();
    server.put("/v2/blueprints/links", &blueprint).expect(200);
    // One of the same name is another one.
    server.blueprint("notes", json!([text("t")]));
    assert_eq!(server.get("/v2/resources/notes").expect(200).json()["meta"]["total"], 0);
    assert_eq!(server.get(&format!("/v2/resources/notes/{}", ids[0])).status, 404);
    // A singular's own resource, and relations to itself, do not count.
    let singular = json!({ "name": "S", "slug": "s", "kind": "singular_resource", "fields": [] });
    server.post("/v2/blueprints", &singular).expect(201);
    server.delete("/v2/blueprints/s").expect(204);
    server.blueprint("tree", json!([typed("parent", "reference", json!({ "blueprint": "tree" }))]));
    server.delete("/v2/blueprints/tree").expect(204);
}
