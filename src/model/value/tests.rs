#![allow(clippy::unwrap_used)]

use bindery_sanitize::Sanitizer;
use serde_json::{Value, json};

use super::*;
use crate::blueprint::{Blueprint, Definition, Field, FieldType};
use crate::error::FieldErrors;

fn blueprint(fields: Value) -> Blueprint {
    Blueprint::create(Definition::parse(json!({"name": "T", "slug": "t", "fields": fields})).unwrap(), 1, 0)
}

fn field(type_name: &str, settings: Value) -> Field {
    blueprint(json!([{"name": "f", "type": type_name, "settings": settings}])).fields.remove(0)
}

fn checked(field: &Field, value: &Value, relations: Relations) -> Result<Value, Vec<String>> {
    check(field, value.clone(), Options { sanitizer: &Sanitizer::default(), relations })
}

#[track_caller]
fn stores(type_name: &str, settings: Value, cases: &[(Value, Value)]) {
    let field = field(type_name, settings);
    for (sent, stored) in cases {
        let value = checked(&field, sent, Relations::Ids).unwrap_or_else(|errors| panic!("{sent}: {errors:?}"));
        assert_eq!(value.to_string(), stored.to_string(), "{type_name} {sent}");
        assert_eq!(checked(&field, &value, Relations::Ids).unwrap().to_string(), stored.to_string(), "again: {sent}");
    }
    assert_eq!(checked(&field, &Value::Null, Relations::Ids), Ok(Value::Null));
}

#[track_caller]
fn stores_unchanged(type_name: &str, settings: Value, values: &[Value]) {
    let cases: Vec<(Value, Value)> = values.iter().map(|value| (value.clone(), value.clone())).collect();
    stores(type_name, settings, &cases);
}

#[track_caller]
fn rejects(type_name: &str, settings: Value, values: &[Value]) {
    let field = field(type_name, settings);
    for value in values {
        let errors = checked(&field, value, Relations::Ids).expect_err(&format!("{type_name} {value}"));
        assert!(!errors.is_empty() && errors.iter().all(|error| error.contains("must")), "{errors:?}");
    }
}

#[test]
fn text_is_a_string_of_at_most_65536_characters() {
    stores_unchanged("text", json!({}), &[json!(""), json!("a\u{0}\n😀"), json!("😀".repeat(65_536))]);
    rejects("text", json!({}), &[json!("x".repeat(65_537)), json!("é".repeat(65_537)), json!(1), json!([]), json!({})]);
}

#[test]
fn rich_text_is_sanitized() {
    let settings = json!({});
    stores(
        "rich-text",
        settings,
        &[(json!("<b onclick=x>a"), json!("<b>a</b>")), (json!("<script>x</script>"), json!(""))],
    );
    rejects("rich-text", json!({}), &[json!("x".repeat((1 << 20) + 1)), json!(true), json!("<div>".repeat(1000))]);
    stores_unchanged("rich-text", json!({}), &[json!("x".repeat(1 << 20))]);
}

#[test]
fn pages_are_stored_with_all_three_keys() {
    stores(
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
    let rejected = [
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
    rejects("html-page", json!({}), &rejected);
}

#[test]
fn slugs_contain_letters_marks_and_digits_of_any_script() {
    stores_unchanged(
        "slug",
        json!({}),
        &[json!("a-b_c.d~e/f"), json!("Grüße"), json!("हिन्दी"), json!("日本語٣"), json!("/"), json!("é".repeat(255))],
    );
    let rejected = [
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
    rejects("slug", json!({}), &rejected);
}

#[test]
fn emails_follow_the_pattern_of_html() {
    stores_unchanged(
        "email",
        json!({}),
        &[json!("a@b"), json!("a.b+c@d-e.f"), json!(".a..@b.c"), json!("!#$%&'*+/=?^_`{|}~-@x")],
    );
    let long = format!("{}@x", "a".repeat(253));
    let rejected = [
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
    rejects("email", json!({}), &rejected);
    stores_unchanged("email", json!({}), &[json!(format!("a@{}", "b".repeat(63))), json!(long[1..].to_owned())]);
}

#[test]
fn urls_are_absolute_or_a_path() {
    let both = [
        json!("https://example.com"),
        json!("HTTP://user@example.com:8080/ä?x=1#y"),
        json!("http://münchen.de/"),
        json!("http://[::1]/"),
        json!("/"),
        json!("/a/b?c#d"),
    ];
    for type_name in ["link", "image", "file"] {
        stores_unchanged(type_name, json!({}), &both);
    }
    let only_links = [json!("mailto:a@b.c"), json!("tel:+49123")];
    stores_unchanged("link", json!({}), &only_links);
    rejects("image", json!({}), &only_links);
    let rejected = [
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
    for type_name in ["link", "image", "file"] {
        rejects(type_name, json!({}), &rejected);
    }
}

#[test]
fn choices_are_among_the_allowed_values() {
    let allowed = json!({"values": ["a", "B"]});
    stores_unchanged("enum", allowed.clone(), &[json!("a"), json!("B")]);
    rejects("enum", allowed.clone(), &[json!("b"), json!(""), json!("c"), json!(["a"])]);
    stores_unchanged("enum", json!({"values": null}), &[json!("x"), json!("é".repeat(255))]);
    rejects("enum", json!({}), &[json!(""), json!("é".repeat(256))]);
    stores_unchanged("multi-enum", allowed.clone(), &[json!([]), json!(["B", "a"])]);
    rejects(
        "multi-enum",
        allowed,
        &[json!(["a", "a"]), json!(["c"]), json!("a"), json!([1]), json!([null]), json!("")],
    );
    let many: Vec<String> = (0..2_001).map(|n| n.to_string()).collect();
    stores_unchanged("multi-enum", json!({}), &[json!(many[..2_000])]);
    rejects("multi-enum", json!({}), &[json!(many), json!([""]), json!(["x".repeat(256)])]);
}

#[test]
fn booleans_and_colors_have_one_form() {
    stores_unchanged("boolean", json!({}), &[json!(true), json!(false)]);
    rejects("boolean", json!({}), &[json!("true"), json!(1), json!(""), json!([])]);
    stores_unchanged("color", json!({}), &[json!("#fff"), json!("#FFF8"), json!("#a1B2c3"), json!("#11223344")]);
    rejects(
        "color",
        json!({}),
        &[json!("fff"), json!("#ff"), json!("#fffff"), json!("#ggg"), json!(""), json!("red"), json!("#fffé")],
    );
}

#[test]
fn numbers_below_2_to_the_53_are_stored_by_value() {
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
    for (sent, stored) in cases {
        let field = field("number", json!({}));
        let value = checked(&field, &serde_json::from_str(sent).unwrap(), Relations::Ids).unwrap();
        assert_eq!(value.to_string(), stored);
    }
    for number in ["9007199254740992", "-9007199254740992", "1e16", "18446744073709551615", "9007199254740991.9"] {
        rejects("number", json!({}), &[serde_json::from_str(number).unwrap()]);
    }
    rejects("number", json!({}), &[json!("1"), json!(true), json!("")]);
}

#[test]
fn durations_are_within_their_bounds() {
    stores("duration", json!({"min": 1, "max": 2.5}), &[(json!(1.0), json!(1)), (json!(2.5), json!(2.5))]);
    rejects("duration", json!({"min": 1, "max": 2.5}), &[json!(0.9), json!(2.6), json!("1"), json!(1e16)]);
    rejects("duration", json!({"max": 0}), &[json!(1)]);
}

#[test]
fn money_has_exactly_two_keys() {
    let settings = json!({"currencies": ["EUR", "USD"]});
    let sent = json!({"currency": "EUR", "amount": 5.0});
    stores("money", settings.clone(), &[(sent, json!({"amount": 5, "currency": "EUR"}))]);
    let rejected = [
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
    rejects("money", settings, &rejected);
    let both = checked(&field("money", json!({})), &json!({"amount": "x", "currency": "y", "z": 1}), Relations::Ids);
    assert_eq!(both.unwrap_err().len(), 3);
}

#[test]
fn dates_exist_and_timestamps_keep_their_text() {
    stores_unchanged("date", json!({}), &[json!("2024-02-29"), json!("0001-01-01"), json!("9999-12-31")]);
    rejects(
        "date",
        json!({}),
        &[json!("2023-02-29"), json!("2024-2-9"), json!("2024-01-01T00:00Z"), json!(""), json!(20240101)],
    );
    stores_unchanged(
        "datetime",
        json!({}),
        &[json!("2024-02-29t10:00+02"), json!("2024-02-29"), json!("2024-02-29T10:00:00.123456Z")],
    );
    rejects(
        "datetime",
        json!({}),
        &[json!("2024-02-29T10:00:00.1234567Z"), json!("2024-02-29 10:00"), json!(""), json!(0)],
    );
}

#[test]
fn relations_are_ids_or_in_imports_keys() {
    let id = "0190b4a0-0000-7000-8000-000000000001";
    let settings = json!({"blueprint": "x"});
    stores_unchanged("reference", settings.clone(), &[json!(id)]);
    rejects("reference", settings.clone(), &[json!(""), json!("x"), json!(id.to_uppercase()), json!([id]), json!(1)]);
    stores_unchanged("references", settings.clone(), &[json!([]), json!([id])]);
    rejects("references", settings.clone(), &[json!([id, id]), json!(["x"]), json!(id), json!([null]), json!("")]);
    let (one, many) = (field("reference", settings.clone()), field("references", settings));
    assert!(checked(&one, &json!("some/key"), Relations::IdsOrKeys).is_ok());
    assert!(checked(&one, &json!(""), Relations::IdsOrKeys).is_err());
    assert!(checked(&many, &json!(["some/key", id]), Relations::IdsOrKeys).is_ok());
    assert!(checked(&many, &json!(["k", "k"]), Relations::IdsOrKeys).is_err());
}

#[test]
fn member_ids_are_whole_numbers() {
    stores("user", json!({}), &[(json!(7.0), json!(7)), (json!(1), json!(1))]);
    rejects("user", json!({}), &[json!(0), json!(-1), json!(1.5), json!("1"), json!(1e16), json!("")]);
}

#[test]
fn addresses_are_stored_with_all_four_parts() {
    stores(
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
    rejects(
        "address",
        json!({}),
        &[json!(""), json!([]), json!({"zip": "1"}), json!({"city": 1}), json!({"city": {}})],
    );
}

#[test]
fn all_errors_of_a_body_are_reported_at_once() {
    let blueprint = blueprint(json!([
        {"name": "title", "type": "text", "required": true},
        {"name": "count", "type": "number"},
        {"name": "body", "type": "rich-text", "required": true},
        {"name": "tags", "type": "multi-enum", "required": true},
    ]));
    let sanitizer = Sanitizer::default();
    let options = Options { sanitizer: &sanitizer, relations: Relations::Ids };
    let parse = |value: Value| value.as_object().unwrap().clone();

    let sent = json!({"count": "x", "nope": 1, "title": 2, "tags": ["a"]});
    let checked = check_attributes(&blueprint, parse(sent), options);
    let errors = checked.errors.into_listed();
    let slugs: Vec<&str> = errors.iter().map(|(slug, _)| slug.as_str()).collect();
    assert_eq!(slugs, ["count", "title", "nope"]);
    assert!(errors[2].1[0].contains("`title`, `count`, `body`, `tags`"), "{errors:?}");
    assert_eq!(checked.values, [(3, json!(["a"]))], "valid values are returned beside the errors");

    let checked = check_attributes(&blueprint, parse(json!({"body": "<b>", "title": "t"})), options);
    assert_eq!(
        checked,
        CheckedAttributes { values: vec![(0, json!("t")), (2, json!("<b></b>"))], ..CheckedAttributes::default() }
    );

    for (copy, missing) in [
        (json!(["", null, null, []]), vec!["title", "body", "tags"]),
        (json!(["t", null, "", ["a"]]), vec!["body"]),
        (json!(["t", null, "x", ["a"]]), vec![]),
    ] {
        let errors = required_errors(&blueprint, copy.as_array().unwrap());
        let errors = errors.into_listed();
        let slugs: Vec<&str> = errors.iter().map(|(slug, _)| slug.as_str()).collect();
        assert_eq!(slugs, missing, "{copy}");
    }
}

#[test]
fn errors_are_put_in_the_order_of_the_fields_with_unknown_names_last() {
    let blueprint = blueprint(json!([{"name": "a", "type": "text"}, {"name": "b", "type": "text"}]));
    let errors = |names: &[&str]| -> FieldErrors {
        names.iter().map(|name| ((*name).to_owned(), vec!["must be a string".to_owned()])).collect()
    };
    assert_eq!(in_field_order(&blueprint, errors(&["z", "b", "y", "a", "b"])), errors(&["a", "b", "z", "y"]));
}

#[test]
fn the_messages_for_very_many_unknown_attributes_stay_small() {
    let blueprint = blueprint(json!([{"name": "title", "type": "text"}]));
    let sanitizer = Sanitizer::default();
    let options = Options { sanitizer: &sanitizer, relations: Relations::Ids };
    let attributes = (0..1_000).map(|n| (format!("unknown{n}"), json!(1))).collect();
    let errors = check_attributes(&blueprint, attributes, options).errors;
    assert_eq!(errors.count(), 1_000);
    let errors = errors.into_listed();
    assert!(errors[0].1[0].contains("its fields are `title`") && !errors[99].1[0].contains("title"), "{errors:?}");
}

#[test]
fn unique_values_are_compared_by_text_except_empty_ones() {
    assert_eq!(unique_text(&json!("Ab")).as_deref(), Some("Ab"));
    assert_eq!(unique_text(&json!(10)).as_deref(), Some("10"));
    assert_eq!((unique_text(&json!("")), unique_text(&Value::Null)), (None, None));
}

proptest::proptest! {
    #[test]
    fn checking_again_changes_nothing(number in proptest::num::f64::ANY, text in ".{0,40}", position in 0..21usize) {
        let type_name = FieldType::NAMES[position];
        let settings = if type_name.starts_with("ref") { json!({"blueprint": "x"}) } else { json!({}) };
        let field = field(type_name, settings);
        let values = [json!(number), json!(text), json!([text]), json!({"html": text, "css": text}), json!({"city": text}),
            json!({"amount": number, "currency": "EUR"})];
        for value in values {
            if let Ok(once) = checked(&field, &value, Relations::IdsOrKeys) {
                proptest::prop_assert_eq!(checked(&field, &once, Relations::IdsOrKeys), Ok(once.clone()));
            }
        }
    }
}
