//! The reading of a definition from a request body (`API.md` 4.9.1). All errors are reported at once, each with the
//! path of its value in the body, such as `fields.2.slug`.

mod body;
mod fields;
mod keeping;
mod search;
mod settings;
mod system;

use std::collections::HashSet;

use serde_json::Value;

use self::body::BodyReader;
use super::definition::{Definition, FieldDefinition, VariantDefinition};
use super::slug::{is_slug, is_variant_slug, not_a_slug, not_a_variant_slug};
use super::types::{BlueprintKind, Seo};
use crate::error::{Code, Error, Result};
use crate::sent::{describe, quote, quote_all};

/// The keys that only responses contain. A body may repeat them; they are ignored.
const RESPONSE_KEYS: [&str; 6] = ["id", "type", "is_singular", "is_readonly", "created_at", "updated_at"];
const KEYS: [&str; 13] = [
    "name",
    "slug",
    "kind",
    "scheduled",
    "icon",
    "record_title",
    "variants",
    "seo",
    "search",
    "working_copy",
    "trash",
    "history",
    "fields",
];
const VARIANT_KEYS: [&str; 3] = ["name", "slug", "default"];
/// The maximum number of variants of a blueprint.
const MAX_VARIANTS: usize = 100;
const SEO_KEYS: [&str; 5] = ["content", "focus_keyword", "title", "description", "slug"];

impl Definition {
    /// Reads the body of a new blueprint. A slug that is left out is derived from the name.
    ///
    /// # Errors
    ///
    /// `VALIDATION_FAILED` with all errors by path.
    pub fn parse(body: Value) -> Result<Definition> {
        read(body, &Source::New)
    }

    /// Reads the body for the existing blueprint with this slug and kind. The slug cannot change: the body may leave it
    /// out or repeat it.
    ///
    /// # Errors
    ///
    /// The errors of [`Definition::parse`].
    pub fn parse_for(slug: &str, kind: BlueprintKind, body: Value) -> Result<Definition> {
        read(body, &Source::Existing { slug, kind })
    }

    /// Reads a stored definition. Limits are not checked: the definition may be from a version with other limits.
    ///
    /// # Errors
    ///
    /// The errors of [`Definition::parse`].
    pub(super) fn parse_stored(body: Value) -> Result<Definition> {
        read(body, &Source::Stored)
    }
}

/// The origin of a definition.
enum Source<'a> {
    /// The body of a request for a new blueprint.
    New,
    /// The body of a request for the blueprint with this slug and kind.
    Existing { slug: &'a str, kind: BlueprintKind },
    /// The store.
    Stored,
}

fn read(body: Value, source: &Source<'_>) -> Result<Definition> {
    let (existing_slug, existing_kind, mut reader) = match source {
        Source::New => (None, BlueprintKind::Resource, BodyReader::with_limits()),
        Source::Existing { slug, kind } => (Some(*slug), *kind, BodyReader::with_limits()),
        Source::Stored => (None, BlueprintKind::Resource, BodyReader::default()),
    };
    let Value::Object(mut body) = body else {
        let text = format!("the body must be a JSON object with `name` and `fields`, not {}", describe(&body));
        return Err(Error::new(Code::ValidationFailed, text));
    };
    let name = reader.label(body.shift_remove("name"), "name");
    let slug = read_slug(body.shift_remove("slug"), existing_slug, &name, &mut reader);
    let kind = read_kind(body.shift_remove("kind"), &mut reader);
    let scheduled = reader.flag(body.shift_remove("scheduled"), "scheduled");
    let icon = reader.text(body.shift_remove("icon"), "icon");
    let record_title = reader.text(body.shift_remove("record_title"), "record_title");
    let variants = read_variants(body.shift_remove("variants"), &mut reader);
    let seo = read_seo(body.shift_remove("seo"), &mut reader);
    let search = search::read(body.shift_remove("search"), &mut reader);
    let working_copy = reader.flag(body.shift_remove("working_copy"), "working_copy");
    let trash = keeping::trash(body.shift_remove("trash"), &mut reader);
    let history = keeping::history(body.shift_remove("history"), &mut reader);
    let mut fields = fields::read(body.shift_remove("fields"), &mut reader);
    // The system fields of a stored blueprint stay as they are: this version may have others.
    if !matches!(source, Source::Stored)
        && let Some(fields) = &mut fields
    {
        system::settle(kind.unwrap_or(existing_kind), fields, &mut reader);
    }
    body.retain(|key, _| !RESPONSE_KEYS.contains(&key.as_str()));
    reader.unknown_keys("", &body, &KEYS);
    check_field_names(record_title.as_deref(), seo.as_ref(), fields.as_deref(), &mut reader);
    search::check(search.as_ref(), fields.as_deref(), &mut reader);
    if !reader.errors.is_empty() {
        return Err(Error::validation(reader.errors));
    }
    Ok(Definition {
        slug,
        name,
        kind,
        scheduled,
        icon,
        record_title,
        variants,
        seo,
        search,
        working_copy,
        trash,
        history,
        fields: fields.unwrap_or_default(),
    })
}

fn read_slug(value: Option<Value>, existing: Option<&str>, name: &str, reader: &mut BodyReader) -> String {
    let slug = match (value, existing) {
        (None, Some(existing)) => Some(existing.to_owned()),
        (value, _) => reader.slug(value, name, "slug"),
    };
    let Some(slug) = slug else { return String::new() };
    match existing {
        Some(existing) if existing != slug => {
            reader.error("slug", format!("cannot change: must be `{existing}` or left out, not {}", quote(&slug)));
        }
        None if !is_slug(&slug) => reader.error("slug", not_a_slug(&slug)),
        _ => {}
    }
    slug
}

fn read_kind(value: Option<Value>, reader: &mut BodyReader) -> Option<BlueprintKind> {
    let value = value?;
    let kind = value.as_str().and_then(BlueprintKind::parse);
    if kind.is_none() {
        let kinds = quote_all(BlueprintKind::ALL.map(BlueprintKind::as_str));
        reader.error("kind", format!("must be one of {kinds}, not {}", describe(&value)));
    }
    kind
}

fn read_variants(value: Option<Value>, reader: &mut BodyReader) -> Vec<VariantDefinition> {
    let mut variants: Vec<VariantDefinition> = Vec::new();
    let mut slugs: HashSet<String> = HashSet::new();
    let elements = reader.array(value, "variants");
    if !reader.accepts(elements.len(), MAX_VARIANTS, "variants") {
        return variants;
    }
    for (position, value) in elements.into_iter().enumerate() {
        let path = format!("variants.{position}");
        let Some(mut object) = reader.object(value, &path) else { continue };
        let slug_path = format!("{path}.slug");
        let slug = reader.text(object.shift_remove("slug"), &slug_path).unwrap_or_default();
        if !is_variant_slug(&slug) {
            reader.error(&slug_path, not_a_variant_slug(&slug));
        } else if !slugs.insert(slug.clone()) {
            reader.error(&slug_path, format!("must be unique: another variant has the slug `{slug}`"));
        }
        let name = match object.shift_remove("name") {
            None => slug.clone(),
            name => reader.label(name, &format!("{path}.name")),
        };
        let default = reader.flag(object.shift_remove("default"), &format!("{path}.default"));
        reader.unknown_keys(&path, &object, &VARIANT_KEYS);
        variants.push(VariantDefinition { name, slug, default });
    }
    let defaults = variants.iter().filter(|variant| variant.default).count();
    if !variants.is_empty() && defaults != 1 {
        reader.error("variants", format!("must have exactly one default variant, not {defaults}"));
    }
    variants
}

fn read_seo(value: Option<Value>, reader: &mut BodyReader) -> Option<Seo> {
    let value = value.filter(|value| !value.is_null())?;
    let mut object = reader.object(value, "seo")?;
    let mut part = |key: &str| reader.text(object.shift_remove(key), &format!("seo.{key}"));
    let seo = Seo {
        content: part("content"),
        focus_keyword: part("focus_keyword"),
        title: part("title"),
        description: part("description"),
        slug: part("slug"),
    };
    reader.unknown_keys("seo", &object, &SEO_KEYS);
    Some(seo)
}

/// Checks that `record_title` and `seo` name existing fields. Reports nothing if `fields` could not be read.
fn check_field_names(
    record_title: Option<&str>,
    seo: Option<&Seo>,
    fields: Option<&[FieldDefinition]>,
    reader: &mut BodyReader,
) {
    let Some(fields) = fields else { return };
    let slugs: HashSet<&str> = fields.iter().map(|field| field.slug.as_str()).collect();
    let mut check = |path: &str, slug: Option<&str>| {
        if let Some(slug) = slug.filter(|slug| !slugs.contains(slug)) {
            reader.error(
                path,
                format!("must be the slug of a field of this blueprint; there is no field {}", quote(slug)),
            );
        }
    };
    check("record_title", record_title);
    if let Some(seo) = seo {
        check("seo.content", seo.content.as_deref());
        check("seo.focus_keyword", seo.focus_keyword.as_deref());
        check("seo.title", seo.title.as_deref());
        check("seo.description", seo.description.as_deref());
        check("seo.slug", seo.slug.as_deref());
    }
}

#[cfg(test)]
mod tests;
