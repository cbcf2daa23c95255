//! No request causes a server error: random paths, queries, headers and bodies get a status below 500, and the error
//! object if they are rejected.

mod bounded;
mod rendered;

use std::io::{Read, Write};

use bindery_query::OPERATORS;
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use crate::support::{Reply, Server, TYPES};

const CASES: u32 = 400;

/// Starts a server with a blueprint that has variants and a field of every type. Also returns the id of a resource.
fn everything() -> (Server, String) {
    let server = Server::start();
    let fields: Vec<Value> = TYPES.iter().map(|kind| field(kind)).collect();
    let variants = json!([{ "name": "English", "slug": "en", "default": true }, { "name": "Deutsch", "slug": "de" }]);
    let body = json!({ "name": "Things", "slug": "things", "fields": fields, "variants": variants });
    server.post("/v2/blueprints", &body).expect(201);
    let id = server.create("things", json!({ "text": "a", "number": 1 }));
    (server, id)
}

fn field(kind: &str) -> Value {
    let settings = if kind.starts_with("reference") { json!({ "blueprint": "things" }) } else { json!({}) };
    json!({ "name": kind, "slug": kind, "type": kind, "settings": settings })
}

fn run<S: Strategy>(strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(&strategy, test).unwrap_or_else(|error| panic!("{error}"));
}

fn check(reply: &Reply) -> Result<(), TestCaseError> {
    prop_assert!(reply.status < 500, "{} {}", reply.status, reply.text);
    prop_assert!(reply.header("x-request-id").is_some());
    if reply.status >= 400 {
        let body: Value = serde_json::from_str(&reply.text).unwrap_or_default();
        prop_assert!(body["errors"]["code"].is_string(), "{}", reply.text);
        prop_assert!(body["errors"]["message"].as_str().is_some_and(|text| text.len() > 10), "{}", reply.text);
    }
    Ok(())
}

/// Generates any JSON. Many of its words have a meaning for the server.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        proptest::sample::select(vec![
            "id",
            "attributes",
            "published_at",
            "variants",
            "key",
            "name",
            "slug",
            "fields",
            "type",
            "settings",
            "values",
            "amount",
            "currency",
            "EUR",
            "html",
            "css",
            "blocks",
            "street",
            "2026-01-01",
            "2026-01-01T00:00:00Z",
            "de",
            "things",
            "email",
            "abilities",
            "view",
            "0192b3c4-0000-7000-8000-000000000000",
            "#fff",
            "<p>x</p>",
            "",
        ])
        .prop_map(str::to_owned),
        proptest::sample::select(TYPES.to_vec()).prop_map(str::to_owned),
        "\\PC{0,12}",
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-3i64..100).prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Generates a body of the right shape with arbitrary values.
fn any_resource() -> impl Strategy<Value = Value> {
    let attribute = (proptest::sample::select(TYPES.to_vec()), any_json());
    (prop::collection::vec(attribute, 0..6), prop::option::of(any_json())).prop_map(|(attributes, published)| {
        let attributes: Map<String, Value> =
            attributes.into_iter().map(|(slug, value)| (slug.to_owned(), value)).collect();
        let mut body = json!({ "attributes": attributes });
        if let Some(published) = published {
            body["published_at"] = published;
        }
        body
    })
}

#[test]
fn any_body_gets_a_status_below_500() {
    let (server, id) = everything();
    let endpoints: Vec<(&str, String)> = vec![
        ("POST", "/v2/resources/things".to_owned()),
        ("PUT", format!("/v2/resources/things/{id}")),
        ("PATCH", format!("/v2/resources/things/{id}?variant=de")),
        ("POST", "/v2/resources/things/bulk".to_owned()),
        ("PATCH", "/v2/resources/things/bulk".to_owned()),
        ("POST", "/v2/resources/things/bulk-publish".to_owned()),
        ("POST", "/v2/resources/things/import".to_owned()),
        ("POST", "/v2/blueprints".to_owned()),
        ("PUT", "/v2/blueprints/things?dry_run=true".to_owned()),
        ("POST", "/v2/tokens".to_owned()),
        ("POST", "/v2/members".to_owned()),
        ("PATCH", "/v2/members/1".to_owned()),
    ];
    let body = prop_oneof![any_json(), any_resource(), any_resource()];
    run((proptest::sample::select(endpoints), body), |((method, path), body)| {
        check(&server.send(method, &path, Some(&body)))
    });
    run((any_resource(),), |(body,)| {
        let reply = server.post("/v2/resources/things", &body);
        check(&reply)?;
        if reply.status == 201 {
            // An accepted resource is returned as it was stored, and can be sent back.
            let id = reply.data()["id"].as_str().unwrap().to_owned();
            let path = format!("/v2/resources/things/{id}");
            let read = server.get(&path).data();
            prop_assert_eq!(&read, &reply.data());
            let again = server.put(&path, &read);
            prop_assert_eq!(again.status, 200, "{}", again.text);
            prop_assert_eq!(again.data(), read);
        }
        Ok(())
    });
    server.get("/readyz").expect(200);
}

#[test]
fn any_bytes_as_a_body_get_a_status_below_500() {
    let (server, id) = everything();
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60),
        "[\\[\\]{}\",:0-9eE.\\\\u+ntfalsr -]{0,60}".prop_map(String::into_bytes),
        any_resource().prop_flat_map(|body| {
            let bytes = body.to_string().into_bytes();
            let length = bytes.len();
            (Just(bytes), 0..length, any::<u8>()).prop_map(|(mut bytes, at, byte)| {
                bytes[at] = byte;
                bytes
            })
        }),
    ];
    let paths = vec![
        "/v2/resources/things".to_owned(),
        "/v2/resources/things/import".to_owned(),
        "/v2/blueprints".to_owned(),
        format!("/v2/resources/things/{id}/x"),
    ];
    run((proptest::sample::select(paths), bytes), |(path, bytes)| {
        check(&server.raw("POST", &path, &[("content-type", "application/json")], &bytes))
    });
}

#[test]
fn any_path_and_query_get_a_status_below_500() {
    let (server, id) = everything();
    let segment = prop_oneof![
        proptest::sample::select(vec![
            "resources",
            "things",
            "blueprints",
            "tokens",
            "members",
            "export",
            "import",
            "bulk",
            "1",
            "..",
            ".",
            "",
        ])
        .prop_map(str::to_owned),
        Just(id.clone()),
        any::<Vec<u8>>().prop_map(|bytes| percent_encode(&bytes[..bytes.len().min(8)], NON_ALPHANUMERIC).to_string()),
    ];
    let path = prop::collection::vec(segment, 0..4).prop_map(|segments| format!("/v2/{}", segments.join("/")));
    let known = vec![
        "/v2/resources/things".to_owned(),
        "/v2/resources/things/export".to_owned(),
        format!("/v2/resources/things/{id}"),
    ];
    let path = prop_oneof![path, proptest::sample::select(known)];
    let name = prop_oneof![
        proptest::sample::select(vec![
            "page",
            "per_page",
            "sort",
            "search",
            "fields",
            "exclude",
            "variant",
            "fallback",
            "format",
            "filter[published]",
            "filter[created_at][between]",
            "filter[id]",
            "all_variants",
            "dry_run",
            "filter",
            "filter[",
        ])
        .prop_map(str::to_owned),
        (
            proptest::sample::select(TYPES.to_vec()),
            proptest::sample::select(OPERATORS.iter().map(|operator| operator.name).chain(["x"]).collect::<Vec<_>>())
        )
            .prop_map(|(field, operator)| format!("filter[{field}][{operator}]")),
        "\\PC{0,8}",
    ];
    let value = prop_oneof![
        proptest::sample::select(vec![
            "1",
            "0",
            "-1",
            "true",
            "de",
            "en",
            "title",
            "-created_at",
            "number,-text",
            "2026-01-01",
            "2026-01-01,2026-02-01",
            "id,attributes.text",
            "ndjson",
            "csv",
            "99999999999999999999",
            "1e400",
            "a,b",
            "",
            "\\",
            ",",
            "%",
        ])
        .prop_map(|value| value.as_bytes().to_vec()),
        any::<String>().prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..8),
    ];
    let encode = |bytes: &[u8]| percent_encode(bytes, NON_ALPHANUMERIC).to_string();
    let query = prop::collection::vec((name, value), 0..4).prop_map(move |pairs| {
        let pairs: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{}={}", encode(name.as_bytes()), encode(value))).collect();
        pairs.join("&")
    });
    let method = proptest::sample::select(vec!["GET", "GET", "GET", "HEAD", "PUT", "PATCH", "OPTIONS"]);
    run((method, path, query), |(method, path, query)| {
        let reply = server.raw(method, &format!("{path}?{query}"), &[], b"");
        if method == "HEAD" {
            prop_assert!(reply.status < 500);
            return Ok(());
        }
        check(&reply)
    });
}

#[test]
fn any_headers_get_a_status_below_500() {
    let (server, id) = everything();
    let name = proptest::sample::select(vec![
        "if-match",
        "if-none-match",
        "accept",
        "content-type",
        "idempotency-key",
        "x-request-id",
        "origin",
        "range",
        "content-length",
        "expect",
        "transfer-encoding",
        "host",
        "x-forwarded-for",
        "cookie",
        "user-agent",
        "referer",
    ]);
    let value =
        prop_oneof!["[ -~]{0,20}", "[ -~\u{80}-\u{ff}]{0,20}", Just("\"1-1\"".to_owned()), Just("chunked".to_owned())];
    let headers = prop::collection::vec((name, value), 0..4);
    let method = proptest::sample::select(vec!["GET", "POST", "PATCH", "DELETE"]);
    run((method, headers), |(method, headers)| {
        // The request is written to the socket directly, because an HTTP client would not send most of these.
        let address = server.address().trim_start_matches("http://");
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        let mut request =
            format!("{method} /v2/resources/things/{id}x HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
        for (name, value) in &headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        // The headers may announce a body, but none follows.
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        let status = answer.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
        // The server may also close the connection without an answer if the announced body is missing.
        prop_assert!(status.is_none_or(|status| status < 500), "{request}{answer}");
        Ok(())
    });
    server.get("/readyz").expect(200);
}
