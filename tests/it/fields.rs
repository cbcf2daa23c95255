//! The 21 field types (`API.md` 2.4): what each takes, how it is answered, and where its faults are told.

mod strings;

use serde_json::{Value, json};

use crate::support::{Faults, Server};

/// One line of a table: a value that is sent to a field, and how it is answered, or nothing where it is refused.
struct Case {
    field: &'static str,
    sent: Value,
    answered: Option<Value>,
}

fn kept(field: &'static str, value: impl Into<Value>) -> Case {
    let value = value.into();
    Case { field, sent: value.clone(), answered: Some(value) }
}

fn becomes(field: &'static str, sent: impl Into<Value>, answered: impl Into<Value>) -> Case {
    Case { field, sent: sent.into(), answered: Some(answered.into()) }
}

fn refused(field: &'static str, sent: impl Into<Value>) -> Case {
    Case { field, sent: sent.into(), answered: None }
}

/// A blueprint with a field of every type, named after it.
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

/// Sends each value in a create of its own; a refused one is a fault of exactly its field.
#[track_caller]
fn check(server: &Server, cases: Vec<Case>) {
    let mut faults = Faults::default();
    for Case { field, sent, answered } in cases {
        let shown: String = sent.to_string().chars().take(120).collect();
        let case = format!("{field} {shown}");
        let reply = server.post("/v2/resources/things", &json!({ "attributes": { field: sent } }));
        match answered {
            Some(answered) => {
                faults.same(&case, reply.outcome(), "201".to_owned());
                if reply.status == 201 {
                    let data = reply.data();
                    let got = data["attributes"][field].clone();
                    // As text as well: the order of keys counts, and how a number is written.
                    let (text, expected) = (got.to_string(), answered.to_string());
                    faults.check(got == answered && text == expected, || {
                        format!("{case}: answered {got}, expected {answered}")
                    });
                    // What was read can be sent back, and comes out unchanged.
                    let path = format!("/v2/resources/things/{}", data["id"].as_str().unwrap());
                    let again = server.put(&path, &data);
                    faults.same(&format!("{case} sent back"), again.outcome(), "200".to_owned());
                    faults.check(again.status != 200 || again.data() == data, || {
                        format!("{case}: sent back it becomes {}", again.text)
                    });
                }
            }
            None => {
                faults.same(&case, reply.outcome(), "422 VALIDATION_FAILED".to_owned());
                faults.same(&case, reply.fault_keys(), vec![field.to_owned()]);
            }
        }
    }
    faults.none();
}

#[test]
fn rule_5_10_choices_and_booleans() {
    let server = Server::start();
    everything(&server);
    let many: Vec<String> = (0..2001).map(|n| format!("v{n}")).collect();
    let cases = vec![
        kept("enum", "red"),
        refused("enum", "Red"),
        refused("enum", ""),
        refused("enum", "blue"),
        refused("enum", json!(["red"])),
        kept("free-enum", "anything at all"),
        kept("free-enum", "ü".repeat(255)),
        refused("free-enum", "x".repeat(256)),
        refused("free-enum", ""),
        kept("multi-enum", json!([])),
        kept("multi-enum", json!(["green", "red"])),
        refused("multi-enum", json!(["red", "red"])),
        refused("multi-enum", json!(["blue"])),
        refused("multi-enum", json!(["red", 1])),
        refused("multi-enum", json!([null])),
        refused("multi-enum", "red"),
        kept("free-multi", json!(many[..2000])),
        refused("free-multi", json!(many)),
        refused("free-multi", json!([""])),
        kept("free-multi", json!(["a,b", "c\\d", " "])),
        kept("boolean", true),
        kept("boolean", false),
        refused("boolean", 1),
        refused("boolean", 0),
        refused("boolean", "true"),
        refused("boolean", ""),
        kept("boolean", Value::Null),
    ];
    check(&server, cases);
}

#[test]
fn rule_5_10_numbers_durations_money() {
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
        refused("number", 9_007_199_254_740_992i64),
        refused("number", -9_007_199_254_740_992i64),
        refused("number", raw("1e300")),
        refused("number", raw("18446744073709551616")),
        refused("number", "10"),
        refused("number", true),
        refused("number", json!([1])),
        kept("duration", 90),
        kept("duration", 0.5),
        kept("duration", -5),
        becomes("duration", raw("90.0"), 90),
        refused("duration", "90"),
        kept("bounded", 1),
        kept("bounded", 24),
        kept("bounded", 1.5),
        refused("bounded", 0.999),
        refused("bounded", 24.001),
        kept("money", json!({ "amount": 10, "currency": "EUR" })),
        kept("money", json!({ "amount": -0.5, "currency": "ZAR" })),
        becomes(
            "money",
            json!({ "currency": "EUR", "amount": raw("10.0") }),
            json!({ "amount": 10, "currency": "EUR" }),
        ),
        refused("money", json!({ "amount": 10 })),
        refused("money", json!({ "currency": "EUR" })),
        refused("money", json!({})),
        refused("money", json!({ "amount": "10", "currency": "EUR" })),
        refused("money", json!({ "amount": null, "currency": "EUR" })),
        refused("money", json!({ "amount": 10, "currency": "eur" })),
        refused("money", json!({ "amount": 10, "currency": "XXX" })),
        refused("money", json!({ "amount": 10, "currency": null })),
        refused("money", json!({ "amount": 10, "currency": "EUR", "cents": 1 })),
        refused("money", json!({ "amount": raw("1e16"), "currency": "EUR" })),
        refused("money", 10),
        refused("money", "10 EUR"),
        kept("euros", json!({ "amount": 1, "currency": "EUR" })),
        refused("euros", json!({ "amount": 1, "currency": "USD" })),
    ];
    check(&server, cases);
}

#[test]
fn rule_5_14_all_35_currencies() {
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
fn rule_5_10_objects() {
    let server = Server::start();
    everything(&server);
    let address =
        |street: Value, city: Value| json!({ "street": street, "postal_code": null, "city": city, "country": null });
    let cases = vec![
        becomes("address", json!({}), address(Value::Null, Value::Null)),
        becomes("address", json!({ "city": "Bonn" }), address(Value::Null, json!("Bonn"))),
        becomes("address", json!({ "city": "Bonn", "street": "" }), address(json!(""), json!("Bonn"))),
        kept("address", json!({ "street": "a", "postal_code": "b", "city": "c", "country": "d" })),
        refused("address", json!({ "city": 5 })),
        refused("address", json!({ "town": "Bonn" })),
        refused("address", json!({ "city": ["Bonn"] })),
        refused("address", "Bonn"),
        refused("address", json!([])),
        becomes("html-page", json!({}), json!({ "html": "", "css": "", "blocks": [] })),
        kept("html-page", json!({ "html": "<p>x</p>", "css": "", "blocks": [{ "any": [1, null, { "a": "b" }] }] })),
        becomes(
            "html-page",
            json!({ "html": "<section id=\"a\" onclick=\"x()\"><script>1</script><p>x</p></section>" }),
            json!({ "html": "<section id=\"a\"><p>x</p></section>", "css": "", "blocks": [] }),
        ),
        refused("html-page", json!({ "html": 1 })),
        refused("html-page", json!({ "html": null })),
        refused("html-page", json!({ "css": [] })),
        refused("html-page", json!({ "blocks": {} })),
        refused("html-page", json!({ "blocks": ["x"] })),
        refused("html-page", json!({ "js": "x" })),
        refused("html-page", json!({ "html": "x".repeat((1 << 20) + 1) })),
        refused("html-page", json!({ "css": "x".repeat((256 << 10) + 1) })),
        refused("html-page", "<p>x</p>"),
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
fn rule_5_10_relations_and_users() {
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
        refused("reference", own.as_str()),
        refused("reference", unknown),
        refused("reference", other.to_uppercase()),
        refused("reference", other.replace('-', "")),
        refused("reference", ""),
        refused("reference", "x"),
        refused("reference", 1),
        refused("reference", json!([other])),
        kept("references", json!([])),
        kept("references", json!([second, other])),
        refused("references", json!([other, other])),
        refused("references", json!([other, unknown])),
        refused("references", json!([1])),
        refused("references", other.as_str()),
        kept("user", member),
        kept("user", plain),
        becomes("user", serde_json::from_str::<Value>(&format!("{member}.0")).unwrap(), member),
        refused("user", 999),
        refused("user", 0),
        refused("user", -1),
        refused("user", 1.5),
        refused("user", "1"),
        kept("editor", member),
        refused("editor", plain),
    ];
    check(&server, cases);

    // A value that the field holds stays valid when its target goes, in any variant and place; elsewhere it does not.
    let held = server.create("things", json!({ "reference": other, "references": [other, second], "user": member }));
    server.delete(&format!("/v2/resources/others/{other}")).expect(204);
    server.delete(&format!("/v2/members/{member}")).expect(204);
    let path = format!("/v2/resources/things/{held}");
    let read = server.get(&path).expect(200).data();
    assert_eq!(read["attributes"]["reference"], other.as_str(), "values stay as they are");
    server.put(&path, &read).expect(200);
    server.patch(&path, &json!({ "attributes": { "references": [other] } })).expect(200);
    let moved = server.patch(&path, &json!({ "attributes": { "editor": member } })).expect(422);
    assert_eq!(moved.fault_keys(), ["editor"]);
    let gone = server.post("/v2/resources/things", &json!({ "attributes": read["attributes"] })).expect(422);
    assert_eq!(gone.fault_keys(), ["user", "reference", "references"]);
    server.patch(&path, &json!({ "attributes": { "reference": null } })).expect(200);
    server.patch(&path, &json!({ "attributes": { "reference": other } })).expect(422);
}

#[test]
fn rule_5_11_all_faults_of_a_body_at_once() {
    let server = Server::start();
    everything(&server);
    let body = json!({
        "attributes": { "text": 1, "nothing": 2, "money": { "amount": "x" }, "enum": "blue", "reference": "x", "references": [1] },
        "published_at": "yesterday",
        "extra": true,
    });
    let reply = server.post("/v2/resources/things", &body).expect(422);
    let mut keys = reply.fault_keys();
    keys.sort();
    assert_eq!(keys, ["enum", "extra", "money", "nothing", "published_at", "reference", "references", "text"]);
}

#[test]
fn rule_5_11_required() {
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
    let mut faults = Faults::default();
    for (case, attributes, keys) in [
        ("all there", full.clone(), vec![]),
        ("left out", json!({}), vec!["text", "body", "tags", "flag", "place"]),
        ("null", with("text", Value::Null), vec!["text"]),
        ("empty text", with("text", json!("")), vec!["text"]),
        ("blank text is text", with("text", json!(" ")), vec![]),
        ("empty after sanitising", with("body", json!("<script>x</script>")), vec!["body"]),
        ("empty array", with("tags", json!([])), vec!["tags"]),
        ("invalid is told once", with("text", json!(1)), vec!["text"]),
        ("free may be null", with("free", Value::Null), vec![]),
    ] {
        let reply = server.post("/v2/resources/notes", &json!({ "attributes": attributes }));
        let expected = if keys.is_empty() { "201" } else { "422 VALIDATION_FAILED" };
        faults.same(case, reply.outcome(), expected.to_owned());
        faults.same(case, reply.fault_keys(), keys.into_iter().map(str::to_owned).collect());
    }
    let id = server.create("notes", full.clone());
    let path = format!("/v2/resources/notes/{id}");
    for (case, method, body, expected) in [
        ("patch of another field", "PATCH", json!({ "attributes": { "free": "y" } }), 200),
        ("patch to null", "PATCH", json!({ "attributes": { "text": null } }), 422),
        ("put that leaves one out", "PUT", json!({ "attributes": { "text": "a" } }), 422),
        ("put of all", "PUT", json!({ "attributes": full }), 200),
        ("publishing checks nothing", "PATCH", json!({ "published_at": null }), 200),
    ] {
        let reply = server.as_token(crate::support::ADMIN).send(method, &path, Some(&body));
        faults.same(case, reply.status, expected);
    }
    faults.none();
}
