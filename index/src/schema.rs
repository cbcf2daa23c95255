//! What an index holds: columns, entries and changes. The engine's whole input vocabulary; it knows no field types.

use std::sync::Arc;

/// Number of a column, never used again within an index. A run that has no such column holds nulls.
pub type ColumnId = u32;

/// Number of a variant: each has its own copy of the columns.
pub type VariantNumber = u16;

/// The columns and variants of one index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schema {
    /// The columns of every copy.
    pub columns: Vec<Column>,
    /// The variants that are kept.
    pub variants: Vec<Variant>,
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its number.
    pub id: ColumnId,
    /// What it holds.
    pub kind: Kind,
}

/// One variant and the collation its text is sorted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Its number.
    pub number: VariantNumber,
    /// A language tag (`zh-CN`); the collation of that name or of its beginning is used, else the root's.
    pub locale: Option<String>,
}

/// What a column holds, and so what its values compare by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string. Exact form and text form are the string; number form when the whole string is a JSON number.
    Text,
    /// A string without a number form.
    Plain,
    /// A text form with an exact form of its own (HTML, compared by a hash of it). No number form.
    Markup,
    /// A double; the text form is as ECMAScript prints it.
    Number,
    /// A boolean; text form `true` or `false`. Sorts false first. No number form.
    Bool,
    /// An instant in microseconds with a text form as it was sent. Equals and ranges go by the instant.
    Instant,
    /// Strings; the text and exact form is the elements joined by `,`. No number form.
    List,
}

/// A value of a column. What an entry does not mention is null.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    /// For [`Kind::Text`] and [`Kind::Plain`].
    Text(Arc<str>),
    /// For [`Kind::Markup`]: the hash of the exact form ([`exact_hash`]) and the text form.
    Markup { exact: [u8; 16], text: Arc<str> },
    /// For [`Kind::Number`].
    Number(f64),
    /// For [`Kind::Bool`].
    Bool(bool),
    /// For [`Kind::Instant`].
    Instant { micros: i64, text: Arc<str> },
    /// For [`Kind::List`]; may be empty, which is not null.
    List(Vec<Arc<str>>),
}

/// The hash that stands for a markup value's exact form.
pub fn exact_hash(exact: &str) -> [u8; 16] {
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(exact.as_bytes()).as_bytes()[..16]);
    hash
}

/// What belongs to the resource and not to one of its copies: its version and its dates in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamps {
    /// Given by the caller and handed back with each [`Hit`](crate::Hit). The index never compares it.
    pub version: u64,
    /// When the resource was created.
    pub created: i64,
    /// When it was last changed.
    pub updated: i64,
    /// `None` is a draft.
    pub published: Option<i64>,
}

/// One change of one resource.
#[derive(Debug, Clone, PartialEq)]
pub enum IndexOp {
    /// Creates the resource or replaces what is named; copies that are not named stay as they are.
    Put {
        /// The resource.
        id: u128,
        /// Its version and dates.
        stamps: Stamps,
        /// The copies that are replaced or removed.
        copies: Vec<(VariantNumber, Option<Copy>)>,
    },
    /// Deletes the resource with all its copies. Nothing happens if it is not there.
    Delete {
        /// The resource.
        id: u128,
    },
}

/// One copy: its stored version and its values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Copy {
    /// The number of the stored version that these values were made from.
    pub number: u64,
    /// The values that are not null, each column at most once.
    pub values: Vec<(ColumnId, Value)>,
}
