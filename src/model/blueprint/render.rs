//! The JSON form of blueprints (`API.md` 4.9.1) and their stored form.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::definition::{Definition, FieldNumbers};
use super::field::{Choices, Field, FieldType, OnDelete, Relation};
use super::types::{
    Blueprint, BlueprintKind, BoostSetting, HistorySettings, SearchLanguage, SearchSettings, Seo, TrashSettings,
    Variant,
};
use crate::number;
use crate::time::{Millis, format_millis};

/// The version of the stored form.
const FORMAT: u32 = 1;

/// Returns the blueprint as responses contain it, with its keys in their documented order.
pub fn to_json(blueprint: &Blueprint) -> Value {
    let variants: Vec<Value> = blueprint.variants.iter().map(variant_to_json).collect();
    let fields: Vec<Value> = blueprint.fields.iter().map(field_to_json).collect();
    let mut json = json!({
        "id": blueprint.slug,
        "type": "blueprint",
        "name": blueprint.name,
        "slug": blueprint.slug,
        "kind": blueprint.kind.as_str(),
        "icon": blueprint.icon,
        "record_title": blueprint.record_title,
        "is_singular": blueprint.kind == BlueprintKind::Singular,
        "is_readonly": blueprint.kind == BlueprintKind::Readonly,
        "variants": variants,
        "seo": blueprint.seo.as_ref().map(seo_to_json),
        "fields": fields,
        "created_at": format_millis(blueprint.created_at),
        "updated_at": format_millis(blueprint.updated_at),
    });
    if blueprint.scheduled {
        json["scheduled"] = true.into();
    }
    if let Some(search) = &blueprint.search {
        json["search"] = search_to_json(search);
    }
    if blueprint.working_copy {
        json["working_copy"] = true.into();
    }
    if let Some(TrashSettings { days }) = blueprint.trash {
        json["trash"] = json!({ "days": days });
    }
    if let Some(HistorySettings { keep, days }) = blueprint.history {
        json["history"] = json!({ "keep": keep, "days": days });
    }
    json
}

fn boost_to_json(boost: &BoostSetting) -> Value {
    let BoostSetting { field, weight, half_life_days, from, to } = boost;
    let mut json = Map::new();
    json.insert("field".to_owned(), field.as_str().into());
    for (key, number) in [("half_life_days", *half_life_days), ("weight", Some(*weight)), ("from", *from), ("to", *to)]
    {
        if let Some(number) = number {
            json.insert(key.to_owned(), number::canonical(number).into());
        }
    }
    Value::Object(json)
}

fn search_to_json(search: &SearchSettings) -> Value {
    let SearchSettings { fields, language, stop_words, synonyms, boost } = search;
    let mut json = Map::new();
    if !fields.is_empty() {
        let weights = fields.iter().map(|(slug, weight)| (slug.clone(), number::canonical(*weight).into()));
        json.insert("fields".to_owned(), Value::Object(weights.collect()));
    }
    match language {
        SearchLanguage::OfVariant => None,
        SearchLanguage::None => json.insert("language".to_owned(), Value::Null),
        SearchLanguage::Code(code) => json.insert("language".to_owned(), code.as_str().into()),
    };
    if !stop_words.is_empty() {
        json.insert("stop_words".to_owned(), stop_words.as_slice().into());
    }
    if !synonyms {
        json.insert("synonyms".to_owned(), false.into());
    }
    if !boost.is_empty() {
        json.insert("boost".to_owned(), boost.iter().map(boost_to_json).collect());
    }
    Value::Object(json)
}

/// Returns the stored form: JSON with a format version, the internal numbers, and the form that responses contain.
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
/// The problem with the bytes, for the log.
pub fn decode(bytes: &[u8]) -> Result<Blueprint, String> {
    let stored: StoredBlueprint =
        serde_json::from_slice(bytes).map_err(|error| format!("stored blueprint: {error}"))?;
    if stored.format != FORMAT {
        return Err(format!("stored blueprint has format {}, not {FORMAT}", stored.format));
    }
    let definition =
        Definition::parse_stored(stored.blueprint).map_err(|error| format!("stored blueprint: {error}"))?;
    if definition.variants.len() != stored.variants.len() || definition.fields.len() != stored.fields.len() {
        return Err(format!("stored blueprint `{}` does not have one number per field and variant", definition.slug));
    }
    let variants = definition.variants.into_iter().zip(stored.variants);
    let fields = definition.fields.into_iter().zip(stored.fields);
    Ok(Blueprint {
        number: stored.number,
        revision: stored.revision,
        shape: stored.shape,
        next_field: stored.next_field,
        next_variant: stored.next_variant,
        plain_variant: stored.plain_variant,
        filled: stored.filled,
        slug: definition.slug,
        name: definition.name,
        kind: definition.kind.unwrap_or(BlueprintKind::Resource),
        scheduled: definition.scheduled,
        icon: definition.icon,
        record_title: definition.record_title,
        variants: variants.map(|(variant, number)| variant.numbered(number)).collect(),
        seo: definition.seo,
        search: definition.search,
        working_copy: definition.working_copy,
        trash: definition.trash,
        history: definition.history,
        fields: fields.map(|(field, numbers)| field.numbered(numbers)).collect(),
        created_at: stored.created_at,
        updated_at: stored.updated_at,
    })
}

#[derive(Deserialize)]
struct StoredBlueprint {
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
    let mut json = json!({
        "name": field.name,
        "slug": field.slug,
        "type": field.field_type.name(),
        "description": field.description,
        "required": field.required,
        "unique": field.claims.is_some(),
        "settings": settings_to_json(&field.field_type),
    });
    if field.is_system {
        json["system"] = true.into();
    }
    json
}

fn settings_to_json(field_type: &FieldType) -> Value {
    match field_type {
        FieldType::HtmlPage { blocks, template } => json!({ "blocks": blocks, "template": template }),
        FieldType::Enum { values } | FieldType::MultiEnum { values } => {
            json!({ "values": values.as_ref().map(Choices::values) })
        }
        FieldType::Money { default_currency, currencies } => {
            json!({ "default_currency": default_currency, "currencies": currencies })
        }
        FieldType::Duration { unit, display, min, max } => json!({
            "unit": unit.as_str(),
            "display": display,
            "min": min.map(number::canonical),
            "max": max.map(number::canonical),
        }),
        FieldType::Reference(relation) | FieldType::References(relation) => {
            let Relation { blueprint, display, on_delete } = relation;
            let mut settings = json!({ "blueprint": blueprint, "display": display });
            if *on_delete != OnDelete::Keep {
                settings["on_delete"] = on_delete.as_str().into();
            }
            settings
        }
        FieldType::User { role } => json!({ "role": role }),
        _ => Value::Object(Map::new()),
    }
}
