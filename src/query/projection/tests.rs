#![allow(clippy::unwrap_used)]

use bindery_model::blueprint::Definition;
use serde_json::json;

use super::*;

fn every_type() -> Blueprint {
    let fields: Vec<Json> = FieldType::NAMES
        .iter()
        .map(|name| {
            let slug = name.replace('-', "_");
            let settings = if name.starts_with("ref") { json!({"blueprint": "x"}) } else { json!({}) };
            json!({"name": slug, "slug": format!("f_{slug}"), "type": name, "settings": settings})
        })
        .collect();
    Blueprint::create(Definition::parse(json!({"name": "Every", "slug": "every", "fields": fields})).unwrap(), 1, 0)
}

fn text(text: &str) -> Value {
    Value::Text(Arc::from(text))
}

#[test]
fn every_field_type_has_its_kind_of_column() {
    let blueprint = every_type();
    let cases = [
        ("f_text", Kind::Prose),
        ("f_rich_text", Kind::Markup),
        ("f_html_page", Kind::Markup),
        ("f_enum", Kind::Text),
        ("f_multi_enum", Kind::List),
        ("f_boolean", Kind::Bool),
        ("f_number", Kind::Number),
        ("f_money", Kind::Number),
        ("f_money.amount", Kind::Number),
        ("f_money.currency", Kind::Text),
        ("f_date", Kind::Plain),
        ("f_datetime", Kind::Instant),
        ("f_duration", Kind::Number),
        ("f_reference", Kind::Text),
        ("f_references", Kind::List),
        ("f_user", Kind::Number),
        ("f_address", Kind::Plain),
        ("f_address.city", Kind::Text),
    ];
    for (name, kind) in cases {
        assert_eq!(column(&blueprint, name).unwrap().kind, kind, "{name}");
    }
    assert_eq!(column(&blueprint, "f_money").unwrap().id, column(&blueprint, "f_money.amount").unwrap().id);
    for name in ["nothing", "f_text.", "f_text.x", "f_money.", "f_address.amount", "f_address.city.x", ""] {
        assert_eq!(column(&blueprint, name), None, "{name}");
    }
}

#[test]
fn the_schema_has_each_column_once_and_every_column_has_a_name() {
    let blueprint = every_type();
    let schema = schema(&blueprint);
    assert_eq!(schema.columns.len(), 21 + 1 + 4);
    let mut ids: Vec<ColumnId> = schema.columns.iter().map(|column| column.id).collect();
    let mut named: Vec<ColumnId> =
        column_names(&blueprint).iter().map(|name| column(&blueprint, name).unwrap().id).collect();
    for ids in [&mut ids, &mut named] {
        ids.sort_unstable();
        ids.dedup();
    }
    assert_eq!(ids.len(), schema.columns.len());
    assert_eq!(named, ids);
    assert_eq!(schema.variants, [Variant { number: blueprint.plain_variant, locale: None }]);
    let searched = searchable_columns(&blueprint);
    assert_eq!(searched, [column(&blueprint, "f_text").unwrap().id, column(&blueprint, "f_rich_text").unwrap().id]);
}

#[test]
fn the_slug_of_a_variant_names_its_collation() {
    let body = json!({"name": "V", "fields": [], "variants": [
        {"name": "German", "slug": "de", "default": true}, {"name": "Chinese", "slug": "zh-CN"}]});
    let blueprint = Blueprint::create(Definition::parse(body).unwrap(), 1, 0);
    let locales: Vec<Option<String>> = schema(&blueprint).variants.into_iter().map(|variant| variant.locale).collect();
    assert_eq!(locales, [Some("de".to_owned()), Some("zh-CN".to_owned())]);
}

#[test]
fn values_become_values_of_their_columns() {
    let blueprint = every_type();
    let cases = [
        ("f_text", json!("a"), vec![("f_text", text("a"))]),
        ("f_text", json!(""), vec![("f_text", text(""))]),
        ("f_text", Json::Null, vec![]),
        (
            "f_rich_text",
            json!("<p>a</p><p>b</p>"),
            vec![("f_rich_text", Value::Markup { exact: exact_hash("<p>a</p><p>b</p>"), text: Arc::from("a b") })],
        ),
        (
            "f_html_page",
            json!({"html": "<b>x</b>", "css": "p{}", "blocks": []}),
            vec![("f_html_page", Value::Markup { exact: exact_hash("<b>x</b>"), text: Arc::from("x") })],
        ),
        ("f_number", json!(10), vec![("f_number", Value::Number(10.0))]),
        ("f_user", json!(7), vec![("f_user", Value::Number(7.0))]),
        ("f_boolean", json!(false), vec![("f_boolean", Value::Bool(false))]),
        (
            "f_money",
            json!({"amount": 1.5, "currency": "EUR"}),
            vec![("f_money", Value::Number(1.5)), ("f_money.currency", text("EUR"))],
        ),
        ("f_date", json!("2026-01-02"), vec![("f_date", text("2026-01-02"))]),
        (
            "f_datetime",
            json!("1970-01-01T02:00:01+02"),
            vec![("f_datetime", Value::Instant { micros: 1_000_000, text: Arc::from("1970-01-01T02:00:01+02") })],
        ),
        ("f_multi_enum", json!(["a", "b"]), vec![("f_multi_enum", Value::List(vec![Arc::from("a"), Arc::from("b")]))]),
        ("f_references", json!([]), vec![("f_references", Value::List(vec![]))]),
        (
            "f_address",
            json!({"street": "S 1", "postal_code": "", "city": "C", "country": null}),
            vec![
                ("f_address", text("S 1, C")),
                ("f_address.street", text("S 1")),
                ("f_address.postal_code", text("")),
                ("f_address.city", text("C")),
            ],
        ),
    ];
    for (slug, value, expected) in cases {
        let position = blueprint.fields.iter().position(|field| field.slug == slug).unwrap();
        let mut projected = project(&blueprint, [(position, &value)]);
        projected.sort_by_key(|(id, _)| *id);
        let expected: Vec<(ColumnId, Value)> =
            expected.into_iter().map(|(name, value)| (column(&blueprint, name).unwrap().id, value)).collect();
        assert_eq!(projected, expected, "{slug} {value}");
    }
}

#[test]
fn the_languages_of_the_setting_are_those_of_the_index() {
    assert_eq!(Language::codes().collect::<Vec<_>>(), SearchLanguage::CODES);
}
