//! What was sent is cut to a hundred characters wherever a message shows it (`API.md` 1.5).

use serde_json::{Value, json};

use super::world;
use crate::support::{ADMIN, Faults, Reply, Server};

const SENT: usize = 3000;

/// The messages of an answer, and those of each of its fields.
fn messages(reply: &Reply) -> Vec<String> {
    let errors = &reply.json()["errors"];
    let fields = errors["fields"].as_object().into_iter().flatten();
    let told = fields.flat_map(|(_, faults)| faults.as_array().into_iter().flatten());
    told.chain([&errors["message"]]).filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

fn check(faults: &mut Faults, case: &str, reply: &Reply) {
    faults.check(reply.status >= 400, || format!("{case} is taken: {}", reply.text));
    let texts = messages(reply);
    faults.check(!texts.is_empty(), || format!("{case}: {}", reply.text));
    for text in texts {
        let longest = text.split(|c| c != 'q').map(str::len).max().unwrap_or_default();
        faults.check(longest <= 100, || format!("{case}: {longest} characters in a row of {text}"));
        faults.check(longest < 100 || text.contains('…'), || format!("{case}: nothing says that {text} is cut"));
        faults.check(text.chars().count() < 2000, || format!("{case}: {} characters", text.chars().count()));
    }
}

#[test]
fn rule_1_5_what_was_sent_is_cut_to_a_hundred_characters() {
    let server = world();
    let note = server.create("notes", json!({ "must": "x" }));
    let (long, notes) = ("q".repeat(SENT), "/v2/resources/notes");
    let mut faults = Faults::default();
    for path in [
        format!("/{long}"),
        format!("/v2/resources/{long}"),
        format!("{notes}/{long}"),
        format!("/v2/blueprints/{long}"),
        format!("/v2/members/{long}"),
        format!("{notes}?page={long}"),
        format!("{notes}?sort={long}"),
        format!("{notes}?variant={long}"),
        format!("{notes}?fallback={long}"),
        format!("{notes}?fields={long}"),
        format!("{notes}?exclude=attributes.{long}"),
        format!("{notes}?filter[{long}"),
        format!("{notes}?filter[{long}]=1"),
        format!("{notes}?filter[text][{long}]=1"),
        format!("{notes}?filter[text][null]={long}"),
        format!("{notes}?filter[number][between]={long}"),
        format!("{notes}?filter[datetime]={long}"),
        format!("{notes}?filter[created_at]={long}"),
        format!("{notes}/export?format={long}"),
        format!("/v2/analytics/summary?start={long}"),
        format!("/v2/analytics/summary?site={long}/"),
        format!("/v2/analytics/pages?limit={long}"),
        format!("/v2/analytics/timeseries/visitors?interval={long}"),
    ] {
        check(&mut faults, &path.replace(&long, "LONG"), &server.get(&path));
    }
    check(&mut faults, "token", &server.delete(&format!("/v2/tokens/{long}")));
    check(&mut faults, "method", &server.raw("DELETE", &format!("/v2/resources/{long}"), &[], b""));
    check(&mut faults, "media type", &server.raw("POST", notes, &[("content-type", &long)], b"{}"));
    let twice = format!("{{\"{long}\":1,\"{long}\":2}}");
    check(
        &mut faults,
        "key given twice",
        &server.raw("POST", notes, &[("content-type", "application/json")], twice.as_bytes()),
    );
    for (method, path, body) in bodies(&long, &note) {
        check(
            &mut faults,
            &format!("{method} {path} {body}").replace(&long, "LONG"),
            &server.as_token(ADMIN).send(method, &path, Some(&body)),
        );
    }
    long_values(&server, &mut faults, &long);
    faults.none();
}

fn bodies(long: &str, note: &str) -> Vec<(&'static str, String, Value)> {
    let notes = "/v2/resources/notes".to_owned();
    let one = format!("{notes}/{note}");
    let field = |field: Value| json!({ "name": "X", "fields": [field] });
    let settings = |kind: &str, settings: Value| field(json!({ "name": "F", "type": kind, "settings": settings }));
    let blueprints = [
        json!({ "name": "X", "slug": long, "fields": [] }),
        json!({ "name": "X", "kind": long, "fields": [] }),
        json!({ "name": "X", "record_title": long, "fields": [] }),
        json!({ "name": "X", "seo": { "title": long }, "fields": [] }),
        json!({ "name": "X", "seo": { long: "x" }, "fields": [] }),
        json!({ "name": "X", "fields": [], "variants": [{ "name": "A", "slug": long, "default": true }] }),
        json!({ "name": "X", "fields": [], long: 1 }),
        json!({ "name": "X", "fields": [{ "name": "A", "type": long }] }),
        json!({ "name": "X", "fields": [{ "name": "A", "slug": long, "type": "text" }] }),
        json!({ "name": "X", "fields": [{ "name": "A", "type": "text", long: 1 }] }),
        settings("text", json!({ long: 1 })),
        settings("multi-enum", json!({ "values": ["a", long] })),
        settings("money", json!({ "currencies": [long] })),
        settings("money", json!({ "default_currency": long })),
        settings("duration", json!({ "unit": long })),
        settings("reference", json!({ "blueprint": long })),
    ];
    let mut bodies: Vec<(&str, String, Value)> =
        blueprints.into_iter().map(|body| ("POST", "/v2/blueprints".to_owned(), body)).collect();
    bodies.extend([
        ("POST", notes.clone(), json!({ "attributes": { "must": "x" }, long: 1 })),
        ("POST", notes.clone(), json!({ "attributes": { "must": "x", long: 1 } })),
        ("POST", notes.clone(), json!({ "attributes": { "must": "x" }, "published_at": long })),
        ("POST", notes.clone(), json!({ "attributes": { "must": "x" }, "published_at": [long] })),
        ("PATCH", one.clone(), json!({ "attributes": { long: 1, (long.to_owned() + "x"): 2 } })),
        ("POST", format!("{notes}/bulk"), json!({ "resources": [], long: 1 })),
        ("POST", format!("{notes}/bulk-publish"), json!({ "ids": [note], "published_at": long })),
        ("POST", "/v2/tokens".to_owned(), json!({ "name": long, "abilities": ["view"] })),
        ("POST", "/v2/tokens".to_owned(), json!({ "name": "x", "abilities": [long] })),
        ("POST", "/v2/tokens".to_owned(), json!({ "name": "x", "abilities": ["view"], "blueprints": [long] })),
        ("POST", "/v2/tokens".to_owned(), json!({ "name": "x", "abilities": ["view"], "expires_at": long })),
        ("POST", "/v2/tokens".to_owned(), json!({ "name": "x", "abilities": ["view"], long: 1 })),
        ("POST", "/v2/members".to_owned(), json!({ "name": "x", "email": long })),
        ("POST", "/v2/members".to_owned(), json!({ "name": "x", "email": "a@b.c", "role": format!("{long} x") })),
        ("POST", "/v2/analytics/events".to_owned(), json!({ "name": long, "url": "https://x.y/" })),
        ("POST", "/v2/analytics/events".to_owned(), json!({ "name": "pageview", "url": long })),
    ]);
    bodies
}

/// A long value of every type that does not take it.
fn long_values(server: &Server, faults: &mut Faults, long: &str) {
    for (slug, value) in [
        ("slug", json!(format!("{} x", &long[..200]))),
        ("email", json!(&long[..200])),
        ("link", json!(long)),
        ("image", json!(long)),
        ("boolean", json!(long)),
        ("color", json!(long)),
        ("number", json!(long)),
        ("date", json!(long)),
        ("datetime", json!(long)),
        ("address", json!({ "city": [long] })),
        ("address", json!({ long: "x" })),
        ("html-page", json!({ long: "x" })),
        ("html-page", json!({ "blocks": [long] })),
        ("enum", json!(long)),
        ("multi", json!([long])),
        ("multi", json!(long)),
        ("money", json!({ "amount": long, "currency": long })),
        ("money", json!({ "amount": 1, "currency": "EUR", long: 1 })),
        ("duration", json!(long)),
        ("reference", json!(long)),
        ("references", json!([long])),
        ("user", json!(long)),
    ] {
        let body = json!({ "attributes": { "must": "x", slug: value } });
        let reply = server.post("/v2/resources/notes", &body);
        check(faults, &format!("a value of `{slug}`"), &reply);
    }
    // What an import brings may name keys of any length up to 1,024.
    let line = json!({ "attributes": { "reference": &long[..1000] } }).to_string();
    let headers = [("content-type", "application/x-ndjson")];
    let mut reply = server.raw("POST", "/v2/resources/notes/import", &headers, line.as_bytes()).expect(200);
    // Its line has the error object of an answer.
    reply.status = 422;
    check(faults, "an import", &reply);
}
