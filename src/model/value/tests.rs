#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::model::blueprint::draft::Draft;

fn blueprint(fields: Value) -> Blueprint {
    Blueprint::create(Draft::parse(json!({"name": "T", "slug": "t", "fields": fields})).unwrap(), 1, 0)
}

fn field(kind: &str, settings: Value) -> Field {
    blueprint(json!([{"name": "f", "type": kind, "settings": settings}])).fields.remove(0)
}

fn checked(field: &Field, value: &Value, relations: Relations) -> Result<Value, Vec<String>> {
    check(field, value.clone(), Options { sanitizer: &Sanitizer::default(), relations })
}

#[track_caller]
fn takes(kind: &str, settings: Value, cases: &[(Value, Value)]) {
    let field = field(kind, settings);
    for (sent, kept) in cases {
        let value = checked(&field, sent, Relations::Ids).unwrap_or_else(|faults| panic!("{sent}: {faults:?}"));
        assert_eq!(value.to_string(), kept.to_string(), "{kind} {sent}");
        assert_eq!(checked(&field, &value, Relations::Ids).unwrap().to_string(), kept.to_string(), "again: {sent}");
    }
    assert_eq!(checked(&field, &Value::Null, Relations::Ids), Ok(Value::Null));
}

#[track_caller]
fn keeps(kind: &str, settings: Value, values: &[Value]) {
    let cases: Vec<(Value, Value)> = values.iter().map(|value| (value.clone(), value.clone())).collect();
    takes(kind, settings, &cases);
}

#[track_caller]
fn refuses(kind: &str, settings: Value, values: &[Value]) {
    let field = field(kind, settings);
    for value in values {
        let faults = checked(&field, value, Relations::Ids).expect_err(&format!("{kind} {value}"));
        assert!(!faults.is_empty() && faults.iter().all(|fault| fault.contains("must")), "{faults:?}");
    }
}

#[test]
fn text_is_a_string_of_at_most_65536_characters() {
    keeps("text", json!({}), &[json!(""), json!("a\u{0}\n😀"), json!("😀".repeat(65_536))]);
    refuses("text", json!({}), &[json!("x".repeat(65_537)), json!("é".repeat(65_537)), json!(1), json!([]), json!({})]);
}

#[test]
fn rich_text_is_sanitised() {
    let settings = json!({});
    takes(
        "rich-text",
        settings,
        &[(json!("<b onclick=x>a"), json!("<b>a</b>")), (json!("<script>x</script>"), json!(""))],
    );
    refuses("rich-text", json!({}), &[json!("x".repeat((1 << 20) + 1)), json!(true), json!("<div>".repeat(1000))]);
    keeps("rich-text", json!({}), &[json!("x".repeat(1 << 20))]);
}

#[test]
fn pages_are_answered_with_all_three_keys() {
    takes(
        "html-page",
        json!({}),
        &[
            (json!({}), json!({"html": "", "css": "", "blocks": []})),
            (
                json!({"blocks": [{"z": 1.0, "a": null}], "html": "<section onclick=x>a"}),
                json!({"html": "<section>a</section>", "css": "", "blocks": [{"z": 1.0, "a": null}]}),
            ),
            (
                json!({"css": "@import 'x'; p{color:red}"}),
                json!({"html": "", "css": "p {\n  color: red;\n}\n", "blocks": []}),
            ),
        ],
    );
    let refused = [
        json!(""),
        json!([]),
        json!({"html": null}),
        json!({"html": 1}),
        json!({"css": []}),
        json!({"blocks": {}}),
        json!({"blocks": [{}, 1]}),
        json!({"js": ""}),
        json!({"css": "x".repeat((256 << 10) + 1)}),
        json!({"html": "x".repeat((1 << 20) + 1)}),
    ];
    refuses("html-page", json!({}), &refused);
}

#[test]
fn slugs_hold_letters_marks_and_digits_of_any_script() {
    keeps(
        "slug",
        json!({}),
        &[json!("a-b_c.d~e/f"), json!("Grüße"), json!("हिन्दी"), json!("日本語٣"), json!("/"), json!("é".repeat(255))],
    );
    let refused = [
        json!(""),
        json!("a b"),
        json!("a%20"),
        json!("½"),
        json!("Ⅷ"),
        json!("²"),
        json!("a?b"),
        json!("😀"),
        json!("x".repeat(256)),
        json!(1),
    ];
    refuses("slug", json!({}), &refused);
}

#[test]
fn emails_follow_the_pattern_of_html() {
    keeps("email", json!({}), &[json!("a@b"), json!("a.b+c@d-e.f"), json!(".a..@b.c"), json!("!#$%&'*+/=?^_`{|}~-@x")]);
    let long = format!("{}@x", "a".repeat(253));
    let refused = [
        json!(""),
        json!("a"),
        json!("@b"),
        json!("a@"),
        json!("a@b@c"),
        json!("a b@c"),
        json!("a@-b"),
        json!("a@b-"),
        json!("a@b..c"),
        json!("a@b."),
        json!("ä@b"),
        json!("a@bücher.de"),
        json!(format!("a@{}", "b".repeat(64))),
        json!(long),
        json!("a,b@c"),
        json!(1),
    ];
    refuses("email", json!({}), &refused);
    keeps("email", json!({}), &[json!(format!("a@{}", "b".repeat(63))), json!(long[1..].to_owned())]);
}

#[test]
fn addresses_of_the_web_are_absolute_or_a_path() {
    let both = [
        json!("https://example.com"),
        json!("HTTP://user@example.com:8080/ä?x=1#y"),
        json!("http://münchen.de/"),
        json!("http://[::1]/"),
        json!("/"),
        json!("/a/b?c#d"),
    ];
    for kind in ["link", "image", "file"] {
        keeps(kind, json!({}), &both);
    }
    let only_links = [json!("mailto:a@b.c"), json!("tel:+49123")];
    keeps("link", json!({}), &only_links);
    refuses("image", json!({}), &only_links);
    let refused = [
        json!(""),
        json!("example.com"),
        json!("a/b"),
        json!("#x"),
        json!("?x"),
        json!("//example.com"),
        json!("https:example.com"),
        json!("https:/example.com"),
        json!("https://"),
        json!("https:///example.com"),
        json!("https://?x"),
        json!("http://a b"),
        json!("http://a/\tb"),
        json!("http://a/\u{a0}"),
        json!("http://a/\u{7f}"),
        json!("/a\\b"),
        json!(" /a"),
        json!("/a\n"),
        json!("ftp://a"),
        json!("javascript:alert(1)"),
        json!("data:text/html,x"),
        json!("mailto:"),
        json!("tel:"),
        json!("http://a:99999/"),
        json!(1),
    ];
    for kind in ["link", "image", "file"] {
        refuses(kind, json!({}), &refused);
    }
}

#[test]
fn choices_are_among_the_allowed() {
    let allowed = json!({"values": ["a", "B"]});
    keeps("enum", allowed.clone(), &[json!("a"), json!("B")]);
    refuses("enum", allowed.clone(), &[json!("b"), json!(""), json!("c"), json!(["a"])]);
    keeps("enum", json!({"values": null}), &[json!("x"), json!("é".repeat(255))]);
    refuses("enum", json!({}), &[json!(""), json!("é".repeat(256))]);
    keeps("multi-enum", allowed.clone(), &[json!([]), json!(["B", "a"])]);
    refuses(
        "multi-enum",
        allowed,
        &[json!(["a", "a"]), json!(["c"]), json!("a"), json!([1]), json!([null]), json!("")],
    );
    let many: Vec<String> = (0..2_001).map(|n| n.to_string()).collect();
    keeps("multi-enum", json!({}), &[json!(many[..2_000])]);
    refuses("multi-enum", json!({}), &[json!(many), json!([""]), json!(["x".repeat(256)])]);
}

#[test]
fn booleans_and_colors() {
    keeps("boolean", json!({}), &[json!(true), json!(false)]);
    refuses("boolean", json!({}), &[json!("true"), json!(1), json!(""), json!([])]);
    keeps("color", json!({}), &[json!("#fff"), json!("#FFF8"), json!("#a1B2c3"), json!("#11223344")]);
    refuses(
        "color",
        json!({}),
        &[json!("fff"), json!("#ff"), json!("#fffff"), json!("#ggg"), json!(""), json!("red"), json!("#fffé")],
    );
}

#[test]
fn numbers_are_kept_by_value_below_2_to_the_53() {
    let cases = [
        ("10.0", "10"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("1e2", "100"),
        ("0.10", "0.1"),
        ("1e-7", "1e-7"),
        ("9007199254740991", "9007199254740991"),
        ("-9007199254740991", "-9007199254740991"),
        ("0.30000000000000004", "0.30000000000000004"),
    ];
    for (sent, kept) in cases {
        let field = field("number", json!({}));
        let value = checked(&field, &serde_json::from_str(sent).unwrap(), Relations::Ids).unwrap();
        assert_eq!(value.to_string(), kept);
    }
    for number in ["9007199254740992", "-9007199254740992", "1e16", "18446744073709551615", "9007199254740991.9"] {
        refuses("number", json!({}), &[serde_json::from_str(number).unwrap()]);
    }
    refuses("number", json!({}), &[json!("1"), json!(true), json!("")]);
}

#[test]
fn durations_lie_within_their_bounds() {
    takes("duration", json!({"min": 1, "max": 2.5}), &[(json!(1.0), json!(1)), (json!(2.5), json!(2.5))]);
    refuses("duration", json!({"min": 1, "max": 2.5}), &[json!(0.9), json!(2.6), json!("1"), json!(1e16)]);
    refuses("duration", json!({"max": 0}), &[json!(1)]);
}

#[test]
fn money_has_both_keys_and_no_other() {
    let settings = json!({"currencies": ["EUR", "USD"]});
    let sent = json!({"currency": "EUR", "amount": 5.0});
    takes("money", settings.clone(), &[(sent, json!({"amount": 5, "currency": "EUR"}))]);
    let refused = [
        json!({"amount": 1}),
        json!({"currency": "EUR"}),
        json!({"amount": "1", "currency": "EUR"}),
        json!({"amount": null, "currency": "EUR"}),
        json!({"amount": 1, "currency": "eur"}),
        json!({"amount": 1, "currency": "GBP"}),
        json!({"amount": 1, "currency": null}),
        json!({"amount": 1, "currency": "EUR", "x": 1}),
        json!({"amount": 1e16, "currency": "EUR"}),
        json!({}),
        json!(1),
        json!(""),
    ];
    refuses("money", settings, &refused);
    let both = checked(&field("money", json!({})), &json!({"amount": "x", "currency": "y", "z": 1}), Relations::Ids);
    assert_eq!(both.unwrap_err().len(), 3);
}

#[test]
fn dates_are_real_and_timestamps_keep_their_text() {
    keeps("date", json!({}), &[json!("2024-02-29"), json!("0001-01-01"), json!("9999-12-31")]);
    refuses(
        "date",
        json!({}),
        &[json!("2023-02-29"), json!("2024-2-9"), json!("2024-01-01T00:00Z"), json!(""), json!(20240101)],
    );
    keeps(
        "datetime",
        json!({}),
        &[json!("2024-02-29t10:00+02"), json!("2024-02-29"), json!("2024-02-29T10:00:00.123456Z")],
    );
    refuses(
        "datetime",
        json!({}),
        &[json!("2024-02-29T10:00:00.1234567Z"), json!("2024-02-29 10:00"), json!(""), json!(0)],
    );
}

#[test]
fn relations_are_ids_or_in_imports_keys() {
    let id = "0190b4a0-0000-7000-8000-000000000001";
    let settings = json!({"blueprint": "x"});
    keeps("reference", settings.clone(), &[json!(id)]);
    refuses("reference", settings.clone(), &[json!(""), json!("x"), json!(id.to_uppercase()), json!([id]), json!(1)]);
    keeps("references", settings.clone(), &[json!([]), json!([id])]);
    refuses("references", settings.clone(), &[json!([id, id]), json!(["x"]), json!(id), json!([null]), json!("")]);
    let (one, many) = (field("reference", settings.clone()), field("references", settings));
    assert!(checked(&one, &json!("some/key"), Relations::IdsOrKeys).is_ok());
    assert!(checked(&one, &json!(""), Relations::IdsOrKeys).is_err());
    assert!(checked(&many, &json!(["some/key", id]), Relations::IdsOrKeys).is_ok());
    assert!(checked(&many, &json!(["k", "k"]), Relations::IdsOrKeys).is_err());
}

#[test]
fn users_are_whole_numbers() {
    takes("user", json!({}), &[(json!(7.0), json!(7)), (json!(1), json!(1))]);
    refuses("user", json!({}), &[json!(0), json!(-1), json!(1.5), json!("1"), json!(1e16), json!("")]);
}

#[test]
fn addresses_are_answered_with_all_four_parts() {
    takes(
        "address",
        json!({}),
        &[
            (json!({}), json!({"street": null, "postal_code": null, "city": null, "country": null})),
            (
                json!({"country": "DE", "city": "", "street": null}),
                json!({"street": null, "postal_code": null, "city": "", "country": "DE"}),
            ),
        ],
    );
    refuses(
        "address",
        json!({}),
        &[json!(""), json!([]), json!({"zip": "1"}), json!({"city": 1}), json!({"city": {}})],
    );
}

#[test]
fn all_faults_of_a_body_are_told_at_once() {
    let blueprint = blueprint(json!([
        {"name": "title", "type": "text", "required": true},
        {"name": "count", "type": "number"},
        {"name": "body", "type": "rich-text", "required": true},
        {"name": "tags", "type": "multi-enum", "required": true},
    ]));
    let sanitizer = Sanitizer::default();
    let options = Options { sanitizer: &sanitizer, relations: Relations::Ids };
    let parse = |value: Value| value.as_object().unwrap().clone();

    let checked =
        check_attributes(&blueprint, &parse(json!({"count": "x", "nope": 1, "title": 2, "tags": ["a"]})), options);
    let slugs: Vec<&str> = checked.faults.iter().map(|(slug, _)| slug.as_str()).collect();
    assert_eq!(slugs, ["count", "nope", "title"]);
    assert!(checked.faults[1].1[0].contains("`title`, `count`, `body`, `tags`"), "{:?}", checked.faults);
    assert_eq!(checked.values, [(3, json!(["a"]))], "what is valid is given back beside the faults");

    let checked = check_attributes(&blueprint, &parse(json!({"body": "<b>", "title": "t"})), options);
    assert_eq!(checked, Checked { values: vec![(0, json!("t")), (2, json!("<b></b>"))], faults: vec![] });

    for (copy, missing) in [
        (json!(["", null, null, []]), vec!["title", "body", "tags"]),
        (json!(["t", null, "", ["a"]]), vec!["body"]),
        (json!(["t", null, "x", ["a"]]), vec![]),
    ] {
        let faults = required_faults(&blueprint, copy.as_array().unwrap());
        let slugs: Vec<&str> = faults.iter().map(|(slug, _)| slug.as_str()).collect();
        assert_eq!(slugs, missing, "{copy}");
    }
}

proptest::proptest! {
    #[test]
    fn checking_again_changes_nothing(number in proptest::num::f64::ANY, text in ".{0,40}", place in 0..21usize) {
        let kind = FieldType::NAMES[place];
        let settings = if kind.starts_with("ref") { json!({"blueprint": "x"}) } else { json!({}) };
        let field = field(kind, settings);
        let values = [json!(number), json!(text), json!([text]), json!({"html": text, "css": text}), json!({"city": text}),
            json!({"amount": number, "currency": "EUR"})];
        for value in values {
            if let Ok(once) = checked(&field, &value, Relations::IdsOrKeys) {
                proptest::prop_assert_eq!(checked(&field, &once, Relations::IdsOrKeys), Ok(once.clone()));
            }
        }
    }
}
