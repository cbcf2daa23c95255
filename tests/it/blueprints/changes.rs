//! The effect of a change of a blueprint on stored values (`API.md` 4.9.3 to 4.9.7).

use serde_json::{Value, json};

use super::{put, text, typed};
use crate::support::{Failures, Server};

#[test]
fn replacing_a_blueprint_adds_removes_and_reorders_fields() {
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
    // The next write builds on the new shape.
    server.patch(&format!("/v2/resources/notes/{id}"), &json!({ "attributes": { "b": "new" } })).expect(200);
    assert_eq!(read(), r#"{"b":"new","n":3,"a":"1"}"#);
    assert_eq!(total("filter[b]=new&filter[n]=3"), 1);
    // The field is removed and added again with another type.
    put(&server, json!([n(), text("a")]), "").expect(200);
    put(&server, json!([typed("b", "number", json!({})), n(), text("a")]), "").expect(200);
    assert_eq!(read(), r#"{"b":null,"n":3,"a":"1"}"#);
    server.patch(&format!("/v2/resources/notes/{id}"), &json!({ "attributes": { "b": 5 } })).expect(200);
    assert_eq!(total("filter[b][gt]=4"), 1);
}

#[test]
fn blueprint_changes_survive_a_restart() {
    let mut server = Server::start();
    server.blueprint("notes", json!([text("a"), text("b")]));
    let id = server.create("notes", json!({ "a": "1", "b": "2" }));
    put(&server, json!([text("b")]), "").expect(200);
    put(&server, json!([typed("b", "slug", json!({})), text("a")]), "").expect(200);
    server.kill_and_restart();
    assert_eq!(server.find(&format!("notes/{id}"))["attributes"].to_string(), r#"{"b":"2","a":null}"#);
    assert_eq!(
        server.ids("notes?filter[a][null]=true&filter[b]=2"),
        [id.as_str()],
        "the filter works with the new type"
    );
    server.patch(&format!("/v2/resources/notes/{id}"), &json!({ "attributes": { "b": "two words" } })).expect(422);
}

#[test]
fn a_dry_run_reports_the_plan_and_changes_nothing() {
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
    assert_eq!(server.get("/v2/blueprints/notes").text, before, "a rejected change leaves no trace");
    let same = server.put("/v2/blueprints/notes?dry_run=1", &server.get("/v2/blueprints/notes").data()).expect(200);
    assert_eq!(same.data(), json!({ "changes": [], "loses": {}, "conflicts": { "count": 0, "ids": [] } }));
    server.put("/v2/blueprints/notes?dry_run=1", &json!({})).expect(422);
    let retype = json!({ "name": "notes", "fields": [typed("a", "number", json!({})), text("b"), typed("e", "text", json!({}))] });
    let plan = server.put("/v2/blueprints/notes?dry_run=1", &retype).expect(200).data();
    let ops = json!([{ "op": "retype", "field": "a" }, { "op": "retype", "field": "e" }]);
    assert_eq!(plan["changes"], ops);
    assert_eq!(plan["conflicts"]["count"], 1, "the text of the first resource is not a number");
}

#[test]
fn a_change_that_would_invalidate_stored_values_is_rejected() {
    let server = Server::start();
    server.blueprint("others", json!([text("t")]));
    server.blueprint("more", json!([text("t")]));
    let other = server.create("others", json!({}));
    let editor = server.member("ada", Some("editor"));
    let none = json!({});
    let mut failures = Failures::default();
    // Each case: the name, the field before, the stored value, the field after, and whether the value conflicts with
    // the change.
    for (name, before, value, after, conflicts) in [
        (
            "enum values",
            ("enum", json!({ "values": ["a", "b"] })),
            json!("a"),
            ("enum", json!({ "values": ["b"] })),
            true,
        ),
        (
            "enum still allows the value",
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
            "currencies still allow the value",
            ("money", none.clone()),
            json!({ "amount": 1, "currency": "EUR" }),
            ("money", json!({ "currencies": ["EUR"] })),
            false,
        ),
        ("bounds", ("duration", none.clone()), json!(5), ("duration", json!({ "min": 6 })), true),
        (
            "bounds still allow the value",
            ("duration", none.clone()),
            json!(5),
            ("duration", json!({ "min": 5, "max": 5 })),
            false,
        ),
        ("unit converts nothing", ("duration", none.clone()), json!(5), ("duration", json!({ "unit": "days" })), false),
        ("role", ("user", none.clone()), json!(editor), ("user", json!({ "role": "admin" })), true),
        (
            "role still allows the user",
            ("user", none.clone()),
            json!(editor),
            ("user", json!({ "role": "editor" })),
            false,
        ),
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
        ("text with a space to slug", ("text", none.clone()), json!("no slug"), ("slug", none.clone()), true),
        ("text to rich-text", ("text", none.clone()), json!("plain"), ("rich-text", none.clone()), false),
        (
            "text that sanitizing changes to rich-text",
            ("text", none.clone()),
            json!("a < b"),
            ("rich-text", none.clone()),
            true,
        ),
        ("rich-text to text", ("rich-text", none.clone()), json!("<p>x</p>"), ("text", none.clone()), false),
        ("number to duration", ("number", none.clone()), json!(7), ("duration", json!({ "max": 10 })), false),
        (
            "number to duration, out of bounds",
            ("number", none.clone()),
            json!(11),
            ("duration", json!({ "max": 10 })),
            true,
        ),
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
        failures.check_eq(name, plan["conflicts"]["count"].as_u64(), Some(u64::from(conflicts)));
        let reply = put(&server, field(&after), "");
        failures.check_eq(name, reply.outcome(), if conflicts { "409 CONFLICT" } else { "200" }.to_owned());
        failures.check_eq(name, server.find(&format!("notes/{id}"))["attributes"]["f"].clone(), value.clone());
        if conflicts {
            failures.check_eq(name, reply.json()["errors"]["ids"].clone(), json!([id]));
        } else if value.is_string() || value.is_number() {
            let value = value.to_string().trim_matches('"').replace("<", "%3C").replace(">", "%3E");
            failures.check_eq(name, server.ids(&format!("notes?filter[f]={value}")), vec![id.clone()]);
            let read = server.find(&format!("notes/{id}"));
            failures.check_eq(
                name,
                server.put(&format!("/v2/resources/notes/{id}"), &read).outcome(),
                "200".to_owned(),
            );
        }
        server.delete("/v2/blueprints/notes?force=true").expect(204);
    }
    failures.assert_none();
}

#[test]
fn a_field_can_become_unique_and_required_fields_can_be_added() {
    let server = Server::start();
    server.blueprint("notes", json!([text("t")]));
    let ids: Vec<String> = ["a", "b", "a", "", ""].iter().map(|t| server.create("notes", json!({ "t": t }))).collect();
    let unique = json!([{ "name": "t", "slug": "t", "type": "text", "unique": true }]);
    let conflict = put(&server, unique.clone(), "").expect(409);
    let named = conflict.json()["errors"]["ids"].clone();
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
    assert_eq!(server.patch(&path, &json!({ "attributes": { "t": "z" } })).expect(422).error_keys(), ["r"]);
    server.patch(&path, &json!({ "attributes": { "t": "z", "r": "x" } })).expect(200);
}
