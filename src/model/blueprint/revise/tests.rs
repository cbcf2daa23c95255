#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::*;
use crate::blueprint::render::{decode, encode, to_json};
use crate::blueprint::{Choices, FieldType};

fn definition(body: Value) -> Definition {
    Definition::parse(body).unwrap()
}

fn fields(fields: &[(&str, &str)]) -> Value {
    let fields: Vec<Value> = fields.iter().map(|(slug, kind)| json!({"name": slug, "type": kind})).collect();
    json!({"name": "A", "fields": fields})
}

fn variants(slugs: &[&str]) -> Value {
    let variants: Vec<Value> = slugs.iter().map(|slug| json!({"slug": slug, "default": *slug == slugs[0]})).collect();
    json!({"name": "A", "fields": [], "variants": variants})
}

fn numbers(blueprint: &Blueprint) -> Vec<(u32, u64)> {
    blueprint.fields.iter().map(|field| (field.number, field.since)).collect()
}

fn listed(differences: &[Difference]) -> Vec<(&str, &str)> {
    differences.iter().map(|difference| (difference.op.as_str(), difference.field.as_str())).collect()
}

#[test]
fn fields_keep_their_numbers_and_numbers_are_never_reused() {
    let first = Blueprint::create(definition(fields(&[("a", "text"), ("b", "text"), ("c", "number")])), 7, 10);
    assert_eq!((first.number, first.revision, first.created_at, first.updated_at), (7, 1, 10, 10));
    assert_eq!(numbers(&first), [(1, 1), (2, 1), (3, 1)]);

    let (second, differences) = first.revise(definition(fields(&[("c", "text"), ("a", "text"), ("d", "date")])), 20);
    // A retyped field has a new number but keeps its revision, because its values stay.
    assert_eq!(numbers(&second), [(4, 1), (1, 1), (5, 2)]);
    assert_eq!(listed(&differences), [("remove", "b"), ("retype", "c"), ("add", "d"), ("reorder", "fields")]);
    assert_eq!((second.revision, second.created_at, second.updated_at), (2, 10, 20));

    let (third, differences) =
        second.revise(definition(fields(&[("c", "number"), ("a", "text"), ("b", "text"), ("d", "date")])), 30);
    assert_eq!(numbers(&third), [(6, 1), (1, 1), (7, 3), (5, 2)]);
    assert_eq!(listed(&differences), [("retype", "c"), ("add", "b")]);
}

#[test]
fn a_field_with_fewer_allowed_values_keeps_its_number() {
    let field =
        |values: Value| json!({"name": "A", "fields": [{"name": "a", "type": "enum", "settings": {"values": values}}]});
    let first = Blueprint::create(definition(field(json!(["x", "y"]))), 1, 0);
    let (second, differences) = first.revise(definition(field(json!(["x"]))), 1);
    assert_eq!(numbers(&second), numbers(&first));
    assert_eq!(second.fields[0].field_type, FieldType::Enum { values: Some(Choices::new(vec!["x".to_owned()])) });
    assert_eq!(listed(&differences), [("change", "a")]);
}

#[test]
fn changes_outside_the_fields_are_listed_as_set() {
    let first = Blueprint::create(definition(fields(&[("a", "text")])), 1, 0);
    let mut body = fields(&[("a", "text")]);
    for (key, value) in [
        ("name", json!("B")),
        ("slug", json!("a")),
        ("kind", json!("readonly_resource")),
        ("icon", json!("x")),
        ("record_title", json!("a")),
        ("seo", json!({"title": "a"})),
        ("variants", json!([{"slug": "en", "default": true}])),
    ] {
        body[key] = value;
    }
    let (second, differences) = first.revise(definition(body), 1);
    let keys = ["name", "kind", "icon", "record_title", "variants", "seo"];
    assert_eq!(listed(&differences), keys.map(|key| ("set", key)));
    let (_, differences) = second.revise(Definition::parse(to_json(&second)).unwrap(), 2);
    assert_eq!(listed(&differences), []);
    let (kept, _) = second.revise(definition(fields(&[])), 3);
    assert_eq!(kept.kind, BlueprintKind::Readonly);
}

#[test]
fn variants_keep_their_numbers_and_the_plain_copy_becomes_the_default_copy_and_back() {
    let numbers =
        |blueprint: &Blueprint| -> Vec<u16> { blueprint.variants.iter().map(|variant| variant.number).collect() };
    let plain = Blueprint::create(definition(variants(&[])), 1, 0);
    assert_eq!((plain.plain_variant, plain.default_variant()), (0, 0));

    let (two, _) = plain.revise(definition(variants(&["en", "de"])), 1);
    assert_eq!(numbers(&two), [0, 1]);
    assert_eq!(two.default_variant(), 0);

    let (other_default, _) = two.revise(definition(variants(&["de", "fr", "en"])), 2);
    assert_eq!(numbers(&other_default), [1, 2, 0]);

    let (fewer, _) = other_default.revise(definition(variants(&["de"])), 3);
    let (back, _) = fewer.revise(definition(variants(&[])), 4);
    assert_eq!((back.plain_variant, back.default_variant(), back.variant_numbers()), (1, 1, vec![1]));

    let (again, _) = back.revise(definition(variants(&["es", "en"])), 5);
    assert_eq!(numbers(&again), [1, 3]);

    let with_variants = Blueprint::create(definition(variants(&["en", "de"])), 1, 0);
    assert_eq!(numbers(&with_variants), [0, 1]);
}

#[test]
fn decoding_the_stored_form_restores_everything() {
    let all: Vec<Value> = FieldType::NAMES
        .iter()
        .map(|kind| {
            let settings = match *kind {
                "reference" | "references" => json!({"blueprint": "x", "display": ["a"]}),
                "duration" => json!({"unit": "days", "min": -1.5, "max": 10}),
                "enum" => json!({"values": ["a"]}),
                "money" => json!({"currencies": ["EUR", "USD"], "default_currency": "EUR"}),
                "html-page" => json!({"blocks": ["a"], "template": "<b>"}),
                "user" => json!({"role": "editor"}),
                _ => json!(null),
            };
            json!({"name": kind, "slug": format!("f-{kind}"), "type": kind, "settings": settings, "required": true})
        })
        .collect();
    let body = json!({"name": "A", "fields": all, "variants": [{"slug": "de", "default": true}, {"slug": "en", "name": "English"}],
        "seo": {"content": "f-text"}, "record_title": "f-text", "kind": "singular_resource"});
    let first = Blueprint::create(definition(body.clone()), 3, -5);
    let (second, _) = first.revise(definition(body), 1_763_671_351_123);
    assert_eq!(decode(&encode(&second)).unwrap(), second);
    assert!(decode(b"{}").is_err());
    assert!(
        decode(&String::from_utf8(encode(&second)).unwrap().replace("\"format\":1", "\"format\":9").into_bytes())
            .is_err()
    );
}

#[test]
fn a_blueprint_is_rendered_in_its_documented_shape() {
    let body = json!({"name": "Post", "fields": [{"name": "Title", "type": "text", "unique": true}, {"name": "Time", "type": "duration", "settings": {"max": 5.0}}]});
    let rendered = to_json(&Blueprint::create(definition(body), 1, 0)).to_string();
    let expected = concat!(
        r#"{"id":"post","type":"blueprint","name":"Post","slug":"post","kind":"resource","icon":null,"record_title":null,"#,
        r#""is_singular":false,"is_readonly":false,"variants":[],"seo":null,"fields":["#,
        r#"{"name":"Title","slug":"title","type":"text","description":null,"required":false,"unique":true,"settings":{}},"#,
        r#"{"name":"Time","slug":"time","type":"duration","description":null,"required":false,"unique":false,"#,
        r#""settings":{"unit":"minutes","display":null,"min":null,"max":5}}],"#,
        r#""created_at":"1970-01-01T00:00:00.000+00:00","updated_at":"1970-01-01T00:00:00.000+00:00"}"#
    );
    assert_eq!(rendered, expected);
}

#[test]
fn a_blueprint_that_has_used_up_its_numbers_takes_no_new_variants_or_fields() {
    let with = |variants: &[&str]| {
        let variants = variants.iter().enumerate();
        let variants: Vec<_> =
            variants.map(|(position, slug)| json!({ "name": slug, "slug": slug, "default": position == 0 })).collect();
        let field = json!({ "name": "a", "slug": "a", "type": "text" });
        Definition::parse(json!({ "name": "T", "slug": "t", "variants": variants, "fields": [field] })).unwrap()
    };
    let mut blueprint = Blueprint::create(with(&["en", "de"]), 1, 0);
    blueprint.next_variant = MAX_VARIANT - 1;
    assert!(blueprint.has_numbers_for(&with(&["en", "de", "fr"])));
    assert!(!blueprint.has_numbers_for(&with(&["en", "de", "fr", "it"])));
    blueprint.next_variant = MAX_VARIANT;
    assert!(blueprint.has_numbers_for(&with(&["en", "de"])));
    assert!(!blueprint.has_numbers_for(&with(&["en", "fr"])));
    blueprint.next_field = u32::MAX;
    assert!(!blueprint.has_numbers_for(&with(&["en"])));
}
