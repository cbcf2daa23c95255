//! Blueprints as they are answered (`API.md` 4.9.1), and as they are stored.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::time::{Millis, format_millis};
use super::super::value::canonical_number;
use super::draft::Draft;
use super::revise::FieldNumbers;
use super::{Blueprint, Field, FieldType, Kind, Seo, Variant};

/// The version of the stored form.
const FORMAT: u32 = 1;

/// The blueprint as it is answered, keys in their documented order.
pub fn to_json(blueprint: &Blueprint) -> Value {
    let variants: Vec<Value> = blueprint.variants.iter().map(variant_to_json).collect();
    let fields: Vec<Value> = blueprint.fields.iter().map(field_to_json).collect();
    json!({
        "id": blueprint.slug,
        "type": "blueprint",
        "name": blueprint.name,
        "slug": blueprint.slug,
        "kind": blueprint.kind.as_str(),
        "icon": blueprint.icon,
        "record_title": blueprint.record_title,
        "is_singular": blueprint.kind == Kind::Singular,
        "is_readonly": blueprint.kind == Kind::Readonly,
        "variants": variants,
        "seo": blueprint.seo.as_ref().map(seo_to_json),
        "fields": fields,
        "created_at": format_millis(blueprint.created_at),
        "updated_at": format_millis(blueprint.updated_at),
    })
}

/// The stored form: JSON with a format version, what is answered and the internal numbers beside it.
pub fn encode(blueprint: &Blueprint) -> Vec<u8> {
    let variants: Vec<u16> = blueprint.variants.iter().map(|variant| variant.number).collect();
    let fields: Vec<FieldNumbers> = blueprint.fields.iter().map(FieldNumbers::of).collect();
    let stored = json!({
        "format": FORMAT,
        "number": blueprint.number,
        "revision": blueprint.revision,
        "shape": blueprint.shape,
        "next_field": blueprint.next_field,
        "next_variant": blueprint.next_variant,
        "plain_variant": blueprint.plain_variant,
        "filled": blueprint.filled,
        "variants": variants,
        "fields": fields,
        "created_at": blueprint.created_at,
        "updated_at": blueprint.updated_at,
        "blueprint": to_json(blueprint),
    });
    stored.to_string().into_bytes()
}

/// Reads the stored form.
///
/// # Errors
///
/// What is wrong with it, for the log.
pub fn decode(bytes: &[u8]) -> Result<Blueprint, String> {
    let stored: Stored = serde_json::from_slice(bytes).map_err(|error| format!("stored blueprint: {error}"))?;
    if stored.format != FORMAT {
        return Err(format!("stored blueprint has format {}, not {FORMAT}", stored.format));
    }
    let draft = Draft::parse(stored.blueprint).map_err(|error| format!("stored blueprint: {error}"))?;
    if draft.variants.len() != stored.variants.len() || draft.fields.len() != stored.fields.len() {
        return Err(format!("stored blueprint `{}` lacks numbers of fields or variants", draft.slug));
    }
    let variants = draft.variants.into_iter().zip(stored.variants);
    let fields = draft.fields.into_iter().zip(stored.fields);
    Ok(Blueprint {
        number: stored.number,
        revision: stored.revision,
        shape: stored.shape,
        next_field: stored.next_field,
        next_variant: stored.next_variant,
        plain_variant: stored.plain_variant,
        filled: stored.filled,
        slug: draft.slug,
        name: draft.name,
        kind: draft.kind.unwrap_or(Kind::Resource),
        icon: draft.icon,
        record_title: draft.record_title,
        variants: variants.map(|(variant, number)| variant.numbered(number)).collect(),
        seo: draft.seo,
        fields: fields.map(|(field, numbers)| field.numbered(numbers)).collect(),
        created_at: stored.created_at,
        updated_at: stored.updated_at,
    })
}

#[derive(Deserialize)]
struct Stored {
    format: u32,
    number: u32,
    revision: u64,
    shape: u64,
    next_field: u32,
    next_variant: u16,
    plain_variant: u16,
    filled: u64,
    variants: Vec<u16>,
    fields: Vec<FieldNumbers>,
    created_at: Millis,
    updated_at: Millis,
    blueprint: Value,
}

fn variant_to_json(variant: &Variant) -> Value {
    json!({ "name": variant.name, "slug": variant.slug, "default": variant.default })
}

fn seo_to_json(seo: &Seo) -> Value {
    json!({
        "content": seo.content,
        "focus_keyword": seo.focus_keyword,
        "title": seo.title,
        "description": seo.description,
        "slug": seo.slug,
    })
}

fn field_to_json(field: &Field) -> Value {
    json!({
        "name": field.name,
        "slug": field.slug,
        "type": field.kind.name(),
        "description": field.description,
        "required": field.required,
        "unique": field.claims.is_some(),
        "settings": settings_to_json(&field.kind),
    })
}

fn settings_to_json(kind: &FieldType) -> Value {
    match kind {
        FieldType::HtmlPage { blocks, template } => json!({ "blocks": blocks, "template": template }),
        FieldType::Enum { values } | FieldType::MultiEnum { values } => json!({ "values": values }),
        FieldType::Money { default_currency, currencies } => {
            json!({ "default_currency": default_currency, "currencies": currencies })
        }
        FieldType::Duration { unit, display, min, max } => json!({
            "unit": unit.as_str(),
            "display": display,
            "min": min.map(canonical_number),
            "max": max.map(canonical_number),
        }),
        FieldType::Reference { blueprint, display } | FieldType::References { blueprint, display } => {
            json!({ "blueprint": blueprint, "display": display })
        }
        FieldType::User { role } => json!({ "role": role }),
        _ => Value::Object(Map::new()),
    }
}
