//! Blueprints as they are answered, and as they are stored.

use serde_json::{Map, Value, json};

use super::draft::Draft;
use super::{Blueprint, Field, FieldType, Kind};
use crate::model::time::format_millis;

const FORMAT: u64 = 1;

/// The blueprint object of `API.md` 6.
pub fn to_json(blueprint: &Blueprint) -> Value {
    let variants = blueprint.variants.iter().map(|variant| {
        json!({ "name": variant.name, "slug": variant.slug, "default": variant.default })
    });
    let seo = blueprint.seo.as_ref().map(|seo| {
        json!({
            "content": seo.content,
            "focus_keyword": seo.focus_keyword,
            "title": seo.title,
            "description": seo.description,
            "slug": seo.slug,
        })
    });
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
        "variants": variants.collect::<Vec<_>>(),
        "seo": seo,
        "fields": blueprint.fields.iter().map(field_json).collect::<Vec<_>>(),
        "created_at": format_millis(blueprint.created_at),
        "updated_at": format_millis(blueprint.updated_at),
    })
}

fn field_json(field: &Field) -> Value {
    json!({
        "name": field.name,
        "slug": field.slug,
        "type": field.kind.name(),
        "description": field.description,
        "required": field.required,
        "unique": field.unique,
        "settings": settings_json(&field.kind),
    })
}

fn settings_json(kind: &FieldType) -> Value {
    match kind {
        FieldType::HtmlPage { blocks, template } => json!({ "blocks": blocks, "template": template }),
        FieldType::Enum { values } | FieldType::MultiEnum { values } => json!({ "values": values }),
        FieldType::Money { default_currency, currencies } => {
            json!({ "default_currency": default_currency, "currencies": currencies })
        }
        FieldType::Duration { unit, display, min, max } => {
            json!({ "unit": unit.as_str(), "display": display, "min": number(*min), "max": number(*max) })
        }
        FieldType::Reference { blueprint, display } | FieldType::References { blueprint, display } => {
            json!({ "blueprint": blueprint, "display": display })
        }
        FieldType::User { role } => json!({ "role": role }),
        _ => json!({}),
    }
}

/// Whole numbers without a fraction, as values are answered.
fn number(value: Option<f64>) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Some(value) if value.fract() == 0.0 && value.abs() < EXACT => json!(value as i64),
        other => json!(other),
    }
}

/// The stored form: what is answered, and the internal numbers.
pub fn encode(blueprint: &Blueprint) -> Vec<u8> {
    let fields = blueprint.fields.iter().map(|field| json!([field.number, field.since]));
    let variants = blueprint.variants.iter().map(|variant| json!(variant.number));
    let stored = json!({
        "format": FORMAT,
        "number": blueprint.number,
        "revision": blueprint.revision,
        "shape": blueprint.shape,
        "next_field": blueprint.next_field,
        "next_variant": blueprint.next_variant,
        "plain_variant": blueprint.plain_variant,
        "created_at": blueprint.created_at,
        "updated_at": blueprint.updated_at,
        "fields": fields.collect::<Vec<_>>(),
        "variants": variants.collect::<Vec<_>>(),
        "blueprint": to_json(blueprint),
    });
    stored.to_string().into_bytes()
}

/// Reads the stored form.
///
/// # Errors
/// What is wrong with it: it is damaged, or of a later version.
pub fn decode(bytes: &[u8]) -> Result<Blueprint, String> {
    let stored: Value = serde_json::from_slice(bytes).map_err(|error| format!("a blueprint record: {error}"))?;
    let number = |key: &str| stored[key].as_u64().ok_or_else(|| format!("a blueprint record without `{key}`"));
    let format = number("format")?;
    if format != FORMAT {
        return Err(format!("a blueprint record of format {format}, which this version does not know"));
    }
    let empty = Map::new();
    let body = stored["blueprint"].as_object().unwrap_or(&empty);
    let draft = Draft::parse(body, None).map_err(|error| format!("a blueprint record: {error}"))?;
    let date = |key: &str| stored[key].as_i64().ok_or_else(|| format!("a blueprint record without `{key}`"));
    let narrow = |key: &str| u32::try_from(number(key)?).map_err(|_| format!("a blueprint record with a broken `{key}`"));
    let variant = |key: &str| u16::try_from(number(key)?).map_err(|_| format!("a blueprint record with a broken `{key}`"));
    let mut blueprint = Blueprint::create(&draft, narrow("number")?, date("created_at")?);
    blueprint.revision = number("revision")?;
    blueprint.shape = number("shape")?;
    blueprint.next_field = narrow("next_field")?;
    blueprint.next_variant = variant("next_variant")?;
    blueprint.plain_variant = variant("plain_variant")?;
    blueprint.updated_at = date("updated_at")?;
    for (place, field) in blueprint.fields.iter_mut().enumerate() {
        let numbers = &stored["fields"][place];
        let pair = numbers[0].as_u64().and_then(|number| u32::try_from(number).ok()).zip(numbers[1].as_u64());
        (field.number, field.since) = pair.ok_or("a blueprint record without a field's number")?;
    }
    for (place, variant) in blueprint.variants.iter_mut().enumerate() {
        let number = stored["variants"][place].as_u64().and_then(|number| u16::try_from(number).ok());
        variant.number = number.ok_or("a blueprint record without a variant's number")?;
    }
    Ok(blueprint)
}
