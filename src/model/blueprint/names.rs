//! The names of kinds, types and units on the wire.

use super::{DurationUnit, FieldType, Kind};

impl Kind {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Resource => "resource",
            Kind::Singular => "singular_resource",
            Kind::Readonly => "readonly_resource",
        }
    }

    /// The kind of that name.
    pub fn parse(name: &str) -> Option<Kind> {
        [Kind::Resource, Kind::Singular, Kind::Readonly].into_iter().find(|kind| kind.as_str() == name)
    }
}

impl DurationUnit {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            DurationUnit::Minutes => "minutes",
            DurationUnit::Hours => "hours",
            DurationUnit::Days => "days",
        }
    }

    /// The unit of that name.
    pub fn parse(name: &str) -> Option<DurationUnit> {
        [DurationUnit::Minutes, DurationUnit::Hours, DurationUnit::Days].into_iter().find(|unit| unit.as_str() == name)
    }
}

impl FieldType {
    /// The names of all types on the wire.
    pub const NAMES: [&'static str; 21] = [
        "text",
        "rich-text",
        "html-page",
        "slug",
        "email",
        "link",
        "image",
        "file",
        "enum",
        "multi-enum",
        "boolean",
        "color",
        "number",
        "money",
        "date",
        "datetime",
        "duration",
        "reference",
        "references",
        "user",
        "address",
    ];

    /// The type's name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            FieldType::Text => "text",
            FieldType::RichText => "rich-text",
            FieldType::HtmlPage { .. } => "html-page",
            FieldType::Slug => "slug",
            FieldType::Email => "email",
            FieldType::Link => "link",
            FieldType::Image => "image",
            FieldType::File => "file",
            FieldType::Enum { .. } => "enum",
            FieldType::MultiEnum { .. } => "multi-enum",
            FieldType::Boolean => "boolean",
            FieldType::Color => "color",
            FieldType::Number => "number",
            FieldType::Money { .. } => "money",
            FieldType::Date => "date",
            FieldType::DateTime => "datetime",
            FieldType::Duration { .. } => "duration",
            FieldType::Reference { .. } => "reference",
            FieldType::References { .. } => "references",
            FieldType::User { .. } => "user",
            FieldType::Address => "address",
        }
    }

    /// Whether a field of the type may be unique.
    pub fn may_be_unique(&self) -> bool {
        matches!(self, FieldType::Text | FieldType::Slug | FieldType::Email | FieldType::Link | FieldType::Number)
    }
}
