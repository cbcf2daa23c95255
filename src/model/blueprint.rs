//! Blueprints: what a resource has, and how it behaves (`API.md` 2.2 to 2.5).
//!
//! Owns the types. Reading one from a request body is in `blueprint/draft.rs`, the next revision in
//! `blueprint/revise.rs`, rendering in `blueprint/render.rs`.

pub mod draft;
mod names;
pub mod render;
mod revise;

pub use revise::{BlueprintChange, ChangeOp};

use super::time::Millis;

/// A blueprint in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Blueprint {
    /// Internal number, never used again: storage keys and index folders are named by it.
    pub number: u32,
    /// Grows with every change of the blueprint; stored copies carry the one they were written under.
    pub revision: u64,
    /// The last revision that changed which fields there are, their types or their order: copies of older revisions are
    /// re-shaped on reading.
    pub shape: u64,
    /// The next field number; numbers are never used again.
    pub next_field: u32,
    /// The next variant number; numbers are never used again.
    pub next_variant: u16,
    /// The variant that holds the copy while the blueprint has no variants.
    pub plain_variant: u16,
    /// Identifier in the API path.
    pub slug: String,
    /// Label.
    pub name: String,
    /// Resource, singular or read-only.
    pub kind: Kind,
    /// Label of the dashboard.
    pub icon: Option<String>,
    /// Slug of the field that labels a resource.
    pub record_title: Option<String>,
    /// Per-language copies; empty, or exactly one is the default.
    pub variants: Vec<Variant>,
    /// The fields that the dashboard's checks look at.
    pub seo: Option<Seo>,
    /// In the order in which `attributes` lists them.
    pub fields: Vec<Field>,
    /// The log number at which the last field that was re-typed came into force: an index that stands before it may
    /// lack that field's values.
    pub filled: u64,
    /// When it was created.
    pub created_at: Millis,
    /// When it was last changed.
    pub updated_at: Millis,
}

/// The three blueprint types (`API.md` 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Many instances.
    Resource,
    /// Exactly one instance, made with the blueprint.
    Singular,
    /// Many instances, which the dashboard does not edit.
    Readonly,
}

/// One variant of a blueprint (`API.md` 2.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Internal number, never used again within the blueprint.
    pub number: u16,
    /// Label.
    pub name: String,
    /// What `?variant=` names.
    pub slug: String,
    /// Whether it is the one that is meant when none is named.
    pub default: bool,
}

/// The fields that a blueprint names for the dashboard's SEO checks, by slug.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Seo {
    pub content: Option<String>,
    pub focus_keyword: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub slug: Option<String>,
}

/// One field of a blueprint (`API.md` 2.4).
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Internal number, never used again within the blueprint. Re-typing a field gives it a new one.
    pub number: u32,
    /// The blueprint revision that added the field: stored copies of older revisions hold nothing for it.
    pub since: u64,
    /// Label.
    pub name: String,
    /// Key in `attributes`.
    pub slug: String,
    /// Text for editors.
    pub description: Option<String>,
    /// Whether a written copy must hold a value.
    pub required: bool,
    /// There if no two resources may hold the same value in the same variant: the number, of those of fields, under
    /// which values are claimed. A field that becomes unique again gets another one, so no claim outlives what it was
    /// made for.
    pub claims: Option<u32>,
    /// Type and its settings.
    pub kind: FieldType,
}

/// A field's type with its settings.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // The types and settings are documented in API.md 2.4.
pub enum FieldType {
    Text,
    RichText,
    HtmlPage {
        blocks: Option<Vec<String>>,
        template: Option<String>,
    },
    Slug,
    Email,
    Link,
    Image,
    File,
    Enum {
        values: Option<Vec<String>>,
    },
    MultiEnum {
        values: Option<Vec<String>>,
    },
    Boolean,
    Color,
    Number,
    Money {
        default_currency: Option<String>,
        currencies: Vec<String>,
    },
    Date,
    DateTime,
    Duration {
        unit: DurationUnit,
        display: Option<String>,
        min: Option<f64>,
        max: Option<f64>,
    },
    /// `blueprint` is the related blueprint's slug.
    Reference {
        blueprint: String,
        display: Vec<String>,
    },
    /// `blueprint` is the related blueprint's slug.
    References {
        blueprint: String,
        display: Vec<String>,
    },
    User {
        role: Option<String>,
    },
    Address,
}

/// The unit of a duration field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DurationUnit {
    Minutes,
    Hours,
    Days,
}

impl Field {
    /// The slug of the blueprint that the field's values relate to, if they relate to one.
    pub fn related_blueprint(&self) -> Option<&str> {
        match &self.kind {
            FieldType::Reference { blueprint, .. } | FieldType::References { blueprint, .. } => Some(blueprint),
            _ => None,
        }
    }
}

impl Blueprint {
    /// The field of that slug.
    pub fn field(&self, slug: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.slug == slug)
    }

    /// The variant of that slug.
    pub fn variant(&self, slug: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.slug == slug)
    }

    /// The number of the copy that is meant when no variant is named.
    pub fn default_variant(&self) -> u16 {
        self.variants.iter().find(|variant| variant.default).map_or(self.plain_variant, |variant| variant.number)
    }

    /// The fields of a changed blueprint whose values are those of a field of another type here, each with that field's
    /// place.
    pub fn retyped<'a>(&'a self, next: &'a Blueprint) -> impl Iterator<Item = (usize, &'a Field)> {
        let places = self.fields.iter().enumerate();
        places.filter_map(|(place, field)| {
            let after = next.field(&field.slug)?;
            (after.number != field.number).then_some((place, after))
        })
    }

    /// The fields that become unique in a changed blueprint: their places here, and the numbers that their values are
    /// claimed under there.
    pub fn newly_unique(&self, next: &Blueprint) -> Vec<(usize, u32)> {
        let places = self.fields.iter().enumerate();
        let claimed = places.filter_map(|(place, field)| {
            let claims = next.field(&field.slug)?.claims?;
            (field.claims != Some(claims)).then_some((place, claims))
        });
        claimed.collect()
    }

    /// The numbers of all copies that a resource may have.
    pub fn variant_numbers(&self) -> Vec<u16> {
        if self.variants.is_empty() {
            vec![self.plain_variant]
        } else {
            self.variants.iter().map(|variant| variant.number).collect()
        }
    }
}
