#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::blueprint::definition::RelationDefinition;
use crate::blueprint::field::{DurationUnit, FieldType};
use crate::blueprint::slug::slug_from_name;
use crate::blueprint::types::{BlueprintKind, HistorySettings, TrashSettings};

#[track_caller]
fn error_paths(body: Value) -> Vec<String> {
    let error = Definition::parse(body).unwrap_err();
    assert_eq!(error.code, Code::ValidationFailed);
    error.fields.into_iter().map(|(path, _)| path).collect()
}

fn with_field(field: Value) -> Value {
    json!({"name": "A", "fields": [field]})
}

#[test]
fn only_name_and_fields_are_required() {
    let definition = Definition::parse(json!({"name": "Über uns!", "fields": []})).unwrap();
    assert_eq!((definition.slug.as_str(), definition.kind), ("uber_uns", None));
    assert_eq!((definition.icon, definition.record_title, definition.seo), (None, None, None));
    assert!(definition.variants.is_empty() && definition.fields.is_empty());
}

#[test]
fn settings_have_defaults() {
    let field_type = |name: &str| {
        Definition::parse(with_field(json!({"name": "f", "type": name}))).unwrap().fields.remove(0).field_type
    };
    assert_eq!(field_type("enum"), FieldType::Enum { values: None });
    assert_eq!(field_type("html-page"), FieldType::HtmlPage { blocks: None, template: None });
    let FieldType::Money { default_currency: None, currencies } = field_type("money") else { panic!() };
    assert_eq!(currencies.len(), 35);
    let unit = DurationUnit::Minutes;
    assert_eq!(field_type("duration"), FieldType::Duration { unit, display: None, min: None, max: None });
    assert_eq!(field_type("user"), FieldType::User { role: None });
}

#[test]
fn slugs_are_derived_from_names() {
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
        assert_eq!(slug_from_name(name).as_deref(), slug, "{name}");
    }
    let long = slug_from_name(&"ab ".repeat(40)).unwrap();
    assert!(is_slug(&long) && long.len() > 60, "{long}");
}

#[test]
fn slugs_have_a_fixed_syntax() {
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
fn every_error_is_reported_at_its_path() {
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
        assert_eq!(error_paths(body.clone()), paths, "{body}");
    }
    let twice = json!({"name": "A", "fields": [{"name": "a", "type": "text"}, {"name": "A", "type": "txt"}, {"name": "b", "type": "text"}]});
    assert_eq!(error_paths(twice), ["fields.1.slug", "fields.1.type"]);
}

#[test]
fn keys_that_only_responses_contain_are_ignored() {
    let body = json!({"id": 1, "type": 2, "is_singular": 3, "is_readonly": 4, "created_at": 5, "updated_at": 6, "name": "A", "fields": []});
    assert!(Definition::parse(body).is_ok());
}

#[test]
fn the_slug_of_an_existing_blueprint_cannot_change() {
    let body = |slug: &str| json!({"name": "New name", "slug": slug, "fields": []});
    assert_eq!(Definition::parse_for("a", BlueprintKind::Resource, body("a")).unwrap().slug, "a");
    assert_eq!(
        Definition::parse_for("a", BlueprintKind::Resource, json!({"name": "New name", "fields": []})).unwrap().slug,
        "a"
    );
    assert_eq!(Definition::parse_for("a", BlueprintKind::Resource, body("b")).unwrap_err().fields[0].0, "slug");
}

#[test]
fn relations_are_listed_with_their_fields() {
    let body = json!({"name": "A", "fields": [
        {"name": "a", "type": "text"},
        {"name": "b", "type": "reference", "settings": {"blueprint": "x"}},
        {"name": "c", "type": "references", "settings": {"blueprint": "y", "display": ["title"]}},
    ]});
    let definition = Definition::parse(body).unwrap();
    assert_eq!(
        definition.relations().collect::<Vec<_>>(),
        [
            RelationDefinition { position: 1, field: "b", blueprint: "x" },
            RelationDefinition { position: 2, field: "c", blueprint: "y" },
        ]
    );
}

#[test]
fn trash_and_history_are_off_unless_they_are_given_and_have_bounds() {
    let with = |key: &str, value: Value| json!({"name": "A", "fields": [], key: value});
    for off in [json!({"name": "A", "fields": []}), with("trash", Value::Null), with("history", Value::Null)] {
        let definition = Definition::parse(off).unwrap();
        assert_eq!((definition.trash, definition.history), (None, None));
    }
    for days in [1, 30, 365] {
        let trash = Definition::parse(with("trash", json!({"days": days}))).unwrap().trash;
        assert_eq!(trash, Some(TrashSettings { days }));
    }
    for (keep, days) in [(1, 1), (50, 365), (1_000, 3_650)] {
        let history = Definition::parse(with("history", json!({"keep": keep, "days": days}))).unwrap().history;
        assert_eq!(history, Some(HistorySettings { keep, days }));
    }
    for (key, value, paths) in [
        ("trash", json!(30), vec!["trash"]),
        ("trash", json!(true), vec!["trash"]),
        ("trash", json!({}), vec!["trash.days"]),
        ("trash", json!({"days": 0}), vec!["trash.days"]),
        ("trash", json!({"days": 366}), vec!["trash.days"]),
        ("trash", json!({"days": 1.5}), vec!["trash.days"]),
        ("trash", json!({"days": "30"}), vec!["trash.days"]),
        ("trash", json!({"days": 30, "keep": 1}), vec!["trash.keep"]),
        ("history", json!([]), vec!["history"]),
        ("history", json!({"keep": 50}), vec!["history.days"]),
        ("history", json!({"keep": 1_001, "days": 3_651}), vec!["history.keep", "history.days"]),
        ("history", json!({"keep": -1, "days": 1}), vec!["history.keep"]),
    ] {
        assert_eq!(error_paths(with(key, value.clone())), paths, "{key}: {value}");
    }
}

#[test]
fn a_media_blueprint_has_the_system_fields_first_and_only_the_server_defines_them() {
    let body = |fields: Value| json!({"name": "Media", "kind": "media", "record_title": "file_name", "fields": fields});
    let alt = json!({"name": "alt", "type": "text"});
    let definition = Definition::parse(body(json!([alt]))).unwrap();
    let slugs: Vec<&str> = definition.fields.iter().map(|field| field.slug.as_str()).collect();
    let system = ["file_name", "mime", "bytes", "width", "height", "hash", "url", "placeholder", "focal_x", "focal_y"];
    assert_eq!(slugs[..10], system);
    assert_eq!(slugs[10..], ["alt"]);

    let blueprint = crate::blueprint::Blueprint::create(definition.clone(), 1, 0);
    let answered = crate::blueprint::render::to_json(&blueprint);
    assert_eq!(answered["fields"][0]["system"], json!(true));
    assert_eq!(answered["fields"][10].get("system"), None);
    assert_eq!(Definition::parse(answered.clone()).unwrap(), definition);
    let mut without_kind = answered.clone();
    without_kind.as_object_mut().unwrap().shift_remove("kind");
    let again = Definition::parse_for("media", BlueprintKind::Media, without_kind).unwrap();
    assert_eq!(again.fields, definition.fields);
    let stored = crate::blueprint::render::decode(&crate::blueprint::render::encode(&blueprint)).unwrap();
    assert_eq!(stored, blueprint);

    let mut renamed = answered;
    renamed["fields"][0]["name"] = json!("Other");
    assert_eq!(error_paths(renamed), ["fields.0.slug"]);
    assert_eq!(error_paths(body(json!([{"name": "url", "type": "text"}]))), ["fields.0.slug"]);
    let marked = json!([{"name": "a", "type": "text", "system": true}]);
    assert_eq!(error_paths(body(marked.clone())), ["fields.0.system"]);
    assert_eq!(error_paths(json!({"name": "A", "fields": marked})), ["fields.0.system"]);
    let plain = json!({"name": "A", "fields": [{"name": "url", "type": "text"}]});
    assert_eq!(Definition::parse(plain).unwrap().fields.len(), 1);
}
