//! Reading a blueprint from a request body (`API.md` 4.9.1).
//!
//! A [`Draft`] is a body that is right in itself; what it means for the blueprint in force and for stored resources is
//! decided elsewhere. All faults are told at once, each at its path in the body (`fields.2.slug`).

mod field;
mod settings;
mod slug;

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::error::{Code, Error, Result};
use super::super::value::{Faults, describe};
use super::{FieldType, Kind, Seo};
use crate::model::sent::shorten;
pub use field::DraftField;
pub use slug::{field_slug_from_name, is_slug, is_variant_slug};

/// The currencies that there are, which a money field takes unless it says otherwise.
pub const CURRENCIES: [&str; 35] = [
    "AED", "ARS", "AUD", "BGN", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EGP", "EUR", "GBP", "HKD",
    "HUF", "IDR", "ILS", "INR", "JPY", "KRW", "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "RON", "SEK", "SGD", "THB",
    "TRY", "USD", "ZAR",
];

/// The longest label or description, in characters.
const MAX_LABEL_CHARACTERS: usize = 1_000;

/// The keys that the server answers in a blueprint and a body may hold: they are ignored.
const ANSWERED: [&str; 6] = ["id", "type", "is_singular", "is_readonly", "created_at", "updated_at"];
const TAKEN: [&str; 8] = ["name", "slug", "kind", "icon", "record_title", "variants", "seo", "fields"];

/// A blueprint's body.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// Given, or made from the name, or that of the path.
    pub slug: String,
    /// Label.
    pub name: String,
    /// `None` where it was left out: a new blueprint is a resource, one in force keeps its kind.
    pub kind: Option<Kind>,
    /// Label of the dashboard.
    pub icon: Option<String>,
    /// Slug of one of the fields.
    pub record_title: Option<String>,
    /// Empty, or exactly one is the default.
    pub variants: Vec<DraftVariant>,
    /// Slugs of fields.
    pub seo: Option<Seo>,
    /// In order; slugs are distinct.
    pub fields: Vec<DraftField>,
}

/// A variant of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // As of `Variant`.
pub struct DraftVariant {
    pub name: String,
    pub slug: String,
    pub default: bool,
}

impl Draft {
    /// Reads the body of a blueprint that is to be made. The slug is made from the name where it is left out.
    ///
    /// # Errors
    ///
    /// `VALIDATION_FAILED` with all faults by path.
    pub fn parse(body: Value) -> Result<Draft> {
        read(body, None)
    }

    /// Reads the body for the blueprint of that slug, which cannot change: the body may leave it out or repeat it.
    ///
    /// # Errors
    ///
    /// As [`Draft::parse`].
    pub fn parse_for(slug: &str, body: Value) -> Result<Draft> {
        read(body, Some(slug))
    }

    /// The fields that relate to blueprints: the place of each, its slug, and the blueprint's.
    pub fn related(&self) -> impl Iterator<Item = (usize, &str, &str)> {
        self.fields.iter().enumerate().filter_map(|(place, field)| match &field.kind {
            FieldType::Reference { blueprint, .. } | FieldType::References { blueprint, .. } => {
                Some((place, field.slug.as_str(), blueprint.as_str()))
            }
            _ => None,
        })
    }
}

fn read(body: Value, existing: Option<&str>) -> Result<Draft> {
    let Value::Object(mut body) = body else {
        let text = format!("a JSON object with `name` and `fields` is expected here; it is {}", describe(&body));
        return Err(Error::new(Code::ValidationFailed, text));
    };
    let mut report = Report::default();
    let name = report.label(body.shift_remove("name"), "name");
    let slug = read_slug(body.shift_remove("slug"), existing, &name, &mut report);
    let kind = read_kind(body.shift_remove("kind"), &mut report);
    let icon = report.text(body.shift_remove("icon"), "icon");
    let record_title = report.text(body.shift_remove("record_title"), "record_title");
    let variants = read_variants(body.shift_remove("variants"), &mut report);
    let seo = read_seo(body.shift_remove("seo"), &mut report);
    let fields = field::read_fields(body.shift_remove("fields"), &mut report);
    report.unknown("", &body, &TAKEN, &ANSWERED);
    check_names(&record_title, seo.as_ref(), &fields, &mut report);
    if !report.faults.is_empty() {
        return Err(Error::validation(report.faults));
    }
    Ok(Draft { slug, name, kind, icon, record_title, variants, seo, fields: fields.unwrap_or_default() })
}

fn read_slug(value: Option<Value>, existing: Option<&str>, name: &str, report: &mut Report) -> String {
    let slug = match (value, existing) {
        (None, Some(existing)) => return existing.to_owned(),
        (None, None) if name.is_empty() => return String::new(),
        (None, None) => match field_slug_from_name(name) {
            Some(slug) => return slug,
            None => {
                report.fault("slug", "must be given: no slug can be made from the name".to_owned());
                return String::new();
            }
        },
        (Some(Value::String(slug)), _) => slug,
        (Some(other), _) => {
            report.fault("slug", format!("must be a string, not {}", describe(&other)));
            return String::new();
        }
    };
    match existing {
        Some(existing) if existing != slug => {
            report.fault("slug", format!("cannot change: must be `{existing}` or left out, not `{}`", shorten(&slug)));
        }
        None if !is_slug(&slug) => report.fault("slug", slug::fault(&slug)),
        _ => {}
    }
    slug
}

fn read_kind(value: Option<Value>, report: &mut Report) -> Option<Kind> {
    let value = value?;
    let kind = value.as_str().and_then(Kind::parse);
    if kind.is_none() {
        let kinds = "`resource`, `singular_resource`, `readonly_resource`";
        report.fault("kind", format!("must be one of {kinds}, not {}", describe(&value)));
    }
    kind
}

fn read_variants(value: Option<Value>, report: &mut Report) -> Vec<DraftVariant> {
    let mut variants: Vec<DraftVariant> = Vec::new();
    for (place, value) in report.array(value, "variants").into_iter().enumerate() {
        let path = format!("variants.{place}");
        let Some(mut object) = report.object(value, &path) else { continue };
        let slug_path = format!("{path}.slug");
        let slug = report.text(object.shift_remove("slug"), &slug_path).unwrap_or_default();
        if !is_variant_slug(&slug) {
            let rule = "must be a letter, then up to 34 letters, digits or `-`, such as `zh-CN`";
            report.fault(&slug_path, format!("{rule}; `{}` is not", shorten(&slug)));
        } else if variants.iter().any(|variant| variant.slug == slug) {
            report.fault(&slug_path, format!("must not be there twice: `{slug}`"));
        }
        let name = match object.shift_remove("name") {
            None => slug.clone(),
            name => report.label(name, &format!("{path}.name")),
        };
        let default = report.flag(object.shift_remove("default"), &format!("{path}.default"));
        report.unknown(&path, &object, &["name", "slug", "default"], &[]);
        variants.push(DraftVariant { name, slug, default });
    }
    let defaults = variants.iter().filter(|variant| variant.default).count();
    if !variants.is_empty() && defaults != 1 {
        report.fault("variants", format!("exactly one must be the default, not {defaults}"));
    }
    variants
}

fn read_seo(value: Option<Value>, report: &mut Report) -> Option<Seo> {
    let value = value.filter(|value| !value.is_null())?;
    let mut object = report.object(value, "seo")?;
    let mut part = |key: &str| report.text(object.shift_remove(key), &format!("seo.{key}"));
    let seo = Seo {
        content: part("content"),
        focus_keyword: part("focus_keyword"),
        title: part("title"),
        description: part("description"),
        slug: part("slug"),
    };
    report.unknown("seo", &object, &["content", "focus_keyword", "title", "description", "slug"], &[]);
    Some(seo)
}

/// What names a field must name one of the fields; nothing is told where there are no fields to be read.
fn check_names(title: &Option<String>, seo: Option<&Seo>, fields: &Option<Vec<DraftField>>, report: &mut Report) {
    let Some(fields) = fields else { return };
    let slugs: HashSet<&str> = fields.iter().map(|field| field.slug.as_str()).collect();
    let mut check = |path: &str, named: &Option<String>| {
        if let Some(named) = named.as_ref().filter(|named| !slugs.contains(named.as_str())) {
            report.fault(path, format!("must be the slug of one of the fields; there is no `{}`", shorten(named)));
        }
    };
    check("record_title", title);
    if let Some(seo) = seo {
        check("seo.content", &seo.content);
        check("seo.focus_keyword", &seo.focus_keyword);
        check("seo.title", &seo.title);
        check("seo.description", &seo.description);
        check("seo.slug", &seo.slug);
    }
}

/// The faults found so far, and how parts of a body are read.
#[derive(Default)]
struct Report {
    faults: Faults,
}

impl Report {
    fn fault(&mut self, path: &str, fault: String) {
        match self.faults.iter_mut().find(|(known, _)| known == path) {
            Some((_, faults)) => faults.push(fault),
            None => self.faults.push((path.to_owned(), vec![fault])),
        }
    }

    /// A label that must be there.
    fn label(&mut self, value: Option<Value>, path: &str) -> String {
        let fault = match value {
            Some(Value::String(text)) if !text.trim().is_empty() && text.chars().count() <= MAX_LABEL_CHARACTERS => {
                return text;
            }
            Some(Value::String(text)) if text.trim().is_empty() => "must not be empty".to_owned(),
            Some(Value::String(_)) => format!("must have at most {MAX_LABEL_CHARACTERS} characters"),
            Some(other) => format!("must be a string, not {}", describe(&other)),
            None => "must be given".to_owned(),
        };
        self.fault(path, fault);
        String::new()
    }

    /// A string that may be null or left out.
    fn text(&mut self, value: Option<Value>, path: &str) -> Option<String> {
        match value {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(other) => {
                self.fault(path, format!("must be a string or null, not {}", describe(&other)));
                None
            }
        }
    }

    fn flag(&mut self, value: Option<Value>, path: &str) -> bool {
        match value {
            None => false,
            Some(Value::Bool(flag)) => flag,
            Some(other) => {
                self.fault(path, format!("must be true or false, not {}", describe(&other)));
                false
            }
        }
    }

    /// An array that may be null or left out, which is empty.
    fn array(&mut self, value: Option<Value>, path: &str) -> Vec<Value> {
        match value {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(elements)) => elements,
            Some(other) => {
                self.fault(path, format!("must be an array, not {}", describe(&other)));
                Vec::new()
            }
        }
    }

    fn object(&mut self, value: Value, path: &str) -> Option<Map<String, Value>> {
        match value {
            Value::Object(object) => Some(object),
            other => {
                self.fault(path, format!("must be an object, not {}", describe(&other)));
                None
            }
        }
    }

    /// Tells the keys that are left over.
    fn unknown(&mut self, path: &str, rest: &Map<String, Value>, taken: &[&str], ignored: &[&str]) {
        for key in rest.keys().filter(|key| !ignored.contains(&key.as_str())) {
            let key_path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let keys: Vec<String> = taken.iter().map(|key| format!("`{key}`")).collect();
            let told = match keys.is_empty() {
                true => "there are no such keys here".to_owned(),
                false => format!("is not a key that is taken here; those are {}", keys.join(", ")),
            };
            self.fault(&key_path, told);
        }
    }
}

#[cfg(test)]
mod tests;
