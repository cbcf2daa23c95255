//! The 21 field types (`API.md` 2.4): the accepted values of each, their form in answers, and the places of errors.

mod strings;

use serde_json::{Value, json};

use crate::support::{Failures, Server};

/// A row of a table: a value that is sent to a field, and its form in answers, or `None` if it is rejected.
struct Case {
    field: &'static str,
    sent: Value,
    returned: Option<Value>,
}

fn kept(field: &'static str, value: impl Into<Value>) -> Case {
    let value = value.into();
    Case { field, sent: value.clone(), returned: Some(value) }
}

fn becomes(field: &'static str, sent: impl Into<Value>, returned: impl Into<Value>) -> Case {
    Case { field, sent: sent.into(), returned: Some(returned.into()) }
}

fn rejected(field: &'static str, sent: impl Into<Value>) -> Case {
    Case { field, sent: sent.into(), returned: None }
}

/// Makes a blueprint with a field of every type, named after the type.
fn everything(server: &Server) {
    server.blueprint("others", json!([{ "name": "Title", "slug": "title", "type": "text" }]));
    let field = |kind: &str| json!({ "name": kind, "slug": kind, "type": kind });
    let mut fields: Vec<Value> = [
        "text",
        "rich-text",
        "html-page",
        "slug",
        "email",
        "link",
        "image",
        "file",
        "boolean",
        "color",
        "number",
        "money",
        "date",
        "datetime",
        "user",
        "address",
        "duration",
    ]
    .into_iter()
    .map(field)
    .collect();
    let with = |slug: &str, kind: &str, settings: Value| json!({ "name": slug, "slug": slug, "type": kind, "settings": settings });
    fields.extend([
        with("enum", "enum", json!({ "values": ["red", "green"] })),
        with("free-enum", "enum", json!({ "values": null })),
        with("multi-enum", "multi-enum", json!({ "values": ["red", "green"] })),
        with("free-multi", "multi-enum", json!({ "values": null })),
        with("euros", "money", json!({ "currencies": ["EUR"], "default_currency": "EUR" })),
        with("bounded", "duration", json!({ "unit": "hours", "min": 1, "max": 24 })),
        with("reference", "reference", json!({ "blueprint": "others" })),
        with("references", "references", json!({ "blueprint": "others" })),
        with("editor", "user", json!({ "role": "editor" })),
    ]);
    server.blueprint("things", Value::Array(fields));
}

/// Sends each value in a separate create. A rejected value must be reported as an error of its field only.
#[track_caller]
fn check(server: &Server, cases: Vec<Case>) {
    let mut failures = Failures::default();
    for Case { field, sent, returned } in cases {
        let shown: String = sent.to_string().chars().take(120).collect();
        let case = format!("{field} {shown}");
        let reply = server.post("/v2/resources/things", &json!({ "attributes": { field: sent } }));
        match returned {
            Some(returned) => {
                failures.check_eq(&case, reply.outcome(), "201".to_owned());
                if reply.status == 201 {
                    let data = reply.data();
                    let got = data["attributes"][field].clone();
                    // Compare the text, too: the order of keys and the notation of numbers matter.
                    let (text, expected) = (got.to_string(), returned.to_string());
                    failures.check(got == returned && text == expected, || {
                        format!("{case}: returned {got}, expected {returned}")
                    });
                    // A value that was read can be sent back and stays unchanged.
                    let path = format!("/v2/resources/things/{}", data["id"].as_str().unwrap());
                    let second = server.put(&path, &data);
                    failures.check_eq(&format!("{case} sent back"), second.outcome(), "200".to_owned());
                    failures.check(second.status != 200 || second.data() == data, || {
                        format!("{case}: becomes {} when it is sent back", second.text)
                    });
                }
            }
            None => {
                failures.check_eq(&case, reply.outcome(), "422 VALIDATION_FAILED".to_owned());
                failures.check_eq(&case, reply.error_keys(), vec![field.to_owned()]);
            }
        }
    }
    failures.assert_none();
}

#[test]
fn choices_and_booleans_accept_only_valid_values() {
    let server = Server::start();
    everything(&server);
    let many: Vec<String> = (0..2001).map(|n| format!("v{n}")).collect();
    let cases = vec![
        kept("enum", "red"),
        rejected("enum", "Red"),
        rejected("enum", ""),
        rejected("enum", "blue"),
        rejected("enum", json!(["red"])),
        kept("free-enum", "anything at all"),
        kept("free-enum", "ü".repeat(255)),
        rejected("free-enum", "x".repeat(256)),
        rejected("free-enum", ""),
        kept("multi-enum", json!([])),
        kept("multi-enum", json!(["green", "red"])),
        rejected("multi-enum", json!(["red", "red"])),
        rejected("multi-enum", json!(["blue"])),
        rejected("multi-enum", json!(["red", 1])),
        rejected("multi-enum", json!([null])),
        rejected("multi-enum", "red"),
        kept("free-multi", json!(many[..2000])),
        rejected("free-multi", json!(many)),
        rejected("free-multi", json!([""])),
        kept("free-multi", json!(["a,b", "c\\d", " "])),
        kept("boolean", true),
        kept("boolean", false),
        rejected("boolean", 1),
        rejected("boolean", 0),
        rejected("boolean", "true"),
        rejected("boolean", ""),
        kept("boolean", Value::Null),
    ];
    check(&server, cases);
}

#[test]
fn numbers_durations_and_money_accept_only_valid_values() {
    let server = Server::start();
    everything(&server);
    let raw = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let cases = vec![
        kept("number", 0),
        kept("number", 10),
        kept("number", -10),
        kept("number", 0.1),
        kept("number", 1.5),
        becomes("number", raw("10.0"), 10),
        becomes("number", raw("-0.0"), 0),
        becomes("number", raw("-0"), 0),
        becomes("number", raw("1e3"), 1000),
        kept("number", 9_007_199_254_740_991i64),
        kept("number", -9_007_199_254_740_991i64),
        rejected("number", 9_007_199_254_740_992i64),
        rejected("number", -9_007_199_254_740_992i64),
        rejected("number", raw("1e300")),
        rejected("number", raw("18446744073709551616")),
        rejected("number", "10"),
        rejected("number", true),
        rejected("number", json!([1])),
        kept("duration", 90),
        kept("duration", 0.5),
        kept("duration", -5),
        becomes("duration", raw("90.0"), 90),
        rejected("duration", "90"),
        kept("bounded", 1),
        kept("bounded", 24),
        kept("bounded", 1.5),
        rejected("bounded", 0.999),
        rejected("bounded", 24.001),
        kept("money", json!({ "amount": 10, "currency": "EUR" })),
        kept("money", json!({ "amount": -0.5, "currency": "ZAR" })),
        becomes(
            "money",
            json!({ "currency": "EUR", "amount": raw("10.0") }),
            json!({ "amount": 10, "currency": "EUR" }),
        ),
        rejected("money", json!({ "amount": 10 })),
        rejected("money", json!({ "currency": "EUR" })),
        rejected("money", json!({})),
        rejected("money", json!({ "amount": "10", "currency": "EUR" })),
        rejected("money", json!({ "amount": null, "currency": "EUR" })),
        rejected("money", json!({ "amount": 10, "currency": "eur" })),
        rejected("money", json!({ "amount": 10, "currency": "XXX" })),
        rejected("money", json!({ "amount": 10, "currency": null })),
        rejected("money", json!({ "amount": 10, "currency": "EUR", "cents": 1 })),
        rejected("money", json!({ "amount": raw("1e16"), "currency": "EUR" })),
        rejected("money", 10),
        rejected("money", "10 EUR"),
        kept("euros", json!({ "amount": 1, "currency": "EUR" })),
        rejected("euros", json!({ "amount": 1, "currency": "USD" })),
    ];
    check(&server, cases);
}

#[test]
fn money_accepts_all_35_currencies() {
    let server = Server::start();
    everything(&server);
    let currencies = "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KRW MXN MYR \
        NOK NZD PHP PLN RON SEK SGD THB TRY USD ZAR";
    let cases: Vec<Case> =
        currencies.split_whitespace().map(|code| kept("money", json!({ "amount": 1, "currency": code }))).collect();
    assert_eq!(cases.len(), 35);
    check(&server, cases);
    let blueprint = server.get("/v2/blueprints/things").expect(200).data();
    let money = blueprint["fields"].as_array().unwrap().iter().find(|field| field["slug"] == "money").unwrap();
    let listed = money["settings"]["currencies"].as_array().unwrap();
    assert_eq!(listed.iter().map(|code| code.as_str().unwrap()).collect::<Vec<_>>().join(" "), currencies);
}

#[test]
fn addresses_and_pages_are_validated_and_completed() {
    let server = Server::start();
    everything(&server);
    let address =
        |street: Value, city: Value| json!({ "street": street, "postal_code": null, "city": city, "country": null });
    let cases = vec![
        becomes("address", json!({}), address(Value::Null, Value::Null)),
        becomes("address", json!({ "city": "Bonn" }), address(Value::Null, json!("Bonn"))),
        becomes("address", json!({ "city": "Bonn", "street": "" }), address(json!(""), json!("Bonn"))),
        kept("address", json!({ "street": "a", "postal_code": "b", "city": "c", "country": "d" })),
        rejected("address", json!({ "city": 5 })),
        rejected("address", json!({ "town": "Bonn" })),
        rejected("address", json!({ "city": ["Bonn"] })),
        rejected("address", "Bonn"),
        rejected("address", json!([])),
        becomes("html-page", json!({}), json!({ "html": "", "css": "", "blocks": [] })),
        kept("html-page", json!({ "html": "<p>x</p>", "css": "", "blocks": [{ "any": [1, null, { "a": "b" }] }] })),
        becomes(
            "html-page",
            json!({ "html": "<section id=\"a\" onclick=\"x()\"><script>1</script><p>x</p></section>" }),
            json!({ "html": "<section id=\"a\"><p>x</p></section>", "css": "", "blocks": [] }),
        ),
        rejected("html-page", json!({ "html": 1 })),
        rejected("html-page", json!({ "html": null })),
        rejected("html-page", json!({ "css": [] })),
        rejected("html-page", json!({ "blocks": {} })),
        rejected("html-page", json!({ "blocks": ["x"] })),
        rejected("html-page", json!({ "blocks": [{ "price": [1e308] }] })),
        rejected("html-page", json!({ "js": "x" })),
        rejected("html-page", json!({ "html": "x".repeat((1 << 20) + 1) })),
        rejected("html-page", json!({ "css": "x".repeat((256 << 10) + 1) })),
        rejected("html-page", "<p>x</p>"),
    ];
    check(&server, cases);
    let css = json!({ "css": "p{color:red}@import url(x);a{background:url(//evil);color:blue}</style><script>" });
    let reply = server.post("/v2/resources/things", &json!({ "attributes": { "html-page": { "css": css["css"] } } }));
    let css = reply.expect(201).data()["attributes"]["html-page"]["css"].as_str().unwrap().to_owned();
    for (part, stays) in
        [("color:red", true), ("color:blue", true), ("url", false), ("@import", false), ("</style", false)]
    {
        let found = css.replace(": ", ":").contains(part);
        assert_eq!(found, stays, "`{part}` in `{css}`");
    }
}

#[test]
fn relations_and_users_accept_only_existing_targets() {
    let server = Server::start();
    everything(&server);
    let other = server.create("others", json!({ "title": "a" }));
    let second = server.create("others", json!({ "title": "b" }));
    let own = server.create("things", json!({}));
    let member = server.member("ada", Some("editor"));
    let plain = server.member("bob", None);
    let unknown = "0192b3c4-0000-7000-8000-000000000000";
    let cases = vec![
        kept("reference", other.as_str()),
        rejected("reference", own.as_str()),
        rejected("reference", unknown),
        rejected("reference", other.to_uppercase()),
        rejected("reference", other.replace('-', "")),
        rejected("reference", ""),
        rejected("reference", "x"),
        rejected("reference", 1),
        rejected("reference", json!([other])),
        kept("references", json!([])),
        kept("references", json!([second, other])),
        rejected("references", json!([other, other])),
        rejected("references", json!([other, unknown])),
        rejected("references", json!([1])),
        rejected("references", other.as_str()),
        kept("user", member),
        kept("user", plain),
        becomes("user", serde_json::from_str::<Value>(&format!("{member}.0")).unwrap(), member),
        rejected("user", 999),
        rejected("user", 0),
        rejected("user", -1),
        rejected("user", 1.5),
        rejected("user", "1"),
        kept("editor", member),
        rejected("editor", plain),
    ];
    check(&server, cases);

    // When a target is deleted, a field that already holds it may keep it, in any variant and at any position. Another
    // field or resource may not start to hold it.
    let held = server.create("things", json!({ "reference": other, "references": [other, second], "user": member }));
    server.delete(&format!("/v2/resources/others/{other}")).expect(204);
    server.delete(&format!("/v2/members/{member}")).expect(204);
    let path = format!("/v2/resources/things/{held}");
    let read = server.get(&path).expect(200).data();
    assert_eq!(read["attributes"]["reference"], other.as_str(), "deleting the target does not change the value");
    server.put(&path, &read).expect(200);
    server.patch(&path, &json!({ "attributes": { "references": [other] } })).expect(200);
    let moved = server.patch(&path, &json!({ "attributes": { "editor": member } })).expect(422);
    assert_eq!(moved.error_keys(), ["editor"]);
    let gone = server.post("/v2/resources/things", &json!({ "attributes": read["attributes"] })).expect(422);
    assert_eq!(gone.error_keys(), ["user", "reference", "references"]);
    server.patch(&path, &json!({ "attributes": { "reference": null } })).expect(200);
    server.patch(&path, &json!({ "attributes": { "reference": other } })).expect(422);
}

#[test]
fn all_errors_of_a_body_are_reported_at_once() {
    let server = Server::start();
    everything(&server);
    let body = json!({
        "attributes": { "text": 1, "nothing": 2, "money": { "amount": "x" }, "enum": "blue", "reference": "x", "references": [1] },
        "published_at": "yesterday",
        "extra": true,
    });
    let reply = server.post("/v2/resources/things", &body).expect(422);
    let mut keys = reply.error_keys();
    keys.sort();
    assert_eq!(keys, ["enum", "extra", "money", "nothing", "published_at", "reference", "references", "text"]);
}

#[test]
fn required_fields_must_have_a_value() {
    let server = Server::start();
    let required = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind, "required": true });
    let mut fields = vec![required("text", "text"), required("body", "rich-text"), required("tags", "multi-enum")];
    fields.push(required("flag", "boolean"));
    fields.push(required("place", "address"));
    fields.push(json!({ "name": "Free", "slug": "free", "type": "text" }));
    server.blueprint("notes", Value::Array(fields));
    let full = json!({ "text": "a", "body": "<p>b</p>", "tags": ["c"], "flag": false, "place": {}, "free": "x" });
    let with = |key: &str, value: Value| {
        let mut attributes = full.clone();
        attributes[key] = value;
        attributes
    };
    let mut failures = Failures::default();
    for (case, attributes, keys) in [
        ("all fields", full.clone(), vec![]),
        ("no fields", json!({}), vec!["text", "body", "tags", "flag", "place"]),
        ("null", with("text", Value::Null), vec!["text"]),
        ("empty text", with("text", json!("")), vec!["text"]),
        ("a space is text", with("text", json!(" ")), vec![]),
        ("empty after sanitizing", with("body", json!("<script>x</script>")), vec!["body"]),
        ("empty array", with("tags", json!([])), vec!["tags"]),
        ("an invalid value is reported once", with("text", json!(1)), vec!["text"]),
        ("an optional field may be null", with("free", Value::Null), vec![]),
    ] {
        let reply = server.post("/v2/resources/notes", &json!({ "attributes": attributes }));
        let expected = if keys.is_empty() { "201" } else { "422 VALIDATION_FAILED" };
        failures.check_eq(case, reply.outcome(), expected.to_owned());
        failures.check_eq(case, reply.error_keys(), keys.into_iter().map(str::to_owned).collect());
    }
    let id = server.create("notes", full.clone());
    let path = format!("/v2/resources/notes/{id}");
    for (case, method, body, expected) in [
        ("patch of another field", "PATCH", json!({ "attributes": { "free": "y" } }), 200),
        ("patch to null", "PATCH", json!({ "attributes": { "text": null } }), 422),
        ("put without a required field", "PUT", json!({ "attributes": { "text": "a" } }), 422),
        ("put of all fields", "PUT", json!({ "attributes": full }), 200),
        ("unpublishing does not check required fields", "PATCH", json!({ "published_at": null }), 200),
    ] {
        let reply = server.send(method, &path, Some(&body));
        failures.check_eq(case, reply.status, expected);
    }
    failures.assert_none();
}
