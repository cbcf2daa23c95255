//! Definitions: a blueprint as a client describes it, without the numbers that the server assigns.

use serde::{Deserialize, Serialize};

use super::field::{Field, FieldType};
use super::types::{BlueprintKind, HistorySettings, SearchSettings, Seo, TrashSettings, Variant};

/// A blueprint as a request body describes it. It is valid on its own. Elsewhere it is decided whether it fits the
/// blueprint in force and the stored resources.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The slug. It comes from the body, from the path, or is derived from the name.
    pub slug: String,
    /// The label.
    pub name: String,
    /// The kind. `None` if the body leaves it out: a new blueprint is then a resource, and an existing one keeps its
    /// kind.
    pub kind: Option<BlueprintKind>,
    /// True if readers see a publication only once its date has come.
    pub scheduled: bool,
    /// The label in the dashboard.
    pub icon: Option<String>,
    /// The slug of the field that labels a resource.
    pub record_title: Option<String>,
    /// The variants. Empty, or exactly one of them is the default.
    pub variants: Vec<VariantDefinition>,
    /// The slugs of the fields that the dashboard's SEO checks read.
    pub seo: Option<Seo>,
    /// The settings of ranked search.
    pub search: Option<SearchSettings>,
    /// True if a published resource can be changed in a working copy.
    pub working_copy: bool,
    /// The trash, in which deleted resources wait.
    pub trash: Option<TrashSettings>,
    /// The history of resources.
    pub history: Option<HistorySettings>,
    /// The fields in order, with distinct slugs.
    pub fields: Vec<FieldDefinition>,
}

/// A variant of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // As in `Variant`.
pub struct VariantDefinition {
    pub name: String,
    pub slug: String,
    pub default: bool,
}

/// A field of a definition.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // As in `Field`.
pub struct FieldDefinition {
    pub name: String,
    pub slug: String,
    pub description: Option<String>,
    pub required: bool,
    pub unique: bool,
    pub field_type: FieldType,
    pub is_system: bool,
}

/// A field of a definition that refers to a blueprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelationDefinition<'a> {
    /// The field's position in the definition.
    pub position: usize,
    /// The field's slug.
    pub field: &'a str,
    /// The slug of the related blueprint.
    pub blueprint: &'a str,
}

/// The numbers that the server adds to the definition of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FieldNumbers {
    pub(super) number: u32,
    pub(super) since: u64,
    pub(super) claims: Option<u32>,
}

impl Definition {
    /// Returns the fields that refer to blueprints.
    pub fn relations(&self) -> impl Iterator<Item = RelationDefinition<'_>> {
        self.fields.iter().enumerate().filter_map(|(position, field)| {
            let blueprint = field.field_type.related_blueprint()?;
            Some(RelationDefinition { position, field: &field.slug, blueprint })
        })
    }
}

impl FieldNumbers {
    /// Returns the numbers of a field.
    pub(super) fn of(field: &Field) -> FieldNumbers {
        FieldNumbers { number: field.number, since: field.since, claims: field.claims }
    }
}

impl FieldDefinition {
    /// Turns the definition into a field with these numbers.
    pub(super) fn numbered(self, numbers: FieldNumbers) -> Field {
        let FieldNumbers { number, since, claims } = numbers;
        Field {
            number,
            since,
            name: self.name,
            slug: self.slug,
            description: self.description,
            required: self.required,
            claims,
            field_type: self.field_type,
            is_system: self.is_system,
        }
    }
}

impl VariantDefinition {
    /// Turns the definition into a variant with this number.
    pub(super) fn numbered(self, number: u16) -> Variant {
        Variant { number, name: self.name, slug: self.slug, default: self.default }
    }
}
