#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::model::error::Code;

#[track_caller]
fn faults(body: Value) -> Vec<String> {
    let error = Draft::parse(body).unwrap_err();
    assert_eq!(error.code, Code::ValidationFailed);
    error.fields.into_iter().map(|(path, _)| path).collect()
}

fn with_field(field: Value) -> Value {
    json!({"name": "A", "fields": [field]})
}

#[test]
fn name_and_fields_are_enough() {
    let draft = Draft::parse(json!({"name": "Über uns!", "fields": []})).unwrap();
    assert_eq!((draft.slug.as_str(), draft.kind), ("uber_uns", None));
    assert_eq!((draft.icon, draft.record_title, draft.seo), (None, None, None));
    assert!(draft.variants.is_empty() && draft.fields.is_empty());
}

#[test]
fn settings_have_defaults() {
    let kind = |kind: &str| Draft::parse(with_field(json!({"name": "f", "type": kind}))).unwrap().fields.remove(0).kind;
    assert_eq!(kind("enum"), FieldType::Enum { values: None });
    assert_eq!(kind("html-page"), FieldType::HtmlPage { blocks: None, template: None });
    let FieldType::Money { default_currency: None, currencies } = kind("money") else { panic!() };
    assert_eq!(currencies.len(), 35);
    let unit = super::super::DurationUnit::Minutes;
    assert_eq!(kind("duration"), FieldType::Duration { unit, display: None, min: None, max: None });
    assert_eq!(kind("user"), FieldType::User { role: None });
}

#[test]
fn slugs_are_made_from_names() {
    for (name, slug) in [
        ("Title", Some("title")),
        ("Veröffentlicht am", Some("veroffentlicht_am")),
        ("  --Price (EUR)--  ", Some("price_eur")),
        ("ﬁne ①", Some("fine_1")),
        ("A1-b_c", Some("a1_b_c")),
        ("Ünïcödé ÆØ x", Some("unicode_x")),
        ("İstanbul", Some("istanbul")),
        ("日本語", None),
        ("!!!", None),
        ("2nd", None),
        ("", None),
    ] {
        assert_eq!(field_slug_from_name(name).as_deref(), slug, "{name}");
    }
    let long = field_slug_from_name(&"ab ".repeat(40)).unwrap();
    assert!(is_slug(&long) && long.len() > 60, "{long}");
}

#[test]
fn slugs_have_one_shape() {
    for slug in ["a", "a-b_c1", &"a".repeat(63)] {
        assert!(is_slug(slug), "{slug}");
    }
    for slug in ["", "A", "1a", "_a", "-a", "a b", "ä", "a.b", &"a".repeat(64)] {
        assert!(!is_slug(slug), "{slug}");
    }
    for slug in ["d", "zh-CN", "DE", "a1-", &"a".repeat(35)] {
        assert!(is_variant_slug(slug), "{slug}");
    }
    for slug in ["", "1a", "-a", "zh_CN", "dé", &"a".repeat(36)] {
        assert!(!is_variant_slug(slug), "{slug}");
    }
}

#[test]
fn every_fault_is_told_at_its_path() {
    let cases = [
        (json!([]), vec![]),
        (json!({}), vec!["name", "fields"]),
        (json!({"name": "", "fields": {}}), vec!["name", "fields"]),
        (json!({"name": "日本", "fields": []}), vec!["slug"]),
        (json!({"name": "A", "slug": "A", "fields": []}), vec!["slug"]),
        (json!({"name": "A", "slug": null, "fields": []}), vec!["slug"]),
        (json!({"name": "A", "kind": "x", "fields": []}), vec!["kind"]),
        (json!({"name": "A", "fields": [], "colour": 1}), vec!["colour"]),
        (json!({"name": "A", "fields": [1]}), vec!["fields.0"]),
        (with_field(json!({})), vec!["fields.0.name", "fields.0.type"]),
        (with_field(json!({"name": "a", "type": "txt"})), vec!["fields.0.type"]),
        (with_field(json!({"name": "Type", "type": "text"})), vec!["fields.0.slug"]),
        (with_field(json!({"name": "a", "slug": "a b", "type": "text"})), vec!["fields.0.slug"]),
        (
            with_field(json!({"name": "a", "type": "text", "required": 1, "x": 2})),
            vec!["fields.0.required", "fields.0.x"],
        ),
        (with_field(json!({"name": "a", "type": "boolean", "unique": true})), vec!["fields.0.unique"]),
        (with_field(json!({"name": "a", "type": "text", "settings": {"x": 1}})), vec!["fields.0.settings"]),
        (with_field(json!({"name": "a", "type": "text", "settings": []})), vec!["fields.0.settings"]),
        (with_field(json!({"name": "a", "type": "enum", "settings": {"values": []}})), vec!["fields.0.settings"]),
        (
            with_field(json!({"name": "a", "type": "enum", "settings": {"values": ["x", "x"]}})),
            vec!["fields.0.settings"],
        ),
        (with_field(json!({"name": "a", "type": "enum", "settings": {"values": [""]}})), vec!["fields.0.settings"]),
        (
            with_field(json!({"name": "a", "type": "money", "settings": {"currencies": ["XXX"]}})),
            vec!["fields.0.settings"],
        ),
        (
            with_field(
                json!({"name": "a", "type": "money", "settings": {"currencies": ["EUR"], "default_currency": "USD"}}),
            ),
            vec!["fields.0.settings"],
        ),
        (
            with_field(json!({"name": "a", "type": "duration", "settings": {"min": 2, "max": 1}})),
            vec!["fields.0.settings"],
        ),
        (
            with_field(json!({"name": "a", "type": "duration", "settings": {"unit": "weeks"}})),
            vec!["fields.0.settings"],
        ),
        (with_field(json!({"name": "a", "type": "reference"})), vec!["fields.0.settings"]),
        (json!({"name": "A", "fields": [], "record_title": "x"}), vec!["record_title"]),
        (json!({"name": "A", "fields": [], "seo": {"title": "x", "y": 1}}), vec!["seo.y", "seo.title"]),
        (json!({"name": "A", "fields": [], "variants": [{"name": "x", "slug": "en"}]}), vec!["variants"]),
        (
            json!({"name": "A", "fields": [], "variants": [{"name": "x", "slug": "e_n", "default": true}, {"slug": "de", "default": true}]}),
            vec!["variants.0.slug", "variants"],
        ),
    ];
    for (body, paths) in cases {
        assert_eq!(faults(body.clone()), paths, "{body}");
    }
    let twice = json!({"name": "A", "fields": [{"name": "a", "type": "text"}, {"name": "A", "type": "txt"}, {"name": "b", "type": "text"}]});
    assert_eq!(faults(twice), ["fields.1.slug", "fields.1.type"]);
}

#[test]
fn what_the_server_answers_is_ignored() {
    let body = json!({"id": 1, "type": 2, "is_singular": 3, "is_readonly": 4, "created_at": 5, "updated_at": 6, "name": "A", "fields": []});
    assert!(Draft::parse(body).is_ok());
}

#[test]
fn the_slug_of_one_in_force_cannot_change() {
    let body = |slug: &str| json!({"name": "New name", "slug": slug, "fields": []});
    assert_eq!(Draft::parse_for("a", body("a")).unwrap().slug, "a");
    assert_eq!(Draft::parse_for("a", json!({"name": "New name", "fields": []})).unwrap().slug, "a");
    assert_eq!(Draft::parse_for("a", body("b")).unwrap_err().fields[0].0, "slug");
}

#[test]
fn related_blueprints_are_told_with_their_fields() {
    let body = json!({"name": "A", "fields": [
        {"name": "a", "type": "text"},
        {"name": "b", "type": "reference", "settings": {"blueprint": "x"}},
        {"name": "c", "type": "references", "settings": {"blueprint": "y", "display": ["title"]}},
    ]});
    let draft = Draft::parse(body).unwrap();
    assert_eq!(draft.related().collect::<Vec<_>>(), [(1, "b", "x"), (2, "c", "y")]);
}
