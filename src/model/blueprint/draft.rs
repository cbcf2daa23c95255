//! Blueprint bodies: parsed and checked, all faults at once, keyed by path (`API.md` 6).
//!
//! What depends on other blueprints or on the one in force is not checked here.

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use serde_json::{Map, Value};

use super::{FieldType, Kind, Seo};
use crate::model::error::Result;

mod read;
mod settings;

use read::Reader;

/// The keys of a blueprint body.
const KEYS: [&str; 8] = ["name", "slug", "kind", "icon", "record_title", "variants", "seo", "fields"];
/// Keys that the server answers and takes back without looking at them.
const ANSWERED_KEYS: [&str; 6] = ["id", "type", "is_singular", "is_readonly", "created_at", "updated_at"];
const FIELD_KEYS: [&str; 7] = ["name", "slug", "type", "description", "required", "unique", "settings"];
/// Field slugs that name something else already.
const TAKEN_SLUGS: [&str; 6] = ["published", "published_at", "created_at", "updated_at", "id", "type"];
const MAX_SLUG: usize = 63;
const MAX_VARIANT_SLUG: usize = 35;

/// A blueprint as a body describes it: without the numbers that it gets when it is made.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // As in `Blueprint`.
pub struct Draft {
    pub name: String,
    pub slug: String,
    /// `None` where the body does not say it.
    pub kind: Option<Kind>,
    pub icon: Option<String>,
    pub record_title: Option<String>,
    pub variants: Vec<VariantDraft>,
    pub seo: Option<Seo>,
    pub fields: Vec<FieldDraft>,
}

/// A variant as a body describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct VariantDraft {
    pub name: String,
    pub slug: String,
    pub default: bool,
}

/// A field as a body describes it.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct FieldDraft {
    pub name: String,
    pub slug: String,
    pub description: Option<String>,
    pub required: bool,
    pub unique: bool,
    pub kind: FieldType,
}

impl Draft {
    /// Reads a body. `path_slug` is the slug of the blueprint that it replaces: another one in the body is a fault.
    ///
    /// # Errors
    /// `VALIDATION_FAILED` with every fault.
    pub fn parse(body: &Map<String, Value>, path_slug: Option<&str>) -> Result<Draft> {
        let mut reader = Reader::new();
        reader.check_keys("", body, &KEYS, &ANSWERED_KEYS);
        let name = reader.required_text("name", body.get("name")).unwrap_or_default();
        let slug = read_slug(&mut reader, body, &name, path_slug);
        let kind = read_kind(&mut reader, body.get("kind"));
        let icon = reader.optional_text("icon", body.get("icon"));
        let variants = read_variants(&mut reader, body.get("variants"));
        let fields = read_fields(&mut reader, body.get("fields"));
        let is_field = |slug: &str| fields.iter().any(|field| field.slug == slug);
        let record_title = reader.optional_text("record_title", body.get("record_title"));
        if let Some(slug) = record_title.as_ref().filter(|slug| !is_field(slug)) {
            reader.fault("record_title", format!("names `{slug}`, which is no field of this blueprint"));
        }
        let seo = read_seo(&mut reader, body.get("seo"), &is_field);
        reader.finish()?;
        Ok(Draft { name, slug, kind, icon, record_title, variants, seo, fields })
    }

    /// The blueprints that relation fields name, each with the path of its setting.
    pub fn related(&self) -> Vec<(String, &str)> {
        let fields = self.fields.iter().enumerate();
        fields.filter_map(|(place, field)| Some((format!("fields.{place}.settings"), field.kind.related()?))).collect()
    }
}

/// A slug made from a name: NFKD without marks, lower case, `_` for each run of what is no ASCII letter or digit.
/// `None` if that leaves nothing that a slug may be.
pub fn slug_of(name: &str) -> Option<String> {
    let decomposed = DecomposingNormalizerBorrowed::new_nfkd().normalize(name);
    let classes = CanonicalCombiningClassMapBorrowed::new();
    let is_mark = |char: char| classes.get_u8(char) != 0;
    let mut slug = String::new();
    for char in decomposed.chars().filter(|char| !is_mark(*char)).flat_map(char::to_lowercase) {
        if char.is_ascii_alphanumeric() {
            slug.push(char);
        } else if !slug.ends_with('_') {
            slug.push('_');
        }
    }
    let slug: String = slug.trim_matches('_').chars().take(MAX_SLUG).collect();
    is_slug(&slug).then_some(slug)
}

fn is_slug(text: &str) -> bool {
    let starts_well = text.starts_with(|char: char| char.is_ascii_lowercase());
    let is_plain = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || matches!(char, '_' | '-');
    starts_well && text.len() <= MAX_SLUG && text.chars().all(is_plain)
}

fn slug_rule() -> String {
    format!("must be a lower-case letter, then up to {} lower-case letters, digits, `_` or `-`", MAX_SLUG - 1)
}

fn read_slug(reader: &mut Reader, body: &Map<String, Value>, name: &str, path_slug: Option<&str>) -> String {
    let sent = reader.optional_text("slug", body.get("slug"));
    if let Some(path_slug) = path_slug {
        if sent.as_deref().is_some_and(|sent| sent != path_slug) {
            reader.fault("slug", format!("cannot be changed; it is `{path_slug}`"));
        }
        return path_slug.to_owned();
    }
    match sent {
        Some(sent) => {
            if !is_slug(&sent) {
                reader.fault("slug", slug_rule());
            }
            sent
        }
        None if reader.has_fault("name") || reader.has_fault("slug") => String::new(),
        None => slug_of(name).unwrap_or_else(|| {
            reader.fault("slug", format!("is required: none can be made from the name; it {}", slug_rule()));
            String::new()
        }),
    }
}

fn read_kind(reader: &mut Reader, value: Option<&Value>) -> Option<Kind> {
    let value = value?;
    let kind = value.as_str().and_then(Kind::parse);
    if kind.is_none() {
        reader.fault("kind", "must be `resource`, `singular_resource` or `readonly_resource`".to_owned());
    }
    kind
}

fn read_variants(reader: &mut Reader, value: Option<&Value>) -> Vec<VariantDraft> {
    let Some(items) = reader.optional_array("variants", value) else { return Vec::new() };
    let mut variants: Vec<VariantDraft> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let path = format!("variants.{place}");
        let Some(object) = reader.object(&path, item) else { continue };
        reader.check_keys(&path, object, &["name", "slug", "default"], &[]);
        let name = reader.required_text(&format!("{path}.name"), object.get("name")).unwrap_or_default();
        let slug_path = format!("{path}.slug");
        let slug = reader.required_text(&slug_path, object.get("slug")).unwrap_or_default();
        if !slug.is_empty() && !is_variant_slug(&slug) {
            let text = format!("must be a letter, then up to {} letters, digits or `-`", MAX_VARIANT_SLUG - 1);
            reader.fault(&slug_path, text);
        }
        if variants.iter().any(|other| !slug.is_empty() && other.slug == slug) {
            reader.fault(&slug_path, format!("`{slug}` is the slug of another variant"));
        }
        let default = reader.optional_bool(&format!("{path}.default"), object.get("default"));
        variants.push(VariantDraft { name, slug, default });
    }
    let n_defaults = variants.iter().filter(|variant| variant.default).count();
    if !variants.is_empty() && n_defaults != 1 {
        reader.fault("variants", format!("must have exactly one with `\"default\": true`; {n_defaults} have it"));
    }
    variants
}

fn is_variant_slug(slug: &str) -> bool {
    slug.starts_with(|char: char| char.is_ascii_alphabetic())
        && slug.len() <= MAX_VARIANT_SLUG
        && slug.chars().all(|char| char.is_ascii_alphanumeric() || char == '-')
}

fn read_seo(reader: &mut Reader, value: Option<&Value>, is_field: &dyn Fn(&str) -> bool) -> Option<Seo> {
    let value = value.filter(|value| !value.is_null())?;
    let object = reader.object("seo", value)?;
    reader.check_keys("seo", object, &["content", "focus_keyword", "title", "description", "slug"], &[]);
    let mut field = |key: &str| {
        let path = format!("seo.{key}");
        let slug = reader.optional_text(&path, object.get(key));
        if let Some(slug) = slug.as_ref().filter(|slug| !is_field(slug)) {
            reader.fault(&path, format!("names `{slug}`, which is no field of this blueprint"));
        }
        slug
    };
    Some(Seo {
        content: field("content"),
        focus_keyword: field("focus_keyword"),
        title: field("title"),
        description: field("description"),
        slug: field("slug"),
    })
}

fn read_fields(reader: &mut Reader, value: Option<&Value>) -> Vec<FieldDraft> {
    let Some(items) = value.and_then(Value::as_array) else {
        reader.fault("fields", "is required: an array of fields".to_owned());
        return Vec::new();
    };
    let mut fields: Vec<FieldDraft> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let path = format!("fields.{place}");
        let Some(object) = reader.object(&path, item) else { continue };
        reader.check_keys(&path, object, &FIELD_KEYS, &[]);
        let name = reader.required_text(&format!("{path}.name"), object.get("name")).unwrap_or_default();
        let slug = read_field_slug(reader, &path, object.get("slug"), &name, &fields);
        let description = reader.optional_text(&format!("{path}.description"), object.get("description"));
        let required = reader.optional_bool(&format!("{path}.required"), object.get("required"));
        let unique = reader.optional_bool(&format!("{path}.unique"), object.get("unique"));
        let kind = settings::read(reader, &path, object);
        if let Some(kind) = kind.as_ref().filter(|kind| unique && !kind.can_be_unique()) {
            let name = kind.name();
            let text = format!("is not for fields of type `{name}`; text, slug, email, link and number take it");
            reader.fault(&format!("{path}.unique"), text);
        }
        // A field whose type is at fault keeps its place, so that what names it is not at fault too.
        let kind = kind.unwrap_or(FieldType::Text);
        fields.push(FieldDraft { name, slug, description, required, unique, kind });
    }
    fields
}

fn read_field_slug(reader: &mut Reader, path: &str, value: Option<&Value>, name: &str, fields: &[FieldDraft]) -> String {
    let path = format!("{path}.slug");
    let slug = match reader.optional_text(&path, value) {
        Some(slug) => slug,
        None if name.is_empty() || reader.has_fault(&path) => return String::new(),
        None => match slug_of(name) {
            Some(slug) => slug,
            None => {
                reader.fault(&path, format!("is required: none can be made from the name; it {}", slug_rule()));
                return String::new();
            }
        },
    };
    if !is_slug(&slug) {
        reader.fault(&path, slug_rule());
    } else if TAKEN_SLUGS.contains(&slug.as_str()) {
        reader.fault(&path, format!("`{slug}` is taken: it names something that every resource has"));
    } else if fields.iter().any(|field| field.slug == slug) {
        reader.fault(&path, format!("`{slug}` is the slug of another field"));
    }
    slug
}
