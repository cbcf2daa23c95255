//! Fields: their types with the settings of each (`API.md` 2.4), and the names of the types in JSON.

use std::collections::HashSet;

/// The currencies that exist. A money field allows all of them unless its settings list some.
pub const CURRENCIES: [&str; 35] = [
    "AED", "ARS", "AUD", "BGN", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EGP", "EUR", "GBP", "HKD",
    "HUF", "IDR", "ILS", "INR", "JPY", "KRW", "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "RON", "SEK", "SGD", "THB",
    "TRY", "USD", "ZAR",
];

/// The longest value of an `enum` or `multi-enum` field, in characters.
pub(crate) const MAX_CHOICE_CHARACTERS: usize = 255;

/// One field of a blueprint (`API.md` 2.4).
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Internal number, never reused within the blueprint. A retyped field gets a new number.
    pub number: u32,
    /// The blueprint revision that added the field. Stored copies of older revisions have no value for it.
    pub since: u64,
    /// The label.
    pub name: String,
    /// Key in `attributes`.
    pub slug: String,
    /// Text for editors.
    pub description: Option<String>,
    /// True if a written copy must have a value.
    pub required: bool,
    /// The number under which the values of the field are claimed, from the same sequence as field numbers; `None` if
    /// the field is not unique (no two resources may have the same value of a unique field in the same variant). A
    /// field that becomes unique again gets a new number, so older claims cannot be mistaken for current ones.
    pub claims: Option<u32>,
    /// The type with its settings.
    pub field_type: FieldType,
    /// True if the server added the field, because the blueprint is of the kind `media`.
    pub is_system: bool,
}

impl Field {
    /// Returns the slug of the blueprint that the field's values refer to, if the field is a relation.
    pub fn related_blueprint(&self) -> Option<&str> {
        self.field_type.related_blueprint()
    }
}

/// A field's type with its settings.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // API.md 2.4 documents the types and settings.
pub enum FieldType {
    Text,
    RichText,
    HtmlPage { blocks: Option<Vec<String>>, template: Option<String> },
    Slug,
    Email,
    Link,
    Image,
    File,
    Enum { values: Option<Choices> },
    MultiEnum { values: Option<Choices> },
    Boolean,
    Color,
    Number,
    Money { default_currency: Option<String>, currencies: Vec<String> },
    Date,
    DateTime,
    Duration { unit: DurationUnit, display: Option<String>, min: Option<f64>, max: Option<f64> },
    Reference(Relation),
    References(Relation),
    User { role: Option<String> },
    Address,
}

/// The settings of a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// The slug of the related blueprint.
    pub blueprint: String,
    /// The fields of related resources that the dashboard shows.
    pub display: Vec<String>,
    /// The effect on values whose resource is deleted.
    pub on_delete: OnDelete,
}

/// The effect on the values of a relation when the resource that they refer to is deleted (`API.md` 2.4.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDelete {
    /// The values stay. They then refer to no resource.
    Keep,
    /// The values are removed with the resource, in the same transaction.
    Nullify,
    /// The resource cannot be deleted.
    Restrict,
}

/// The allowed values of a choice, in order. The time of a look-up does not depend on their number.
#[derive(Debug, Clone)]
pub struct Choices {
    values: Vec<String>,
    known: HashSet<String>,
}

impl Choices {
    /// Makes the choices with these values.
    pub fn new(values: Vec<String>) -> Choices {
        let known = values.iter().cloned().collect();
        Choices { values, known }
    }

    /// Returns the values in order.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Returns whether the value is allowed.
    pub fn contains(&self, value: &str) -> bool {
        self.known.contains(value)
    }
}

impl PartialEq for Choices {
    fn eq(&self, other: &Choices) -> bool {
        self.values == other.values
    }
}

/// The unit of a duration field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DurationUnit {
    Minutes,
    Hours,
    Days,
}

impl OnDelete {
    /// All effects.
    pub const ALL: [OnDelete; 3] = [OnDelete::Keep, OnDelete::Nullify, OnDelete::Restrict];

    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            OnDelete::Keep => "keep",
            OnDelete::Nullify => "nullify",
            OnDelete::Restrict => "restrict",
        }
    }

    /// Returns the effect with this name.
    pub fn parse(name: &str) -> Option<OnDelete> {
        OnDelete::ALL.into_iter().find(|on_delete| on_delete.as_str() == name)
    }
}

impl DurationUnit {
    /// All units.
    pub const ALL: [DurationUnit; 3] = [DurationUnit::Minutes, DurationUnit::Hours, DurationUnit::Days];

    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            DurationUnit::Minutes => "minutes",
            DurationUnit::Hours => "hours",
            DurationUnit::Days => "days",
        }
    }

    /// Reads the unit with this name.
    pub fn parse(name: &str) -> Option<DurationUnit> {
        DurationUnit::ALL.into_iter().find(|unit| unit.as_str() == name)
    }
}

impl FieldType {
    /// The names of all types in JSON.
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

    /// Returns the type's name in JSON.
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

    /// Returns whether a field of this type may be unique.
    pub fn may_be_unique(&self) -> bool {
        matches!(self, FieldType::Text | FieldType::Slug | FieldType::Email | FieldType::Link | FieldType::Number)
    }

    /// Returns the slug of the blueprint that values refer to, if the type is a relation.
    pub fn related_blueprint(&self) -> Option<&str> {
        self.relation().map(|relation| relation.blueprint.as_str())
    }

    /// Returns the settings of a relation; `None` for other types.
    pub fn relation(&self) -> Option<&Relation> {
        match self {
            FieldType::Reference(relation) | FieldType::References(relation) => Some(relation),
            _ => None,
        }
    }
}
