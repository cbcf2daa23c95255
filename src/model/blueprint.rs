//! Blueprints: the fields and variants of a resource, and its behaviour (`API.md` 2.2 to 2.5).
//!
//! Owns the types, the reading of a definition from a request body, the next revision and its differences, and the JSON
//! and stored forms. Must not know stored resources: whether a change fits them is decided elsewhere.

mod definition;
mod difference;
mod field;
mod parse;
pub mod render;
mod revise;
mod slug;
mod system;
mod types;

pub use definition::{Definition, FieldDefinition, RelationDefinition, VariantDefinition};
pub use difference::{Difference, DifferenceOp};
pub use field::{CURRENCIES, Choices, DurationUnit, Field, FieldType, OnDelete, Relation};
pub use slug::slug_from_name;
pub use system::SystemField;
pub use types::{
    Blueprint, BlueprintKind, BoostSetting, HistorySettings, SearchLanguage, SearchSettings, Seo, TrashSettings,
    Variant,
};

pub(crate) use field::MAX_CHOICE_CHARACTERS;
