//! The input of an index: columns, copies and operations. It knows no field types.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The number of a column. Never reused within an index.
pub type ColumnId = u32;

/// The number of a variant. Each variant of a resource has its own copy of the columns.
pub type VariantNumber = u16;

/// The bit that tells the working copy of a variant from its live copy; see [`working_variant`].
const WORKING: VariantNumber = 0x8000;

/// The column of a working copy's document that holds the time of its last change, an instant. It is the `updated` of
/// the resource for whoever reads working copies. Every document of a working copy has it, and no other document.
pub const WORKING_UPDATED: ColumnId = 0;

/// Returns the number under which the schema and the operations name the working copies of a variant.
pub fn working_variant(variant: VariantNumber) -> VariantNumber {
    variant | WORKING
}

/// Returns the variant whose working copies have this number; `None` for the number of a live variant.
pub fn variant_of_working(number: VariantNumber) -> Option<VariantNumber> {
    (number & WORKING != 0).then_some(number & !WORKING)
}

/// The columns and variants of one index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schema {
    /// The columns of every copy.
    pub columns: Vec<Column>,
    /// The variants whose copies are kept.
    pub variants: Vec<Variant>,
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The number of the column.
    pub id: ColumnId,
    /// The kind of its values.
    pub kind: Kind,
}

/// One variant and the language it is sorted in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// The number of the variant.
    pub number: VariantNumber,
    /// A language tag such as `zh-CN`. Texts are sorted by the collation of that tag, of the longest prefix that has
    /// one, or by the root collation.
    pub locale: Option<String>,
}

/// The kind of a column's values, which decides how they compare. The names are part of the manifest's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A string, which is both its exact form and its text form. Has a number form if the whole string is a JSON
    /// number.
    Text,
    /// Text like [`Kind::Text`], in which ranked search finds words.
    Prose,
    /// A string without a number form.
    Plain,
    /// A text with a separate exact form, such as HTML, which is compared by its hash. No number form. Ranked search
    /// finds its words.
    Markup,
    /// A double. Its text form is as ECMAScript prints it.
    Number,
    /// A boolean. Its text form is `true` or `false`, and false sorts first. No number form.
    Bool,
    /// An instant in microseconds, and a text form of its own. Compares by the instant.
    Instant,
    /// A list of strings. Its exact form and text form are the elements joined by `,`. No number form.
    List,
}

impl Kind {
    /// Returns whether ranked search supports columns of this kind.
    pub fn is_ranked(self) -> bool {
        matches!(self, Kind::Prose | Kind::Markup)
    }
}

/// A value of a column. A column that a copy does not list is null.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    /// A value of [`Kind::Text`], [`Kind::Prose`] or [`Kind::Plain`].
    Text(Arc<str>),
    /// A value of [`Kind::Markup`]: the hash of the exact form ([`exact_hash`]) and the text form.
    Markup { exact: [u8; 16], text: Arc<str> },
    /// A value of [`Kind::Number`].
    Number(f64),
    /// A value of [`Kind::Bool`].
    Bool(bool),
    /// A value of [`Kind::Instant`].
    Instant { micros: i64, text: Arc<str> },
    /// A value of [`Kind::List`]. An empty list is not null.
    List(Vec<Arc<str>>),
}

/// Returns the hash of a markup's exact form: the first 16 bytes of its BLAKE3 hash.
pub fn exact_hash(exact: &str) -> [u8; 16] {
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(exact.as_bytes()).as_bytes()[..16]);
    hash
}

/// The version and dates of a resource, which all its copies share. Dates are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamps {
    /// The version. The caller chooses it, and it is returned with each [`Hit`](crate::Hit). The index never compares
    /// it.
    pub version: u64,
    /// The creation date of the resource.
    pub created: i64,
    /// The date of its last change.
    pub updated: i64,
    /// The date of its publication; `None` for a draft.
    pub published: Option<i64>,
}

/// An operation on the index.
#[derive(Debug, Clone, PartialEq)]
pub enum IndexOp {
    /// Creates a resource, or replaces its version, dates and the listed copies. Other copies stay as they are.
    Put {
        /// The id of the resource.
        id: u128,
        /// The version and dates of the resource.
        stamps: Stamps,
        /// The copies to replace, or to remove (`None`).
        copies: Vec<(VariantNumber, Option<Copy>)>,
    },
    /// Deletes a resource with all its copies. Does nothing if there is no such resource.
    Delete {
        /// The id of the resource.
        id: u128,
    },
}

/// The values of a resource in one variant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Copy {
    /// Chosen by the caller and returned by [`Snapshot::copy`](crate::Snapshot::copy): identifies the stored copy that
    /// the values come from.
    pub number: u64,
    /// The values that are not null. Each column occurs at most once.
    pub values: Vec<(ColumnId, Value)>,
}
