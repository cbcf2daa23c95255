//! The limit of quotes in messages: at most a hundred characters of a sent value (`API.md` 1.5).

use serde_json::{Value, json};

use super::world;
use crate::support::{Failures, Reply, Server};

const SENT: usize = 3000;

/// Returns the messages of an error: those of its fields, and its own.
fn messages(reply: &Reply) -> Vec<String> {
    let errors = &reply.json()["errors"];
    let fields = errors["fields"].as_object().into_iter().flatten();
    let of_fields = fields.flat_map(|(_, list)| list.as_array().into_iter().flatten());
    of_fields.chain([&errors["message"]]).filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

fn check(failures: &mut Failures, case: &str, reply: &Reply) {
    failures.check(reply.status >= 400, || format!("{case} is accepted: {}", reply.text));
    let texts = messages(reply);
    failures.check(!texts.is_empty(), || format!("{case}: {}", reply.text));
    for text in texts {
        let longest = text.split(|c| c != 'q').map(str::len).max().unwrap_or_default();
        failures.check(longest <= 100, || format!("{case}: {longest} characters are quoted in {text}"));
        failures
            .check(longest < 100 || text.contains('…'), || format!("{case}: nothing shows that {text} is truncated"));
        failures.check(text.chars().count() < 2000, || format!("{case}: {} characters", text.chars().count()));
    }
}

#[test]
fn messages_quote_at_most_a_hundred_characters_of_the_request() {
    let server = world();
    let note = server.create("notes", json!({ "must": "x" }));
    let (long, notes) = ("q".repeat(SENT), "/v2/resources/notes");
    let mut failures = Failures::default();
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
        check(&mut failures, &path.replace(&long, "LONG"), &server.get(&path));
    }
    check(&mut failures, "token", &server.delete(&format!("/v2/tokens/{long}")));
    check(&mut failures, "method", &server.raw("DELETE", &format!("/v2/resources/{long}"), &[], b""));
    check(&mut failures, "media type", &server.raw("POST", notes, &[("content-type", &long)], b"{}"));
    let twice = format!("{{\"{long}\":1,\"{long}\":2}}");
    check(
        &mut failures,
        "key given twice",
        &server.raw("POST", notes, &[("content-type", "application/json")], twice.as_bytes()),
    );
    for (method, path, body) in bodies(&long, &note) {
        check(
            &mut failures,
            &format!("{method} {path} {body}").replace(&long, "LONG"),
            &server.send(method, &path, Some(&body)),
        );
    }
    long_values(&server, &mut failures, &long);
    failures.assert_none();
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

/// Sends a long value to a field of every type that rejects it.
fn long_values(server: &Server, failures: &mut Failures, long: &str) {
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
        check(failures, &format!("a value of `{slug}`"), &reply);
    }
    // Relations in an import may be keys, which have up to 1,024 characters.
    let line = json!({ "attributes": { "reference": &long[..1000] } }).to_string();
    let headers = [("content-type", "application/x-ndjson")];
    let mut reply = server.raw("POST", "/v2/resources/notes/import", &headers, line.as_bytes()).expect(200);
    // The answer line has the error object of a single request.
    reply.status = 422;
    check(failures, "an import", &reply);
}
